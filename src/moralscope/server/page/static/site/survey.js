// The page Survey: dilemmas or statements put to language models, and what their answers depend on.
import { $, Trouble, ask, draft, drawPage, loadRun, notes, openShared, say, shareBar, short, show, wanted, worker } from "/static/site/core.js";

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
  if (!$("items").value.trim()) throw new Trouble("Enter at least one item: open a file or choose a sample.", 422);
  if (!models.length) throw new Trouble("Select at least one model.", 422);
  if (!forms.length) throw new Trouble("Select at least one question form.", 422);
  const { columns, rows } = await table("items.csv", new TextEncoder().encode($("items").value));
  const wantedRows = limit ? Math.min(limit, rows.length) : rows.length;
  if (wantedRows > most) throw new Trouble(`The page takes up to ${most} items; this list has ${rows.length.toLocaleString("en")}. Set a number under More options, or use “moralscope survey”.`, 422);
  const chosen = Array.from({ length: wantedRows }, (_, at) => rows[Math.floor((at * rows.length) / wantedRows)]); // evenly spread, as --limit does
  const items = chosen.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at] ?? ""]).filter(([, value]) => value.trim())));
  return { request: { items, models, forms, ...rest, ...(free && !columns.includes("statement") ? { free, experts } : {}) }, source }; // statements are rated, not replied to
}

// ---- what is seen -------------------------------------------------------------------------
const isScale = () => record.config.kind === "questionnaire";

function drawAll() {
  say("found-trouble", "");
  show(record.view.title);
  drawPage(record.view, $("views"));
  notes(record.warnings);
  shareBar({ name: "survey", link: () => `/survey?run=${kept ?? ""}`, record: () => record, run: () => kept, chart: () => $("views").querySelector(".chart"), rows: () => (isScale() ? scaleRows() : choiceRows()) });
}
const choiceRows = () => [["model", "id", "situation", "action", "likelihood", "low", "high", "mean_probability"], ...record.results.flatMap((row) => row.actions.map((text, at) => [row.model, row.id, row.situation, text, row.likelihoods[at], row.low[at], row.high[at], row.mean_probabilities?.[at]]))];
const scaleRows = () => [["model", "id", "statement", "subscale", "agreement", "low", "high", "forward", "negated"], ...record.results.map((row) => [row.model, row.id, row.statement, row.subscale, row.agreement, row.low, row.high, row.forward, row.negated])];

// ---- start --------------------------------------------------------------------------------
const run = worker("run", "survey", { ask: asked, done: (found, id) => { record = found; kept = id; drawAll(); history.replaceState(null, "", `/survey?run=${id}`); } });

async function open(id) {
  const found = await loadRun(id);
  if (found.job !== "survey" || !found.results.length) throw new Trouble("This run isn’t a survey.", 422);
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
