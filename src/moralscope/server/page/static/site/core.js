// What all pages share: elements, numbers, the server, long work with progress and cancel, files.
// Every text is data: it reaches the DOM as textContent only.
import { Trouble, tell } from "/static/api.js";

export { Trouble, tell };
export const $ = (id) => document.getElementById(id);

export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((each) => each !== null && each !== undefined && each !== ""));
  return made;
}

export const signed = (value, digits = 3) =>
  value === null || value === undefined ? "–" : ((value >= 0 ? "+" : "") + value.toFixed(digits)).replace("-", "−");
export const number = (value, digits = 2) =>
  value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "−");
export const short = (text, size) => {
  const chars = [...text];
  return chars.length > size ? chars.slice(0, size - 1).join("") + "…" : text;
};
export const radio = (name) => document.querySelector(`input[name=${name}]:checked`).value;
export function setRadio(name, value) {
  for (const each of document.querySelectorAll(`input[name=${name}]`)) each.checked = each.value === value;
}

// ---- the server ---------------------------------------------------------------------------
const TOKEN = "moralscope.token";
const store = {
  get: (key) => { try { return sessionStorage.getItem(key) ?? ""; } catch { return ""; } },
  set: (key, value) => { try { sessionStorage.setItem(key, value); } catch { /* this tab forgets */ } },
};
export const draft = { read: (key) => { try { return JSON.parse(store.get(`draft.${key}`) || "null"); } catch { return null; } },
  write: (key, value) => store.set(`draft.${key}`, JSON.stringify(value)) };

function askToken() {
  const dialog = $("token-dialog");
  $("token").value = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    if (dialog.returnValue === "ok") store.set(TOKEN, $("token").value.trim());
    resolve(dialog.returnValue === "ok");
  }, { once: true }));
}

const AWAY = "Can’t reach the server. Start it again with “moralscope serve” and try again. What you typed is still here.";

function words(answer, status) {
  const fields = Object.entries(answer.fields ?? {}).map(([name, what]) => `${name}: ${what}`);
  const said = [answer.detail || `the server answered ${status}`, ...fields, answer.remedy].filter(Boolean).join("; ");
  return (/^[a-z]+ /.test(said) ? said[0].toUpperCase() + said.slice(1) : said) + (/[.!?]$/.test(said) ? "" : ".");
}

async function answered(method, address, { body, raw, accept = "application/json", signal } = {}) {
  const headers = { Accept: accept };
  const token = store.get(TOKEN);
  if (token) headers["X-Moralscope-Token"] = token;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (raw !== undefined) headers["Content-Type"] = "application/octet-stream";
  let response;
  try {
    response = await fetch(address, { method, headers, signal, body: raw ?? (body === undefined ? undefined : JSON.stringify(body)) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Trouble(AWAY, 0);
  }
  if (response.ok) return response;
  if (response.status === 401 && (await askToken())) return answered(method, address, { body, raw, accept, signal });
  let problem = {};
  try { problem = await response.json(); } catch { /* no problem document: its status must do */ }
  throw new Trouble(words(problem, response.status), response.status);
}

export async function ask(method, address, options) {
  const response = await answered(method, address, options);
  return response.status === 204 ? null : response.json();
}
export async function askText(method, address, options) {
  return (await answered(method, address, { accept: "*/*", ...options })).text();
}

// The lines of a job: where it stands, results, at the end the record. A broken connection is an error.
export async function followJob(id, { signal, job, result }) {
  const response = await answered("GET", `/api/site/jobs/${encodeURIComponent(id)}`, { signal, accept: "application/x-ndjson" });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", last = null, found = null;
  const take = (line) => {
    if (!line) return;
    const event = JSON.parse(line);
    if (event.type === "job") job(last = event.job);
    else if (event.type === "result") result?.(event.result);
    else if (event.type === "record") found = event;
  };
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      lines.forEach(take);
    }
    take(rest);
  } catch (error) {
    if (error.name === "AbortError" || error instanceof Trouble) throw error;
    throw new Trouble(`The server stopped before this was done. ${AWAY}`, 0);
  }
  if (last?.state === "cancelled") throw new Trouble("Cancelled. Nothing was saved.", 0);
  if (last?.state === "failed") throw new Trouble(words({ detail: last.problem }, 0), 422);
  if (found === null) throw new Trouble(`The server stopped before this was done. ${AWAY}`, 0);
  return { ...found, problem: last.problem };
}

