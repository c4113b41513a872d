// A list of very many rows: only those in sight are in the document. Sorting, filtering and meaning are its owner's.
// Every text is data: it reaches the DOM as textContent only.
import { el } from "/static/site/core.js";

const AROUND = 8; // rows that are drawn beyond the edge, so that scrolling shows no gap

// `columns` are {key, title, cell(row)}; `id(row)` names a row; `isOn(row)` says whether it is ticked.
export function makeList({ holder, name, columns, id, isOn, pick, tick, sort, none }) {
  let rows = [], current = null, sorted = null, frame = 0;
  const heads = columns.map((each) => el("span", { role: "columnheader", class: `c-${each.key}` }, each.sort === false ? (each.title ? each.title : el("span", { class: "visually-hidden" }, each.label)) : el("button", { type: "button", onclick: () => sort(each.key) }, each.title)));
  const body = el("div", { class: "list-rows", role: "presentation" });
  const scroller = el("div", { class: "list-body", role: "rowgroup", tabindex: "0", "aria-label": name }, body);
  const grid = el("div", { class: "list", role: "grid", "aria-label": name, "aria-multiselectable": "true" }, el("div", { class: "list-head", role: "rowgroup" }, el("div", { class: "list-row", role: "row", "aria-rowindex": "1" }, heads)), scroller);
  holder.replaceChildren(grid);

  const height = () => parseFloat(getComputedStyle(grid).getPropertyValue("--row")) || 38;
  const line = (row, at) => {
    const chosen = id(row) === current, box = el("input", { type: "checkbox", tabindex: "-1", "aria-label": `Select reply ${row.id}`, onclick: (event) => { event.stopPropagation(); tick(row, event.shiftKey); } });
    box.checked = isOn(row);
    const cells = columns.map((each) => el("span", { role: "gridcell", class: `c-${each.key}` }, each.key === "tick" ? box : each.cell(row)));
    const made = el("div", { class: `list-row${chosen ? " chosen" : ""}`, role: "row", id: `row-${id(row)}`, "data-at": id(row), "aria-rowindex": String(at + 2), "aria-selected": String(chosen), onclick: () => pick(row) }, cells);
    return made;
  };
  function draw() {
    frame = 0;
    const size = height(), from = Math.max(0, Math.floor(scroller.scrollTop / size) - AROUND), to = Math.min(rows.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / size) + AROUND);
    body.style.height = `${rows.length * size}px`;
    body.replaceChildren(...rows.slice(from, to).map((row, at) => { const made = line(row, from + at); made.style.top = `${(from + at) * size}px`; return made; }));
    if (!rows.length) body.replaceChildren(el("div", { role: "row", class: "list-none" }, el("span", { role: "gridcell", class: "muted" }, none())));
    grid.setAttribute("aria-rowcount", String(rows.length + 1));
    columns.forEach((each, at) => { if (sorted?.key === each.key) heads[at].setAttribute("aria-sort", sorted.down ? "descending" : "ascending"); else heads[at].removeAttribute("aria-sort"); });
  }
  const later = () => { frame ||= requestAnimationFrame(draw); };
  scroller.addEventListener("scroll", later, { passive: true });
  new ResizeObserver(later).observe(scroller); // also when it is shown

  return {
    show(given, by = sorted) { [rows, sorted] = [given, by]; draw(); },
    redraw: later,
    // Marks a row as the one at hand and brings it into sight.
    choose(which) {
      current = which;
      const at = rows.findIndex((row) => id(row) === which), size = height();
      if (at >= 0) {
        if (at * size < scroller.scrollTop) scroller.scrollTop = at * size;
        else if ((at + 1) * size > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = (at + 1) * size - scroller.clientHeight;
      }
      draw();
    },
    focus: () => scroller.focus({ preventScroll: true }),
  };
}
