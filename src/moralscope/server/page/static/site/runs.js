// The page Runs: what is running and what was kept; search, tags, the trend of a figure, compare, export, delete.
import { $, ask, askText, charts, download, drawPage, el, jobWords, loadRun, openReport, say, short, tables, tell, wanted } from "/static/site/core.js";

const PLACES = { score: "/actions", compare: "/models", survey: "/survey", audit: "/audit", "audit conversations": "/audit", "rules warrant": "/rules", warrant: "/rules", chain: "/stories", generate: "/stories" };
const ACTIVE = ["waiting", "running"];
let list = [], wait;
const chosen = new Set();

const when = (created) => { const date = new Date(created); return Number.isNaN(date.valueOf()) ? created : date.toLocaleString("en", { dateStyle: "medium", timeStyle: "short" }); };
const attempt = async (work) => { say("trouble", ""); try { await work(); } catch (error) { say("trouble", error.message); } };

// ---- jobs ---------------------------------------------------------------------------------
async function jobs() {
  clearTimeout(wait);
  const all = await ask("GET", "/api/site/jobs"), before = $("job-list").dataset.active;
  const recent = all.filter((each) => ACTIVE.includes(each.state) || (!each.run && each.ended && Date.now() / 1000 - each.ended < 86_400)) // a kept run stands below
    .slice(0, 12);
  $("jobs").hidden = !recent.length;
  const now = recent.filter((each) => ACTIVE.includes(each.state)), over = recent.filter((each) => !now.includes(each));
  $("job-list").replaceChildren(...now.map(job));
  $("ended").hidden = !over.length;
  $("ended-title").textContent = `${over.length} finished`;
  $("ended-list").replaceChildren(...over.map(job));
  const active = String(recent.filter((each) => ACTIVE.includes(each.state)).length);
  $("job-list").dataset.active = active;
  if (before && before !== active) await load();
  wait = setTimeout(() => jobs().catch(() => {}), active === "0" ? 5000 : 1000);
}
function job(each) {
  const at = ACTIVE.includes(each.state), bar = el("progress", { "aria-label": `Progress of ${each.title}` }), place = PLACES[each.kind];
  if (each.total) { bar.max = each.total; bar.value = each.done; }
  const cancel = () => attempt(async () => { await ask("DELETE", `/api/site/jobs/${each.id}`); await jobs(); });
  return el("li", { class: `job-line ${each.state}` }, el("span", { class: "tag" }, each.kind), el("span", { class: "job-title" }, each.run && place ? el("a", { href: `${place}?run=${each.run}` }, each.title) : short(each.title, 120)),
    at ? bar : null, el("span", { class: "muted small job-state" }, jobWords(each), each.problem ? `: ${each.problem}` : "", at ? "" : each.ended ? ` · ${when(each.ended * 1000)}` : ""),
    at ? el("span", { class: "row" }, place ? el("a", { class: "button small", href: `${place}?job=${each.id}` }, "Watch") : null, el("button", { type: "button", class: "small", "aria-label": `Cancel ${each.title}`, onclick: cancel }, "Cancel")) : null);
}

