// The lead's pages: invitations, reviews, exports.

import "./actions.js";
import { go, send, tell, trouble } from "./api.js";

async function doing(work) {
  trouble("");
  try {
    await work();
  } catch (error) {
    if (error.status === 401) go("/join");
    else trouble(error.message);
  }
}

const dialog = document.getElementById("invited");

function invited(answer) {
  document.getElementById("invited-name").textContent = answer.person.name;
  document.getElementById("invited-link").textContent = answer.link;
  dialog.showModal();
}

document.getElementById("invite")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  doing(async () => {
    const { name, role } = form.elements;
    invited(await send("POST", "/api/lead/people", { name: name.value.trim(), role: role.value }));
    form.reset();
  });
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-invite]");
  if (button) doing(async () => invited(await send("POST", button.dataset.invite)));
});

dialog?.addEventListener("close", () => {
  document.getElementById("invited-link").textContent = "";
  go("/lead");
});
document.getElementById("copy")?.addEventListener("click", () => doing(async () => {
  try {
    await navigator.clipboard.writeText(document.getElementById("invited-link").textContent);
    tell("Copied.");
    document.getElementById("copy").textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(document.getElementById("invited-link"));
  }
}));

for (const form of document.querySelectorAll("[data-review]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    doing(async () => {
      const body = { verdict: event.submitter?.value ?? "good", feedback: form.elements.feedback.value };
      await send("POST", `/api/lead/review/${form.dataset.review}`, body);
      const said = document.createElement("p");
      said.className = "tag on";
      said.textContent = body.verdict === "good" ? "Marked as good" : "Marked to mend";
      form.replaceWith(said);
      tell(said.textContent);
    });
  });
}

const exporting = document.getElementById("export");
const endings = { jsonl: "answers.jsonl", csv: "answers.csv", parquet: "answers.parquet", mic: "MIC.csv", stories: "stories.jsonl", human: "human.csv", people: "people.jsonl" };
exporting?.elements.shape.addEventListener("change", () => {
  exporting.elements.file.value = endings[exporting.elements.shape.value];
});
exporting?.addEventListener("submit", (event) => {
  event.preventDefault();
  doing(async () => {
    const { shape, file } = exporting.elements;
    const made = await send("POST", "/api/lead/exports", { name: file.value.trim(), shape: shape.value });
    tell(`Exported ${made.name}.`);
    location.assign(made.address);
  });
});
