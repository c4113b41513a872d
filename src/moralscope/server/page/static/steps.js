// Consent, the qualification test and the questionnaire.

import { values } from "./actions.js";
import { go, send, tell, trouble } from "./api.js";

const test = document.getElementById("test");
test?.addEventListener("submit", async (event) => {
  event.preventDefault();
  trouble("");
  try {
    outcome(await send("POST", "/api/test", { answers: values(test) }));
  } catch (error) {
    trouble(error.message);
  }
});

function outcome(result) {
  const box = document.getElementById("result");
  const title = document.createElement("h2");
  const text = document.createElement("p");
  const link = document.createElement("a");
  link.href = "/work";
  link.className = "button primary";
  title.textContent = result.passed ? "You passed" : "Not yet";
  text.textContent = `${result.right} of ${result.of} answers are right. `;
  if (!result.passed) {
    text.textContent += result.attempts_left
      ? "Read why below, then try again with fresh questions."
      : "There is no attempt left.";
  }
  link.textContent = result.passed || !result.attempts_left ? "Continue" : "Try again";
  box.replaceChildren(title, text, link);
  box.classList.toggle("good", result.passed);
  box.hidden = false;
  for (const [id, why] of Object.entries(result.explanations)) remark(id, why, result.right_answers?.[id]);
  for (const input of test.elements) input.disabled = true;
  test.querySelector("button.primary").hidden = true;
  box.focus();
  tell(`${title.textContent}. ${text.textContent}`);
}

function remark(id, why, right) {
  const field = [...test.querySelectorAll("[data-question]")].find((each) => each.dataset.question === id);
  if (!field) return;
  const best = [...field.querySelectorAll("input")].find((input) => input.value === right)?.closest(".choice");
  if (best) {
    const tag = document.createElement("span");
    tag.className = "tag on";
    tag.textContent = "right answer";
    best.classList.add("right");
    best.querySelector("label").append(tag);
  }
  const line = document.createElement("li");
  line.textContent = why;
  const list = field.querySelector(".remarks");
  list.replaceChildren(line);
  list.hidden = false;
}

const about = document.getElementById("about");
about?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const statements = {};
  for (const input of about.querySelectorAll("[data-statement]:checked")) {
    statements[input.dataset.statement] = Number(input.value);
  }
  const leaning = about.querySelector("[name=leaning]:checked")?.value ?? null;
  const told = {};
  for (const select of about.querySelectorAll("[data-about]")) if (select.value) told[select.dataset.about] = select.value;
  try {
    await send("POST", "/api/questionnaire", { leaning, statements, about: told, agrees: about.querySelector("#agrees").checked });
    go("/work");
  } catch (error) {
    trouble(error.message);
  }
});
