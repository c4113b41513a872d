// The page Models: two models or more on the same actions; where they agree and where they do not.
import { $, Trouble, axisOffer, axisOptions, draft, followAxis, humanFile, restoreAxis } from "/static/site/core.js";
import { actionFile, actionLines as lines, desk } from "/static/site/desk.js";

const boxes = () => [...document.querySelectorAll("input[name=subject]")];
const chosen = () => boxes().filter((each) => each.checked && !each.disabled).map((each) => each.value);
const human = humanFile(() => refresh());

function refresh() {
  $("count").textContent = lines().length.toLocaleString("en");
  const { models } = followAxis();
  for (const box of boxes()) box.disabled = !models.includes(box.value);
  draft.write("models", { ...axisOptions(), encoders: boxes().filter((each) => each.checked).map((each) => each.value), text: $("actions").value });
}
function restore(given) {
  restoreAxis(given);
  if (given.encoders?.length) for (const box of boxes()) box.checked = given.encoders.includes(box.value);
  if (given.text !== undefined) $("actions").value = given.text;
  $("more").open = Boolean(given.norm || given.human);
}

function asked() {
  const actions = lines(), encoders = chosen(), most = Number($("subjects").dataset.most);
  if (actions.length < 3) throw new Trouble("Enter at least three actions.", 422);
  if (encoders.length < 2) throw new Trouble("Select at least two models.", 422);
  if (encoders.length > most) throw new Trouble(`Select at most ${most} models.`, 422);
  const { speakers } = axisOffer(), subjects = encoders.some((name) => speakers.includes(name)) ? { models: encoders, encoders: ["minilm", "mpnet"] } : { encoders };
  return { actions, ...subjects, ...axisOptions(), ...(human.text ? { human: human.text } : {}) };
}

function looks({ config, results }) {
  const names = config.models ?? config.encoders;
  return { title: `${names.join(", ")}: ${results.length.toLocaleString("en")} actions`,
    rows: () => [["action", ...names, "spread"], ...[...results].sort((a, b) => b.spread - a.spread).map((row) => [row.action, ...names.map((name) => row.scores[name]), row.spread])] };
}
function given({ config, results }, request) {
  const told = { axis: config.axis, encoders: config.models ?? config.encoders, ...request };
  return { ...told, encoders: told.models?.length ? told.models : told.encoders, text: results.map((row) => row.action).join("\n") };
}

const { start, useFile } = desk({ name: "models", kind: "compare", text: "actions", refresh, restore, asked, given, looks, human, unfit: "This run isn’t a comparison of models." });
actionFile(useFile);
await start();
document.documentElement.dataset.ready = "yes";
