// The verdict card: what was decided and how nearly, the words that did it, the rule that explains it, what would change it.
// Its words are those of pages/audit.py, which #bench brings; here they are filled in for the limits that hold now.
// Every text is data: it reaches the DOM as textContent only.
import { $, el, number, signed } from "/static/site/core.js";
import { drawDiff } from "/static/site/diff.js";
import { STATES, brokenRules, chance, isBroken, isKept, limitOf, stanceOf, stateOf, weight } from "/static/site/verdict.js";

const WORDS = JSON.parse($("bench").dataset.words);
const fill = (name, values = {}) => (WORDS[name] ?? "").replace(/\{(\w+)\}/g, (_, value) => values[value]);
const LOOKS = { breaks: ["bad", "broken"], follows: ["on", "followed"] };
const ORDER = ["breaks", "may break", "follows", "may follow", "doesn't apply to"];

// The rule that explains the flag as the run found it; only what the run did not flag, or an old record, names the broken rule with the largest margin.
export const leadOf = (row, limits) => (row.verdict.flag && row.verdict.lead !== undefined ? row.verdict.lead : brokenRules(row.rules, limits)[0]?.text) ?? "";
const ordered = (rules, limits) => [...rules].sort((a, b) => ORDER.indexOf(stanceOf(a, limits)) - ORDER.indexOf(stanceOf(b, limits)) || weight(b) - weight(a));

const gaugeWords = ({ rule }) => fill(rule ? "breach" : "bad");
// A probability beside the limit from which it flags.
function drawGauge(gauge) {
  const bar = el("i", {}), mark = el("b", {}), [value, limit] = [gauge.value, gauge.limit].map((share) => number(share));
  bar.style.width = `${100 * gauge.value}%`;
  mark.style.left = `${100 * gauge.limit}%`;
  return el("div", { class: `gauge${gauge.value >= gauge.limit ? " over" : ""}`, role: "img", "aria-label": `Probability that it ${gaugeWords(gauge)}: ${value}, limit ${limit}` },
    el("span", {}, `${gaugeWords(gauge)} `, el("strong", {}, value)), el("span", { class: "gauge-bar" }, bar, mark), el("span", { class: "muted" }, `limit ${limit}`));
}

// The reply with the words that did it marked; offsets count characters as Python does.
function markedReply(row) {
  const chars = [...row.reply], spans = [...(row.evidence ?? [])].sort((a, b) => a.start - b.start || b.end - a.end), made = [];
  let at = 0;
  for (const span of spans) {
    if (span.start < at) continue;
    made.push(chars.slice(at, span.start).join(""), el("mark", { class: span.turns ? "turns" : "adds", title: `${number(span.bad)} with these words, ${number(span.without)} without` }, chars.slice(span.start, span.end).join("")));
    at = span.end;
  }
  return [...made, chars.slice(at).join("")];
}

function headline(row, verdict, limits) {
  const broken = row.rules.filter((rule) => isBroken(rule, limits)).length;
  return fill(verdict.flag ? verdict.basis ?? "flagged" : verdict.status === "abstained" ? "abstained" : "fine", { rules: `${broken} ${broken === 1 ? "rule" : "rules"}`, score: signed(verdict.score, 2) });
}
function change({ reply, change: edit, verdict: { gauge } }) {
  if (!edit || !gauge) return null;
  const added = edit.reply.startsWith(reply.trimEnd()) ? edit.reply.slice(reply.trimEnd().length).trim() : edit.reply;
  return fill("change", { edit: fill(edit.by, { added }), what: gaugeWords(gauge), before: number(gauge.value), after: number(edit.bad), limit: number(gauge.limit) });
}
const fact = (name, text) => (text ? el("p", { class: "small fact" }, el("b", {}, `${name}: `), text) : null);