// ---- kept runs ----------------------------------------------------------------------------
async function load() {
  list = await ask("GET", "/api/site/runs");
  for (const id of [...chosen]) if (!list.some((each) => each.id === id)) chosen.delete(id);
  $("empty").hidden = list.length > 0;
  $("run-bar").querySelector("#compare").hidden = $("delete").hidden = !list.length;
  $("labels").hidden = !list.some((each) => each.labels);
  $("finder").hidden = !list.length;
  const tags = [...new Set(list.flatMap((each) => each.tags))].sort(), kinds = [...new Set(list.map((each) => each.job))].sort();
  options($("only-tag"), "All tags", tags);
  options($("only-kind"), "All kinds", kinds);
  options($("figure"), "", [...new Set(list.flatMap((each) => Object.keys(each.figures)))]);
  draw();
}
function options(menu, none, values) {
  const before = menu.value;
  menu.replaceChildren(...(none ? [el("option", { value: "" }, none)] : []), ...values.map((value) => el("option", { value }, value)));
  if (values.includes(before)) menu.value = before;
}
// What is looked for is in the address, so that a link shows the same.
const found = () => {
  const text = $("find").value.trim().toLowerCase(), tag = $("only-tag").value, kind = $("only-kind").value;
  return list.filter((each) => (!tag || each.tags.includes(tag)) && (!kind || each.job === kind) && (!text || `${each.title} ${each.about} ${each.tags.join(" ")}`.toLowerCase().includes(text)));
};
function draw() {
  const shown = found(), address = new URLSearchParams([["q", $("find").value.trim()], ["tag", $("only-tag").value], ["kind", $("only-kind").value], ["figure", $("trend").open ? $("figure").value : ""]].filter(([, value]) => value));
  history.replaceState(null, "", `/runs${address.size ? `?${address}` : ""}`);
  $("run-count").textContent = shown.length < list.length ? `${shown.length} of ${list.length} shown` : `${list.length} ${list.length === 1 ? "run" : "runs"}`;
  $("list").replaceChildren(...(shown.length ? [tables.make({ name: "Kept runs", file: "runs.csv", rows: shown, columns: COLUMNS, attributes: (each) => ({ "data-run": each.id }), csv: false, find: false })] : list.length ? [el("p", { class: "muted" }, "No run matches.")] : []));
  trend(shown);
  count();
}
// A figure of the runs that are shown, over time; runs of one kind only, since others measure something else.
function trend(shown) {
  const name = $("figure").value, runs = shown.filter((each) => each.figures[name] !== undefined).reverse();
  $("trend").hidden = !list.some((each) => Object.keys(each.figures).length);
  $("trend-note").textContent = runs.length < 2 ? "Needs at least two runs with this figure." : `${runs.length} runs, oldest first. Filter by tag or search to compare like with like.`;
  $("trend-chart").hidden = runs.length < 2 || !$("trend").open;
  if ($("trend-chart").hidden) return;
  const share = name.startsWith("share"), value = (each) => (share ? 100 : 1) * each.figures[name], many = runs.length > 12;
  charts.draw($("trend-chart"), { title: name, about: "", height: 280, labels: [],
    traces: [{ type: "scatter", mode: "lines+markers", name, x: runs.map((_, at) => at), y: runs.map(value), marker: { color: "good", size: 7 }, line: { color: "good", width: 2 }, hovertext: runs.map((each) => `${short(each.title, 80)}\n${when(each.created)}\n${value(each).toFixed(2)}${share ? " %" : ""}`) }],
    layout: { xaxis: { title: "", tickvals: runs.map((_, at) => at).filter((at) => !many || at % Math.ceil(runs.length / 8) === 0), names: runs.map((each) => new Date(each.created).toLocaleDateString("en", { month: "short", day: "numeric" })).filter((_, at) => !many || at % Math.ceil(runs.length / 8) === 0), range: [-0.3, runs.length - 0.7] }, yaxis: { title: share ? "% of replies" : name } } });
  $("trend-chart").setAttribute("aria-label", `${name} over ${runs.length} runs: ${runs.map((each) => value(each).toFixed(2)).join(", ")}`);
}
function count() {
  const size = chosen.size;
  $("compare").disabled = size !== 2;
  $("delete").disabled = !size;
  $("delete").textContent = size > 1 ? `Delete ${size}` : "Delete";
  $("chosen").textContent = !list.length ? "" : size === 2 ? "Two runs selected." : size ? `${size} ${size === 1 ? "run" : "runs"} selected.` : "Select two runs to compare them.";
}
const box = (each) => {
  const made = el("input", { type: "checkbox", "aria-label": `Select ${each.title}, ${when(each.created)}`, onchange: () => { if (made.checked) chosen.add(each.id); else chosen.delete(each.id); count(); } });
  made.checked = chosen.has(each.id);
  return made;
};
const tools = (each) => el("div", { class: "row nowrap" },
  PLACES[each.job] ? el("a", { class: "button small", href: `${PLACES[each.job]}?run=${each.id}&again=1`, "aria-label": `Run again: ${each.title}` }, "Run again") : null,
  el("button", { type: "button", class: "small", "aria-label": `Report of ${each.title}`, onclick: () => attempt(() => openReport(each.id)) }, "Report"),
  el("button", { type: "button", class: "small", "aria-label": `Record of ${each.title}`, onclick: () => attempt(async () => { const { page: _, view: __, ...record } = await loadRun(each.id); download(`run-${each.id}.json`, JSON.stringify(record, null, 1), "application/json"); }) }, "Record"),
  el("button", { type: "button", class: "small quiet", "aria-label": `Rename ${each.title}`, onclick: () => rename(each) }, "Rename"),
  el("button", { type: "button", class: "small quiet", "aria-label": `Tags of ${each.title}`, onclick: () => retag(each) }, "Tags"));
const COLUMNS = [
  { title: "", label: "Select", sort: false, filter: false, value: () => "", cell: box },
  { title: "Run", head: true, filter: false, value: (each) => each.title, cell: (each) => el("span", {}, PLACES[each.job] ? el("a", { href: `${PLACES[each.job]}?run=${each.id}` }, each.title) : each.title, each.tags.length ? el("span", { class: "tags" }, each.tags.map((tag) => el("span", { class: "tag" }, tag))) : "") },
  { title: "Kind", value: (each) => each.job, cell: (each) => el("span", { class: "tag" }, each.job) },
  { title: "When", filter: false, value: (each) => each.created, cell: (each) => el("span", { class: "muted nowrap" }, when(each.created)) },
  { title: "Results", kind: "whole", value: (each) => each.results },
  { title: "", label: "Actions", sort: false, filter: false, value: () => "", cell: tools }];

