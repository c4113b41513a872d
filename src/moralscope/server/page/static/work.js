// The annotation form: nothing that is written is lost.
//
// Every change is kept on this device at once and sent to the server soon after; the copy here is
// dropped only when the server has said that it is saved. A submission keeps its id until the
// server has answered, so that sending it again adds nothing.

import "./actions.js";
import { Trouble, freshId, go, send, tell, trouble } from "./api.js";
import { early, readForm, writeForm } from "./form.js";

const form = document.getElementById("work");
const editing = form.dataset.editing === "yes";
const base = `/api/work/${form.dataset.assignment}`;
const key = `draft:${document.body.dataset.person}:${form.dataset.assignment}`;
const mark = document.getElementById("saved");
const touched = new Set();
let changes = 0; // counted, to know whether something came in while a save was under way
let saved = 0;
let timer = 0;
let busy = false;
let ended = false; // submitted, skipped or paused: nothing is saved any more

function local(value) {
  try {
    if (value === undefined) return JSON.parse(localStorage.getItem(key));
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // No storage, or it is full: the server's copy must do.
  }
  return null;
}

function say(state, text) {
  mark.dataset.state = state;
  if (mark.textContent !== text) mark.textContent = text;
}

function keep() {
  const before = local() ?? {};
  local({ ...before, answer: readForm(form) });
}

function changed(event) {
  const field = event.target.closest("[data-field]");
  if (!field || ended) return;
  touched.add(field.dataset.field);
  changes += 1;
  keep();
  say("dirty", editing ? "Changed" : "Saving …");
  clearTimeout(timer);
  timer = setTimeout(save, 700);
}

async function save() {
  if (busy || ended) return;
  busy = true;
  const at = changes;
  const answer = readForm(form);
  let wait = 0;
  try {
    if (!editing) {
      await send("PUT", `${base}/draft`, { answer });
      if (changes === at) local(null);
      const time = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      say("saved", `Draft saved ${time}`);
    }
    saved = at;
    if (touched.size) show((await send("POST", `${base}/check`, { answer })).findings, touched);
  } catch (error) {
    if (editing) wait = 0;
    else wait = failed(error);
  }
  busy = false;
  if (ended) return;
  if (wait || changes !== saved) timer = setTimeout(save, wait || 700);
}

function failed(error) {
  say("failed", "Not saved: kept on this device");
  if (error.status === 401 || error.status === 403) {
    trouble(`${error.message} Nothing you wrote is lost: it is kept on this device.`);
    return 0;
  }
  if (error.status === 409) {
    trouble(`${error.message} Your text is kept below.`);
    return 0;
  }
  return 5000;
}

// Remarks are shown beside the fields that the person has been at; at a submission beside all.
function show(findings, only) {
  for (const field of form.querySelectorAll("[data-field]")) {
    const name = field.dataset.field;
    if (only && !only.has(name)) continue;
    const lines = findings.filter((each) => each.field === name).map((each) => {
      const line = document.createElement("li");
      line.textContent = each.message;
      if (!each.blocks) line.className = "hint";
      return line;
    });
    const list = field.querySelector(".remarks");
    if (list.textContent !== lines.map((line) => line.textContent).join("")) list.replaceChildren(...lines);
    const blocked = findings.some((each) => each.field === name && each.blocks);
    for (const input of field.querySelectorAll("textarea, input[type=text]")) {
      input.setAttribute("aria-invalid", String(blocked));
    }
  }
}

async function submit() {
  if (ended) return;
  const button = form.querySelector("button.primary");
  button.disabled = true;
  trouble("");
  clearTimeout(timer);
  const answer = readForm(form);
  const submission = (local() ?? {}).submission ?? freshId();
  local({ answer, submission });
  say("dirty", "Saving …");
  try {
    const receipt = editing
      ? await send("PUT", `${base}/answer`, { submission, answer })
      : await send("POST", `${base}/submit`, { submission, answer });
    if (receipt.saved) {
      ended = true;
      local(null);
      say("saved", "Saved");
      tell("Saved.");
      go(editing ? "/answers" : "/work");
      return;
    }
    local({ answer });
    refuse(receipt.findings);
  } catch (error) {
    say("failed", "Not saved: kept on this device");
    trouble(`Not saved. ${error instanceof Trouble ? error.message : "Try again."} Your text is kept.`);
  }
  button.disabled = false;
}

function refuse(findings) {
  show(findings, null);
  say("dirty", "Not submitted yet");
  const blocking = findings.filter((each) => each.blocks);
  const first = blocking[0] && fieldNamed(blocking[0].field);
  const count = blocking.length === 1 ? "One thing" : `${blocking.length} things`;
  tell(`${count} to fix before you can submit.`);
  for (const each of blocking) touched.add(each.field);
  focus(first);
}

function fieldNamed(name) {
  return [...form.querySelectorAll("[data-field]")].find((each) => each.dataset.field === name);
}

