// The page Survey: dilemmas or statements put to language models, and what their answers hang on.
import { $, Trouble, ask, charts, draft, el, loadRun, notes, number, openShared, say, shareBar, short, show, signed, tables, wanted, worker } from "/static/site/core.js";
import { spans } from "/static/site/specs.js";

const BIASES = { order_bias: "what comes first", label_bias: "the label A", yes_bias: "yes", wording: "the wording (sd)" };
let record = null, kept = null, source = "";

const ticked = (name) => [...document.querySelectorAll(`input[name=${name}]:checked`)].map((each) => each.value);
const tick = (name, values) => { for (const each of document.querySelectorAll(`input[name=${name}]`)) each.checked = values.includes(each.value); };
const form = () => ({ models: ticked("subject"), forms: ticked("form"), free: $("free").checked, wordings: Number($("wordings").value), form: $("asked").value, experts: $("experts").value });
const refresh = () => draft.write("survey", { ...form(), text: $("items").value });
function restore(given) {
  if (given.models?.length) tick("subject", given.models);
  if (given.forms?.length) tick("form", given.forms);
  $("free").checked = Boolean(given.free);
  for (const [id, value] of [["wordings", given.wordings], ["asked", given.form], ["experts", given.experts]]) if ([...$(id).options].some((each) => each.value === String(value))) $(id).value = value;
  if (given.text !== undefined) $("items").value = given.text;
}

// The text is CSV, whatever file it came from, and is read by the server as the command line reads it.
const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const csvText = (columns, rows) => [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n");
const table = (name, raw) => ask("POST", `/api/site/table?name=${encodeURIComponent(name)}`, { raw });

async function asked() {
  const { models, forms, free, experts, ...rest } = form(), most = Number($("limit").dataset.most), limit = Number($("limit").value) || null;
  if (!$("items").value.trim()) throw new Trouble("There is nothing to ask: open a file or choose a sample.", 422);
  if (!models.length) throw new Trouble("Tick a model or more.", 422);
  if (!forms.length) throw new Trouble("Tick a form or more.", 422);
  const { columns, rows } = await table("items.csv", new TextEncoder().encode($("items").value));
  const wantedRows = limit ? Math.min(limit, rows.length) : rows.length;
  if (wantedRows > most) throw new Trouble(`The page asks about at most ${most} items at a time, and here are ${rows.length.toLocaleString("en")}: say how many under More options, or use “moralscope survey”.`, 422);
  const chosen = Array.from({ length: wantedRows }, (_, at) => rows[Math.floor((at * rows.length) / wantedRows)]); // evenly spread, as --limit does
  const items = chosen.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at] ?? ""]).filter(([, value]) => value.trim())));
  return { request: { items, models, forms, ...rest, ...(free && !columns.includes("statement") ? { free, experts } : {}) }, source }; // statements are rated, not replied to
}

// ---- what is seen -------------------------------------------------------------------------
const models = () => Object.entries(record.statistics.models);
const several = () => models().length > 1;
const isScale = () => record.config.kind === "questionnaire";
const ends = (found, write) => (found.low === null || found.low === undefined ? "" : ` (${write(found.low)} … ${write(found.high)})`);
const span = (found, write = signed) => (found && found.value !== null ? `${write(found.value, 2)}${ends(found, (value) => write(value, 2))}` : "–");
const percent = (value) => Math.round(100 * value);
const share = (found) => (found && found.value !== null ? `${percent(found.value)} %${ends(found, percent)}` : "–");
// A row for each figure, a column for each model.
const figures = (rows) => $("figures").replaceChildren(tables.make({ name: "Figures", csv: false, rows, columns: [{ title: "Figure", head: true, value: ([title]) => title }, ...models().map(([name, each]) => ({ title: name, filter: false, value: ([, get]) => get(each) }))] }));

function drawAll() {
  say("found-trouble", "");
  show(`${models().map(([name]) => name).join(", ")}: ${record.config.items.toLocaleString("en")} ${isScale() ? "statements" : record.config.items === 1 ? "dilemma" : "dilemmas"}`);
  for (const id of ["differences", "replies", "broken"]) $(id).hidden = true;
  if (isScale()) scale(); else dilemmas();
  differences();
  notes(record.warnings);
  shareBar({ name: "survey", link: () => `/survey?run=${kept ?? ""}`, record: () => record, run: () => kept, chart: () => $("chart"), rows: () => (isScale() ? scaleRows() : choiceRows()) });
}

function chart(title, note, spec) {
  $("chart-title").textContent = title;
  $("chart-note").textContent = note;
  $("chart").hidden = !spec;
  if (spec) charts.draw($("chart"), spec);
  $("chart").ariaLabel = `${title}: all values are in the table below.`;
}

