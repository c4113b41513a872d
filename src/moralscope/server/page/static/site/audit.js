// The page Audit: exchanges in; verdicts, evidence and rules out, on a workbench (bench.js).
import { $, EXCHANGES, Trouble, askText, download, csv, draft, drawPage, loadRun, notes, openShared, radio, say, setRadio, shareBar, short, show, upload, wanted, worker } from "/static/site/core.js";
import { readConversations } from "/static/site/conversations.js";
import { bookEditor } from "/static/site/book.js";
import { makeBench } from "/static/site/bench.js";
import { makeLimits } from "/static/site/limits.js";

let given = null, source = "", record = null, kept = null, request = {}, warrant = null;

// ---- texts that are no replies --------------------------------------------------------------
const isText = () => radio("kind") === "text", isTalk = () => radio("kind") === "talk";
const noun = () => (isText() ? "texts" : "replies");
// Rows as a request has them: (prompt, reply), or the text alone.
const pack = (rows) => (isText() ? { texts: rows.map((row) => row.at(-1)) } : { exchanges: rows.map(([prompt, reply], at) => ({ prompt, reply, id: String(at + 1) })) });
const wants = () => (isText() ? [["Texts are in", ["text", "post", "message", "comment", "reply", "line"]]] : EXCHANGES);
function kindChosen() {
  $("prompt-field").hidden = isText();
  $("talk-field").hidden = !isTalk();
  $("one").hidden = $("file-field").hidden = isTalk();
  $("revise").disabled = isText() || isTalk();
  $("reply-name").textContent = isText() ? "Text" : "Reply";
  $("reply-hint").textContent = isText() ? "a post, a comment or a message" : "what the chatbot said";
}

// ---- what is asked ------------------------------------------------------------------------
// A rulebook brings the warrant along that Rules made of it, as long as it has one of its rules.
const book = () => ({ text: $("book").value, format: $("form-of").value, ...(warrant?.rules.some(({ rule }) => $("book").value.includes(rule)) ? { warrant } : {}) });
function rulebooks() {
  const which = radio("book");
  if (which !== "ours" && !$("book").value.trim()) throw new Trouble("Your rulebook is empty. Write at least one rule, or choose Ours.", 422);
  return { ours: ["moralscope"], mine: [book()], both: ["moralscope", book()] }[which];
}
const limitInputs = () => [...document.querySelectorAll("[data-limit]")];
function thresholds() {
  const found = {};
  for (const each of limitInputs()) {
    if (each.value === "" && each.validity.valid) continue;
    if (!each.checkValidity()) { $("more").open = true; each.focus(); throw new Trouble(`“${each.labels[0].textContent}” must be a number from ${each.min} to ${each.max}.`, 422); }
    found[each.dataset.limit] = Number(each.value);
  }
  return found;
}
const whatToAudit = () => (isTalk() ? { conversations: readConversations($("talk").value) } : pack(given ?? [[$("prompt").value, $("reply").value]]));
function asked() {
  if (isTalk() && !$("talk").value.trim()) { $("talk").focus(); throw new Trouble("Paste the conversation first.", 422); }
  if (!isTalk() && !given && !$("reply").value.trim()) { $("reply").focus(); throw new Trouble(isText() ? "Paste the text first." : "Paste the chatbot’s reply first.", 422); }
  const scripted = $("experts").value === "scripted" ? { generator: "scripted" } : {};
  return { request: { ...whatToAudit(), rulebooks: rulebooks(), experts: $("experts").value, top: Number($("top").value), revise: $("revise").checked && !$("revise").disabled, ...($("explain").checked ? { explain: "all" } : {}), thresholds: thresholds(), ...scripted }, source };
}
function useFile(rows, name) {
  given = rows;
  source = rows ? name : "";
  $("file-name").textContent = given ? `${given.length.toLocaleString("en")} ${isText() ? "texts" : "exchanges"} in ${short(name, 40)}` : "";
  $("file-clear").hidden = !given;
  $("one").hidden = Boolean(given);
}
const editor = bookEditor({ changed: () => saveDraft(), books: () => (radio("book") === "ours" || !$("book").value.trim() ? null : rulebooks()) });
function bookChosen() {
  const which = radio("book");
  $("editor").hidden = which === "ours";
  for (const each of document.querySelectorAll("[data-book]")) each.hidden = each.dataset.book !== which;
  editor.lint();
}

