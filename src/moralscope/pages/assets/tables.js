// Tables for reports and for the local page: sort, search, filter, turn pages, take away as CSV.
// Every text is data: it reaches the DOM as textContent only.
(() => {
  "use strict";
  const PAGE = 25, FEW = 8; // rows of a page; different values that make a menu

  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === undefined || value === null || value === false) continue;
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.flat().filter((each) => each !== null && each !== undefined));
    return made;
  };
  const isNothing = (value) => value === null || value === undefined || value === "";
  const write = (value, kind = "text", digits = 3) => {
    if (isNothing(value)) return "–";
    if (kind.endsWith("interval") && Array.isArray(value)) {
      const [middle, low, high] = value.map((end) => write(end, kind.replace(/ ?interval$/, "") || "number", digits));
      return low === "–" || high === "–" ? middle : `${middle} (${low} … ${high})`;
    }
    if (kind === "range") return `${write(value[0], "signed", digits)} … ${write(value[1], "signed", digits)}`;
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (kind === "text" || typeof value === "string") return String(value);
    if (kind === "whole") return value.toLocaleString("en");
    if (kind === "p") return value < 0.001 ? "<0.001" : value.toFixed(3);
    if (kind === "share") return `${(100 * value).toFixed(digits === 3 ? 0 : digits)} %`;
    return ((kind === "signed" && value >= 0 ? "+" : "") + value.toFixed(digits)).replace("-", "−");
  };

  // A cell that a spreadsheet would run as a formula gets an apostrophe, as everywhere in CSV.
  const csv = (rows) => {
    const cell = (value) => {
      const text = isNothing(value) ? "" : String(value), safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
      return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
  };
  const download = (name, content, kind) => {
    const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
    const link = element("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  };
  const first = (value) => (Array.isArray(value) ? value[0] : value); // an interval is sorted by its value
  const order = (one, other) => {
    const u = first(one), v = first(other);
    if (isNothing(u) || isNothing(v)) return null;
    return typeof u === "number" && typeof v === "number" ? u - v : String(u).localeCompare(String(v), "en", { numeric: true });
  };

  // Columns are {title, label (read aloud where nothing is shown), kind, digits, value(row), cell(row), head}; `more(row)` is what a row opens to.
  const make = ({ columns, rows, name, file = "table.csv", size = PAGE, caption, more, attributes, sorted = null, extra = [], csv: hasCsv = true, find = true }) => {
    const cols = columns.map((each, at) => ({ kind: "text", digits: 3, value: (row) => row[at], ...each }));
    const isLong = rows.length > size, isMany = rows.length > 10, hasFind = find && isMany;
    const state = { order: [...rows], at: 0, sorted, wanted: "", chosen: {} };
    const body = element("tbody"), count = element("p", { class: "count", role: "status" });
    const heads = cols.map((each, at) => {
      const named = each.title || each.label, head = element(named ? "th" : "td", { scope: named ? "col" : undefined, class: each.kind === "text" ? undefined : "n", dir: each.kind === "text" ? "auto" : undefined });
      head.append(isMany && each.sort !== false && each.title ? element("button", { type: "button", onclick: () => sortBy(at) }, each.title) : each.title || element("span", { class: "visually-hidden" }, each.label ?? ""));
      return head;
    });
    const line = (row) => {
      const made = element("tr", attributes?.(row) ?? {});
      cols.forEach((each, at) => {
        const content = each.cell?.(row) ?? write(each.value(row), each.kind, each.digits);
        const cell = element(each.head ? "th" : "td", { scope: each.head ? "row" : undefined, class: each.kind === "text" ? undefined : "n", dir: each.kind === "text" ? "auto" : undefined });
        if (at === 0 && more) cell.append(opener(content, made, row)); else cell.append(content);
        made.append(cell);
      });
      return made;
    };
    const opener = (content, line, row) => element("button", { type: "button", class: "opener", "aria-expanded": "false", onclick: (event) => {
      const button = event.currentTarget, open = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!open));
      if (open) line.nextSibling.remove();
      else line.after(element("tr", { class: "details" }, element("td", { colspan: cols.length }, more(row))));
    } }, content);
    const previous = element("button", { type: "button", class: "page-turn", onclick: () => turn(-1) }, "Previous"), next = element("button", { type: "button", class: "page-turn", onclick: () => turn(1) }, "Next");
    const fill = () => {
      const from = state.at * size, shown = state.order.slice(from, from + size), all = state.order.length;
      body.replaceChildren(...shown.map(line));
      if (!shown.length) body.append(element("tr", {}, element("td", { colspan: cols.length, class: "nothing" }, "No matches.")));
      previous.disabled = state.at === 0;
      next.disabled = from + size >= all;
      count.textContent = all ? `${(from + 1).toLocaleString("en")} to ${(from + shown.length).toLocaleString("en")} of ${all.toLocaleString("en")}${all < rows.length ? ` (${rows.length.toLocaleString("en")} in all)` : ""}` : `0 of ${rows.length.toLocaleString("en")}`;
      turner.hidden = all <= size && !isLong;
      heads.forEach((head, at) => (state.sorted?.at === at ? head.setAttribute("aria-sort", state.sorted.down ? "descending" : "ascending") : head.removeAttribute("aria-sort")));
    };
    const turn = (step) => { state.at += step; fill(); holder.querySelector("table").scrollIntoView({ block: "nearest" }); };
    const select = () => {
      state.order = rows.filter((row) => cols.every((each, at) => !state.chosen[at] || String(each.value(row)) === state.chosen[at])
        && (!state.wanted || cols.some((each) => each.kind === "text" && String(each.value(row) ?? "").toLowerCase().includes(state.wanted))));
      if (state.sorted) {
        const { at, down } = state.sorted, value = cols[at].value;
        state.order.sort((a, b) => { const step = order(value(a), value(b)); return step === null ? isNothing(value(a)) - isNothing(value(b)) : down ? -step : step; });
      }
      state.at = 0;
      fill();
    };
    const sortBy = (at) => { state.sorted = { at, down: state.sorted?.at === at ? !state.sorted.down : cols[at].kind !== "text" }; select(); };
    const menus = !hasFind ? [] : cols.map((each, at) => {
      if (each.kind !== "text" || each.filter === false) return null;
      const values = [...new Set(rows.map((row) => each.value(row)).filter((value) => !isNothing(value)).map(String))];
      if (values.length < 2 || values.length > FEW || values.some((value) => value.length > 40)) return null;
      return element("select", { "aria-label": `Only ${each.title}`, onchange: (event) => { state.chosen[at] = event.target.value; select(); } },
        element("option", { value: "" }, `${each.title}: all`), values.sort().map((value) => element("option", { value }, value)));
    });
    const search = hasFind ? element("input", { type: "search", placeholder: "Search", "aria-label": `Search ${name}`, oninput: (event) => { state.wanted = event.target.value.trim().toLowerCase(); select(); } }) : null;
    const save = hasCsv && rows.length > 2 ? element("button", { type: "button", class: "small save-table", "aria-label": `${name} as CSV`, onclick: () => download(file, csv([cols.map((each) => each.title), ...state.order.map((row) => cols.map((each) => each.value(row)))]), "text/csv") }, "CSV") : null;
    const turner = element("div", { class: "turner" }, count, element("span", { class: "turns" }, previous, next));
    const tools = [search, ...menus.filter(Boolean), ...extra, save].filter(Boolean);
    const holder = element("div", { class: "datatable" }, tools.length ? element("div", { class: "table-tools" }, tools) : null,
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, element("table", {}, caption ? element("caption", {}, caption) : null, element("thead", {}, element("tr", {}, heads)), body)), turner);
    select();
    holder.show = (row) => { const at = state.order.indexOf(row); if (at >= 0) { state.at = Math.floor(at / size); fill(); } };
    return holder;
  };
  globalThis.moralscope = { ...globalThis.moralscope, tables: { make, write, csv, download, element } };
})();