function dilemmas() {
  const names = Object.values(BIASES), rows = models().map(([name, each]) => ({ name, spans: Object.keys(BIASES).map((key) => each.biases[key]) }));
  chart("What answers hang on besides the actions", "Log-odds with intervals that hold all together at 95 %: where one does not reach zero, that is a bias.", spans(names, rows, "← against      log-odds      in favour →"));
  figures([["Right action chosen", (each) => share(each.accuracy)], ["Right action chosen, answers by their bare sums", (each) => share(each.accuracy_unnormalised)], ["Likelihood of the right action", (each) => share(each.better)], ["Answers that turn with the order", (each) => share(each.flips)],
    ["Forms agree (1: fully)", (each) => span(each.consistency, number)], ["Answer mass", (each) => share(each.mass)], ["Noise floor (sd of log-odds)", (each) => number(each.noise_floor)], ["Questions", (each) => each.questions.toLocaleString("en")]]);
  $("table-title").textContent = "What it would do";
  $("table").replaceChildren(tables.make({ name: "Dilemmas", file: "survey.csv", csv: false, rows: record.results, more: actionsOf, columns: [
    { title: "Situation", head: true, filter: false, value: (row) => row.situation, cell: (row) => short(row.situation, 110) }, ...(several() ? [{ title: "Model", value: (row) => row.model }] : []),
    { title: "Likeliest action", filter: false, value: (row) => row.actions[best(row)], cell: (row) => short(row.actions[best(row)], 90) }, { title: "Likelihood", kind: "share", value: (row) => row.likelihoods[best(row)] },
    { title: "Right", value: (row) => (row.right === null ? "" : row.right ? "yes" : "no") }, { title: "Forms agree", kind: "number", digits: 2, value: (row) => row.consistency }, { title: "First", kind: "signed", digits: 2, value: (row) => row.order_bias }, { title: "Mass", kind: "share", value: (row) => row.mass }] }));
  replies();
  broken();
}
const best = (row) => row.likelihoods.indexOf(Math.max(...row.likelihoods));
const track = (value) => { const bar = el("i"); bar.style.width = `${100 * value}%`; return el("span", { class: "track", "aria-hidden": "true" }, bar); };
const actionsOf = (row) => el("dl", {}, row.actions.map((text, at) => el("div", { class: "meter chances" }, el("dt", {}, text), el("dd", {}, track(row.likelihoods[at]), `${share({ value: row.likelihoods[at], low: row.low[at], high: row.high[at] })}; ${Object.entries(row.by_form).map(([name, shares]) => `${name} ${percent(shares[at])}`).join(", ")}`))));
const choiceRows = () => [["model", "id", "situation", "action", "likelihood", "low", "high"], ...record.results.flatMap((row) => row.actions.map((text, at) => [row.model, row.id, row.situation, text, row.likelihoods[at], row.low[at], row.high[at]]))];

function differences() {
  const found = record.statistics.comparisons ?? [];
  $("differences").hidden = !found.length;
  $("differences").replaceChildren(el("h3", {}, "Models compared item by item"), tables.make({ name: "Differences", csv: false, rows: found, columns: [
    { title: "Second less first", head: true, value: (row) => row.pair.join(" → ") }, { title: "Figure", filter: false, value: (row) => row.figure.replaceAll("_", " ") }, { title: "Difference", filter: false, value: (row) => span(row.difference) }, { title: "p (Holm)", kind: "p", value: (row) => row.p_holm }] }));
}
function broken() {
  const rows = models().flatMap(([name, each]) => (each.rules ?? []).map((rule) => ({ name, ...rule })));
  $("broken").hidden = !rows.length;
  $("broken").replaceChildren(el("h3", {}, "Rules broken"), el("p", { class: "muted small" }, "How often an action that breaks a rule is chosen where another action keeps it, tested against a coin."), tables.make({ name: "Rules broken", csv: false, rows, columns: [
    { title: "Rule", head: true, value: (row) => row.rule }, ...(several() ? [{ title: "Model", value: (row) => row.name }] : []), { title: "Broken", filter: false, value: (row) => share(row.rate) }, { title: "Items", kind: "whole", value: (row) => row.rate.n }, { title: "p (Holm)", kind: "p", value: (row) => row.p_holm }] }));
}
function replies() {
  const rows = record.statistics.say_rate_do ?? [], gaps = Object.entries(record.statistics.replies ?? {}).flatMap(([name, each]) => each.gaps.map((gap) => ({ name, ...gap })));
  $("replies").hidden = !rows.length;
  const situations = new Map(record.results.map((row) => [row.id, row.situation]));
  $("replies").replaceChildren(el("h3", {}, "Say, rate, do"), el("p", { class: "muted small" }, "Say is the log-odds of the right action, rate how much more the model agrees that it is right, do the audit's score of its replies. Without noise: r divided by the root of both reliabilities."),
    gaps.length ? tables.make({ name: "Together", csv: false, rows: gaps, columns: [{ title: "Pair", head: true, value: (row) => row.pair.join(" and ") }, ...(several() ? [{ title: "Model", value: (row) => row.name }] : []), { title: "r", filter: false, value: (row) => `${number(row.correlation.r)} (${number(row.correlation.low)} … ${number(row.correlation.high)})` }, { title: "Without noise", kind: "signed", digits: 2, value: (row) => row.disattenuated }] }) : "",
    tables.make({ name: "Replies", csv: false, rows, more: (row) => el("ul", {}, row.reply.map((text, at) => el("li", {}, text, row.concerns?.[at] ? el("span", { class: "muted" }, ` · ${row.concerns[at]}`) : ""))), columns: [
      { title: "Situation", head: true, filter: false, value: (row) => situations.get(row.id) ?? row.id, cell: (row) => short(situations.get(row.id) ?? row.id, 70) }, ...(several() ? [{ title: "Model", value: (row) => row.model }] : []), { title: "Reply", filter: false, value: (row) => row.reply[0] ?? "", cell: (row) => short(row.reply[0] ?? "–", 110) },
      { title: "Say", kind: "signed", digits: 2, value: (row) => row.say }, { title: "Rate", kind: "signed", digits: 2, value: (row) => row.rate }, { title: "Do", kind: "signed", digits: 2, value: (row) => row.do }, { title: "Flagged", kind: "whole", value: (row) => row.flagged }] }));
}