// ---- what is seen -------------------------------------------------------------------------
// The address shows the same run, filters and reply to whoever opens it; it is written when the keys rest.
let writing = 0;
const address = () => `/audit?${new URLSearchParams([["run", kept ?? ""], ...Object.entries(bench.place).filter(([, value]) => value)])}`;
const moved = () => { clearTimeout(writing); writing = setTimeout(() => { if (kept && !$("bench").hidden) history.replaceState(null, "", address()); }, 300); };
const bench = makeBench({ moved });
const limits = makeLimits({ changed: (moved) => bench.limit(moved), request: (rows) => ({ ...request, ...pack(rows) }), wants });

// Conversations are shown as the report shows them: threads, the turn that goes wrong marked.
function drawTalks() {
  const talks = record.results, flags = talks.filter((each) => each.verdict.flag).length;
  folded(false);
  show(talks.length > 1 ? `${flags.toLocaleString("en")} of ${talks.length.toLocaleString("en")} conversations flagged` : talks[0].first === null ? "Nothing goes wrong" : `Turn ${talks[0].first} goes wrong`);
  drawPage(record.view, $("views"), { skip: talks.length > 1 ? [] : ["Conversations"] });
  const turns = talks.flatMap((talk) => talk.turns.map((turn) => ({ conversation: talk.id, turn: turn.index, role: turn.role, text: turn.reply, flagged: turn.verdict.flag, score: turn.verdict.score, reason: turn.verdict.reason })));
  return { chart: () => null, rows: () => [Object.keys(turns[0]), ...turns.map(Object.values)] };
}

function drawAll() {
  say("found-trouble", "");
  const isThread = record.job !== "audit";
  for (const id of ["limits", "bench", "save-labels"]) $(id).hidden = isThread;
  if (isThread) {
    $("views").hidden = false;
    notes(record.warnings);
    return shareBar({ name: "conversations", link: () => `/audit?run=${kept ?? ""}`, record: () => record, run: () => kept, ...drawTalks() });
  }
  const rows = record.results, flags = rows.filter((row) => row.verdict.flag).length, many = rows.length > 1;
  bench.open(record, kept, wanted().get("run") === kept ? wanted() : undefined);
  limits.open(record);
  folded(many);
  show(many ? `${flags.toLocaleString("en")} of ${rows.length.toLocaleString("en")} ${noun()} flagged` : "Verdict");
  $("views").hidden = !many;
  if (many) drawPage(record.view, $("views"), { skip: ["Every reply", "Worst replies", "The worst replies in full", "The worst texts in full"] });
  notes(record.warnings);
  for (const each of limitInputs()) each.placeholder = record.config.thresholds?.[each.dataset.limit] ?? each.placeholder;
  shareBar({ name: "audit", link: address, record: () => record, run: () => kept, chart: () => (many ? $("views").querySelector(".chart") : null), rows: () => bench.table(bench.rows) });
}
// With many replies the form makes room for them.
function folded(is) {
  $("edit").hidden = !is;
  $("form").hidden = is;
  $("edit").setAttribute("aria-expanded", String(!is));
}
$("edit").addEventListener("click", () => { const isHidden = $("form").hidden; $("form").hidden = !isHidden; $("edit").setAttribute("aria-expanded", String(isHidden)); if (isHidden) $("form").querySelector("input, textarea, button").focus(); });
$("bulk-csv").addEventListener("click", () => download("audit-selected.csv", csv(bench.table(bench.chosen)), "text/csv"));
$("save-labels").addEventListener("click", async () => {
  if (!bench.triage.labels()) return say("found-trouble", "No labels yet. Choose “Broken” or “Not broken” for a rule first.");
  try { download("labels.csv", await askText("GET", `/api/site/labels?run=${kept}`), "text/csv"); } catch (error) { say("found-trouble", error.message); }
  return undefined;
});
$("limits-use").addEventListener("click", () => { for (const [name, value] of Object.entries(limits.moved)) $(`limit-${name}`).value = value; $("more").open = true; if ($("form").hidden) $("edit").click(); });