// How a reply stands to a rule, what that rests on, and whose numbers these are.
function details(rule, limits) {
  const label = { breaks: "disagree", follows: "agree" }[stanceOf(rule, limits)] ?? rule.alignment.label;
  const parts = [`probability ${number(chance(rule, label))}`, isBroken(rule, limits) ? `limit ${number(limitOf(rule, limits))}` : "", ...["severity", "consensus"].map((name) => (rule[name] ?? null) === null ? "" : `${name} ${number(rule[name], 1)}`), rule.warrant ? `warrant: ${rule.warrant}` : ""];
  return `${parts.filter(Boolean).join(", ")}; ${rule.scales_from ?? rule.evidence ?? "rulebook"}`;
}
function ruleLine(rule, limits) {
  const stance = stanceOf(rule, limits), [kind, look] = LOOKS[stance] ?? ["", "aside"];
  const named = Object.entries(rule.foundations ?? {}).filter(([, value]) => value >= 0.5).sort((a, b) => b[1] - a[1]);
  return el("li", { class: `rule ${look}` }, el("p", { class: "rule-text" }, el("span", { class: `tag ${kind}` }, stance), " ", rule.text),
    el("p", { class: "muted small" }, details(rule, limits), named.length ? ` · ${named.map(([name]) => name).join(", ")}` : ""));
}

// `verdict` is the one that holds now: the record's, or what moved limits make of it.
export function drawCard(row, verdict, limits, { noun = "Reply", revises, below }) {
  const lead = verdict.flag && verdict.basis !== "unread" ? row.rules.find((rule) => rule.text === leadOf(row, limits)) : null, rules = ordered(row.rules.filter((rule) => rule !== lead), limits);
  const count = (test) => row.rules.filter((rule) => test(rule, limits)).length, broken = count(isBroken), follows = count(isKept), { gauge } = verdict;
  return el("article", { class: `card verdict ${STATES[stateOf(verdict)]}`, "aria-label": `${noun} ${row.id}` },
    el("h3", {}, headline(row, verdict, limits)),
    gauge ? drawGauge(gauge) : null,
    row.prompt ? el("dl", { class: "said" }, el("dt", {}, "Prompt"), el("dd", { dir: "auto" }, row.prompt)) : null,
    el("dl", { class: "said last" }, el("dt", {}, noun), el("dd", { dir: "auto" }, markedReply(row))),
    row.unread ? el("p", { class: "callout small" }, `${row.unread.toLocaleString("en")} tokens were not read by any model.`) : null,
    lead ? el("blockquote", { class: LOOKS[stanceOf(lead, limits)]?.[1] }, el("p", {}, el("span", { class: `tag ${LOOKS[stanceOf(lead, limits)]?.[0] ?? ""}` }, stanceOf(lead, limits)), " ", el("span", {}, lead.text)), el("p", { class: "muted small" }, details(lead, limits)))
      : verdict.flag && verdict.basis !== "unread" ? fact("Rule", fill(broken ? "unrelated" : "unexplained")) : verdict === row.verdict ? fact("Reason", verdict.reason) : null,
    row.verdict.concern ? fact("Concern", fill("concern", row.verdict)) : null,
    fact("Evidence", row.evidence_note),
    fact("What would change it", change(row)),
    rules.length ? el("details", { class: "more" }, el("summary", {}, `Breaks ${broken} ${broken === 1 ? "rule" : "rules"}, follows ${follows}; ${row.rules.length - broken - follows} unsure or not applicable`), el("ul", { class: "rule-lines" }, rules.map((rule) => ruleLine(rule, limits)))) : null,
    row.revised_reply ? el("details", { class: "more", open: true }, el("summary", {}, fill(row.revised_by === "passage" ? "passage" : "revision")), drawDiff(row.reply, row.revised_reply), el("p", { class: "muted small" }, "Struck out: removed. Underlined: new. A model wrote it: read it before you send it."))
      : revises ? el("p", { class: "muted small" }, "No revised reply: the reply was not flagged, or no revision scored better.") : null,
    el("p", { class: "muted small" }, "Scores go from −1 (worst) to +1 (best); 0 is at the limit."),
    below);
}
