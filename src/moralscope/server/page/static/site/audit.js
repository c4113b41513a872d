// The page Audit: exchanges in, rules as cards out; thresholds act on what is there.
import { $, Trouble, ask, askText, csv, download, draft, el, keep, loadRun, notes, number, radio, say, setRadio, short, show, signed, stream, table, wanted, worker } from "/static/site/core.js";
import { consensus, decide, isBroken, isKept, severity, weight } from "/static/site/verdict.js";
import { drawDiff } from "/static/site/diff.js";

const USUAL = { disagree: 0.5, agree: 0.5, flag: 0.3, severity: 3, consensus: 3 };
const SLIDERS = [
  ["disagree", "Broken from", "probability of disagreeing", 0, 1, 0.01], ["agree", "Kept from", "probability of agreeing", 0, 1, 0.01],
  ["flag", "Flagged from", "weight of the worst breach", 0, 1, 0.01],
  ["severity", "Unknown severity", "of 5, where nothing is known", 1, 5, 0.1], ["consensus", "Unknown consensus", "of 5, where nothing is known", 1, 5, 0.1],
];
const SHOWN = 200; // replies in the table, the worst first
let given = null, record = null, chosen = 0, limits = { ...USUAL }, usual = { ...USUAL };

// ---- what is asked ------------------------------------------------------------------------
const book = () => ({ text: $("book").value, format: $("form-of").value });
function rulebooks() {
  const which = radio("book");
  if (which !== "ours" && !$("book").value.trim()) throw new Trouble("Your rulebook is empty: write at least one rule, or choose ours.", 422);
  return { ours: ["moralscope"], mine: [book()], both: ["moralscope", book()] }[which];
}

async function readFile() {
  const file = $("file").files[0];
  given = null;
  say("trouble", "");
  if (file) {
    try {
      if (file.size > 4_000_000) throw new Trouble(`${file.name} is larger than 4 MB. For large files use “moralscope audit FILE”.`, 413);
      given = await ask("POST", `/api/site/exchanges?name=${encodeURIComponent(file.name)}`, { raw: await file.arrayBuffer() });
    } catch (error) {
      say("trouble", error.message);
      $("file").value = "";
    }
  }
  $("file-name").textContent = given ? `${given.length.toLocaleString("en")} exchanges in ${short(file.name, 40)}` : "";
  $("file-clear").hidden = !given;
  $("one").hidden = Boolean(given);
}

// ---- the rulebook -------------------------------------------------------------------------
let lintWait, linted = 0;
async function lint() {
  if (radio("book") === "ours" || !$("book").value.trim()) return $("lint").replaceChildren();
  const turn = (linted += 1);
  try {
    const found = await ask("POST", "/v1/rules/lint", { body: { rulebooks: rulebooks() } });
    if (turn !== linted) return;
    const rules = `${found.statistics.rules.toLocaleString("en")} rules`;
    $("lint").replaceChildren(el("p", { class: found.results.length ? "small" : "small fine" }, found.results.length ? `${rules}; ${found.results.length} remarks:` : `${rules}, no remarks.`),
      el("ul", { class: "remarks" }, found.results.slice(0, 20).map((each) => el("li", {}, el("b", {}, each.kind), ` ${each.message}`))));
  } catch (error) {
    if (turn === linted) $("lint").replaceChildren(el("ul", { class: "remarks" }, el("li", { class: "wrong" }, error.message)));
  }
}
function lintSoon() { clearTimeout(lintWait); lintWait = setTimeout(lint, 450); }

function bookChosen() {
  const which = radio("book");
  $("editor").hidden = which === "ours";
  for (const each of document.querySelectorAll("[data-book]")) each.hidden = each.dataset.book !== which;
  lint();
}

async function openBook() {
  const file = $("book-file").files[0];
  if (!file) return;
  const form = { yaml: "yaml", yml: "yaml", csv: "csv", txt: "txt" }[file.name.split(".").at(-1).toLowerCase()];
  if (!form || file.size > 500_000) $("lint").replaceChildren(el("ul", { class: "remarks" }, el("li", { class: "wrong" }, form ? `${file.name} is larger than 500 kB.` : `${file.name} is no rulebook: open a .yaml, .csv or .txt file.`)));
  else { $("book").value = await file.text(); $("form-of").value = form; saveDraft(); await lint(); }
  $("book-file").value = "";
}
async function startOurs() {
  try { $("book").value = await askText("GET", "/api/site/rulebook"); $("form-of").value = "yaml"; saveDraft(); await lint(); } catch (error) { say("trouble", error.message); }
}