// ---- start --------------------------------------------------------------------------------
const FIELDS = ["prompt", "reply", "talk", "book", "form-of", "experts", "top"];
const saveDraft = () => draft.write("audit", { ...Object.fromEntries(FIELDS.map((id) => [id, $(id).value])), which: radio("book"), warrant });
// Rows come while the run works; they are drawn together, not one by one.
let coming = [], soon = 0;
const arrive = () => { soon = 0; const some = coming; coming = []; bench.add(some); $("found-title").textContent = `${bench.rows.length.toLocaleString("en")} of ${given?.length.toLocaleString("en") ?? "?"} ${noun()} audited`; };
const run = worker("run", "audit", {
  ask: () => { const all = asked(); request = { ...all.request, exchanges: undefined, texts: undefined, conversations: undefined }; return all; },
  begin: () => { if ((given?.length ?? 0) < 2) return; coming = []; bench.begin(); $("empty").hidden = $("views").hidden = true; $("found").hidden = false; $("found").classList.remove("stale"); arrive(); },
  result: (result) => { if ((given?.length ?? 0) < 2) return; coming.push(result); soon ||= setTimeout(arrive, 150); },
  done: (found, id) => {
    clearTimeout(soon);
    [coming, soon] = [[], 0];
    [record, kept] = [found, id];
    drawAll();
    if (id) history.replaceState(null, "", `/audit?run=${id}`);
  } });

function restore(asked) {
  if (asked.experts) $("experts").value = asked.experts;
  if (asked.top) $("top").value = String(asked.top);
  $("revise").checked = Boolean(asked.revise);
  $("explain").checked = asked.explain === "all";
  for (const each of limitInputs()) each.value = asked.thresholds?.[each.dataset.limit] ?? "";
  const books = asked.rulebooks ?? ["moralscope"], mine = books.find((each) => typeof each === "object");
  setRadio("book", mine ? (books.includes("moralscope") ? "both" : "mine") : "ours");
  if (mine) { $("book").value = mine.text; $("form-of").value = mine.format ?? "yaml"; warrant = mine.warrant ?? null; }
  $("more").open = $("revise").checked || Object.keys(asked.thresholds ?? {}).length > 0;
}
async function open(id) {
  const found = await loadRun(id);
  if (!["audit", "audit conversations"].includes(found.job) || !found.results.length) throw new Trouble("This run isn’t an audit.", 422);
  [record, kept] = [found, id];
  request = found.page?.request ?? { ...found.config.options, rulebooks: undefined };
  const isThread = found.job !== "audit";
  setRadio("kind", isThread ? "talk" : found.config.texts ? "text" : "reply");
  kindChosen();
  restore(request);
  if (isThread) {
    const talks = request.conversations ?? [];
    $("talk").value = talks.length === 1 ? JSON.stringify(talks[0], null, 1) : talks.map((each) => JSON.stringify(each)).join("\n");
    source = found.page?.source ?? "";
    bookChosen();
    return drawAll();
  }
  const rows = found.results.map((row) => [row.prompt, row.reply]);
  if (rows.length > 1) useFile(rows, found.page?.source || "this run");
  else { [$("prompt").value, $("reply").value] = rows[0]; source = found.page?.source ?? ""; }
  bookChosen();
  drawAll();
}
async function start() {
  const before = draft.read("audit"), id = wanted().get("run"), sent = draft.read("sent-book");
  if (before) { for (const field of FIELDS) if (before[field] !== undefined) $(field).value = before[field]; setRadio("book", before.which ?? "ours"); warrant = before.warrant ?? null; }
  if (sent) { $("book").value = sent.text; $("form-of").value = sent.format; setRadio("book", "mine"); warrant = sent.warrant ?? null; draft.write("sent-book", null); saveDraft(); }
  bookChosen();
  if (!id) return run.resume();
  await openShared(id, open);
  if (record && wanted().get("again")) run();
}

$("form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
$("form").addEventListener("input", saveDraft);
upload({ input: $("upload"), chooser: $("chooser"), wants, use: useFile });
$("talk-file").addEventListener("change", async () => {
  const [file] = $("talk-file").files;
  $("talk-file").value = "";
  if (!file) return;
  if (file.size > 4_000_000) return say("trouble", `${short(file.name, 60)} is larger than 4 MB. Use the command line: “moralscope audit --conversation FILE”.`);
  $("talk").value = await file.text();
  source = file.name;
});
$("talk").addEventListener("input", () => { source = ""; });
$("file-clear").addEventListener("click", () => useFile(null));
for (const each of document.querySelectorAll("input[name=book]")) each.addEventListener("change", bookChosen);
for (const each of document.querySelectorAll("input[name=kind]")) each.addEventListener("change", () => { useFile(null); kindChosen(); });
for (const chip of document.querySelectorAll("[data-reply]")) chip.addEventListener("click", () => { useFile(null); setRadio("kind", "reply"); kindChosen(); $("prompt").value = chip.dataset.prompt; $("reply").value = chip.dataset.reply; saveDraft(); });
$("reset").addEventListener("click", () => { for (const each of limitInputs()) each.value = ""; });
await start();
document.documentElement.dataset.ready = "yes";
