// The page Audit: exchanges in; verdict, evidence and rules out. Verdicts are the record's, never the page's.
import { $, Trouble, ask, askText, download, draft, drawPage, el, loadRun, notes, number, openShared, radio, say, setRadio, shareBar, short, show, signed, tell, upload, wanted, worker } from "/static/site/core.js";
import { bookEditor } from "/static/site/book.js";
import { drawDiff } from "/static/site/diff.js";

const { makeTable } = globalThis.moralscope.view;
const DOES = { disagree: "breaks", agree: "keeps", neither: "does not concern" }; // by alignment
const STANCES = { breaks: ["bad", "broken"], keeps: ["on", "kept"], "may break": ["", "aside"], "may keep": ["", "aside"], "does not concern": ["", "aside"] };
const STATES = { flagged: "bad", "not flagged": "on", "not judged": "" };
const BASES = { reply: "the reply itself", rule: "a rule that it breaks", both: "the reply itself and a rule that it breaks", unread: "text that no model read" };
let given = null, source = "", record = null, kept = null, chosen = 0;

// ---- what is asked ------------------------------------------------------------------------
const book = () => ({ text: $("book").value, format: $("form-of").value });
function rulebooks() {
  const which = radio("book");
  if (which !== "ours" && !$("book").value.trim()) throw new Trouble("Your rulebook is empty: write at least one rule, or choose ours.", 422);
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
function asked() {
  const exchanges = given ?? [{ prompt: $("prompt").value, reply: $("reply").value }];
  if (!given && !$("reply").value.trim()) { $("reply").focus(); throw new Trouble("There is no reply: paste what the chatbot said.", 422); }
  const scripted = $("experts").value === "scripted" ? { generator: "scripted" } : {};
  return { request: { exchanges, rulebooks: rulebooks(), experts: $("experts").value, top: Number($("top").value), revise: $("revise").checked, ...($("explain").checked ? { explain: "all" } : {}), thresholds: thresholds(), ...scripted }, source };
}
function useFile(rows, name) {
  given = rows ? rows.map(([prompt, reply], at) => ({ prompt, reply, id: String(at + 1) })) : null;
  source = rows ? name : "";
  $("file-name").textContent = given ? `${given.length.toLocaleString("en")} exchanges in ${short(name, 40)}` : "";
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
// Broken and kept are what the limits of the run say (rules/verdict.py); below them a reply may break or keep a rule.
const chance = (rule, label) => rule.alignment?.probabilities?.[label] ?? 0, limit = (label) => record.config.thresholds?.[label] ?? 0.5;
const labelOf = (rule) => (DOES[rule.alignment?.label] ? rule.alignment.label : "neither");
const stanceOf = (rule) => (chance(rule, "disagree") >= (rule.limit ?? limit("disagree")) ? "breaks" : chance(rule, "agree") >= limit("agree") ? "keeps" : { disagree: "may break", agree: "may keep" }[labelOf(rule)] ?? "does not concern");
const weight = (rule) => (rule.severity ?? 3) * (rule.consensus ?? 3);
// Broken rules come as the verdict names them: the largest margin to its own limit first.
const order = (row) => { const broken = row.verdict.broken ?? [], place = (rule) => (broken.includes(rule.text) ? broken.indexOf(rule.text) : broken.length); return [...row.rules].sort((a, b) => Object.keys(STANCES).indexOf(stanceOf(a)) - Object.keys(STANCES).indexOf(stanceOf(b)) || place(a) - place(b) || weight(b) - weight(a)); };
const count = (row, stance) => row.rules.filter((rule) => stanceOf(rule) === stance).length;
// The page's main table has the replies in this order: the worst first.
const worstFirst = () => record.results.map((row, at) => at).sort((a, b) => record.results[a].verdict.score - record.results[b].verdict.score);
const mainTable = () => { const [section, block] = record.view.main; return record.view.sections[section].blocks[block]; };
const stateOf = (at) => mainTable().rows[worstFirst().indexOf(at)]?.[1] ?? "not flagged";

function drawAll() {
  say("found-trouble", "");
  const rows = record.results, flags = rows.filter((row) => row.verdict.flag).length, many = rows.length > 1, state = stateOf(0);
  show(many ? `${flags.toLocaleString("en")} of ${rows.length.toLocaleString("en")} replies flagged` : state[0].toUpperCase() + state.slice(1));
  for (const part of [$("many"), $("views")]) part.hidden = !many;
  if (many) list();
  one();
  notes(record.warnings);
  for (const each of limitInputs()) each.placeholder = record.config.thresholds?.[each.dataset.limit] ?? each.placeholder;
  shareBar({ name: "audit", link: () => `/audit?run=${kept ?? ""}`, record: () => record, run: () => kept, chart: () => (many ? $("views").querySelector(".chart") : null),
    rows: () => [["id", "prompt", "reply", "flag", "score", "basis", "concern", "reason", "revised_reply"], ...rows.map((row) => [row.id, row.prompt, row.reply, row.verdict.flag, row.verdict.score, row.verdict.basis, row.verdict.concern, row.verdict.reason, row.revised_reply])] });
}

function list() {
  const main = mainTable(), places = worstFirst(), at = (row) => places[main.rows.indexOf(row)];
  chosen = places[0];
  drawPage(record.view, $("views"), { click: (row) => pick(at(row)), skip: ["Every reply", "Worst replies"] });
  $("replies").replaceChildren(makeTable(main, { click: (row) => pick(at(row)), csv: false, attributes: (row) => ({ "data-at": at(row) }) }));
}
function pick(at) {
  chosen = at;
  one();
  $("one-found").scrollIntoView({ block: "nearest" });
}

function one() {
  const row = record.results[chosen], word = stateOf(chosen), kind = STATES[word] ?? "", rules = order(row), { reason } = row.verdict;
  for (const line of document.querySelectorAll("#replies tr[data-at]")) line.classList.toggle("chosen", Number(line.dataset.at) === chosen);
  $("one-found").replaceChildren(el("div", { class: `card verdict ${kind}` },
    el("div", { class: "bar tight" }, el("h3", {}, reason.slice(0, 1).toUpperCase() + reason.slice(1)), el("span", { class: `tag ${kind}` }, word)),
    evidence(row, rules),
    row.prompt ? el("dl", { class: "said" }, el("dt", {}, "Prompt"), el("dd", {}, row.prompt)) : null,
    el("dl", { class: "said last" }, el("dt", {}, "Reply"), el("dd", {}, row.reply)),
    row.revised_reply ? el("div", { class: "revised" }, el("h3", {}, "Revised reply"), drawDiff(row.reply, row.revised_reply), el("p", { class: "muted small" }, "Struck out: taken away. Underlined: new. A model wrote it: read it before you send it."))
      : record.config.revise || record.config.options?.revise ? el("p", { class: "muted" }, "No revised reply: it was not flagged, or none that was written would do better.") : null,
    opinion(row, rules)));
  $("rules-title").hidden = !rules.length;
  $("rules").replaceChildren(...rules.map(card));
}

// What the verdict rests on, right below it: the figures, and the rule that weighs most.
function evidence(row, rules) {
  const { verdict } = row, deciding = rules.find((rule) => stanceOf(rule) !== "does not concern");
  const facts = [el("span", {}, "score ", el("b", {}, signed(verdict.score, 2)), " from −1 (worst) to +1 (best)")];
  if (verdict.basis) facts.push(el("span", {}, "flagged by ", el("b", {}, BASES[verdict.basis] ?? verdict.basis)));
  if (verdict.concern) facts.push(el("span", {}, "concern ", el("b", {}, verdict.concern)));
  if (typeof verdict.probability === "number") facts.push(el("span", {}, el("b", {}, `${Math.round(100 * verdict.probability)} %`), " probability that people would call the reply bad"));
  if (rules.length) facts.push(el("span", {}, `breaks ${count(row, "breaks")} rules, keeps ${count(row, "keeps")}; ${rules.length - count(row, "breaks") - count(row, "keeps")} not sure or not concerned`));
  return el("div", { class: "evidence" }, el("p", { class: "sums facts-line" }, facts),
    deciding ? el("blockquote", { class: STANCES[stanceOf(deciding)][1] }, el("p", {}, deciding.text), el("p", { class: "muted small" }, likely(deciding), deciding.severity !== null && deciding.severity !== undefined ? ` · severity ${number(deciding.severity, 1)} of 5` : "", deciding.consensus !== null && deciding.consensus !== undefined ? ` · consensus ${number(deciding.consensus, 1)} of 5` : "")) : null,
    row.unread ? el("p", { class: "callout small" }, `${row.unread.toLocaleString("en")} characters were not read by any model.`) : null);
}
const about = (rule) => ({ breaks: "disagree", "may break": "disagree", keeps: "agree", "may keep": "agree" }[stanceOf(rule)] ?? "neither"); // the alignment its stance rests on
const likely = (rule) => `${Math.round(100 * chance(rule, about(rule)))} % probability that the reply ${DOES[about(rule)]} this rule`;

function track(share) {
  const bar = el("i", {});
  bar.style.width = `${100 * Math.min(1, share)}%`;
  return el("span", { class: "track", "aria-hidden": "true" }, bar);
}
function meter(label, value, most, text) {
  return el("div", { class: "meter" }, el("dt", {}, label), el("dd", {}, track(value / most), text));
}
function card(rule) {
  const word = stanceOf(rule), [kind, look] = STANCES[word], sure = chance(rule, about(rule));
  const found = Object.entries(rule.foundations ?? {}).filter(([, value]) => value >= 0.5).sort((a, b) => b[1] - a[1]);
  const scale = (name) => (rule[name] === null || rule[name] === undefined ? el("div", { class: "meter" }, el("dt", {}, name[0].toUpperCase() + name.slice(1)), el("dd", {}, el("span", {}), "unknown")) : meter(name[0].toUpperCase() + name.slice(1), rule[name], 5, `${number(rule[name], 1)} of 5`));
  return el("li", { class: `card rule ${look}` }, el("div", { class: "bar tight" }, el("span", { class: `tag ${kind}` }, word), el("span", { class: "muted small" }, rule.source)),
    el("p", { class: "rule-text" }, rule.text),
    el("p", { class: "likely" }, likely(rule), track(sure)), el("dl", {}, scale("severity"), scale("consensus")),
    el("p", { class: "tags" }, found.map(([name]) => el("span", { class: "tag" }, name)), el("span", { class: "muted small" }, rule.evidence ?? "")));
}

// ---- what its reader thinks ---------------------------------------------------------------
function opinion(row, rules) {
  if (!kept) return null;
  const before = record.page?.remarks?.find((each) => each.result === chosen), at = chosen;
  const rule = rules[0], menu = el("select", { "aria-label": "What the reply does with the rule" }, Object.entries(DOES).map(([label, does]) => el("option", { value: label }, `the reply ${does} it`)));
  const comment = el("input", { type: "text", maxlength: "2000", placeholder: "Comment (optional)", "aria-label": "Comment" }), state = el("span", { class: "muted small", role: "status" });
  // Where no rule was found, its reader may name one: without a rule there is nothing to learn from.
  const named = rule ? null : el("input", { type: "text", maxlength: "600", placeholder: "The rule that it breaks or keeps", "aria-label": "Rule" });
  menu.value = before?.alignment ?? (rule ? labelOf(rule) : row.verdict.flag ? "neither" : "disagree");
  if (named) named.value = before?.rule ?? "";
  comment.value = before?.comment ?? "";
  const save = async (verdict) => {
    const remark = { result: at, verdict, rule: rule?.text ?? named.value.trim(), alignment: rule && verdict === "agree" ? labelOf(rule) : menu.value, comment: comment.value };
    try {
      await ask("POST", `/api/site/runs/${kept}/remarks`, { body: remark });
      record.page = { ...record.page, remarks: [...(record.page?.remarks ?? []).filter((each) => each.result !== at), ...(verdict ? [remark] : [])] };
      draw(verdict);
      tell("Saved.");
    } catch (error) { state.textContent = error.message; }
  };
  const agree = el("button", { type: "button", class: "small", onclick: () => save("agree") }, "Agree"), disagree = el("button", { type: "button", class: "small", onclick: () => { if (rule && menu.value === labelOf(rule)) menu.value = labelOf(rule) === "disagree" ? "neither" : "disagree"; save("disagree"); } }, "Disagree");
  const more = el("div", { class: "row tight", hidden: true }, named, menu, comment, el("button", { type: "button", class: "small", onclick: () => save(disagree.getAttribute("aria-pressed") === "true" ? "disagree" : "agree") }, "Save"), el("button", { type: "button", class: "small quiet", onclick: () => save("") }, "Take back"));
  const draw = (verdict) => {
    agree.setAttribute("aria-pressed", String(verdict === "agree"));
    disagree.setAttribute("aria-pressed", String(verdict === "disagree"));
    more.hidden = !verdict;
    menu.hidden = rule && verdict !== "disagree";
    const all = record.page?.remarks?.filter((each) => each.rule).length ?? 0;
    state.replaceChildren(verdict ? "Saved. " : "", all ? el("button", { type: "button", class: "as-link", onclick: async () => download("remarks.csv", await askText("GET", `/api/site/remarks?run=${kept}`), "text/csv") }, `${all} ${all === 1 ? "remark" : "remarks"} as training data`) : "");
  };
  draw(before?.verdict ?? "");
  return el("div", { class: "opinion" }, el("div", { class: "row" }, el("span", { class: "name" }, "Do you agree with this verdict?"), agree, disagree, state), more);
}

// ---- start --------------------------------------------------------------------------------
const FIELDS = ["prompt", "reply", "book", "form-of", "experts", "top"];
const saveDraft = () => draft.write("audit", { ...Object.fromEntries(FIELDS.map((id) => [id, $(id).value])), which: radio("book") });
const run = worker("run", "audit", { ask: asked, done: (found, id) => {
  [record, kept, chosen] = [found, id, 0];
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
  if (mine) { $("book").value = mine.text; $("form-of").value = mine.format ?? "yaml"; }
  $("more").open = $("revise").checked || Object.keys(asked.thresholds ?? {}).length > 0;
}
async function open(id) {
  const found = await loadRun(id);
  if (found.job !== "audit" || !found.results.length) throw new Trouble("This run is no audit.", 422);
  [record, kept, chosen] = [found, id, 0];
  restore(found.page?.request ?? { ...found.config.options, rulebooks: undefined });
  const rows = found.results.map((row) => [row.prompt, row.reply]);
  if (rows.length > 1) useFile(rows, found.page?.source || "this run");
  else { [$("prompt").value, $("reply").value] = rows[0]; source = found.page?.source ?? ""; }
  bookChosen();
  drawAll();
}
async function start() {
  const before = draft.read("audit"), id = wanted().get("run"), sent = draft.read("sent-book");
  if (before) { for (const field of FIELDS) if (before[field] !== undefined) $(field).value = before[field]; setRadio("book", before.which ?? "ours"); }
  if (sent) { $("book").value = sent.text; $("form-of").value = sent.format; setRadio("book", "mine"); draft.write("sent-book", null); saveDraft(); }
  bookChosen();
  if (!id) return run.resume();
  await openShared(id, open);
  if (record && wanted().get("again")) run();
}

$("form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
$("form").addEventListener("input", saveDraft);
upload({ input: $("upload"), chooser: $("chooser"), wants: [["Prompts are in", ["prompt", "question", "q", "user", "input"]], ["Replies are in", ["reply", "response", "answer", "a", "assistant", "output", "completion"]]], use: (rows, name) => { if (rows.length > 1000) return say("trouble", `${name} holds ${rows.length.toLocaleString("en")} exchanges: the page takes 1,000. For more use “moralscope audit FILE”.`); useFile(rows, name); } });
$("file-clear").addEventListener("click", () => useFile(null));
for (const each of document.querySelectorAll("input[name=book]")) each.addEventListener("change", bookChosen);
for (const chip of document.querySelectorAll("[data-reply]")) chip.addEventListener("click", () => { useFile(null); $("prompt").value = chip.dataset.prompt; $("reply").value = chip.dataset.reply; saveDraft(); });
$("reset").addEventListener("click", () => { for (const each of limitInputs()) each.value = ""; });
await start();
document.documentElement.dataset.ready = "yes";
