// The page Actions: score, look, compare; the link holds everything that was asked.
import { $, Trouble, askText, csv, download, draft, el, keep, loadRun, notes, number, radio, say, setRadio, short, show, signed, stream, table, tell, wanted, worker } from "/static/site/core.js";
import { ENDS, draw } from "/static/site/charts.js";

const LONGEST = 6000; // characters of a link that every browser and proxy takes
let human = null, runs = [], shown = null, kept = null;

const lines = () => $("actions").value.split("\n").map((line) => line.trim()).filter(Boolean);
const state = () => ({ axis: radio("axis"), fit: $("fit").value, encoder: $("encoder").value, other: $("other").value, actions: lines() });

// ---- what is asked ------------------------------------------------------------------------
function refresh() {
  const axis = radio("axis"), count = lines().length;
  $("count").textContent = count.toLocaleString("en");
  for (const each of document.querySelectorAll("[data-axis]")) each.hidden = each.dataset.axis !== axis;
  $("fit-row").hidden = axis !== "direction";
  for (const id of ["encoder", "other"]) for (const option of $(id).options) {
    option.disabled = axis === "judge" && option.value === "use-lite";
    if (option.disabled && option.selected) $(id).value = id === "other" ? "" : "minilm";
  }
  draft.write("actions", { ...state(), text: $("actions").value });
}

function restore(given) {
  if (given.axis && document.querySelector(`input[name=axis][value="${CSS.escape(given.axis)}"]`)) setRadio("axis", given.axis);
  for (const id of ["encoder", "other", "fit"]) if ([...$(id).options].some((each) => each.value === given[id])) $(id).value = given[id];
  if (given.text !== undefined) $("actions").value = given.text;
}

async function readHuman() {
  const file = $("human").files[0];
  human = null;
  say("trouble", "");
  if (file && file.size > 500_000) { say("trouble", `${file.name} is too large: the page takes ratings of up to 500 kB.`); $("human").value = ""; }
  else if (file) human = await file.text();
  $("human-name").textContent = human === null ? "" : `${short(file.name, 40)} will be set beside the scores`;
  $("human-clear").hidden = human === null;
}

// ---- work ---------------------------------------------------------------------------------
async function score(signal, progress) {
  const { axis, fit, encoder, other, actions } = state(), more = axis === "direction" ? { fit } : {};
  if (!actions.length) throw new Trouble("There are no actions: type at least one, one a line.", 422);
  if (other === encoder) throw new Trouble("Both encoders are the same: choose another one to compare with, or none.", 422);
  const one = (name) => stream("/v1/score", { actions, axis, encoder: name, ...more, ...(human ? { human } : {}) }, { signal, progress });
  const found = [await one(encoder)];
  let compared = null;
  if (other) {
    found.push(await one(other));
    if (found[0].results.length >= 3) compared = await stream("/v1/compare", { actions, axis, encoders: [encoder, other], ...more }, { signal, progress });
  }
  history.replaceState(null, "", address(await showRuns(found, compared)));
}

async function showRuns(found, compared) {
  runs = found;
  kept = null;
  drawAll(compared);
  for (const each of compared && !human ? [compared] : [...found, ...(compared ? [compared] : [])]) kept = await keep(each);
  return kept;
}

function address(id) {
  const asked = state(), query = new URLSearchParams({ axis: asked.axis, encoder: asked.encoder, ...(asked.axis === "direction" ? { fit: asked.fit } : {}) });
  if (asked.other) query.set("other", asked.other);
  for (const action of asked.actions) query.append("a", action);
  const whole = `/actions?${query}`;
  return whole.length > LONGEST || human ? `/actions?run=${id ?? ""}` : whole;
}

// ---- what is seen -------------------------------------------------------------------------
const name = (record) => record.config.encoder ?? record.config.experts ?? "model";

function drawAll(compared) {
  say("found-trouble", "");
  shown = compared ?? runs[0];
  const all = runs[0].results, named = runs.map(name).join(" and ");
  show(`${all.length.toLocaleString("en")} ${all.length === 1 ? "action" : "actions"}, ${named}`);
  $("detail").hidden = true;
  $("views").className = runs.length > 1 ? "views two-views" : "views";
  const holders = [];
  $("views").replaceChildren(...runs.map((record) => view(record, holders)));
  for (const [holder, shape, data] of holders) draw(holder, shape, data, detail);
  people();
  pairs(compared);
  values();
  notes([...new Set(runs.flatMap((record) => record.warnings).concat(compared?.warnings ?? []))]);
}

function agreement(record) {
  const found = record.statistics.people_agreement;
  if (found === undefined) return null;
  const each = Object.entries(found ?? {}).map(([who, row]) => `${number(row.value)} (${who})`), n = Object.values(found ?? {})[0]?.n;
  return el("p", { class: "muted small" }, found ? `Agreement with people: r = ${each.join(", ")}, n = ${n} actions.` : "Agreement with people: not measured.");
}

