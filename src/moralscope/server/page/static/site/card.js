// The verdict card: what was decided and how nearly, the words that did it, the rule that explains it, what would change it.
// Every text is data: it reaches the DOM as textContent only.
import { el, number, signed } from "/static/site/core.js";
import { drawDiff } from "/static/site/diff.js";
import { STATES, brokenRules, chance, isBroken, isKept, limitOf, stanceOf, stateOf, weight } from "/static/site/verdict.js";

const LOOKS = { breaks: ["bad", "broken"], follows: ["on", "kept"] };
const ORDER = ["breaks", "may break", "follows", "may follow", "doesn’t apply to"];
const percent = (value) => `${Math.round(100 * value)} %`;

// The rule that explains the flag as the run found it; only what the run did not flag, or an old record, names the broken rule with the largest margin.
export const leadOf = (row, limits) => (row.verdict.flag && row.verdict.lead !== undefined ? row.verdict.lead : brokenRules(row.rules, limits)[0]?.text) ?? "";
const ordered = (rules, limits) => [...rules].sort((a, b) => ORDER.indexOf(stanceOf(a, limits)) - ORDER.indexOf(stanceOf(b, limits)) || weight(b) - weight(a));

// A probability beside the limit from which it flags.
function drawGauge({ value, limit, rule }) {
  const fill = el("i", {}), mark = el("b", {}), over = value >= limit;
  fill.style.width = `${100 * value}%`;
  mark.style.left = `${100 * limit}%`;
  const what = rule ? "breaks the rule" : "reads as bad";
  return el("div", { class: `gauge${over ? " over" : ""}`, role: "img", "aria-label": `${percent(value)} probability that it ${what}; flagged from ${percent(limit)}` },
    el("span", { class: "gauge-words" }, el("strong", {}, percent(value)), ` ${what}`), el("span", { class: "gauge-bar" }, fill, mark), el("span", { class: "gauge-limit muted" }, `flagged from ${percent(limit)}`));
}

// The reply with the words that did it marked; offsets count characters as Python does.
function markedReply(row) {
  const chars = [...row.reply], spans = [...(row.evidence ?? [])].sort((a, b) => a.start - b.start || b.end - a.end), made = [];
  let at = 0;
  for (const span of spans) {
    if (span.start < at) continue;
    made.push(chars.slice(at, span.start).join(""), el("mark", { class: span.turns ? "turns" : "adds", title: `${percent(span.bad)} with these words, ${percent(span.without)} without` }, chars.slice(span.start, span.end).join("")));
    at = span.end;
  }
  return [...made, chars.slice(at).join("")];
}

function headline(row, verdict, limits) {
  const broken = row.rules.filter((rule) => isBroken(rule, limits)).length, rules = `${broken} ${broken === 1 ? "rule" : "rules"}`;
  if (!verdict.flag) return verdict.status === "abstained" ? `Not judged: ${row.verdict.reason}` : "Not flagged";
  return { reply: "Flagged: it reads as bad", rule: `Flagged: it breaks ${rules}`, both: `Flagged: it reads as bad and breaks ${rules}`, unread: "Flagged: part of it was not read" }[verdict.basis] ?? "Flagged";
}

function evidence(row) {
  const turning = (row.evidence ?? []).filter((span) => span.turns), note = row.evidence_note;
  if (!turning.length) return note ? el("p", { class: "muted small" }, `${note[0].toUpperCase()}${note.slice(1).replace(/\.$/, "")}.`) : null;
  const { bad, without } = turning[0];
  return el("p", { class: "small evidence-note" }, el("mark", { class: "turns" }, turning.length === 1 ? "Marked words" : `${turning.length} marked passages`), ` decide: without ${turning.length === 1 ? "them" : "these"} the reply is not flagged (${percent(bad)} → ${percent(without)}, audited again).`);
}

const EDITS = { cut: "Leaving these words out", met: "Doing what the rule asks for", revised: "The revised reply" };
function change(row) {
  if (!row.change) return null;
  return el("details", { class: "more", open: row.change.by === "met" }, el("summary", {}, "What would change it"), el("p", { class: "small" }, `${EDITS[row.change.by]} turns the verdict (${percent(row.change.bad)} after the edit, audited again).`), row.change.by === "revised" ? null : drawDiff(row.reply, row.change.reply));
}

