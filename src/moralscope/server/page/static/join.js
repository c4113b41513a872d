// Exchanges the token in the link's fragment, which no server log ever sees, for a session.

import { send, trouble } from "./api.js";

const form = document.getElementById("join");

async function join(token) {
  const waiting = document.getElementById("joining");
  waiting.hidden = false;
  form.hidden = true;
  trouble("");
  try {
    const joined = await send("POST", "/api/join", { token });
    location.replace(joined.next);
  } catch (error) {
    waiting.hidden = true;
    form.hidden = false;
    trouble(error.message);
    form.elements.token.focus();
  }
}

function fromLink() {
  const token = location.hash.slice(1);
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  join(decodeURIComponent(token));
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  join(form.elements.token.value.trim().split("#").at(-1));
});
window.addEventListener("hashchange", fromLink);
fromLink();
