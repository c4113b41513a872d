// The frame of every page: content warning, light or dark, shortcuts, how many jobs are running.
const $ = (id) => document.getElementById(id), root = document.documentElement;
const store = { get: (key) => { try { return localStorage.getItem(key); } catch { return null; } }, set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* it is asked again */ } } };

const box = $("warning");
if (box) {
  box.hidden = store.get("moralscope.warned") === "yes";
  $("warning-ok").addEventListener("click", () => {
    box.hidden = true;
    $("main").focus({ preventScroll: true });
    store.set("moralscope.warned", "yes");
  });
}

function turn() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  store.set("moralscope.theme", root.dataset.theme);
  globalThis.moralscope?.charts?.redrawAll();
}
$("lamp").addEventListener("click", turn);
$("keys").addEventListener("click", () => $("keys-dialog").showModal());

const PLACES = { a: "/actions", m: "/models", v: "/survey", u: "/audit", k: "/rules", s: "/stories", d: "/guard", r: "/runs" };
let going = -Infinity; // when g was pressed
addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && $("form")) { event.preventDefault(); $("form").requestSubmit(); return; }
  if (event.key === "Escape" && $("cancel") && !$("cancel").hidden && !document.querySelector("dialog[open]")) { $("cancel").click(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog, [contenteditable]")) return;
  if (performance.now() - going < 1200 && PLACES[event.key]) { event.preventDefault(); location.assign(PLACES[event.key]); return; }
  going = event.key === "g" ? performance.now() : -Infinity;
  if (event.key === "?") $("keys-dialog").showModal();
  else if (event.key === "t") turn();
  else if (event.key === "/") {
    const search = document.querySelector("input[type=search]");
    if (search) { event.preventDefault(); search.focus(); }
  }
}, true); // first of all: what it takes is no key of a page
// A menu closes when something else is meant.
addEventListener("click", (event) => { for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target) || event.target.closest("button")) menu.open = false; });
addEventListener("keydown", (event) => { if (event.key === "Escape") for (const menu of document.querySelectorAll("details.menu[open]")) { menu.open = false; menu.querySelector("summary").focus(); } });

async function count() {
  let token = "";
  try { token = sessionStorage.getItem("moralscope.token") ?? ""; } catch { /* none */ }
  try {
    const response = await fetch("/api/site/jobs", { headers: { Accept: "application/json", ...(token ? { "X-Moralscope-Token": token } : {}) } });
    if (!response.ok) return;
    const all = await response.json(), running = all.filter((each) => ["waiting", "running"].includes(each.state)).length;
    $("running-jobs").hidden = !running;
    $("running-jobs").textContent = running ? `${running} running` : "";
  } catch { /* the server is away: the page says so where something is asked */ }
}
setTimeout(count, 400);
addEventListener("moralscope-jobs", () => setTimeout(count, 300));
setInterval(() => { if (!document.hidden) count(); }, 5000);