export function say(id, text) {
  const box = $(id);
  box.hidden = !text;
  box.textContent = text || "";
  if (text) box.scrollIntoView({ block: "nearest" });
}

// ---- work ---------------------------------------------------------------------------------
const seconds = (value) => (value < 90 ? `${Math.max(1, Math.round(value))} s` : value < 5400 ? `${Math.round(value / 60)} min` : `${(value / 3600).toFixed(1)} h`);
export function jobWords(job) {
  const many = (value) => value.toLocaleString("en");
  if (job.state === "waiting") return "Waiting…";
  if (job.state !== "running") return { done: "Done", failed: "Failed", cancelled: "Cancelled", ended: "Stopped early" }[job.state] ?? job.state;
  if (job.phase) return `${job.phase[0].toUpperCase()}${job.phase.slice(1)}…`;
  if (!job.total) return "Working…";
  return `${many(job.done)} of ${many(job.total)}${job.left !== null && job.left > 1.5 ? `, about ${seconds(job.left)} left` : ""}`;
}

// Runs a job for the form's button: one at a time, with progress and a cancel. The job goes on when
// the page is left; coming back, the page finds it by the address or by what this tab remembers.
export function worker(button, kind, { ask: asked, done, result, begin }) {
  const bar = $("progress"), cancel = $("cancel"), key = `moralscope.job.${location.pathname}`;
  let current = null, control = null;
  const told = (job) => {
    if (job.total) { bar.max = job.total; bar.value = job.done; } else bar.removeAttribute("value");
    $("progress-text").textContent = jobWords(job);
  };
  cancel.addEventListener("click", async () => {
    if (!current) return control?.abort();
    try { await ask("DELETE", `/api/site/jobs/${current}`); } catch (error) { say("trouble", error.message); }
  });
  const busy = (is) => {
    $("working").hidden = cancel.hidden = !is;
    $(button).toggleAttribute("aria-disabled", is);
    if (is) $(button).setAttribute("aria-disabled", "true");
    $("found").classList.toggle("stale", is);
    $("found").setAttribute("aria-busy", String(is));
    dispatchEvent(new Event("moralscope-jobs"));
  };
  const watch = async (start) => {
    if (control) return;
    control = new AbortController();
    say("trouble", "");
    bar.removeAttribute("value");
    $("progress-text").textContent = "Starting…";
    busy(true);
    tell("Working.");
    try {
      current = await start(control.signal);
      store.set(key, current);
      begin?.();
      const found = await followJob(current, { signal: control.signal, job: told, result });
      await done(found.record, found.run);
      if (found.problem) say("found-trouble", found.problem);
    } catch (error) {
      if (error.name === "AbortError") tell("Cancelled."), say("trouble", "Cancelled. Nothing was saved.");
      else if (error instanceof Trouble) say("trouble", error.message);
      else { console.error(error); say("trouble", "Something went wrong on this page. Reload it and try again."); }
    } finally {
      control = current = null;
      store.set(key, "");
      busy(false);
    }
  };
  const run = () => watch(async (signal) => { const given = await asked(); return (await ask("POST", "/api/site/jobs", { body: { kind, ...given }, signal })).id; });
  // What was left at work here: true where there was something to come back to.
  run.resume = async () => {
    const id = wanted().get("job") || store.get(key);
    if (!id) return false;
    const all = await ask("GET", "/api/site/jobs").catch(() => []), job = all.find((each) => each.id === id && each.kind === kind);
    if (!job) { store.set(key, ""); return false; }
    if (!["waiting", "running"].includes(job.state) && !wanted().get("job")) { store.set(key, ""); return false; }
    watch(async () => id);
    return true;
  };
  return run;
}

export function show(title) {
  $("empty").hidden = true;
  $("found").hidden = false;
  $("found-title").textContent = title;
  tell(`Done: ${title}.`);
  if (matchMedia("(max-width: 64rem)").matches && !$("desk")?.classList.contains("results-first")) $("found-title").scrollIntoView({ block: "start" });
}
// On a phone, what a link shows comes before the form that made it.
export const shared = () => $("desk").classList.add("results-first");
// Opens the run that a link names; what is wrong with it is said on the page.
export async function openShared(id, open) {
  shared();
  try { await open(id); } catch (error) { if (!(error instanceof Trouble)) console.error(error); say("trouble", error.message); }
}

