// The page Guard: what was decided, drawn anew every half minute.
import { $, ask, drawPage, el, say } from "/static/site/core.js";

let drawn = "";
async function load() {
  try {
    const page = await ask("GET", `/api/site/guard?days=${$("days").value}`), text = JSON.stringify(page);
    say("trouble", "");
    if (text === drawn) return;
    drawn = text;
    $("tiles").replaceChildren(...page.figures.map(([value, name]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
    $("empty").hidden = page.sections.length > 0;
    drawPage(page, $("views"));
  } catch (error) { say("trouble", error.message); }
}
if ($("days")) {
  $("days").addEventListener("change", load);
  await load();
  setInterval(() => { if (!document.hidden) load(); }, 30_000);
}
document.documentElement.dataset.ready = "yes";