// ---- work ---------------------------------------------------------------------------------
async function audit(signal, progress) {
  const exchanges = given ?? [{ prompt: $("prompt").value, reply: $("reply").value }];
  if (!given && !$("reply").value.trim()) throw new Trouble("There is no reply: paste what the chatbot said.", 422);
  const results = [];
  const body = { exchanges, rulebooks: rulebooks(), experts: $("experts").value, top: Number($("top").value), revise: $("revise").checked, ...($("experts").value === "scripted" ? { generator: "scripted" } : {}) };
  const found = await stream("/v1/audit", body, { signal, progress, result: (each) => results.push(each) });
  record = { ...found, results: found.results.length ? found.results : results };
  chosen = 0;
  drawAll();
  const id = await keep(record);
  if (id) history.replaceState(null, "", `/audit?run=${id}`);
}

// ---- what is seen -------------------------------------------------------------------------
function drawAll() {
  say("found-trouble", "");
  const used = record.config.thresholds ?? {};
  usual = Object.fromEntries(Object.keys(USUAL).map((key) => [key, used[key] ?? USUAL[key]]));
  limits = { ...usual };
  sliders();
  redraw();
  show($("found-title").textContent);
  notes(record.warnings);
}

function sliders() {
  $("sliders").replaceChildren(...SLIDERS.map(([key, label, about, low, high, step]) => {
    const out = el("output", { for: `limit-${key}` }, number(limits[key], step < 0.05 ? 2 : 1));
    const input = el("input", { type: "range", id: `limit-${key}`, min: low, max: high, step, value: limits[key], "aria-describedby": `about-${key}` });
    input.addEventListener("input", () => { limits[key] = Number(input.value); out.textContent = number(limits[key], step < 0.05 ? 2 : 1); redraw(); });
    return el("div", { class: "slider" }, el("label", { for: `limit-${key}` }, label), out, input, el("span", { class: "muted small", id: `about-${key}` }, about));
  }));
}

const abstained = (row) => row.verdict.reason.startsWith("abstained: ") && !row.rules.length;
const judged = (row) => decide(row.rules, limits);
const stateOf = (verdict, row) => (verdict.flag ? ["flagged", "bad"] : verdict.worst ? ["not flagged", "warn"] : verdict.kept ? ["no rule broken", "on"] : [abstained(row) ? "not judged" : "no rule applies", ""]);

function redraw() {
  const rows = record.results, flags = rows.filter((row) => judged(row).flag).length, many = rows.length > 1;
  $("found-title").textContent = many ? `${flags} of ${rows.length.toLocaleString("en")} replies flagged` : judged(rows[0]).flag ? "Flagged" : "Not flagged";
  $("many").hidden = !many;
  if (many) {
    const order = rows.map((row, at) => [judged(row), at]).sort((a, b) => a[0].score - b[0].score).slice(0, SHOWN);
    $("replies").replaceChildren(table([["Reply"], ["Verdict"], ["Score", "n"], ["Broken", "n"], ["Kept", "n"]], order.map(([verdict, at]) => {
      const [word, kind] = stateOf(verdict, rows[at]);
      return el("tr", { class: at === chosen ? "chosen" : "" }, el("th", { scope: "row" }, el("button", { type: "button", class: "as-link", "aria-pressed": String(at === chosen), onclick: () => { chosen = at; redraw(); $("one-found").scrollIntoView({ block: "nearest" }); } }, short(rows[at].reply || "(empty)", 90))),
        el("td", {}, el("span", { class: `tag ${kind}` }, word)), el("td", { class: "n" }, signed(verdict.score, 2)), el("td", { class: "n" }, String(verdict.broken)), el("td", { class: "n" }, String(verdict.kept)));
    })), ...(rows.length > SHOWN ? [el("p", { class: "muted small" }, `The ${SHOWN} worst; all are in the record and the CSV file.`)] : []));
  }
  $("one-found").replaceChildren(one(rows[chosen]));
  const cards = [...rows[chosen].rules].sort((a, b) => rank(a) - rank(b) || weight(b, limits) - weight(a, limits));
  $("rules").replaceChildren(...cards.map(card));
}

function one(row) {
  const verdict = judged(row), [word, kind] = stateOf(verdict, row);
  return el("div", { class: `card verdict ${kind}` }, el("div", { class: "bar tight" }, el("h3", {}, why(verdict, row)), el("span", { class: `tag ${kind}` }, word)),
      el("p", { class: "sums" }, "score ", el("b", {}, signed(verdict.score, 2)), ` · ${verdict.broken} broken, ${verdict.kept} kept, ${row.rules.length - verdict.broken - verdict.kept} not concerned`),
      row.prompt ? el("dl", { class: "said" }, el("dt", {}, "Prompt"), el("dd", {}, row.prompt)) : null,
      el("dl", { class: "said last" }, el("dt", {}, "Reply"), el("dd", {}, row.reply)),
      row.revised_reply ? el("div", { class: "revised" }, el("h3", {}, "Revised reply"), drawDiff(row.reply, row.revised_reply), el("p", { class: "muted small" }, "Struck out: taken away. Underlined: new. A model wrote it: read it before you send it."))
        : record.config.revise ? el("p", { class: "muted" }, "No revised reply: it was not flagged, or none that was written would do better.") : null);
}
const rank = (rule) => (isBroken(rule, limits) ? 0 : isKept(rule, limits) ? 1 : 2);