const likely = (rule, limits) => {
  const stance = stanceOf(rule, limits), label = { breaks: "disagree", "may break": "disagree", follows: "agree", "may follow": "agree" }[stance] ?? "neither";
  return `${percent(chance(rule, label))} probability that the reply ${{ disagree: "breaks", agree: "follows", neither: "doesn’t concern" }[label]} this rule${label === "disagree" ? `; broken from ${percent(limitOf(rule, limits))}` : ""}`;
};
const scales = (rule) => ["severity", "consensus"].filter((name) => rule[name] !== null && rule[name] !== undefined).map((name) => `${name} ${number(rule[name], 1)} of 5`).join(" · ");
const WARRANTS = { enforceable: "on", "with review": "warn", "not by this model": "bad" };
const warrantOf = (rule) => (rule.warrant ? [" ", el("span", { class: `tag ${WARRANTS[rule.warrant] ?? ""}`, title: "Can the experts enforce this rule? From its warrant" }, rule.warrant)] : []);
function ruleLine(rule, limits) {
  const stance = stanceOf(rule, limits), [kind, look] = LOOKS[stance] ?? ["", "aside"];
  const named = Object.entries(rule.foundations ?? {}).filter(([, value]) => value >= 0.5).sort((a, b) => b[1] - a[1]);
  return el("li", { class: `rule ${look}` }, el("p", { class: "rule-text" }, el("span", { class: `tag ${kind}` }, stance), " ", rule.text, warrantOf(rule)),
    el("p", { class: "muted small" }, likely(rule, limits), scales(rule) ? ` · ${scales(rule)}` : "", named.length ? ` · ${named.map(([name]) => name).join(", ")}` : ""));
}

// `verdict` is the one that holds now: the record's, or what moved limits make of it.
export function drawCard(row, verdict, limits, { noun = "Reply", revises, below }) {
  const state = stateOf(verdict), lead = verdict.flag ? row.rules.find((rule) => rule.text === leadOf(row, limits)) : null, rules = ordered(row.rules.filter((rule) => rule !== lead), limits);
  const count = (test) => row.rules.filter((rule) => test(rule, limits)).length, broken = count(isBroken), follows = count(isKept), { gauge } = verdict;
  return el("article", { class: `card verdict ${STATES[state]}`, "aria-label": `${noun} ${row.id}` },
    el("div", { class: "bar tight" }, el("h3", {}, headline(row, verdict, limits)), el("span", { class: `tag ${STATES[state]}` }, state)),
    gauge ? drawGauge(gauge) : null,
    row.prompt ? el("dl", { class: "said" }, el("dt", {}, "Prompt"), el("dd", { dir: "auto" }, row.prompt)) : null,
    el("dl", { class: "said last" }, el("dt", {}, noun), el("dd", { dir: "auto" }, markedReply(row))),
    evidence(row),
    row.unread ? el("p", { class: "callout small" }, `${row.unread.toLocaleString("en")} tokens were not read by any model.`) : null,
    verdict.flag && row.verdict.concern ? el("p", { class: "small" }, el("b", {}, "Concern: "), `It ${row.verdict.concern}.`) : null,
    lead ? el("blockquote", { class: LOOKS[stanceOf(lead, limits)]?.[1] }, el("p", {}, lead.text, warrantOf(lead)), el("p", { class: "muted small" }, likely(lead, limits), scales(lead) ? ` · ${scales(lead)}` : ""))
      : verdict.flag && verdict.basis !== "unread" ? el("p", { class: "muted" }, broken ? "None of the broken rules is clearly about what was flagged." : "No rule of the rulebook explains this flag.") : null,
    rules.length ? el("details", { class: "more" }, el("summary", {}, `Breaks ${broken} ${broken === 1 ? "rule" : "rules"}, follows ${follows}; ${row.rules.length - broken - follows} unsure or not applicable`), el("ul", { class: "rule-lines" }, rules.map((rule) => ruleLine(rule, limits)))) : null,
    change(row),
    row.revised_reply ? el("details", { class: "more", open: true }, el("summary", {}, row.revised_by === "passage" ? "Revised reply: only the marked passage" : "Revised reply"), drawDiff(row.reply, row.revised_reply), el("p", { class: "muted small" }, "Struck out: removed. Underlined: new. A model wrote it: read it before you send it."))
      : revises ? el("p", { class: "muted small" }, "No revised reply: the reply was not flagged, or no revision scored better.") : null,
    el("p", { class: "muted small" }, `Score ${signed(verdict.score, 2)} on a scale from −1 (worst) to +1 (best)`),
    below);
}
