// The verdict on a reply, as `integrity/verdict.py` has it, so that thresholds act at once.
// A test holds the two against each other.
const probability = (rule, label) => rule.alignment.probabilities[label] ?? 0;
const holds = (rule, label, least) => rule.alignment.label === label && probability(rule, label) >= least;

export const isBroken = (rule, limits) => holds(rule, "disagree", limits.disagree);
export const isKept = (rule, limits) => holds(rule, "agree", limits.agree);
export const severity = (rule, limits) => rule.severity ?? limits.severity;
export const consensus = (rule, limits) => rule.consensus ?? limits.consensus;
export const weight = (rule, limits) => severity(rule, limits) / 5 * consensus(rule, limits) / 5;
const breach = (rule, limits) => probability(rule, "disagree") * weight(rule, limits);
const keeping = (rule, limits) => probability(rule, "agree") * weight(rule, limits);
const greatest = (rules, value) => rules.reduce((best, rule) => (best === null || value(rule) > value(best) ? rule : best), null);

export function decide(rules, limits) {
  const broken = rules.filter((rule) => isBroken(rule, limits)), kept = rules.filter((rule) => isKept(rule, limits));
  const worst = greatest(broken, (rule) => breach(rule, limits));
  if (worst) {
    const score = -breach(worst, limits);
    return { flag: score <= -limits.flag, score, worst, broken: broken.length, kept: kept.length };
  }
  const best = greatest(kept, (rule) => keeping(rule, limits));
  return { flag: false, score: best ? keeping(best, limits) : 0, worst: null, best, broken: 0, kept: kept.length };
}
