// Limits as sliders: what the stored probabilities would decide under other ones, at once and without a model; and a
// budget of false alarms, set on replies that are known to be fine.
import { $, Trouble, ask, el, followJob, loadRun, number, say, short, tables, upload } from "/static/site/core.js";
import { USUAL, budgetLimit, decide, isBroken, leastBenign } from "/static/site/verdict.js";

const SLIDERS = { bad: ["A reply reads as bad from", 0, 1, 0.01], disagree: ["A rule counts as broken from", 0, 1, 0.01], least_severity: ["Ignore broken rules below severity", 1, 5, 0.1], flag: ["Flag when this far beyond its limit", -1, 1, 0.01] };

// `changed(limits)` is told of every move (null: the run's own limits) and returns how many replies are flagged.
export function makeLimits({ changed, request, wants }) {
  let own = null, limits = null, before = 0, total = 0, benign = null, alone = null, config = null;
  const inputs = Object.fromEntries(Object.entries(SLIDERS).map(([name, [label, least, most, step]]) => {
    const input = el("input", { type: "range", id: `slide-${name}`, min: least, max: most, step, oninput: () => move({ ...limits, [name]: Number(input.value) }) }), shown = el("output", { for: `slide-${name}` });
    $("sliders").append(el("label", { for: `slide-${name}` }, label), input, shown);
    return [name, { input, shown }];
  }));
  const isMoved = () => Object.keys(SLIDERS).some((name) => limits[name] !== own[name]);
  function move(given) {
    limits = given;
    for (const [name, { input, shown }] of Object.entries(inputs)) { input.value = limits[name]; shown.textContent = number(limits[name], name === "least_severity" ? 1 : 2); }
    const moved = isMoved(), flagged = changed(moved ? limits : null);
    $("limits-sum").textContent = moved ? `${flagged.toLocaleString("en")} of ${total.toLocaleString("en")} flagged; ${before.toLocaleString("en")} with the limits of this run` : `${before.toLocaleString("en")} of ${total.toLocaleString("en")} flagged`;
    $("limits-reset").disabled = $("limits-use").disabled = !moved;
    budget();
  }
  // What the limits cost on replies that are fine, and which rules spend it.
  function budget() {
    $("spent").replaceChildren();
    if (!benign) return;
    const judged = benign.results.map((row) => ({ row, verdict: decide(row, limits, alone) })).filter(({ verdict }) => verdict.status !== "abstained");
    const alarms = judged.filter(({ verdict }) => verdict.flag), costs = new Map();
    for (const { row, verdict } of alarms) if (verdict.basis === "rule") for (const rule of row.rules) if (isBroken(rule, limits)) costs.set(rule.text, [...(costs.get(rule.text) ?? []), row.reply]);
    const lines = [...costs].sort((a, b) => b[1].length - a[1].length).slice(0, 20).map(([rule, replies]) => [rule, replies.length, short(replies[0], 160)]);
    const read = alarms.filter(({ verdict }) => verdict.basis !== "rule").length;
    $("spent").append(el("p", { class: "small" }, el("b", {}, `${alarms.length} of ${judged.length.toLocaleString("en")}`), ` benign replies are flagged (${(100 * alarms.length / Math.max(1, judged.length)).toFixed(1)} %); ${read} of them because they read as bad, regardless of the rules.`),
      lines.length ? tables.make({ name: "Rules that spend the budget", file: "false-alarms.csv", rows: lines, columns: [{ title: "Rule that spends the budget", filter: false }, { title: "False alarms", kind: "whole" }, { title: "For example", filter: false }] }) : "");
  }
  function setBudget() {
    say("limits-trouble", "");
    if (!benign) return say("limits-trouble", "Choose replies that are fine first: a file, or an audit that you ran before.");
    const share = Number($("budget").value), scores = benign.results.map((row) => decide(row, { ...limits, flag: 0 }, alone)).filter((verdict) => verdict.status !== "abstained").map((verdict) => verdict.score), limit = budgetLimit(scores, share);
    if (limit === null) return say("limits-trouble", `${scores.length} benign replies are too few for a budget of ${100 * share} %; choose at least ${leastBenign(share).toLocaleString("en")}.`);
    move({ ...limits, flag: limit });
    return undefined;
  }
  function use(record) {
    benign = record;
    alone = record.config.general === false ? null : new Set(record.alone ?? []);
    if (record.config.rules_sha256 !== config.rules_sha256 || record.config.experts_sha256 !== config.experts_sha256) say("limits-trouble", "The benign replies were audited with other experts or rules: the budget holds for those.");
    budget();
  }
  const attempt = async (work) => { say("limits-trouble", ""); try { await work(); } catch (error) { if (!(error instanceof Trouble)) console.error(error); say("limits-trouble", error.message); } };
  async function offer() {
    const runs = (await ask("GET", "/api/site/runs")).filter((each) => each.job === "audit" && each.results > 1);
    $("benign-run").replaceChildren(el("option", { value: "" }, "An earlier audit…"), ...runs.map((each) => el("option", { value: each.id }, short(each.title, 70))));
  }
  upload({ input: $("benign"), chooser: $("benign-chooser"), id: "benign-column", trouble: "limits-trouble", wants, use: (rows, name) => attempt(async () => {
    const { id } = await ask("POST", "/api/site/jobs", { body: { kind: "audit", request: { ...request(rows), revise: false }, source: `benign: ${short(name, 60)}` } });
    const { record } = await followJob(id, { job: (job) => { $("benign-state").textContent = job.total ? `Auditing ${job.done} of ${job.total}…` : "Auditing…"; } });
    $("benign-state").textContent = `${record.results.length} benign replies from ${short(name, 40)}`;
    use(record);
  }) });
  $("benign-run").addEventListener("change", () => attempt(async () => { if ($("benign-run").value) { use(await loadRun($("benign-run").value)); $("benign-state").textContent = `${benign.results.length.toLocaleString("en")} benign replies`; } }));
  $("set-budget").addEventListener("click", setBudget);
  $("limits-reset").addEventListener("click", () => move({ ...own }));
  $("limits").addEventListener("toggle", () => { if ($("limits").open) attempt(offer); });
  return {
    get current() { return limits; },
    get moved() { return Object.fromEntries(Object.keys(SLIDERS).filter((name) => limits[name] !== own[name]).map((name) => [name, limits[name]])); },
    open(record) {
      config = record.config;
      own = { ...USUAL, ...config.thresholds };
      [before, total] = [record.results.filter((row) => row.verdict.flag).length, record.results.length];
      move({ ...own });
    },
  };
}
