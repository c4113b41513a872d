// The content warning: shown until it was understood, once a browser.
const KEY = "moralscope.warned";
const box = document.getElementById("warning");
let seen = false;
try { seen = localStorage.getItem(KEY) === "yes"; } catch { /* storage is off: show it */ }
if (box) {
  box.hidden = seen;
  document.getElementById("warning-ok").addEventListener("click", () => {
    box.hidden = true;
    document.getElementById("main").focus({ preventScroll: true });
    try { localStorage.setItem(KEY, "yes"); } catch { /* it will be shown again */ }
  });
}
