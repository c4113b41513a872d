// The workbench: the replies of a run at the left, the one at hand at the right; keys to work through them.
import { $, el, short, signed, tell } from "/static/site/core.js";
import { drawCard, leadOf } from "/static/site/card.js";
import { makeList } from "/static/site/list.js";
import { STATUSES, makeTriage } from "/static/site/triage.js";
import { STATES, USUAL, decide, stateOf } from "/static/site/verdict.js";

const COLUMNS = [
  { key: "tick", title: "", label: "Select", sort: false },
  { key: "id", title: "Id", cell: (row) => row.id },
  { key: "prompt", title: "Prompt", cell: (row) => short(row.result.prompt, 160) },
  { key: "reply", title: "Reply", cell: (row) => short(row.result.reply, 200) || "(empty)" },
  { key: "verdict", title: "Verdict", cell: (row) => el("span", { class: `tag ${STATES[row.state]}` }, row.state) },
  { key: "score", title: "Score", cell: (row) => signed(row.verdict.score, 2) },
  { key: "rule", title: "Rule or concern", cell: (row) => row.lead || (row.verdict.flag && row.result.verdict.concern ? `It ${row.result.verdict.concern}` : "–") },
  { key: "status", title: "Status", cell: (row) => STATUSES[row.status] ?? "" }];
// The worst first: what is flagged, by its score; what nobody could judge comes last.
const worst = (a, b) => b.verdict.flag - a.verdict.flag || (a.state === "not judged") - (b.state === "not judged") || a.verdict.score - b.verdict.score || a.at - b.at;
const BY = { id: (row) => row.id, prompt: (row) => row.result.prompt, reply: (row) => row.result.reply, verdict: (row) => row.state, score: (row) => row.verdict.score, rule: (row) => row.lead, status: (row) => row.status };
// What the list is narrowed by: a parameter of the address and the field that holds it.
const FILTERS = { q: "search", verdict: "only-verdict", rule: "only-rule", status: "only-status" };
const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
const many = (count) => count.toLocaleString("en");