function view(record, holders) {
  const { positive, negative, undecided, map } = record.statistics;
  const chart = (shape, data, label) => {
    const holder = el("div", { class: "chart", role: "img", "aria-label": label });
    holders.push([holder, shape, data]);
    return holder;
  };
  const sorted = [...record.results].sort((a, b) => b.score - a.score), best = sorted[0], worst = sorted.at(-1);
  return el("section", { class: "card view" },
    el("div", { class: "bar tight" }, el("h3", {}, `${name(record)}`), el("span", { class: "tag" }, record.config.axis)),
    el("p", { class: "sums key" }, el("span", { class: "mark plus" }, el("b", {}, `${positive}`), " above zero"), el("span", { class: "mark minus" }, el("b", {}, `${negative}`), " below"), el("span", { class: "mark both" }, el("b", {}, `${undecided}`), " interval spans zero"), map ? el("span", { class: "mark fit" }, "fitted from") : null),
    agreement(record),
    record.results.length > 2 * ENDS ? el("p", { class: "muted small" }, `The ${ENDS} highest and the ${ENDS} lowest; all are in the table.`) : null,
    chart("ranked", [record.results], `Scores with intervals, from ${best.action} (${signed(best.score)}) down to ${worst.action} (${signed(worst.score)}). All values are in the table below.`),
    map ? el("h3", { class: "map-title" }, "The map") : null,
    map ? el("p", { class: "muted small" }, "Across: the moral direction. Up and down: the strongest difference at right angles to it. Small crosses: what the direction was fitted from.") : null,
    map ? chart("map", [record.results, map], "Map of the actions in two dimensions. All values are in the table below.") : null);
}

function detail(action) {
  const box = $("detail");
  const parts = runs.map((record) => {
    const row = record.results.find((each) => each.action === action);
    if (!row) return null;
    const most = Math.max(...row.prompts.map(Math.abs), 1e-9);
    return el("div", {}, el("p", { class: "sums" }, el("b", {}, name(record)), ` ${signed(row.score)} (${signed(row.low)} … ${signed(row.high)})`),
      el("ul", { class: "prompts" }, row.prompts.map((value, at) => {
        const bar = el("i", { class: value < 0 ? "minus" : "plus" });
        bar.style.width = `${50 * Math.abs(value) / most}%`;
        return el("li", {}, el("span", {}, question(record.config.prompts[at] ?? "", action)), el("span", { class: "track", "aria-hidden": "true" }, bar), el("span", { class: "n" }, signed(value)));
      })));
  });
  box.replaceChildren(el("div", { class: "bar tight" }, el("h3", { tabindex: "-1" }, `“${short(action, 120)}” under every wording`),
    el("button", { type: "button", class: "quiet small", onclick: () => { box.hidden = true; } }, "Close")), ...parts.filter(Boolean));
  box.hidden = false;
  box.scrollIntoView({ block: "nearest" });
  box.querySelector("h3").focus({ preventScroll: true });
}
const question = (prompt, action) => prompt.replace("{}", () => short(action, 60)).replace("ACTION", () => short(action, 60));

function people() {
  const box = $("people");
  const parts = runs.filter((record) => record.statistics.human).map((record) => {
    const found = record.statistics.human;
    return [el("p", { class: "sums" }, el("b", {}, name(record))),
      ...Object.entries(found.populations).map(([who, each]) => el("p", {}, `${who}: Pearson r ${number(each.pearson.r)} (${number(each.pearson.low)} … ${number(each.pearson.high)}), Spearman ${number(each.spearman.r)}, ${each.n} actions.`)),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `People beside ${name(record)}` }, table([["Action"], ["Said yes", "n"], ["Score", "n"], ["Standing apart", "n"]],
        found.rows.map((row) => el("tr", {}, el("th", { scope: "row" }, row.action), el("td", { class: "n" }, `${Math.round(100 * row.rate)} %`), el("td", { class: "n" }, signed(row.score)), el("td", { class: "n" }, signed(row.residual, 2))))))];
  });
  box.hidden = !parts.length;
  box.replaceChildren(el("h3", {}, "Beside what people say"), ...parts.flat());
}

function pairs(compared) {
  const box = $("pairs"), found = compared?.statistics.pairs?.[0];
  box.hidden = !found;
  if (!found) return;
  const rows = [...compared.results].sort((a, b) => b.spread - a.spread).slice(0, 12);
  box.replaceChildren(el("h3", {}, `${found.pair[0]} beside ${found.pair[1]}`),
    el("p", {}, `They order the actions with Pearson r ${number(found.pearson.r)} (${number(found.pearson.low)} … ${number(found.pearson.high)}). ${found.significant} of ${compared.results.length} differ significantly, after correction.`),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Where the encoders differ most" }, table([["They differ most on"], [found.pair[0], "n"], [found.pair[1], "n"], ["Difference", "n"], ["p", "n"]],
      rows.map((row) => { const each = row.differences[0]; return el("tr", {}, el("th", { scope: "row" }, row.action), el("td", { class: "n" }, signed(row.scores[found.pair[0]], 2)), el("td", { class: "n" }, signed(row.scores[found.pair[1]], 2)), el("td", { class: "n" }, `${signed(each.difference, 2)} (${signed(each.low, 2)} … ${signed(each.high, 2)})`), el("td", { class: "n" }, each.p_holm < 0.001 ? "< 0.001" : number(each.p_holm, 3))); }))),
    el("p", { class: "muted small" }, "On a common scale; p corrected by Holm."));
}

