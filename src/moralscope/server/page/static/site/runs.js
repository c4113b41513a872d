// The page Runs: what was kept; open, compare, take away, delete.
import { $, ask, askText, download, el, loadRun, number, say, short, signed, table, tell } from "/static/site/core.js";

const PLACES = { score: "/actions", compare: "/actions", audit: "/audit", chain: "/stories", generate: "/stories" };
let list = [], chosen = [];

const when = (created) => { const date = new Date(created); return Number.isNaN(date.valueOf()) ? created : date.toLocaleString("en", { dateStyle: "medium", timeStyle: "short" }); };
const attempt = async (work) => { say("trouble", ""); try { await work(); } catch (error) { say("trouble", error.message); } };

async function load() {
  list = await ask("GET", "/api/site/runs");
  chosen = chosen.filter((id) => list.some((each) => each.id === id));
  draw();
}

function draw() {
  $("empty").hidden = list.length > 0;
  $("compare").hidden = list.length < 2;
  $("compare").disabled = chosen.length !== 2;
  $("chosen").textContent = list.length < 2 ? "" : chosen.length === 2 ? "Two runs are chosen." : chosen.length === 1 ? "Choose one more run to compare it with." : "Choose two runs to compare them.";
  $("list").replaceChildren(...(list.length ? [table([["", "pick"], ["Run"], ["When"], ["Results", "n"], ["", "n"]], list.map(line))] : []));
}

function line(each) {
  const title = `${each.job}: ${each.about || "run"}`, box = el("input", { type: "checkbox", "aria-label": `Choose ${title}, ${when(each.created)}` });
  box.checked = chosen.includes(each.id);
  box.addEventListener("change", () => {
    chosen = box.checked ? [...chosen, each.id].slice(-2) : chosen.filter((id) => id !== each.id);
    draw();
    document.querySelector(`[data-run="${each.id}"] input`)?.focus();
  });
  const place = PLACES[each.job];
  return el("tr", { "data-run": each.id }, el("td", { class: "pick" }, box),
    el("th", { scope: "row" }, el("span", { class: "tag on" }, each.job), " ", place ? el("a", { href: `${place}?run=${each.id}` }, each.about || "open") : each.about),
    el("td", { class: "muted" }, when(each.created)), el("td", { class: "n" }, each.results.toLocaleString("en")),
    el("td", { class: "n" }, el("div", { class: "row" },
      el("button", { type: "button", class: "small", "aria-label": `Report of ${title}`, onclick: () => attempt(async () => download(`report-${each.id}.html`, await askText("GET", `/api/site/runs/${each.id}/report`), "text/html")) }, "Report"),
      el("button", { type: "button", class: "small", "aria-label": `Record of ${title}`, onclick: () => attempt(async () => download(`run-${each.id}.json`, JSON.stringify(await loadRun(each.id), null, 1), "application/json")) }, "Record"),
      el("button", { type: "button", class: "small quiet", "aria-label": `Delete ${title}`, onclick: () => remove(each) }, "Delete"))));
}

function remove(each) {
  const dialog = $("sure");
  $("sure-text").textContent = `${each.job}: ${each.about}, ${when(each.created)}. It cannot be brought back.`;
  dialog.returnValue = "";
  dialog.showModal();
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "yes") return;
    attempt(async () => {
      await ask("DELETE", `/api/site/runs/${each.id}`);
      $("compared").hidden = true;
      await load();
      tell("Deleted.");
    });
  }, { once: true });
}

// ---- two runs -----------------------------------------------------------------------------
const flat = (value, before = "") => Object.entries(value ?? {}).flatMap(([key, each]) =>
  each !== null && typeof each === "object" && !Array.isArray(each) ? flat(each, `${before}${key}.`) : [[before + key, Array.isArray(each) ? each.map((one) => (typeof one === "object" ? JSON.stringify(one) : one)).join(", ") : each]]);
const write = (value) => (value === null || value === undefined ? "–" : typeof value === "number" && !Number.isInteger(value) ? number(value, 3) : short(String(value), 80));

