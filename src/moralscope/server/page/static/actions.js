// Buttons that do one thing: data-do="METHOD /address", data-body, data-then, data-ask.

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
