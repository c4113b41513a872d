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

const AWAY = "The server cannot be reached. Start it again with “moralscope serve”, then try once more: what you typed is still here.";

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

// Long work: lines of progress and results, then the record. A broken connection is an error.
export async function stream(address, body, { signal, progress, result }) {
  const response = await answered("POST", address, { body, signal, accept: "application/x-ndjson" });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", record = null;
  const take = (line) => {
    if (!line) return;
    const event = JSON.parse(line);
    if (event.type === "progress") progress?.(event.done, event.total);
    else if (event.type === "result") result?.(event.result);
    else if (event.type === "record") record = event.record;
    else if (event.type === "problem") throw new Trouble(words(event, event.status), event.status);
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
    throw new Trouble(`The server went away before this was done. ${AWAY}`, 0);
  }
  if (record === null) throw new Trouble(`The server went away before this was done. ${AWAY}`, 0);
  return record;
}

export function say(id, text) {
  const box = $(id);
  box.hidden = !text;
  box.textContent = text || "";
  if (text) box.scrollIntoView({ block: "nearest" });
}

// ---- work ---------------------------------------------------------------------------------
// Runs `work(signal, progress)` for the form's button: one at a time, with progress and a cancel.
export function worker(button, work) {
  const bar = $("progress"), cancel = $("cancel");
  let control = null;
  const progress = (done, total) => {
    if (total) { bar.max = total; bar.value = done; }
    $("progress-text").textContent = total ? `${done.toLocaleString("en")} of ${total.toLocaleString("en")}` : "Working…";
  };
  cancel.addEventListener("click", () => control?.abort());
  return async () => {
    if (control) return;
    control = new AbortController();
    say("trouble", "");
    bar.removeAttribute("value");
    $("progress-text").textContent = "Working… the first run loads the model.";
    $("working").hidden = cancel.hidden = false;
    $(button).setAttribute("aria-disabled", "true");
    tell("Working.");
    try {
      await work(control.signal, progress);
    } catch (error) {
      if (error.name === "AbortError") tell("Cancelled."), say("trouble", "Cancelled. Nothing was kept.");
      else if (error instanceof Trouble) say("trouble", error.message);
      else { console.error(error); say("trouble", "Something failed on this page. Reload it and try again."); }
    } finally {
      control = null;
      $("working").hidden = cancel.hidden = true;
      $(button).removeAttribute("aria-disabled");
    }
  };
}

export function show(title) {
  $("empty").hidden = true;
  $("found").hidden = false;
  $("found-title").textContent = title;
  tell(`Done: ${title}.`);
  if (matchMedia("(max-width: 64rem)").matches) $("found-title").scrollIntoView({ block: "start" });
}

export function notes(lines) {
  $("notes").hidden = !lines?.length;
  $("notes").replaceChildren(el("h3", {}, "Read with care"), el("ul", {}, (lines ?? []).map((line) => el("li", {}, line))));
}

// ---- files --------------------------------------------------------------------------------
export function download(name, content, kind) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// A cell that a spreadsheet would run as a formula gets an apostrophe, as everywhere in CSV.
export function csv(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

// Keeps a run in the list of runs; a failure there must not hide what was found.
export async function keep(record) {
  try {
    return (await ask("POST", "/api/site/runs", { body: record })).id;
  } catch (error) {
    say("found-trouble", `This run was not kept in the list of runs. ${error.message}`);
    return null;
  }
}

export const wanted = () => new URLSearchParams(location.search);
export const loadRun = (id) => ask("GET", `/api/site/runs/${encodeURIComponent(id)}`);

export function table(heads, rows) {
  return el("table", {}, el("thead", {}, el("tr", {}, heads.map(([name, kind]) => el("th", { scope: "col", class: kind }, name)))),
    el("tbody", {}, rows));
}
