// The page Rules: our rulebook by theme and foundation; a rulebook of one's own, checked as it is typed.
import { $, EXCHANGES, Trouble, ask, askText, download, draft, drawPage, el, loadRun, notes, openShared, radio, say, setRadio, short, show, tables, upload, wanted, worker } from "/static/site/core.js";
import { bookEditor } from "/static/site/book.js";

let all = [], theme = "";
const chosen = new Set(), wantedFoundations = new Set();

const editor = bookEditor({ changed: () => keep(), books: () => ($("book").value.trim() ? [{ text: $("book").value, format: $("form-of").value }] : null) });
const keep = () => draft.write("rules", { book: $("book").value, form: $("form-of").value });

function refresh() {
  const rows = all.filter((rule) => (!theme || rule.theme === theme) && [...wantedFoundations].every((name) => rule.foundations.includes(name)));
  const box = (rule) => { const made = el("input", { type: "checkbox", "aria-label": `Choose: ${rule.text}`, onchange: () => { if (made.checked) chosen.add(rule); else chosen.delete(rule); count(); } }); made.checked = chosen.has(rule); return made; };
  $("list").replaceChildren(tables.make({ name: "Our rules", file: "rules.csv", rows, extra: [themes()], columns: [
    { title: "", label: "Choose", sort: false, filter: false, value: () => "", cell: box }, { title: "Rule", head: true, filter: false, value: (rule) => rule.text }, { title: "Theme", filter: false, value: (rule) => rule.theme },
    { title: "Foundations", filter: false, value: (rule) => rule.foundations.join(", ") }, { title: "Severity", kind: "number", digits: 1, value: (rule) => rule.severity }, { title: "Consensus", kind: "number", digits: 1, value: (rule) => rule.consensus }] }));
}
function themes() {
  const names = [...new Set(all.map((rule) => rule.theme).filter(Boolean))].sort();
  const menu = el("select", { "aria-label": "Only theme", onchange: () => { theme = menu.value; refresh(); } }, el("option", { value: "" }, "Theme: all"), names.map((name) => el("option", { value: name }, `${name} (${all.filter((rule) => rule.theme === name).length})`)));
  menu.value = theme;
  return menu;
}
function count() {
  const size = chosen.size;
  $("chosen").textContent = size ? `${size} ${size === 1 ? "rule" : "rules"} selected.` : "Select rules to audit replies against only those.";
  $("to-audit").disabled = $("to-mine").disabled = !size;
}
// The chosen rules as a rulebook; texts are JSON strings, which YAML reads as they are.
function asYaml() {
  const rule = (each) => [`  - text: ${JSON.stringify(each.text)}`, ...(each.id ? [`    id: ${JSON.stringify(each.id)}`] : []), ...(each.foundations.length ? [`    foundations: [${each.foundations.join(", ")}]`] : []), ...["severity", "consensus"].filter((key) => each[key] !== null).map((key) => `    ${key}: ${each[key]}`)].join("\n");
  return `name: chosen\nrules:\n${[...chosen].map(rule).join("\n")}\n`;
}
const send = (text, format, warrant) => { draft.write("sent-book", { text, format, warrant }); location.assign("/audit"); };
function view() {
  $("browse").hidden = radio("view") !== "browse";
  $("write").hidden = radio("view") !== "write";
  if (radio("view") === "write") editor.lint();
}

