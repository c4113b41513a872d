// The page Guard: what was decided, drawn anew every half minute.
import { $, ask, drawPage, el, makeTable, say } from "/static/site/core.js";

let drawn = "", skip = 0, size = 0; // how many decisions the server lists at a time
async function load() {
  try {
    const page = await ask("GET", `/api/site/guard?days=${$("days").value}&outcomes=${$("outcome").value}&skip=${skip}`), text = JSON.stringify(page);
    say("trouble", "");
    size = page.size;
    $("newer").disabled = skip === 0;
    $("older").disabled = page.listed <= skip + size;
    if (text === drawn) return;
    drawn = text;
    $("tiles").replaceChildren(...page.figures.map(([value, name]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
    $("empty").hidden = page.sections.length > 0;
    $("choose").hidden = page.sections.length === 0;
    drawPage(page, $("views"), { skip: ["Replies"] });
    const { prose, blocks } = page.sections.at(-1) ?? { prose: [], blocks: [] };
    $("count").textContent = prose.join(" ");
    $("decisions").replaceChildren(...blocks.map((table) => makeTable(table, { find: false, size })));
  } catch (error) { say("trouble", error.message); }
}
const start = (step = -skip) => { skip = Math.max(0, skip + step); return load(); };
if ($("days")) {
  $("days").addEventListener("change", () => start());
  $("outcome").addEventListener("change", () => start());
  $("newer").addEventListener("click", () => start(-size));
  $("older").addEventListener("click", () => start(size));
  await load();
  setInterval(() => { if (!document.hidden) load(); }, 30_000);
}
document.documentElement.dataset.ready = "yes";