function focus(field) {
  (field?.querySelector("input:checked") ?? field?.querySelector("input, textarea"))?.focus();
}

async function leave(address, body) {
  ended = true;
  clearTimeout(timer);
  try {
    if (!editing && changes !== saved) await send("PUT", `${base}/draft`, { answer: readForm(form) });
    await send("POST", address, body);
    local(null);
    go("/work");
  } catch (error) {
    ended = false;
    trouble(error.message);
  }
}

// Each item opens at its top, at its first question: a reload would keep the place in the last one.
history.scrollRestoration = "manual";
function open() {
  scrollTo(0, 0);
  if (document.activeElement !== document.body && document.activeElement) return;
  form.querySelector("[data-field] :is(input, textarea)")?.focus({ preventScroll: true });
}

function start() {
  const kept = local();
  for (const field of early(form)) changed({ target: field });
  if (changes || !kept?.answer) return;
  writeForm(form, kept.answer);
  changes += 1;
  say("dirty", "Unsaved text restored");
  if (!editing) save();
}

form.addEventListener("input", changed);
form.addEventListener("change", (event) => {
  if (event.target.matches("[type=radio], [type=checkbox]")) changed(event); // texts have said so by input
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    submit();
  } else if (event.altKey && !event.ctrlKey && /^(Key[A-Z]|Digit\d)$/.test(event.code)) {
    const pressed = event.code.at(-1).toLowerCase();
    const field = [...form.querySelectorAll("[data-field]")].find((each) => each.dataset.shortcut.toLowerCase() === pressed);
    if (!field) return;
    event.preventDefault();
    focus(field);
  }
});
// 1 to 9 choose in the question at hand, y and n say yes and no; typing in a text is left alone.
const chooses = (field) => field.querySelector("input[type=radio], input[type=checkbox]");
const isOpen = (field) => chooses(field) && !field.querySelector("input:checked");
function atHand() {
  const here = document.activeElement?.closest("[data-field]");
  if (here && form.contains(here) && chooses(here)) return here;
  return [...form.querySelectorAll("[data-field]")].find(isOpen);
}
function pressed(key) {
  const field = atHand();
  if (!field) return false;
  const inputs = [...field.querySelectorAll("input")];
  const said = { y: "true", n: "false" }[key];
  const input = said ? inputs.find((each) => each.type === "radio" && each.value === said)
    : field.dataset.reads === "number" ? inputs.find((each) => each.value === key) : inputs[Number(key) - 1];
  if (!input) return false;
  input.focus();
  input.click();
  if (input.type === "checkbox") return true;
  const next = [...form.querySelectorAll("[data-field]")].find(isOpen);
  if (next) { focus(next); next.scrollIntoView({ block: "nearest" }); }
  return true;
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("textarea, input[type=text], input[type=search], dialog")) return;
  if (/^[1-9yn]$/.test(event.key) && pressed(event.key)) event.preventDefault();
});

window.addEventListener("pagehide", () => {
  if (ended || editing || changes === saved) return;
  send("PUT", `${base}/draft`, { answer: readForm(form) }, { keepalive: true, signal: undefined }).catch(() => {});
});
window.addEventListener("online", save);
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload(); // the browser kept the page as it was; the server has moved on
});
document.getElementById("leave")?.addEventListener("click", () => local(null));

const dialog = document.getElementById("skipping");
document.getElementById("skip")?.addEventListener("click", () => dialog.showModal());
dialog.addEventListener("close", () => {
  if (dialog.returnValue === "skip") leave(`${base}/skip`, { reason: document.getElementById("reason").value });
});
document.getElementById("pause")?.addEventListener("click", () => leave("/api/pause"));

const aid = document.getElementById("examples");
if (aid) aid.open = window.matchMedia("(min-width: 56rem)").matches;
const search = document.getElementById("search");
let asked = 0;
let soon = 0;
async function look() {
  const words = search.elements.q.value.trim();
  const list = document.getElementById("found");
  const number = ++asked;
  if (words.length < 2) return list.replaceChildren();
  try {
    const found = await send("GET", `/api/examples?q=${encodeURIComponent(words)}`);
    if (number !== asked) return undefined;
    list.replaceChildren(...(found.length ? found.map(example) : [line("No matches. Try another word.")]));
  } catch (error) {
    list.replaceChildren(line(error.message));
  }
  return undefined;
}

function line(text) {
  const item = document.createElement("li");
  item.textContent = text;
  return item;
}

function example(each) {
  const item = line(each.text);
  const about = document.createElement("small");
  about.className = "muted";
  about.textContent = ` ${each.foundations.join(", ")}`;
  item.append(about);
  return item;
}

search?.addEventListener("submit", (event) => {
  event.preventDefault();
  look();
});
search?.addEventListener("input", () => {
  clearTimeout(soon);
  soon = setTimeout(look, 250);
});

start();
open();
