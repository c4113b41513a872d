// The page Models: two models or more on the same actions; where they agree and where they do not.
import { $, Trouble, axisOffer, axisOptions, draft, drawPage, followAxis, humanFile, loadRun, notes, openShared, restoreAxis, say, shareBar, show, upload, wanted, worker } from "/static/site/core.js";

let record = null, kept = null, source = "";

const lines = () => $("actions").value.split("\n").map((line) => line.trim()).filter(Boolean);
const boxes = () => [...document.querySelectorAll("input[name=subject]")];
const chosen = () => boxes().filter((each) => each.checked && !each.disabled).map((each) => each.value);
const human = humanFile(() => refresh());

function refresh() {
  $("count").textContent = lines().length.toLocaleString("en");
  const { models } = followAxis();
  for (const box of boxes()) box.disabled = !models.includes(box.value);
  draft.write("models", { ...axisOptions(), encoders: boxes().filter((each) => each.checked).map((each) => each.value), text: $("actions").value });
}
function restore(given) {
  restoreAxis(given);
  if (given.encoders?.length) for (const box of boxes()) box.checked = given.encoders.includes(box.value);
  if (given.text !== undefined) $("actions").value = given.text;
  $("more").open = Boolean(given.norm || given.human);
}

function asked() {
  const actions = lines(), encoders = chosen(), most = Number($("subjects").dataset.most);
  if (actions.length < 3) throw new Trouble("Enter at least three actions.", 422);
  if (encoders.length < 2) throw new Trouble("Select at least two models.", 422);
  if (encoders.length > most) throw new Trouble(`Select at most ${most} models.`, 422);
  const { speakers } = axisOffer(), subjects = encoders.some((name) => speakers.includes(name)) ? { models: encoders, encoders: ["minilm", "mpnet"] } : { encoders };
  return { request: { actions, ...subjects, ...axisOptions(), ...(human.text ? { human: human.text } : {}) }, source };
}

// ---- what is seen -------------------------------------------------------------------------
const names = () => record.config.models ?? record.config.encoders;
const rowsOf = () => [...record.results].sort((a, b) => b.spread - a.spread).map((row) => ({ action: row.action, scores: names().map((name) => row.scores[name]), row }));

function drawAll() {
  say("found-trouble", "");
  show(`${names().join(", ")}: ${record.results.length.toLocaleString("en")} actions`);
  drawPage(record.view, $("views"));
  notes(record.warnings);
  shareBar({ name: "models", link: () => `/models?run=${kept ?? ""}`, record: () => record, run: () => kept, chart: () => $("views").querySelector(".chart"),
    rows: () => [["action", ...names(), "spread"], ...rowsOf().map(({ action, scores, row }) => [action, ...scores, row.spread])] });
}

// ---- start --------------------------------------------------------------------------------
const run = worker("run", "compare", { ask: asked, done: (found, id) => { record = found; kept = id; drawAll(); history.replaceState(null, "", `/models?run=${id}`); } });

async function open(id) {
  const found = await loadRun(id);
  if (found.job !== "compare" || !found.results.length) throw new Trouble("This run isn’t a comparison of models.", 422);
  const given = { axis: found.config.axis, encoders: found.config.models ?? found.config.encoders, ...found.config.options, ...found.page?.request };
  restore({ ...given, encoders: given.models?.length ? given.models : given.encoders, text: found.results.map((row) => row.action).join("\n") });
  if (typeof given.human === "string" && found.page) human.set(given.human, "ratings of this run");
  [record, kept, source] = [found, id, found.page?.source ?? ""];
  refresh();
  drawAll();
}
async function start() {
  const id = wanted().get("run"), before = draft.read("models");
  if (id) {
    await openShared(id, open);
    if (record && wanted().get("again")) run();
    return;
  }
  if (before) restore(before);
  refresh();
  await run.resume();
}

$("form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
$("form").addEventListener("input", (event) => { if (event.target.id === "actions") source = ""; refresh(); });
for (const chip of document.querySelectorAll("[data-sample]")) chip.addEventListener("click", () => { $("actions").value = chip.dataset.sample; source = ""; refresh(); });
upload({ input: $("upload"), chooser: $("chooser"), wants: [["Actions are in", ["action", "actions", "text", "phrase", "line"]]], use: (rows, name) => { $("actions").value = rows.map(([text]) => text.replace(/\s+/g, " ").trim()).filter(Boolean).join("\n"); source = name; refresh(); $("run").focus(); } });
await start();
document.documentElement.dataset.ready = "yes";
