// What limits make of stored probabilities: `decide` of rules/verdict.py, so that a limit can be moved without
// asking a model again. tests/browser/test_workbench.py holds both against each other.
const SURE = 1e-4, RULE_SHARE = 0.4, UNKNOWN = 3; // as in rules/verdict.py
export const USUAL = { bad: 0.5, fine: 0.2, disagree: 0.5, agree: 0.5, flag: 0, least_severity: 1 }; // rules/thresholds.py
export const STATES = { flagged: "bad", "not flagged": "on", "not judged": "" };

export const chance = (rule, label) => rule.alignment?.probabilities?.[label] ?? 0;
export const limitOf = (rule, limits) => rule.limit ?? limits.disagree;
export const isBroken = (rule, limits) => chance(rule, "disagree") >= limitOf(rule, limits);
export const isKept = (rule, limits) => chance(rule, "agree") >= limits.agree && !isBroken(rule, limits);
export const weight = (rule) => (rule.severity || UNKNOWN) * (rule.consensus || UNKNOWN);

export function margin(probability, limit) {
  const total = limit + probability - 2 * limit * probability;
  return total ? (limit - probability) / total : 0;
}
// The probability from which a reply is flagged: its margin to the limit is -flag.
const flagsFrom = (limit, flag) => { const above = limit * (1 + flag), below = (1 - limit) * (1 - flag); return above + below ? above / (above + below) : limit; };
export const ruleMargin = (rule, limits) => margin(chance(rule, "disagree"), limitOf(rule, limits));

function besideRules(bad, rules, limits) {
  if (!rules.some((rule) => isBroken(rule, limits))) return bad;
  const [breaks, keeps] = ["disagree", "agree"].map((name) => Math.min(1 - SURE, Math.max(SURE, ...rules.map((rule) => chance(rule, name)))));
  const grown = bad * Math.max(1, (breaks * (1 - keeps)) / (keeps * (1 - breaks))) ** RULE_SHARE;
  return grown / (grown + 1 - bad);
}

// The broken rules, the largest margin first; of equals what weighs most.
export const brokenRules = (rules, limits) => rules.filter((rule) => isBroken(rule, limits)).sort((a, b) => ruleMargin(a, limits) - ruleMargin(b, limits) || weight(b) - weight(a));

// How a reply stands to a rule, in words.
export function stanceOf(rule, limits) {
  if (isBroken(rule, limits)) return "breaks";
  if (isKept(rule, limits)) return "follows";
  return { disagree: "may break", agree: "may follow" }[rule.alignment?.label] ?? "doesn't apply to";
}

// The verdict on a row under limits; `alone` holds the rules that flag by themselves, null: all do.
export function decide(row, limits, alone) {
  const { verdict } = row, bad = alone === null ? null : verdict.probability ?? null;
  if (verdict.status === "abstained" || verdict.status === "unread") return { flag: verdict.flag, score: verdict.score, basis: verdict.basis, status: verdict.status };
  const asked = row.rules.filter((rule) => bad === null || bad > limits.fine || alone.has(rule.text)); // of a reply that is clearly fine, ours are listed only
  const grave = asked.filter((rule) => (rule.severity || UNKNOWN) >= limits.least_severity);
  const first = bad === null ? grave : grave.filter((rule) => alone.has(rule.text)), general = bad === null ? [] : grave.filter((rule) => !alone.has(rule.text));
  let parts = first.map((rule) => ruleMargin(rule, limits));
  if (bad !== null) parts = [...parts.filter((part) => part <= 0), margin(besideRules(bad, general, limits), limits.bad)];
  const score = parts.length ? Math.min(...parts) : 1;
  let basis = null, gauge = null;
  if (bad !== null && margin(bad, limits.bad) <= -limits.flag) basis = grave.some((rule) => isBroken(rule, limits)) ? "both" : "reply";
  else if (score <= -limits.flag) basis = "rule";
  if (bad !== null) gauge = { value: basis === "rule" ? besideRules(bad, general, limits) : bad, limit: flagsFrom(limits.bad, limits.flag), rule: null };
  const nearest = [...first].sort((a, b) => ruleMargin(a, limits) - ruleMargin(b, limits))[0];
  if (nearest && (bad === null || (basis === "rule" && ruleMargin(nearest, limits) <= score))) gauge = { value: chance(nearest, "disagree"), limit: flagsFrom(limitOf(nearest, limits), limits.flag), rule: nearest.text };
  return { flag: basis !== null, score, basis, status: "judged", gauge };
}

export const stateOf = (verdict) => (verdict.flag ? "flagged" : verdict.status === "abstained" ? "not judged" : "not flagged");

// The limit at which at most a share of fine replies is flagged, as rules/false_alarms.py sets it: split conformal
// prediction. null where they are too few.
export function budgetLimit(scores, budget) {
  const rank = Math.ceil((scores.length + 1) * (1 - budget) - 1e-9);
  if (rank > scores.length) return null;
  const badness = scores.map((score) => -score).sort((a, b) => a - b)[rank - 1];
  return Math.min(1, Math.floor(badness * 1e6 + 1) / 1e6);
}
export const leastBenign = (budget) => Math.ceil(1 / budget - 1 - 1e-9);
