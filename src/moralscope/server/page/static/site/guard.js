// The page Guard: what was decided, drawn anew every half minute.
import { $, ask, drawPage, el, makeTable, say } from "/static/site/core.js";

const SHOWN = 25; // decisions at a time, as the server lists them
let drawn = "", skip = 0;
async function load() {
  try {
    const page = await ask("GET", `/api/site/guard?days=${$("days").value}&outcomes=${$("outcome").value}&skip=${skip}`), text = JSON.stringify(page);
    say("trouble", "");
    if (text === drawn) return;
    drawn = text;
    $("tiles").replaceChildren(...page.figures.map(([value, name]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
    $("empty").hidden = page.sections.length > 0;
    $("choose").hidden = page.sections.length === 0;
    $("newer").disabled = skip === 0;
    $("older").disabled = page.older <= 0;
    drawPage(page, $("views"), { skip: ["Replies"] });
    const { prose, blocks } = page.sections.at(-1) ?? { prose: [], blocks: [] };
    $("count").textContent = prose.join(" ");
    $("decisions").replaceChildren(...blocks.map((table) => makeTable(table, { find: false, size: SHOWN })));
  } catch (error) { say("trouble", error.message); }
}
const start = (step = -skip) => { skip = Math.max(0, skip + step); return load(); };
if ($("days")) {
  $("days").addEventListener("change", () => start());
  $("outcome").addEventListener("change", () => start());
  $("newer").addEventListener("click", () => start(-SHOWN));
  $("older").addEventListener("click", () => start(SHOWN));
  await load();
  setInterval(() => { if (!document.hidden) load(); }, 30_000);
}
document.documentElement.dataset.ready = "yes";