function dialog(box, then) {
  box.returnValue = "";
  box.showModal();
  box.addEventListener("close", () => { if (box.returnValue === "yes") attempt(then); }, { once: true });
}
function rename(each) {
  $("new-name").value = each.title;
  dialog($("naming"), async () => { await ask("PATCH", `/api/site/runs/${each.id}`, { body: { title: $("new-name").value.trim() } }); await load(); tell("Renamed."); });
  $("new-name").select();
}
function retag(each) {
  $("new-tags").value = each.tags.join(", ");
  dialog($("tagging"), async () => { await ask("PATCH", `/api/site/runs/${each.id}`, { body: { tags: $("new-tags").value.split(",") } }); await load(); tell("Tags saved."); });
  $("new-tags").select();
}
function remove() {
  const gone = list.filter((each) => chosen.has(each.id));
  $("sure-text").textContent = `${gone.slice(0, 5).map((each) => short(each.title, 70)).join("; ")}${gone.length > 5 ? ` and ${gone.length - 5} more` : ""}. ${gone.length === 1 ? "It" : "They"} can’t be restored.`;
  dialog($("sure"), async () => {
    for (const each of gone) await ask("DELETE", `/api/site/runs/${each.id}`);
    chosen.clear();
    $("compared").hidden = true;
    await load();
    tell("Deleted.");
  });
}

// ---- two runs -----------------------------------------------------------------------------
async function compare(standardise = false) {
  const order = list.filter((each) => chosen.has(each.id)).reverse(), box = $("compared"); // the older one first
  let found;
  try {
    found = await ask("POST", "/api/site/compare", { body: { first: order[0].id, second: order[1].id, standardise } });
  } catch (error) {
    box.hidden = order.some((each) => each.job !== "score") || standardise;
    if (!box.hidden) box.replaceChildren(el("h2", { tabindex: "-1" }, "These runs measure different things"), el("p", {}, error.message), el("p", {}, "You can still compare them on a standardised scale: how far each action is from its run’s mean."), el("p", {}, el("button", { type: "button", onclick: () => attempt(() => compare(true)) }, "Compare standardised scores")));
    if (box.hidden) throw error;
    box.querySelector("h2").focus();
    return;
  }
  const shown = el("div", {});
  box.replaceChildren(el("h2", { tabindex: "-1" }, `Comparison${standardise ? ", standardised" : ""}`),
    el("div", { class: "two" }, order.map((each, at) => el("p", { class: "card slimmer" }, el("b", {}, at ? "Second" : "First"), el("br"), each.title, el("br"), el("span", { class: "muted small" }, when(each.created))))),
    ...found.view.summary.map((line) => el("p", { class: "sums" }, line)), shown,
    found.warnings.length ? el("section", { class: "callout" }, el("ul", {}, found.warnings.map((line) => el("li", {}, line)))) : "");
  box.hidden = false;
  drawPage(found.view, shown);
  box.querySelector("h2").focus();
}

async function add() {
  const file = $("add").files[0];
  $("add").value = "";
  if (!file) return;
  let record = null;
  try { record = JSON.parse(await file.text()); } catch { /* said below */ }
  if (record === null || typeof record !== "object") return say("trouble", `${short(file.name, 60)} isn’t JSON. Add a run record that a command saved with --out.`);
  await attempt(async () => {
    await ask("POST", `/api/site/runs?source=${encodeURIComponent(short(file.name, 100))}`, { body: record });
    await load();
    tell("Added.");
  });
}

$("add").addEventListener("change", add);
$("compare").addEventListener("click", () => attempt(() => compare()));
$("delete").addEventListener("click", remove);
$("labels").addEventListener("click", () => attempt(async () => download("labels.csv", await askText("GET", "/api/site/labels"), "text/csv")));
for (const id of ["find", "only-tag", "only-kind", "figure"]) $(id).addEventListener("input", draw);
$("trend").addEventListener("toggle", draw);
$("find").value = wanted().get("q") ?? "";
for (const [id, key] of [["only-tag", "tag"], ["only-kind", "kind"], ["figure", "figure"]]) if (wanted().get(key)) $(id).append(el("option", { value: wanted().get(key), selected: true }, wanted().get(key)));
$("trend").open = wanted().has("figure");
await attempt(load);
await attempt(jobs);
document.documentElement.dataset.ready = "yes";