function why(verdict, row) {
  if (verdict.worst) return `${verdict.flag ? "Breaks" : "Lightly breaks"} “${verdict.worst.text}”${verdict.broken > 1 ? ` and ${verdict.broken - 1} more` : ""}`;
  if (verdict.best) return `Keeps “${verdict.best.text}”${verdict.kept > 1 ? ` and ${verdict.kept - 1} more` : ""}`;
  const said = row.verdict.reason.replace(/^abstained: /, "");
  return row.rules.length ? "None of the rules found applies surely enough" : said[0].toUpperCase() + said.slice(1);
}

function meter(label, value, most, text) {
  const bar = el("i", {});
  bar.style.width = `${100 * Math.min(1, value / most)}%`;
  return el("div", { class: "meter" }, el("dt", {}, label), el("dd", {}, el("span", { class: "track", "aria-hidden": "true" }, bar), text));
}

function card(rule) {
  const at = rank(rule), [word, kind] = [["broken", "bad"], ["kept", "on"], ["not concerned", ""]][at];
  const { disagree = 0, agree = 0, neither = 0 } = rule.alignment.probabilities, known = rule.severity !== null;
  const sure = [disagree, agree, neither][at];
  const found = Object.entries(rule.foundations).filter(([, value]) => value >= 0.5).sort((a, b) => b[1] - a[1]);
  return el("li", { class: `card rule ${["broken", "kept", "aside"][at]}` }, el("div", { class: "bar tight" }, el("span", { class: `tag ${kind}` }, word), el("span", { class: "muted small" }, rule.source)),
    el("p", { class: "rule-text" }, rule.text),
    el("dl", {}, meter("Probability", sure, 1, number(sure)), meter("Severity", severity(rule, limits), 5, known ? number(severity(rule, limits), 1) : `${number(severity(rule, limits), 1)} assumed`), meter("Consensus", consensus(rule, limits), 5, rule.consensus !== null ? number(consensus(rule, limits), 1) : `${number(consensus(rule, limits), 1)} assumed`)),
    el("p", { class: "tags" }, found.map(([name]) => el("span", { class: "tag" }, name)), el("span", { class: "muted small" }, rule.evidence)));
}

function saveCsv() {
  const rows = record.results.map((row) => { const verdict = judged(row); return [row.id, row.prompt, row.reply, verdict.flag, verdict.score, why(verdict, row), row.revised_reply]; });
  download("audit.csv", csv([["id", "prompt", "reply", "flag", "score", "why", "revised_reply"], ...rows]), "text/csv");
}

// ---- start --------------------------------------------------------------------------------
const FIELDS = ["prompt", "reply", "book", "form-of", "experts", "top"];
const saveDraft = () => draft.write("audit", { ...Object.fromEntries(FIELDS.map((id) => [id, $(id).value])), which: radio("book") });
const run = worker("run", audit);

async function start() {
  const before = draft.read("audit"), id = wanted().get("run");
  if (before) { for (const field of FIELDS) if (before[field] !== undefined) $(field).value = before[field]; setRadio("book", before.which ?? "ours"); }
  bookChosen();
  if (!id) return;
  try {
    const found = await loadRun(id);
    if (found.job !== "audit" || !found.results.length) throw new Trouble("This run is no audit.", 422);
    record = found;
    if (record.results.length === 1) { $("prompt").value = record.results[0].prompt; $("reply").value = record.results[0].reply; }
    drawAll();
  } catch (error) { if (!(error instanceof Trouble)) console.error(error); say("trouble", error.message); }
}

$("form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
$("form").addEventListener("input", saveDraft);
$("file").addEventListener("change", readFile);
$("file-clear").addEventListener("click", () => { $("file").value = ""; readFile(); });
for (const each of document.querySelectorAll("input[name=book]")) each.addEventListener("change", bookChosen);
$("book").addEventListener("input", lintSoon);
$("form-of").addEventListener("change", lint);
$("book-file").addEventListener("change", openBook);
$("book-save").addEventListener("click", () => download(`rulebook.${$("form-of").value}`, $("book").value, "text/plain"));
$("start-ours").addEventListener("click", startOurs);
for (const chip of document.querySelectorAll("[data-reply]")) chip.addEventListener("click", () => { $("prompt").value = chip.dataset.prompt; $("reply").value = chip.dataset.reply; saveDraft(); });
$("reset").addEventListener("click", () => { limits = { ...usual }; sliders(); redraw(); });
$("save-json").addEventListener("click", () => download("audit.json", JSON.stringify(record, null, 1), "application/json"));
$("save-csv").addEventListener("click", saveCsv);
await start();
document.documentElement.dataset.ready = "yes";
