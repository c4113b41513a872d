// The page Stories: a chain of experts on one story, as it happens; moral and immoral side by side.
import { $, Trouble, draft, el, loadRun, notes, number, openShared, say, shareBar, show, tell, wanted, worker } from "/static/site/core.js";

const FIELDS = ["situation", "intention", "norm", "recipe", "generator", "experts", "candidates", "seed"];
const TARGETS = { moral: "Keeping the norm", immoral: "Breaking it" };
const DOES = { propose: "Proposes", rank: "Weighs", condition: "Takes", refine: "Refines" };
let record = null, kept = null, columns = [];

const body = () => ({ situation: $("situation").value, intention: $("intention").value, norm: $("norm").value, recipe: $("recipe").value, generator: $("generator").value, experts: $("experts").value, count: Number($("candidates").value), seed: Number($("seed").value) });

// ---- the tree while it grows --------------------------------------------------------------
function column(target) {
  return el("section", { class: `card tree ${target}`, "aria-label": TARGETS[target] ?? target }, el("div", { class: "bar tight" }, el("h3", {}, TARGETS[target] ?? target), el("span", { class: "tag" }, target)), el("ol", { class: "path" }));
}
function liveStep(event) {
  const list = columns[event.item]?.querySelector(".path");
  if (!list) return;
  const weighed = event.event === "weighed";
  const items = event.texts.map((each) => {
    if (!weighed) return el("li", {}, el("span", {}, each));
    const [label, value] = Object.entries(each.probabilities).sort((a, b) => b[1] - a[1])[0];
    return el("li", {}, el("span", {}, each.text), el("span", { class: "n" }, `${label} ${number(value)}`));
  });
  list.append(el("li", { class: "live" }, el("p", { class: "does" }, weighed ? "Weighed" : "Proposed"), el("ul", { class: "candidates" }, items)));
}

// ---- the tree as the record has it --------------------------------------------------------
function tree(row) {
  const made = column(row.target ?? "both");
  made.querySelector(".path").append(...row.path.map(step));
  made.append(el("div", { class: "choice-made" }, el("p", { class: "does" }, "The chain chooses"), el("p", { class: "chosen-text" }, row.choice ?? "Nothing: no candidate qualified")));
  return made;
}
function step(each) {
  const scored = each.candidates?.some((one) => one.score !== null && one.score !== undefined);
  const about = each.do === "rank" ? `ranked by the probability that it is “${each.label}”, expert ${each.expert}` : each.do === "refine" ? `a draft rated ${each.label} (${number(each.probability)})` : each.task ?? each.field ?? "";
  return el("li", {}, el("p", { class: "does" }, DOES[each.do] ?? each.do, el("span", { class: "muted" }, ` ${each.step}`)), about ? el("p", { class: "muted small" }, about) : null,
    each.candidates ? el("ul", { class: "candidates" }, each.candidates.map((one) => {
      const best = one.text === each.choice && each.do !== "propose";
      return el("li", { class: best ? "best" : "" }, el("span", {}, best ? el("span", { class: "visually-hidden" }, "Chosen: ") : null, one.text), scored ? el("span", { class: "n" }, number(one.score)) : null);
    })) : el("p", {}, each.choice ?? each.text ?? ""));
}

function drawRecord() {
  say("found-trouble", "");
  show(`${record.config.recipe}, ${record.config.generator}`);
  $("trees").replaceChildren(...record.results.map(tree));
  notes(record.warnings);
  shareBar({ name: "chain", link: () => `/stories?run=${kept ?? ""}`, record: () => record, run: () => kept, chart: () => null,
    rows: () => [["target", "choice", "step", "text", "score"], ...record.results.flatMap((row) => row.path.flatMap((each) => (each.candidates ?? []).map((one) => [row.target, row.choice, each.step, one.text, one.score])))] });
}

// ---- work ---------------------------------------------------------------------------------
function asked() {
  const given = body();
  for (const name of ["situation", "intention", "norm"]) if (!given[name].trim()) { $(name).focus(); throw new Trouble(`The ${name} is empty. Write one sentence.`, 422); }
  return { request: given };
}
function begin() {
  columns = ["moral", "immoral"].map(column);
  $("notes").hidden = true;
  $("trees").replaceChildren(...columns);
  show("Chain");
  $("found").classList.remove("stale"); // what is shown is the new one, as it grows
}
const run = worker("run", "chain", { ask: asked, begin, result: (event) => { if (event.event !== "row") liveStep(event); }, done: (found, id) => {
  [record, kept] = [found, id];
  drawRecord();
  tell(`Done: ${record.results.map((row) => `${row.target}: ${row.choice}`).join(" ")}`);
  if (id) history.replaceState(null, "", `/stories?run=${id}`);
} });
async function again() { // a run that failed or was cancelled leaves what was there before
  await run();
  if (!$("trouble").hidden) {
    $("found").hidden = !record;
    $("empty").hidden = Boolean(record);
    if (record) drawRecord();
  }
}

// ---- start --------------------------------------------------------------------------------
function refresh() {
  for (const each of document.querySelectorAll("[data-recipe]")) each.hidden = each.dataset.recipe !== $("recipe").value;
  draft.write("stories", Object.fromEntries(FIELDS.map((id) => [id, $(id).value])));
}

async function open(id) {
  const found = await loadRun(id);
  if (!["chain", "generate"].includes(found.job) || !found.results.length) throw new Trouble("This run isn’t a chain.", 422);
  [record, kept] = [found, id];
  const given = { ...record.results[0].story, ...record.page?.request };
  for (const name of FIELDS) if (given[name === "candidates" ? "count" : name] !== undefined) $(name).value = given[name === "candidates" ? "count" : name];
  refresh();
  drawRecord();
  if (wanted().get("again")) again();
}
async function start() {
  const before = draft.read("stories"), id = wanted().get("run");
  if (before) for (const field of FIELDS) if (before[field] !== undefined) $(field).value = before[field];
  refresh();
  if (id) await openShared(id, open); else await run.resume();
}

$("form").addEventListener("submit", (event) => { event.preventDefault(); again(); });
$("form").addEventListener("input", refresh);
for (const chip of document.querySelectorAll("[data-norm]")) chip.addEventListener("click", () => {
  for (const name of ["situation", "intention", "norm"]) $(name).value = chip.dataset[name];
  refresh();
});
await start();
document.documentElement.dataset.ready = "yes";
