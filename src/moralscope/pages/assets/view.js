// Draws a page (pages/page.py) from its data, for reports and for the local page alike.
// Every text is data: it reaches the DOM as textContent only.
(() => {
  "use strict";
  const { charts, tables } = globalThis.moralscope, { element, write } = tables;
  const short = (text, size) => { const chars = [...text]; return chars.length > size ? `${chars.slice(0, size - 1).join("")}…` : text; };

  // What a mark says that stands for a row of the main table: its name, its numbers, its details.
  const readers = (main) => (main ? {
    nameOf: (index) => main.rows[index][0],
    hoverOf: (index) => {
      const row = main.rows[index], width = main.columns.length, digits = main.columns[1]?.[2];
      const lines = [short(String(row[0]), 120)];
      main.columns.forEach(([title, kind, places], at) => { if (at && kind !== "text" && row[at] !== null) lines.push(`${title} ${write(row[at], kind, places)}`); });
      main.details.forEach((name, at) => { if (row[width + at] !== undefined && row[width + at]?.type !== "card") lines.push(`${write(row[width + at], "signed", digits)}  ${short(name, 48)}`); });
      return lines.join("\n");
    },
  } : {});
  const drawChart = (holder, block, main, click) => charts.draw(holder, { ...block, ...readers(main), click: click && ((point) => { if (point.row !== undefined) click(main.rows[point.row]); }) });

  // A verdict (`VerdictCard` of pages/page.py): status, gauge, marked text, the rule that explains it, what would change it.
  const drawCard = ({ status, tone, gauge, pieces, facts, folded }) => {
    const level = (name, share, edge) => { const made = element(name); made.style[edge] = `${100 * share}%`; return made; };
    return element("div", { class: "verdict-card", "data-tone": tone }, element("p", { class: "status" }, status),
      gauge ? element("p", { class: "gauge" }, element("span", {}, `${gauge[0]} `, element("b", {}, gauge[1].toFixed(2)), `, limit ${gauge[2].toFixed(2)}`),
        element("span", { class: "track", "aria-hidden": "true" }, level("i", gauge[1], "width"), level("s", gauge[2], "left"))) : null,
      element("blockquote", { dir: "auto" }, pieces.map(([text, mark]) => (mark ? element("mark", { class: mark }, text) : text))),
      element("dl", {}, facts.flatMap(([name, line]) => [element("dt", {}, name), element("dd", {}, line)])),
      folded.length ? element("details", {}, element("summary", {}, `Other rules (${folded.length})`), element("ul", {}, folded.map((line) => element("li", {}, line)))) : null);
  };

  // A conversation (`Thread` of pages/page.py), turn by turn; what goes wrong is marked.
  const drawThread = ({ turns, note }) => [element("ol", { class: "thread" }, turns.map(({ speaker, text, status, tone, notes }) => element("li", { "data-tone": tone },
    element("p", {}, element("span", {}, speaker), " ", element("b", {}, status)), element("blockquote", { dir: "auto" }, text), notes.map((line) => element("p", {}, line))))),
    note ? element("p", { class: "muted small" }, note) : null];

  // `click(row)` makes a button of the first column; `options` go to tables.make.
  const makeTable = ({ columns, rows, details, title }, { click, ...options } = {}) => {
    const width = columns.length;
    const more = details.length && !click ? (row) => row[width]?.type === "card" ? drawCard(row[width]) : element("dl", { class: "facts" }, details.map((name, at) => element("div", {}, element("dt", {}, name), element("dd", {}, write(row[width + at], "signed", columns[1]?.[2]))))) : null;
    return tables.make({ rows, name: title, more, file: `${title.replace(/[^\w]+/g, "-").toLowerCase()}.csv`, ...options,
      columns: columns.map(([name, kind, digits], at) => ({ title: name, kind, digits, head: Boolean(click) && !at, filter: at ? undefined : false, ...(click && !at ? { cell: (row) => element("button", { type: "button", class: "as-link", onclick: () => click(row) }, String(row[0])) } : {}) })) });
  };

  // Draws all sections into an element; `skip` names sections that are shown otherwise; the main table has the id "table".
  const drawPage = (page, holder, { click, skip = [] } = {}) => {
    const main = page.main && page.sections[page.main[0]].blocks[page.main[1]], waiting = [];
    const draw = (block, heading) => {
      if (block.type === "chart") {
        const made = element("div", { class: "chart", role: "img", tabindex: "0", "aria-label": `${block.title}. ${block.about}` });
        waiting.push(() => drawChart(made, block, main, click));
        return [block.title === heading ? null : element("h4", {}, block.title), made];
      }
      if (block.type === "table") {
        const made = makeTable(block, { click: block === main ? click : null, csv: block !== main });
        if (block === main) made.id = "table";
        return [block.title === heading ? null : element("h4", {}, block.title), made, block.note ? element("p", { class: "muted small" }, block.note) : null];
      }
      if (block.type === "facts") return [element("dl", { class: "facts" }, block.pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))))];
      if (block.type === "card") return [drawCard(block)];
      if (block.type === "thread") return drawThread(block);
      return [element("pre", { tabindex: "0" }, element("code", {}, block.text))];
    };
    holder.replaceChildren(...page.sections.filter((each) => !skip.includes(each.title)).map((each) => {
      const inside = each.blocks.flatMap((block) => draw(block, each.title)).filter(Boolean), prose = each.prose.map((line) => element("p", { class: "muted small" }, line));
      if (each.blocks.length && !inside.length) return null;
      const heading = element("h3", {}, each.title);
      return element("section", { class: "card view" }, each.folded ? element("details", { ontoggle: charts.redrawAll }, element("summary", {}, heading), ...prose, ...inside) : [heading, ...prose, ...inside]);
    }).filter(Boolean));
    waiting.forEach((each) => each()); // an element outside of the document has no colours
  };
  globalThis.moralscope = { ...globalThis.moralscope, view: { drawCard, drawChart, drawPage, makeTable } };
})();
