// The page Models: two models or more on the same actions; where they agree and where they do not.
import { $, Trouble, axisOffer, axisOptions, charts, draft, el, followAxis, humanFile, loadRun, notes, number, openShared, radio, restoreAxis, say, shareBar, show, signed, tables, upload, wanted, worker } from "/static/site/core.js";
import { dots, slopes } from "/static/site/specs.js";

const SHOWN = 24; // actions of the chart, the most disputed
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
  if (actions.length < 3) throw new Trouble("A comparison needs three actions or more, one a line.", 422);
  if (encoders.length < 2) throw new Trouble("Tick two models or more.", 422);
  if (encoders.length > most) throw new Trouble(`Tick at most ${most} models.`, 422);
  const { speakers } = axisOffer(), subjects = encoders.some((name) => speakers.includes(name)) ? { models: encoders, encoders: ["minilm", "mpnet"] } : { encoders };
  return { request: { actions, ...subjects, ...axisOptions(), ...(human.text ? { human: human.text } : {}) }, source };
}

// ---- what is seen -------------------------------------------------------------------------
const names = () => record.config.models ?? record.config.encoders;
const rowsOf = () => [...record.results].sort((a, b) => b.spread - a.spread).map((row) => ({ action: row.action, scores: names().map((name) => row.scores[name]), row }));

function drawAll() {
  say("found-trouble", "");
  show(`${names().join(", ")}: ${record.results.length.toLocaleString("en")} actions`);
  pairs();
  chart();
  people();
  values();
  notes(record.warnings);
  shareBar({ name: "models", link: () => `/models?run=${kept ?? ""}`, record: () => record, run: () => kept, chart: () => $("chart"),
    rows: () => [["action", ...names(), "spread"], ...rowsOf().map(({ action, scores, row }) => [action, ...scores, row.spread])] });
}

function pairs() {
  const found = record.statistics.pairs ?? [];
  $("pairs").replaceChildren(el("h3", {}, "How alike they order the actions"), tables.make({ name: "Agreement by pair", csv: false, rows: found, columns: [
    { title: "Models", head: true, value: (row) => row.pair.join(" and ") }, { title: "Pearson r", kind: "number", digits: 2, value: (row) => row.pearson.r, cell: (row) => `${number(row.pearson.r)} (${number(row.pearson.low)} … ${number(row.pearson.high)})` },
    { title: "Spearman", kind: "number", digits: 2, value: (row) => row.spearman.r }, { title: "Differ surely", kind: "whole", value: (row) => row.significant }] }),
    el("p", { class: "muted small" }, `Differ surely: actions on which the two differ significantly, p corrected by Holm, of ${record.results.length.toLocaleString("en")}.`));
}

function chart() {
  const all = rowsOf(), rows = all.slice(0, SHOWN), form = radio("form");
  $("chart-note").textContent = `${all.length > SHOWN ? `The ${SHOWN} most disputed of ${all.length.toLocaleString("en")}. ` : ""}${form === "slopes" ? `A line rises where ${names().at(-1)} is kinder than ${names()[0]}.` : "One mark a model."} Scale: ${record.config.scale ?? "common"}.`;
  charts.draw($("chart"), form === "slopes" ? slopes(names(), rows) : dots(names(), rows));
  $("chart").ariaLabel = `Scores of ${rows.length} actions by ${names().length} models; all values are in the table below.`;
}

function people() {
  const box = $("people"), found = record.statistics.human;
  box.hidden = !found;
  if (!found) return;
  box.replaceChildren(el("h3", {}, "Beside what people say"), tables.make({ name: "Agreement with people", csv: false, rows: Object.entries(found).flatMap(([name, each]) => Object.entries(each.populations).map(([who, told]) => ({ name, who, ...told }))), columns: [
    { title: "Model", head: true, value: (row) => row.name }, { title: "People", value: (row) => row.who }, { title: "Pearson r", kind: "number", digits: 2, value: (row) => row.pearson.r, cell: (row) => `${number(row.pearson.r)} (${number(row.pearson.low)} … ${number(row.pearson.high)})` },
    { title: "Spearman", kind: "number", digits: 2, value: (row) => row.spearman.r }, { title: "Actions", kind: "whole", value: (row) => row.n }] }));
}

function values() {
  const rates = new Map(Object.values(record.statistics.human ?? {})[0]?.rows?.map((row) => [row.action, row.rate]) ?? []);
  const widest = (row) => row.differences.reduce((best, each) => (!best || Math.abs(each.difference) > Math.abs(best.difference) ? each : best), null);
  const columns = [{ title: "Action", head: true, value: (each) => each.action }, ...names().map((name, at) => ({ title: name, kind: "signed", digits: 2, value: (each) => each.scores[at] })),
    { title: "Apart", kind: "number", digits: 2, value: (each) => each.row.spread }, { title: "p (Holm)", kind: "p", value: (each) => widest(each.row)?.p_holm }];
  if (rates.size) columns.push({ title: "People said yes", kind: "share", value: (each) => rates.get(each.action) });
  $("table").replaceChildren(tables.make({ name: "Actions, most disputed first", file: "models.csv", rows: rowsOf(), columns, csv: false }));
}

// ---- start --------------------------------------------------------------------------------
const run = worker("run", "compare", { ask: asked, done: (found, id) => { record = found; kept = id; drawAll(); history.replaceState(null, "", `/models?run=${id}`); } });

async function open(id) {
  const found = await loadRun(id);
  if (found.job !== "compare" || !found.results.length) throw new Trouble("This run is no comparison of models.", 422);
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
for (const each of document.querySelectorAll("input[name=form]")) each.addEventListener("change", chart);
for (const chip of document.querySelectorAll("[data-sample]")) chip.addEventListener("click", () => { $("actions").value = chip.dataset.sample; source = ""; refresh(); });
upload({ input: $("upload"), chooser: $("chooser"), wants: [["Actions are in", ["action", "actions", "text", "phrase", "line"]]], use: (rows, name) => { $("actions").value = rows.map(([text]) => text.replace(/\s+/g, " ").trim()).filter(Boolean).join("\n"); source = name; refresh(); $("run").focus(); } });
await start();
document.documentElement.dataset.ready = "yes";
