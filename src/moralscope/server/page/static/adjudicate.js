// The lead's final answers: take one of the answers, or fill in the form; then the next item.

import "./actions.js";
import { go, send, tell, trouble } from "./api.js";
import { readForm, writeForm } from "./form.js";

const form = document.getElementById("final");

for (const button of document.querySelectorAll("[data-take]")) {
  button.addEventListener("click", () => {
    writeForm(form, JSON.parse(button.dataset.take));
    tell("Copied into the form below. Save it there.");
    form.scrollIntoView({ block: "start" });
    form.querySelector("textarea, input").focus({ preventScroll: true });
  });
}

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  trouble("");
  const button = form.querySelector("button.primary");
  button.disabled = true;
  try {
    await send("POST", "/api/lead/disputed", {
      item: form.dataset.item, answer: readForm(form), comment: form.elements.comment.value,
    });
    location.assign("/lead/adjudicate");
  } catch (error) {
    button.disabled = false;
    if (error.status === 401) go("/join");
    else trouble(error.message);
  }
});
