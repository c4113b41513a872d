// Draws the charts and tables of a report from its data block; light or dark, contents, pictures.
(() => {
  "use strict";
  const { charts, tables, view } = globalThis.moralscope, { element } = tables;
  const page = JSON.parse(document.getElementById("data").textContent), root = document.documentElement;
  const main = page.main && page.blocks[page.main];
  // ---- charts ----------------------------------------------------------------------------
  const attempt = (id) => {
    const holder = document.getElementById(id);
    try {
      view.drawChart(holder, page.blocks[id], main);
      const name = `${document.title.replace(/[^\w]+/g, "-").slice(0, 40)}-${id}`;
      holder.after(element("p", { class: "pictures" }, ["SVG", "PNG"].map((kind) => element("button", { type: "button", "aria-label": `${holder.ariaLabel.split(".")[0]} as ${kind}`, onclick: async () => tables.download(`${name}.${kind.toLowerCase()}`, kind === "SVG" ? charts.toSvg(holder) : await charts.toPng(holder), "image/svg+xml") }, kind))));
    } catch (problem) {
      console.error(problem);
      holder.textContent = "This chart could not be drawn.";
    }
  };

  // ---- tables ----------------------------------------------------------------------------
  const table = (id) => {
    const plain = document.querySelector(`#${id} .scroll`), caption = plain.querySelector("caption")?.textContent;
    plain.replaceWith(view.makeTable(page.blocks[id], { caption }));
  };

  // ---- start -----------------------------------------------------------------------------
  for (const [id, block] of Object.entries(page.blocks)) if (block.rows?.length > 2) table(id);
  // What is in sight is drawn at once; the rest one by one, so that the page can be read meanwhile.
  const all = Object.keys(page.blocks).filter((id) => page.blocks[id].traces), near = (id) => document.getElementById(id).getBoundingClientRect().top < 1.5 * innerHeight;
  const queue = all.filter((id) => !near(id));
  all.filter(near).forEach(attempt);
  root.dataset.ready = String(Math.round(performance.now()));
  const next = () => {
    if (queue.length) { attempt(queue.shift()); setTimeout(next, 0); } else root.dataset.complete = String(Math.round(performance.now()));
  };
  setTimeout(next, 0);
  const lamp = document.getElementById("lamp");
  lamp.hidden = false;
  lamp.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    charts.redrawAll();
  });
  addEventListener("beforeprint", () => { root.dataset.print = "yes"; charts.redrawAll(); });
  addEventListener("afterprint", () => { delete root.dataset.print; charts.redrawAll(); });
  for (const each of document.querySelectorAll("details")) each.addEventListener("toggle", charts.redrawAll);
})();