export function notes(lines) {
  $("notes").hidden = !lines?.length;
  const count = lines?.length ?? 0;
  $("notes").replaceChildren(el("details", {}, el("summary", {}, count === 1 ? "One caveat:" : `${count} caveats:`, el("span", { class: "muted" }, ` ${short(lines?.[0] ?? "", 110)}`)), el("ul", {}, (lines ?? []).map((line) => el("li", {}, line)))));
}

// ---- files --------------------------------------------------------------------------------
const { charts, tables, view } = globalThis.moralscope;
export { charts, tables };
export const { drawPage, makeTable } = view;
export const { download, csv } = tables;
export const wanted = () => new URLSearchParams(location.search);
export const loadRun = (id) => ask("GET", `/api/site/runs/${encodeURIComponent(id)}`);

export async function openReport(run) {
  const tab = window.open("", "_blank"); // at once: after a wait the browser would block it
  try {
    const { address } = await ask("POST", `/api/site/runs/${run}/report`);
    if (tab) tab.location = address; else location.assign(address);
  } catch (error) { tab?.close(); throw error; }
}

// The share bar: what is shown, to be passed on. `link` and `rows` are asked when a button is pressed.
export function shareBar({ name, link, record, run, rows, chart }) {
  const attempt = (id, work) => { const button = $(id); if (button) button.onclick = async () => { say("found-trouble", ""); try { await work(button); } catch (error) { say("found-trouble", error.message); } }; };
  attempt("link", async (button) => {
    const address = location.origin + link();
    try {
      await navigator.clipboard.writeText(address);
      button.textContent = "Link copied";
      tell("Link copied.");
      setTimeout(() => { button.textContent = "Copy link"; }, 2500);
    } catch { prompt("Copy this link:", address); }
  });
  attempt("open-report", () => { if (!run()) throw new Trouble("This run was not kept. Export its record instead.", 0); return openReport(run()); });
  attempt("save-json", () => download(`${name}.json`, JSON.stringify(bare(record()), null, 1), "application/json"));
  attempt("save-csv", () => download(`${name}.csv`, csv(rows()), "text/csv"));
  attempt("save-svg", () => download(`${name}.svg`, charts.toSvg(picture(chart)), "image/svg+xml"));
  attempt("save-png", async () => download(`${name}.png`, await charts.toPng(picture(chart)), "image/png"));
}
const bare = ({ page: _, view: __, ...record }) => record; // what the page notes and draws beside a record is no part of it
const picture = (chart) => { const found = chart(); if (!found?.querySelector("svg")) throw new Trouble("There is no chart to save: a chart needs at least two results.", 0); return found; };