// ---- warrants: can these experts enforce the rules ------------------------------------------
const given = { labels: [], benign: [] };
let warrant = null;
function give(name, rows, source) {
  given[name] = rows ?? [];
  const count = given[name].length, noun = { labels: ["label", "labels"], benign: ["reply", "replies"] }[name][Number(count > 1)];
  $(`${name}-state`).textContent = count ? `${count.toLocaleString("en")} ${noun} from ${short(source, 40)}` : "";
  $(`${name}-clear`).hidden = !count;
}
async function readLabels(raw, name, source = name) {
  say("trouble", "");
  try {
    const rows = await ask("POST", `/api/site/labels?name=${encodeURIComponent(name)}`, { raw: await raw() });
    if (!rows.length) throw new Trouble("No labels yet. Choose “Broken” or “Not broken” for rules of an audit first.", 422);
    give("labels", rows, source);
  } catch (error) { say("trouble", error.message); }
}
// What `rules warrant` saves beside a rulebook.
const asWarrant = ({ config, statistics, results }) => ({ schema: "moralscope.warrant/1", experts: config.experts, experts_sha256: config.experts_sha256, learnt_sha256: config.learnt?.sha256 ?? "", budget: statistics.budget, rules: results });
function drawWarrant(record, id) {
  warrant = asWarrant(record);
  setRadio("view", "write");
  view();
  $("views").replaceChildren();
  show(record.view.summary[0]);
  drawPage(record.view, $("views"), {});
  notes(record.warnings);
  if (id) history.replaceState(null, "", `/rules?run=${id}`);
}
const run = worker("run", "warrant", { ask: () => {
  if (!$("book").value.trim()) throw new Trouble("Write at least one rule first.", 422);
  return { request: { rulebooks: [{ text: $("book").value, format: $("form-of").value }], experts: $("experts").value, false_alarms: $("false-alarms").value, labels: given.labels, ...(given.benign.length ? { benign: given.benign } : {}) } };
}, done: drawWarrant });
async function open(id) {
  const found = await loadRun(id), book = found.page?.request?.rulebooks?.[0];
  if (found.job !== "rules warrant") throw new Trouble("This run isn’t a warrant.", 422);
  if (book) await editor.set(book.text, book.format ?? "yaml");
  for (const name of Object.keys(given)) give(name, found.page?.request?.[name], "this run");
  drawWarrant(found);
}

async function start() {
  const before = draft.read("rules");
  if (before) { $("book").value = before.book; $("form-of").value = before.form; }
  if (wanted().get("view") === "write") setRadio("view", "write");
  view();
  const id = wanted().get("run");
  if (id) await openShared(id, open); else run.resume();
  try {
    all = await ask("GET", "/api/site/rules");
    for (const chip of document.querySelectorAll("[data-foundation]")) chip.querySelector("span").textContent = String(all.filter((rule) => rule.foundations.includes(chip.dataset.foundation)).length);
    refresh();
  } catch (error) { if (!(error instanceof Trouble)) console.error(error); say("trouble", error.message); }
}
for (const chip of document.querySelectorAll("[data-foundation]")) chip.addEventListener("click", () => {
  const name = chip.dataset.foundation, on = !wantedFoundations.has(name);
  if (on) wantedFoundations.add(name); else wantedFoundations.delete(name);
  chip.setAttribute("aria-pressed", String(on));
  refresh();
});
for (const each of document.querySelectorAll("input[name=view]")) each.addEventListener("change", view);
$("to-audit").addEventListener("click", () => send(asYaml(), "yaml"));
$("to-mine").addEventListener("click", async () => { setRadio("view", "write"); view(); await editor.set(asYaml(), "yaml"); });
$("audit-mine").addEventListener("click", () => send($("book").value, $("form-of").value, warrant && { ...warrant, rules: warrant.rules.map(({ failed, ...rule }) => rule) }));
for (const name of Object.keys(given)) $(`${name}-clear`).addEventListener("click", () => give(name));
$("labels").addEventListener("change", async () => {
  const [file] = $("labels").files;
  if (file) await readLabels(() => file.arrayBuffer(), file.name);
  $("labels").value = "";
});
$("own-labels").addEventListener("click", () => readLabels(() => askText("GET", "/api/site/labels"), "labels.csv", "your audits"));
upload({ input: $("benign"), chooser: $("benign-chooser"), id: "benign-column", wants: EXCHANGES, use: (rows, name) => give("benign", rows.map(([prompt, reply]) => ({ prompt, reply })), name) });
$("save-warrant").addEventListener("click", () => download("rulebook.warrant.json", JSON.stringify(warrant, null, 1), "application/json"));
$("book").addEventListener("input", keep);
$("form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
await start();
document.documentElement.dataset.ready = "yes";
