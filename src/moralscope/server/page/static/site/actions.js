// The page Actions: score, look, share; the link holds everything that was asked.
import { $, Trouble, axisOffer, axisOptions, draft, drawPage, el, followAxis, humanFile, loadRun, notes, openShared, restoreAxis, say, shareBar, shared, short, show, signed, upload, wanted, worker } from "/static/site/core.js";

const LONGEST = 6000; // characters of a link that every browser and proxy takes
let record = null, kept = null, source = "";

const lines = () => $("actions").value.split("\n").map((line) => line.trim()).filter(Boolean);
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
  return { request: { actions, ...axisOptions(), ...subject, ...(human.text ? { human: human.text } : {}) }, source };
}

function address() {
  const query = new URLSearchParams({ ...axisOptions(), encoder: $("encoder").value });
  for (const action of record.results) query.append("a", action.action);
  const whole = `/actions?${query}`;
  return whole.length > LONGEST || record.statistics.human ? `/actions?run=${kept ?? ""}` : whole;
}

// ---- what is seen -------------------------------------------------------------------------
const model = () => (record.config.model ?? record.config.encoder ?? record.config.experts ?? "model").replace(/^stories-/, "");
const interval = () => (document.querySelector(`input[name=axis][value="${CSS.escape(record.config.axis ?? "")}"]`)?.dataset.interval ?? "interval").replace(/^over /, "range over ");

function drawAll() {
  say("found-trouble", "");
  const all = record.results;
  show(`${all.length.toLocaleString("en")} ${all.length === 1 ? "action" : "actions"}, ${model()}`);
  $("detail").hidden = true;
  drawPage(record.view, $("views"), { click: ([action]) => detail(action) });
  notes(record.warnings);
  const chart = () => $("views").querySelector(".chart");
  shareBar({ name: "scores", link: address, record: () => record, run: () => kept, chart,
    rows: () => [["action", "model", "axis", "score", "low", "high", ...(record.config.prompts ?? [])], ...all.map((row) => [row.action, model(), record.config.axis, row.score, row.low, row.high, ...(row.prompts ?? [])])] });
}

function detail(action) {
  const box = $("detail"), row = record.results.find((each) => each.action === action), prompts = row.prompts ?? [];
  const most = Math.max(...prompts.map(Math.abs), 1e-9);
  box.replaceChildren(el("div", { class: "bar tight" }, el("h3", { tabindex: "-1" }, `“${short(action, 120)}” by wording`), el("button", { type: "button", class: "quiet small", onclick: () => { box.hidden = true; } }, "Close")),
    el("p", { class: "sums" }, el("b", {}, signed(row.score)), ` ${interval()} ${signed(row.low)} … ${signed(row.high)}`),
    el("ul", { class: "prompts" }, prompts.map((value, at) => {
      const bar = el("i", { class: value < 0 ? "minus" : "plus" });
      bar.style.width = `${50 * Math.abs(value) / most}%`;
      return el("li", {}, el("span", {}, question(record.config.prompts?.[at] ?? `wording ${at + 1}`, action)), el("span", { class: "track", "aria-hidden": "true" }, bar), el("span", { class: "n" }, signed(value)));
    })));
  box.hidden = false;
  box.scrollIntoView({ block: "nearest" });
  box.querySelector("h3").focus({ preventScroll: true });
}
const question = (prompt, action) => prompt.replace("{}", () => short(action, 60)).replace("ACTION", () => short(action, 60));

// ---- start --------------------------------------------------------------------------------
const run = worker("score", "score", { ask: asked, done: (found, id) => {
  record = found;
  kept = id;
  drawAll();
  history.replaceState(null, "", address());
} });

// Every setting of a kept run, from what the page had asked or from what a command was told.
async function open(id) {
  const found = await loadRun(id);
  if (found.job !== "score" || !found.results.length) throw new Trouble("This run has no scores.", 422);
  const given = { ...found.config.options, ...found.page?.request };
  restore({ axis: found.config.axis, ...given, encoder: given.model ?? given.encoder ?? found.config.encoder, text: found.results.map((row) => row.action).join("\n") });
  if (typeof given.human === "string" && found.page) human.set(given.human, "ratings of this run");
  source = found.page?.source ?? "";
  record = found;
  kept = id;
  refresh();
  drawAll();
}

async function start() {
  const query = wanted(), id = query.get("run"), given = query.getAll("a");
  if (id || given.length) shared();
  if (id) {
    await openShared(id, open);
    if (record && query.get("again")) run();
    return;
  }
  const before = draft.read("actions");
  if (given.length) restore({ ...Object.fromEntries(["axis", "fit", "norm", "encoder"].map((key) => [key, query.get(key) ?? undefined])), text: given.join("\n") });
  else if (before) restore(before);
  refresh();
  if (given.length) run(); else await run.resume();
}

$("form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
$("form").addEventListener("input", (event) => { if (event.target.id === "actions") source = ""; refresh(); });
for (const chip of document.querySelectorAll("[data-sample]")) chip.addEventListener("click", () => { $("actions").value = chip.dataset.sample; source = ""; refresh(); });
upload({ input: $("upload"), chooser: $("chooser"), wants: [["Actions are in", ["action", "actions", "text", "phrase", "line"]]], use: (rows, name) => { $("actions").value = rows.map(([text]) => text.replace(/\s+/g, " ").trim()).filter(Boolean).join("\n"); source = name; refresh(); $("score").focus(); } });
await start();
document.documentElement.dataset.ready = "yes";