function scale() {
  const names = [...new Set(models().flatMap(([, each]) => each.subscales.map((row) => row.subscale)))];
  const rows = models().map(([name, each]) => ({ name, spans: names.map((wantedName) => each.subscales.find((row) => row.subscale === wantedName)?.agreement) }));
  chart("How far it agrees", "0 is no agreement, 1 is full; the expected value over the scale, with the statement as it stands and with its opposite.", names.length ? spans(names, rows, "agreement") : null);
  figures([["Agreement", (each) => span(each.agreement, number)], ["Agrees with both sides by", (each) => span(each.acquiescence)], ["Hangs on the numbering by", (each) => span(each.numbering)], ["Answer mass", (each) => share(each.mass)], ["Questions", (each) => each.questions.toLocaleString("en")]]);
  $("table-title").textContent = "Statements";
  $("table").replaceChildren(tables.make({ name: "Statements", csv: false, rows: record.results, columns: [{ title: "Statement", head: true, filter: false, value: (row) => row.statement, cell: (row) => short(row.statement, 140) }, ...(several() ? [{ title: "Model", value: (row) => row.model }] : []), { title: "Subscale", value: (row) => row.subscale },
    { title: "Agreement", kind: "number", digits: 2, value: (row) => row.agreement }, { title: "As it stands", kind: "number", digits: 2, value: (row) => row.forward }, { title: "Negated", kind: "number", digits: 2, value: (row) => row.negated }, { title: "Mass", kind: "share", value: (row) => row.mass }] }));
}
const scaleRows = () => [["model", "id", "statement", "subscale", "agreement", "low", "high", "forward", "negated"], ...record.results.map((row) => [row.model, row.id, row.statement, row.subscale, row.agreement, row.low, row.high, row.forward, row.negated])];

// ---- start --------------------------------------------------------------------------------
const run = worker("run", "survey", { ask: asked, done: (found, id) => { record = found; kept = id; drawAll(); history.replaceState(null, "", `/survey?run=${id}`); } });

async function open(id) {
  const found = await loadRun(id);
  if (found.job !== "survey" || !found.results.length) throw new Trouble("This run is no survey.", 422);
  const given = { ...found.config.options, ...found.page?.request }, columns = [...new Set((given.items ?? []).flatMap(Object.keys))];
  restore({ ...given, ...(columns.length ? { text: csvText(columns, given.items.map((row) => columns.map((name) => row[name] ?? ""))) } : {}) });
  [record, kept, source] = [found, id, found.page?.source ?? ""];
  refresh();
  drawAll();
}
async function start() {
  const id = wanted().get("run"), before = draft.read("survey");
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
$("form").addEventListener("input", (event) => { if (event.target.id === "items") source = ""; refresh(); });
for (const chip of document.querySelectorAll("[data-sample]")) chip.addEventListener("click", () => { $("items").value = chip.dataset.sample; source = ""; refresh(); });
$("upload").addEventListener("change", async () => {
  const file = $("upload").files[0];
  $("upload").value = "";
  if (!file) return;
  say("trouble", "");
  try {
    if (file.size > 4_000_000) throw new Trouble(`${short(file.name, 60)} is larger than 4 MB: use “moralscope survey” with the file.`, 413);
    const { name, columns, rows } = await table(file.name, await file.arrayBuffer());
    $("items").value = csvText(columns, rows);
    source = name;
    refresh();
    $("run").focus();
  } catch (error) { say("trouble", error.message); }
});
await start();
document.documentElement.dataset.ready = "yes";
