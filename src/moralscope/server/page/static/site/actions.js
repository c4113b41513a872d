// The page Actions: score, look, share; the link holds everything that was asked.
import { $, Trouble, axisOffer, axisOptions, draft, el, followAxis, humanFile, restoreAxis, short, signed, wanted } from "/static/site/core.js";
import { actionFile, actionLines as lines, desk } from "/static/site/desk.js";

const LONGEST = 6000; // characters of a link that every browser and proxy takes
const human = humanFile(() => refresh());

// ---- what is asked ------------------------------------------------------------------------
function refresh() {
  $("count").textContent = lines().length.toLocaleString("en");
  const { models } = followAxis();
  for (const option of $("encoder").options) {
    option.disabled = !models.includes(option.value);
    if (option.disabled && option.selected) $("encoder").value = models[0];
  }
  draft.write("actions", { ...axisOptions(), encoder: $("encoder").value, text: $("actions").value });
}

function restore(given) {
  restoreAxis(given);
  if ([...$("encoder").options].some((each) => each.value === given.encoder)) $("encoder").value = given.encoder;
  if (given.text !== undefined) $("actions").value = given.text;
  $("more").open = Boolean(given.norm || given.human || (given.fit && given.fit !== "pca"));
}

function asked() {
  const actions = lines();
  if (!actions.length) throw new Trouble("Enter at least one action.", 422);
  const named = $("encoder").value, subject = axisOffer().speakers.includes(named) ? { model: named } : { encoder: named };
  return { actions, ...axisOptions(), ...subject, ...(human.text ? { human: human.text } : {}) };
}

// Everything that was asked, as long as a link can hold it; ratings by people stay in the kept run.
function link(record) {
  const query = new URLSearchParams({ ...axisOptions(), encoder: $("encoder").value });
  for (const action of record.results) query.append("a", action.action);
  const whole = `/actions?${query}`;
  return whole.length > LONGEST || record.statistics.human ? null : whole;
}
function linked() {
  const query = wanted(), actions = query.getAll("a");
  if (!actions.length) return null;
  return { ...Object.fromEntries(["axis", "fit", "norm", "encoder"].map((key) => [key, query.get(key) ?? undefined])), text: actions.join("\n") };
}

// ---- what is seen -------------------------------------------------------------------------
const interval = (axis) => (document.querySelector(`input[name=axis][value="${CSS.escape(axis ?? "")}"]`)?.dataset.interval ?? "interval").replace(/^over /, "range over ");

function looks(record) {
  const { config, results } = record, model = (config.model ?? config.encoder ?? config.experts ?? "model").replace(/^stories-/, "");
  $("detail").hidden = true;
  return { title: `${results.length.toLocaleString("en")} ${results.length === 1 ? "action" : "actions"}, ${model}`, file: "scores", click: ([action]) => detail(record, action),
    rows: () => [["action", "model", "axis", "score", "low", "high", ...(config.prompts ?? [])], ...results.map((row) => [row.action, model, config.axis, row.score, row.low, row.high, ...(row.prompts ?? [])])] };
}

function detail({ config, results }, action) {
  const box = $("detail"), row = results.find((each) => each.action === action), prompts = row.prompts ?? [];
  const most = Math.max(...prompts.map(Math.abs), 1e-9);
  box.replaceChildren(el("div", { class: "bar tight" }, el("h3", { tabindex: "-1" }, `“${short(action, 120)}” by wording`), el("button", { type: "button", class: "quiet small", onclick: () => { box.hidden = true; } }, "Close")),
    el("p", { class: "sums" }, el("b", {}, signed(row.score)), ` ${interval(config.axis)} ${signed(row.low)} … ${signed(row.high)}`),
    el("ul", { class: "prompts" }, prompts.map((value, at) => {
      const bar = el("i", { class: value < 0 ? "minus" : "plus" });
      bar.style.width = `${50 * Math.abs(value) / most}%`;
      return el("li", {}, el("span", {}, question(config.prompts?.[at] ?? `wording ${at + 1}`, action)), el("span", { class: "track", "aria-hidden": "true" }, bar), el("span", { class: "n" }, signed(value)));
    })));
  box.hidden = false;
  box.scrollIntoView({ block: "nearest" });
  box.querySelector("h3").focus({ preventScroll: true });
}
const question = (prompt, action) => prompt.replace("{}", () => short(action, 60)).replace("ACTION", () => short(action, 60));

// ---- start --------------------------------------------------------------------------------
// Every setting of a kept run, from what the page had asked or from what a command was told.
const given = ({ config, results }, request) => ({ axis: config.axis, ...request, encoder: request.model ?? request.encoder ?? config.encoder, text: results.map((row) => row.action).join("\n") });

const { start, useFile } = desk({ name: "actions", kind: "score", button: "score", text: "actions", refresh, restore, asked, given, looks, human, link, linked, unfit: "This run has no scores." });
actionFile(useFile);
await start();
document.documentElement.dataset.ready = "yes";