const KEYS = {
  score: [(row) => row.action, (row) => row.score, "Action"],
  compare: [(row) => row.action, (row) => row.differences[0]?.difference ?? 0, "Difference of the encoders on"],
  audit: [(row) => `${row.prompt}\n${row.reply}`, (row) => row.verdict.score, "Exchange"],
  chain: [(row) => row.target ?? row.id, (row) => row.choice, "Target"],
};

function results(first, second) {
  const known = first.job === second.job ? KEYS[first.job] : null;
  if (!known) return [el("p", { class: "muted" }, "Results can be compared between two runs of the same kind.")];
  const [key, value, title] = known, others = new Map(second.results.map((row) => [key(row), value(row)]));
  const both = first.results.filter((row) => others.has(key(row))).map((row) => [key(row), value(row), others.get(key(row))]);
  if (!both.length) return [el("p", { class: "muted" }, "The two runs have nothing in common that could be compared.")];
  const isNumber = typeof both[0][1] === "number", cells = isNumber ? (each) => signed(each) : (each) => each ?? "–", kind = isNumber ? "n" : "";
  if (isNumber) both.sort((a, b) => Math.abs(b[2] - b[1]) - Math.abs(a[2] - a[1]));
  return [el("p", { class: "muted" }, `${both.length.toLocaleString("en")} of ${first.results.length.toLocaleString("en")} and ${second.results.length.toLocaleString("en")} results are in both${both.length > 100 ? "; the first 100 are shown" : ""}.`),
    table([[title], ["First", kind], ["Second", kind], ...(isNumber ? [["Change", "n"]] : [])], both.slice(0, 100).map(([name, a, b]) =>
      el("tr", {}, el("th", { scope: "row" }, short(name, 120)), el("td", { class: kind }, cells(a)), el("td", { class: kind }, cells(b)), isNumber ? el("td", { class: "n" }, signed(b - a)) : null)))];
}

async function compare() {
  const order = list.filter((each) => chosen.includes(each.id)).reverse(); // the older one first
  const [first, second] = await Promise.all(order.map((each) => loadRun(each.id)));
  const one = new Map(flat({ ...first.config, ...Object.fromEntries(flat(first.statistics?.scores)) })), two = new Map(flat({ ...second.config, ...Object.fromEntries(flat(second.statistics?.scores)) }));
  const names = [...new Set([...one.keys(), ...two.keys()])].filter((each) => write(one.get(each)) !== write(two.get(each)));
  const box = $("compared");
  box.replaceChildren(el("h2", { tabindex: "-1" }, "Two runs beside each other"),
    el("div", { class: "two" }, order.map((each, at) => el("p", { class: "card slimmer" }, el("b", {}, at ? "Second" : "First"), el("br"), `${each.job}: ${each.about}`, el("br"), el("span", { class: "muted small" }, when(each.created))))),
    el("h3", {}, "How they were made"), names.length ? el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "How they were made" }, table([["Setting"], ["First"], ["Second"]], names.map((each) => el("tr", {}, el("th", { scope: "row" }, each), el("td", {}, write(one.get(each))), el("td", {}, write(two.get(each))))))) : el("p", { class: "muted" }, "In the same way."),
    el("h3", {}, "What they found"), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What they found" }, results(first, second)));
  box.hidden = false;
  box.querySelector("h2").focus();
}

async function add() {
  const file = $("add").files[0];
  $("add").value = "";
  if (!file) return;
  let record = null;
  try { record = JSON.parse(await file.text()); } catch { /* said below */ }
  if (record === null || typeof record !== "object") return say("trouble", `${short(file.name, 60)} is not JSON: add a run record that a command saved with --out.`);
  await attempt(async () => {
    await ask("POST", "/api/site/runs", { body: record });
    await load();
    tell("Added.");
  });
}

$("add").addEventListener("change", add);
$("compare").addEventListener("click", () => attempt(compare));
await attempt(load);
document.documentElement.dataset.ready = "yes";
