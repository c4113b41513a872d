// The page Survey: dilemmas or statements put to language models, and what their answers depend on.
import { $, Trouble, ask, draft, say, short } from "/static/site/core.js";
import { desk } from "/static/site/desk.js";

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
  return { items, models, forms, ...rest, ...(free && !columns.includes("statement") ? { free, experts } : {}) }; // statements are rated, not replied to
}

// ---- what is seen -------------------------------------------------------------------------
const looks = ({ config, view, results }) => ({ title: view.title, rows: () => (config.kind === "questionnaire" ? scaleRows : choiceRows)(results) });
const choiceRows = (results) => [["model", "id", "situation", "action", "likelihood", "low", "high", "mean_probability"], ...results.flatMap((row) => row.actions.map((text, at) => [row.model, row.id, row.situation, text, row.likelihoods[at], row.low[at], row.high[at], row.mean_probabilities?.[at]]))];
const scaleRows = (results) => [["model", "id", "statement", "subscale", "agreement", "low", "high", "forward", "negated"], ...results.map((row) => [row.model, row.id, row.statement, row.subscale, row.agreement, row.low, row.high, row.forward, row.negated])];

// ---- start --------------------------------------------------------------------------------
function given(_, request) {
  const columns = [...new Set((request.items ?? []).flatMap(Object.keys))];
  return { ...request, ...(columns.length ? { text: csvText(columns, request.items.map((row) => columns.map((name) => row[name] ?? ""))) } : {}) };
}

const { start, useFile } = desk({ name: "survey", kind: "survey", text: "items", refresh, restore, asked, given, looks, unfit: "This run isn’t a survey." });
$("upload").addEventListener("change", async () => {
  const file = $("upload").files[0];
  $("upload").value = "";
  if (!file) return;
  say("trouble", "");
  try {
    if (file.size > 4_000_000) throw new Trouble(`${short(file.name, 60)} is larger than 4 MB: use “moralscope survey” with the file.`, 413);
    const { name, columns, rows } = await table(file.name, await file.arrayBuffer());
    useFile(csvText(columns, rows), name);
  } catch (error) { say("trouble", error.message); }
});
await start();
document.documentElement.dataset.ready = "yes";