// ---- uploads --------------------------------------------------------------------------------
// What the columns of exchanges are called.
export const EXCHANGES = [["Prompts are in", ["prompt", "question", "q", "user", "input", "instruction", "human", "customer"]], ["Replies are in", ["reply", "response", "answer", "a", "assistant", "output", "completion", "bot", "chatbot"]]];
const NO_TEXT = ["id", "nr", "no", "number", "row", "date", "time", "timestamp"]; // columns that are no text of anybody's
// Opens a table and lets its reader choose columns; `use` gets the chosen texts row by row.
export function upload({ input, chooser, wants, use, id = "upload", trouble = "trouble" }) {
  let take = null;
  const close = () => { take = null; chooser.hidden = true; chooser.replaceChildren(); input.value = ""; };
  const guess = (columns, names, at) => {
    const plain = columns.map((name) => name.toLowerCase().trim()), known = plain.findIndex((name) => names.includes(name));
    const texts = [...plain.keys()].filter((place) => !NO_TEXT.includes(plain[place]));
    return known >= 0 ? known : texts[Math.min(at, texts.length - 1)] ?? 0;
  };
  const show = ({ name, columns, rows }) => {
    const asked = typeof wants === "function" ? wants() : wants, most = Number(input.dataset.most);
    if (rows.length > most) throw new Trouble(`${short(name, 60)} has ${rows.length.toLocaleString("en")} rows. This page takes up to ${most.toLocaleString("en")}; use the command line for more.`, 413);
    const plain = columns.length === 1 && columns[0] === "line";
    const heading = el("input", { type: "checkbox", id: `${id}-heading` });
    heading.checked = true;
    const menus = asked.map(([label, names], at) => el("select", { id: `${id}-${at}` }, columns.map((each, place) => el("option", { value: String(place) }, short(each || `column ${place + 1}`, 40)))));
    menus.forEach((menu, at) => { menu.value = String(guess(columns, asked[at][1], at)); });
    const given = () => (heading.checked || plain ? rows : [columns, ...rows]).map((row) => menus.map((menu) => row[Number(menu.value)] ?? ""));
    const taste = el("p", { class: "muted small" });
    const tell = () => { const all = given(); taste.textContent = `${all.length.toLocaleString("en")} rows; the first is “${short(all[0].join(" → "), 80)}”`; };
    chooser.replaceChildren(el("p", { class: "name" }, short(name, 48)), ...asked.map(([label], at) => el("div", { class: "field inline" }, el("label", { for: `${id}-${at}` }, label), menus[at])),
      plain ? "" : el("label", { class: "check" }, heading, el("span", {}, "The first row names the columns")), taste,
      el("div", { class: "row" }, el("button", { type: "button", class: "small primary", onclick: () => take() }, "Use these columns"), el("button", { type: "button", class: "small", onclick: close }, "Cancel")));
    take = () => { const all = given(); close(); use(all, name); };
    chooser.addEventListener("change", tell);
    tell();
    chooser.hidden = false;
    if (plain) take(); else chooser.querySelector("select").focus();
  };
  // Whoever opens a file and runs at once means the file.
  input.form?.addEventListener("submit", () => take?.(), { capture: true });
  input.addEventListener("change", async () => {
    const file = input.files[0];
    if (!file) return;
    say(trouble, "");
    try {
      if (file.size > 4_000_000) throw new Trouble(`${short(file.name, 60)} is larger than 4 MB. For large files use the command line: “moralscope score FILE” or “moralscope audit FILE”.`, 413);
      show(await ask("POST", `/api/site/table?name=${encodeURIComponent(file.name)}`, { raw: await file.arrayBuffer() }));
    } catch (error) { close(); say(trouble, error.message); }
  });
}

// Ratings by people: a CSV file, read whole.
export function humanFile(changed) {
  const state = { text: null, name: "" };
  const tell = () => { $("human-name").textContent = state.text === null ? "" : `${short(state.name, 40)} will be compared with the scores`; $("human-clear").hidden = state.text === null; changed?.(); };
  const read = async () => {
    const file = $("human").files[0];
    state.text = null;
    say("trouble", "");
    if (file && file.size > 500_000) { say("trouble", `${file.name} is too large. The page accepts ratings up to 500 kB.`); $("human").value = ""; }
    else if (file) { state.text = await file.text(); state.name = file.name; }
    tell();
  };
  $("human").addEventListener("change", read);
  $("human-clear").addEventListener("click", () => { $("human").value = ""; read(); });
  state.set = (text, name) => { state.text = text ?? null; state.name = name; tell(); };
  return state;
}

// ---- axes -----------------------------------------------------------------------------------
// What an axis offers stands on its button (the server says it): models, fits, whether a norm is read.
export const axisOffer = () => { const data = document.querySelector("input[name=axis]:checked").dataset; return { models: data.models.split(" "), speakers: data.speakers.split(" ").filter(Boolean), fits: data.fits.split(" ").filter(Boolean), norm: data.norm === "yes", interval: data.interval }; };
export function followAxis() {
  const axis = radio("axis"), offer = axisOffer();
  for (const each of document.querySelectorAll("[data-axis]")) each.hidden = each.dataset.axis !== axis;
  $("fit-row").hidden = !offer.fits.length;
  $("norm-row").hidden = !offer.norm;
  return offer;
}
export const axisOptions = () => { const offer = axisOffer(); return { axis: radio("axis"), ...(offer.fits.length ? { fit: $("fit").value } : {}), ...(offer.norm && $("norm").value.trim() ? { norm: $("norm").value.trim() } : {}) }; };
export function restoreAxis(given) {
  if (given.axis && document.querySelector(`input[name=axis][value="${CSS.escape(given.axis)}"]`)) setRadio("axis", given.axis);
  if (given.fit && [...$("fit").options].some((each) => each.value === given.fit)) $("fit").value = given.fit;
  $("norm").value = given.norm ?? "";
}
