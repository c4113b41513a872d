// Buttons that do one thing: data-do="METHOD /address", data-body, data-then, data-ask.
// Forms that send what they hold: data-send="METHOD /address", data-then (else this page again).

import { go, send, trouble } from "./api.js";

async function act(button) {
  if (button.dataset.ask && !window.confirm(button.dataset.ask)) return;
  const forgets = "forget" in button.dataset;
  if (forgets && Object.keys(localStorage).some((key) => key.startsWith("draft:"))
    && !window.confirm("Some of your text is kept on this device only. Sign out and delete it?")) return;
  const [method, address] = button.dataset.do.split(" ");
  button.disabled = true;
  trouble("");
  try {
    await send(method, address, button.dataset.body ? JSON.parse(button.dataset.body) : undefined);
    if (forgets) localStorage.clear();
    go(button.dataset.then);
  } catch (error) {
    button.disabled = false;
    if (error.status === 401) go("/join");
    else trouble(error.message);
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-do]");
  if (button) act(button);
});

export function values(form, submitter) {
  const found = {};
  for (const [name, value] of new FormData(form, submitter)) {
    found[name] = form.elements[name].dataset?.type === "bool" ? value === "true" : value;
  }
  return found;
}

for (const form of document.querySelectorAll("form[data-send]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [method, address] = form.dataset.send.split(" ");
    trouble("");
    try {
      await send(method, address, values(form, event.submitter));
      go(form.dataset.then ?? location.pathname);
    } catch (error) {
      if (error.status === 401) go("/join");
      else trouble(error.message);
    }
  });
}