// The same words as on the command line (axes/measured.py: share_in_words).
function inTen(row) {
  if (row?.people_yes == null) return "";
  const tenths = (share) => Math.round(10 * share), split = row.people_yes > 0.35 && row.people_yes < 0.65;
  return `${split ? "people split: " : ""}about ${tenths(row.people_yes)} in 10 would say yes (${tenths(row.people_yes_low)} to ${tenths(row.people_yes_high)})`;
}

function values() {
  const people = (record) => record.results.some((row) => row.people_yes != null);
  const sorted = [...runs[0].results].sort((a, b) => b.score - a.score);
  const cells = (record, action) => {
    const row = record.results.find((each) => each.action === action);
    return [el("td", { class: "n" }, signed(row?.score)), el("td", { class: "n muted" }, `${signed(row?.low)} … ${signed(row?.high)}`), ...(people(record) ? [el("td", {}, inTen(row))] : [])];
  };
  $("table").replaceChildren(table([["Action"], ...runs.flatMap((record) => [[runs.length > 1 ? name(record) : "Score", "n"], [record.config.experts ? "Over wordings" : "95 % interval", "n"], ...(people(record) ? [["People"]] : [])])],
    sorted.map((row) => el("tr", {}, el("th", { scope: "row" }, el("button", { type: "button", class: "as-link", onclick: () => detail(row.action) }, row.action)), runs.flatMap((record) => cells(record, row.action))))));
}

// ---- files --------------------------------------------------------------------------------
function saveCsv() {
  const prompts = runs[0].config.prompts ?? [];
  const rows = runs.flatMap((record) => record.results.map((row) => [row.action, name(record), record.config.axis, row.score, row.low, row.high, ...row.prompts]));
  download("scores.csv", csv([["action", "encoder", "axis", "score", "low", "high", ...prompts], ...rows]), "text/csv");
}
async function saveSvg() {
  try {
    download("scores.svg", await askText("POST", "/api/site/figure", { body: shown }), "image/svg+xml");
  } catch (error) { say("found-trouble", error.message); }
}
async function copyLink() {
  const link = location.origin + address(kept);
  try {
    await navigator.clipboard.writeText(link);
    $("link").textContent = "Link copied";
    tell("Link copied.");
    setTimeout(() => { $("link").textContent = "Copy link"; }, 2500);
  } catch { prompt("Copy this link:", link); }
}

// ---- start --------------------------------------------------------------------------------
const run = worker("score", score);

function fromCompare(record) {
  const encoders = Object.keys(record.results[0]?.raw ?? {});
  const tally = (rows) => ({ positive: rows.filter((row) => row.low > 0).length, negative: rows.filter((row) => row.high < 0).length, undecided: rows.filter((row) => row.low <= 0 && row.high >= 0).length });
  return encoders.map((encoder) => { const results = record.results.map((row) => ({ ...row.raw[encoder], action: row.action })); return { ...record, config: { ...record.config, encoder }, results, statistics: tally(results), warnings: [] }; });
}

async function start() {
  const query = wanted(), id = query.get("run");
  const before = draft.read("actions");
  if (id) {
    try {
      const record = await loadRun(id);
      if (!["score", "compare"].includes(record.job) || !record.results.length) throw new Trouble("This run has no scores to show here.", 422);
      const isPair = record.job === "compare";
      runs = isPair ? fromCompare(record) : [record];
      kept = id;
      restore({ axis: record.config.axis, fit: record.config.fit, encoder: name(runs[0]), other: isPair ? name(runs[1]) : "", text: record.results.map((row) => row.action).join("\n") });
      refresh();
      drawAll(isPair ? record : null);
    } catch (error) { if (!(error instanceof Trouble)) console.error(error); say("trouble", error.message); }
    return;
  }
  const given = query.getAll("a");
  if (given.length) restore({ axis: query.get("axis"), fit: query.get("fit"), encoder: query.get("encoder"), other: query.get("other") ?? "", text: given.join("\n") });
  else if (before) restore(before);
  refresh();
  if (given.length) run();
}

$("form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
$("form").addEventListener("input", refresh);
$("actions").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); } });
$("human").addEventListener("change", readHuman);
$("human-clear").addEventListener("click", () => { $("human").value = ""; readHuman(); });
for (const chip of document.querySelectorAll("[data-sample]")) chip.addEventListener("click", () => { $("actions").value = chip.dataset.sample; refresh(); });
$("save-json").addEventListener("click", () => download("run.json", JSON.stringify(shown, null, 1), "application/json"));
$("save-csv").addEventListener("click", saveCsv);
$("save-svg").addEventListener("click", saveSvg);
$("link").addEventListener("click", copyLink);
await start();
document.documentElement.dataset.ready = "yes";