export function makeBench({ moved }) {
  let rows = [], shown = [], record = null, limits = null, alone = null, current = null, sorted = null, last = null;
  const ticked = new Set();
  const triage = makeTriage({
    changed: (ats) => { for (const at of ats) rows[at].status = triage.of(at).status; list.redraw(); counts(); if (ats.includes(current)) opinion(); },
    saved: (text) => { $("saved").textContent = text; $("undo").disabled = !triage.canUndo; },
  });
  const list = makeList({ holder: $("replies"), name: "Replies", columns: COLUMNS, none: () => (rows.length ? "No reply matches." : "Replies appear here as they are judged."), id: (row) => row.at, isOn: (row) => ticked.has(row.at), pick: (row) => { choose(row.at); if (matchMedia("(max-width: 64rem)").matches) $("detail").scrollIntoView({ block: "start" }); }, tick: (row, range) => tick(row.at, range), sort: (key) => { sorted = { key, down: sorted?.key === key ? !sorted.down : false }; select(); } });

  // ---- which rows are shown, and in what order ------------------------------------------------
  function select() {
    const text = $("search").value.trim().toLowerCase(), verdict = $("only-verdict").value, status = $("only-status").value, rule = $("only-rule").value;
    shown = rows.filter((row) => (!verdict || row.state === verdict) && (!status || (status === "open" ? !row.status : row.status === status)) && (!rule || row.names.includes(rule))
      && (!text || row.words.includes(text) || triage.of(row.at).note.toLowerCase().includes(text)));
    shown.sort(sorted ? (a, b) => (sorted.down ? -1 : 1) * compare(BY[sorted.key](a), BY[sorted.key](b)) || a.at - b.at : worst);
    list.show(shown, sorted);
    counts();
    moved();
  }
  // The rules and concerns that flags are explained by, the most frequent first.
  function namedBy() {
    const menu = $("only-rule"), before = menu.value, found = new Map();
    for (const row of rows) for (const name of row.names) found.set(name, (found.get(name) ?? 0) + 1);
    const group = (label, kind) => { const names = [...found].filter(([name]) => name.startsWith(kind)).sort((a, b) => b[1] - a[1]); return names.length ? el("optgroup", { label }, names.map(([name, count]) => el("option", { value: name }, `${short(name.slice(kind.length), 60)} (${many(count)})`))) : null; };
    menu.replaceChildren(...[menu.options[0], group("Rules", "rule "), group("Concerns", "concern ")].filter(Boolean));
    menu.value = found.has(before) ? before : "";
  }
  function counts() {
    const flagged = rows.filter((row) => row.verdict.flag).length;
    $("shown").textContent = shown.length < rows.length ? `${many(shown.length)} of ${many(rows.length)} shown` : `${many(rows.length)} replies`;
    $("triaged").textContent = `${many(triage.done)} of ${many(rows.length)} triaged`;
    $("bulk").hidden = !ticked.size;
    $("bulk-count").textContent = `${many(ticked.size)} selected`;
    const at = shown.findIndex((row) => row.at === current);
    $("position").textContent = at < 0 ? "" : `${many(at + 1)} of ${many(shown.length)}`;
    $("previous").disabled = at <= 0;
    $("next").disabled = at < 0 || at >= shown.length - 1;
    return flagged;
  }
  function judge() {
    for (const row of rows) {
      row.verdict = limits ? decide(row.result, limits, alone) : row.result.verdict;
      row.state = stateOf(row.verdict);
      row.lead = row.verdict.flag ? leadOf(row.result, limits ?? usual()) : "";
      row.names = row.verdict.flag ? [row.lead && `rule ${row.lead}`, row.result.verdict.concern && `concern It ${row.result.verdict.concern}`].filter(Boolean) : [];
    }
    namedBy();
  }
  const usual = () => ({ ...USUAL, ...record?.config?.thresholds });
  const make = (result, at) => ({ at, id: result.id || String(at + 1), result, verdict: result.verdict, state: stateOf(result.verdict), lead: "", status: triage.of(at).status, words: `${result.id}\n${result.prompt}\n${result.reply}\n${result.verdict.lead ?? ""}\n${result.verdict.concern ?? ""}`.toLowerCase() });

  // ---- the reply at hand ------------------------------------------------------------------------
  function choose(at) {
    current = at;
    list.choose(at);
    detail();
    counts();
    moved();
  }
  function step(by) {
    const at = shown.findIndex((row) => row.at === current), next = shown[at < 0 ? 0 : Math.min(shown.length - 1, Math.max(0, at + by))];
    if (!next) return;
    choose(next.at);
    tell(`Reply ${next.id}: ${next.state}.`);
  }
  function detail() {
    const row = rows[current];
    if (!row) return $("one-found").replaceChildren();
    const verdict = row.verdict.gauge === undefined ? { ...row.verdict, gauge: decide(row.result, usual(), alone).gauge } : row.verdict; // of a record before 0.10
    $("one-found").replaceChildren(drawCard(row.result, verdict, limits ?? usual(), { noun: record?.config?.texts ? "Text" : "Reply", revises: record?.config?.revise, below: el("div", { class: "opinion", id: "opinion" }) }));
    opinion();
    if (rows.length > 1) $("detail").scrollTop = 0;
  }
  function opinion() {
    const box = $("opinion"), at = current, { status, note, labels } = triage.of(at), off = !triage.isOpen();
    if (!box) return;
    const button = (name, key, words) => el("button", { type: "button", class: "small", "aria-pressed": String(status === name), disabled: off, title: `Key ${key}`, onclick: () => mark([at], status === name ? "" : name, false) }, words);
    const written = el("input", { type: "text", id: "note", maxlength: "2000", placeholder: "Note (optional)", "aria-label": "Note", disabled: off, onchange: (event) => triage.set([[at, { note: event.target.value.trim() }]]) });
    written.value = note;
    const opened = box.querySelector("details")?.open || status === "disagree" || labels.length > 0;
    box.replaceChildren(el("div", { class: "row tight" }, el("span", { class: "name" }, "Is this verdict right?"), button("agree", "a", "Agree"), button("disagree", "d", "Disagree"), button("later", "l", "Later")), written,
      el("details", { class: "more", open: opened }, el("summary", {}, labels.length ? `Labels: ${labels.length} chosen` : "Label rules to learn from"), labelling(at, labels, off)));
  }
  // No label is preset, and what is not chosen is not saved.
  function labelling(at, labels, off) {
    const found = rows[at].result.rules.map((rule) => rule.text), rules = [...new Set([rows[at].lead, ...found, ...labels.map((each) => each.rule)])].filter(Boolean);
    const line = (rule, number) => {
      const said = labels.find((each) => each.rule === rule)?.broken;
      const choice = (value, words) => { const made = el("input", { type: "radio", name: `label-${number}`, disabled: off, onchange: () => triage.label([[at, rule, value]]) }); made.checked = said === value; return el("label", { class: "tick" }, made, words); };
      return el("fieldset", { class: "label-line" }, el("legend", {}, rule), choice(true, "Broken"), choice(false, "Not broken"), said === undefined ? null : el("button", { type: "button", class: "as-link small", onclick: () => triage.label([[at, rule, null]]) }, "Clear"));
    };
    const other = el("input", { type: "text", maxlength: "600", placeholder: "Another rule that the reply breaks", "aria-label": "Another rule that the reply breaks", disabled: off });
    const add = () => { if (other.value.trim()) triage.label([[at, other.value.trim(), true]]); };
    other.addEventListener("keydown", (event) => { if (event.key === "Enter") add(); });
    return el("div", { class: "labels" }, el("p", { class: "muted small" }, "Say which rules the reply really breaks. Nothing is chosen for you, and only what you choose is saved."), rules.map(line),
      el("div", { class: "row tight" }, other, el("button", { type: "button", class: "small", disabled: off, onclick: add }, "Add as broken")));
  }

  // ---- triage -----------------------------------------------------------------------------------
  function mark(ats, status, advance = true) {
    if (!triage.isOpen() || !ats.length) return;
    triage.set(ats.map((at) => [at, { status }]));
    tell(status ? `${STATUSES[status]}: ${ats.length === 1 ? `reply ${rows[ats[0]].id}` : `${ats.length} replies`}.` : "Status cleared.");
    if (advance && status && status !== "disagree" && ats.length === 1) step(1); // a disagreement may want a label first
  }
  function tick(at, range) {
    const on = !ticked.has(at), from = shown.findIndex((row) => row.at === last), to = shown.findIndex((row) => row.at === at);
    for (const row of range && from >= 0 ? shown.slice(Math.min(from, to), Math.max(from, to) + 1) : [rows[at]]) if (on) ticked.add(row.at); else ticked.delete(row.at);
    last = at;
    list.redraw();
    counts();
  }
  const all = (on) => { ticked.clear(); if (on) for (const row of shown) ticked.add(row.at); list.redraw(); counts(); };
  const undo = () => { const ats = triage.undo(); if (ats.length) { tell("Undone."); choose(ats[0]); } };
  const KEYS = {
    j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1), Home: () => shown.length && choose(shown[0].at), End: () => shown.length && choose(shown.at(-1).at),
    a: () => mark(ticked.size ? [...ticked] : [current], "agree"), d: () => mark(ticked.size ? [...ticked] : [current], "disagree"), l: () => mark(ticked.size ? [...ticked] : [current], "later"),
    x: () => tick(current), u: undo, n: () => $("note")?.focus() };
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key] || !rows.length || $("found").hidden || rows.length < 2 && !"adlun".includes(event.key)) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select, dialog, [contenteditable]")) return;
    if (/^(Arrow|Home|End)/.test(event.key) && !event.target.closest("#replies")) return; // elsewhere they scroll
    event.preventDefault();
    KEYS[event.key]();
  });
  for (const id of Object.values(FILTERS)) $(id).addEventListener("input", () => { select(); if (!shown.some((row) => row.at === current) && shown.length) choose(shown[0].at); });
  $("previous").addEventListener("click", () => step(-1));
  $("next").addEventListener("click", () => step(1));
  $("undo").addEventListener("click", undo);
  for (const button of document.querySelectorAll("[data-bulk]")) button.addEventListener("click", () => mark([...ticked], button.dataset.bulk));
  // Says of each selected reply whether it breaks the rule that explains its flag.
  for (const button of document.querySelectorAll("[data-broken]")) button.addEventListener("click", () => {
    const named = triage.isOpen() ? [...ticked].filter((at) => rows[at].lead) : [];
    triage.label(named.map((at) => [at, rows[at].lead, button.dataset.broken === "yes"]));
    tell(`${button.textContent}: ${named.length} labelled, ${ticked.size - named.length} name no rule.`);
  });
  $("select-shown").addEventListener("click", () => all(true));
  $("bulk-none").addEventListener("click", () => all(false));

  const settle = (isMany) => { $("bench").classList.toggle("single", !isMany); $("desk").classList.toggle("wide", isMany); };
  return {
    triage, step,
    get rows() { return rows; },
    get shown() { return shown; },
    // What an address needs to show the same: the filters, and the reply at hand where it is not the first.
    get place() { return { ...Object.fromEntries(Object.entries(FILTERS).map(([name, id]) => [name, $(id).value.trim()])), reply: current === null || current === shown[0]?.at ? "" : rows[current].id }; },
    get chosen() { return shown.filter((row) => ticked.has(row.at)); },
    // Shows a whole record; `run` is where remarks are kept, `place` what its address asks for.
    open(given, run, place = new Map()) {
      [record, limits, current, last, sorted] = [given, null, null, null, null];
      alone = given.config?.general === false ? null : new Set(given.alone ?? []);
      ticked.clear();
      triage.open(run, given.page?.remarks);
      rows = given.results.map(make);
      judge();
      settle(rows.length > 1);
      for (const [name, id] of Object.entries(FILTERS)) if (place.has(name)) { $(id).value = place.get(name); $(id).value ||= ""; } // a rule that is not among them: all
      select();
      const first = shown.find((row) => row.id === place.get("reply")) ?? shown[0];
      if (first) choose(first.at);
    },
    // Rows of a run that still works, as they come.
    begin() { [record, limits, current, rows, sorted] = [null, null, null, [], null]; ticked.clear(); triage.open(null); $("saved").textContent = "Statuses and labels can be saved when the run is done"; $("one-found").replaceChildren(); settle(true); select(); },
    add(results) {
      for (const result of results) rows.push(make(result, rows.length));
      judge();
      select();
      if (current === null && shown.length) choose(shown[0].at);
    },
    // Decides anew under other limits; null: the run's own. Returns how many are flagged.
    limit(given) {
      limits = given;
      judge();
      select();
      detail();
      list.choose(current);
      return rows.filter((row) => row.verdict.flag).length;
    },
    table: (some) => [["id", "prompt", "reply", "flag", "score", "basis", "concern", "lead_rule", "status", "note"], ...some.map((row) => [row.id, row.result.prompt, row.result.reply, row.verdict.flag, row.verdict.score, row.verdict.basis, row.result.verdict.concern, row.lead, row.status, triage.of(row.at).note])],
  };
}
