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

function invited(...answers) {
  const many = answers.length > 1;
  document.getElementById("invited-name").textContent = many ? `${answers.length} people` : answers[0].person.name;
  document.getElementById("invited-link").replaceChildren(...answers.map((answer) => {
    const line = document.createElement("p"), link = document.createElement("code");
    link.className = "link-box";
    link.textContent = answer.link;
    if (many) line.append(`${answer.person.name}\t`);
    line.append(link);
    return line;
  }));
  dialog.showModal();
}

document.getElementById("invite")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  doing(async () => {
    const { name, role } = form.elements, names = name.value.split("\n").map((line) => line.trim()).filter(Boolean), made = [];
    const long = names.find((each) => each.length > 80);
    if (!names.length || long) return trouble(long ? `“${long.slice(0, 40)}…” is longer than 80 characters.` : "Enter at least one name.");
    try {
      for (const each of names) made.push(await send("POST", "/api/lead/people", { name: each, role: role.value }));
    } finally {
      if (made.length) invited(...made); // links are shown this once, also where a later one failed
    }
    form.reset();
    return undefined;
  });
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-invite]");
  if (button) doing(async () => invited(await send("POST", button.dataset.invite)));
});

dialog?.addEventListener("close", () => {
  document.getElementById("invited-link").replaceChildren();
  go("/lead");
});
document.getElementById("copy")?.addEventListener("click", () => doing(async () => {
  try {
    await navigator.clipboard.writeText([...document.querySelectorAll("#invited-link p")].map((each) => each.textContent).join("\n"));
    tell("Copied.");
    document.getElementById("copy").textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(document.getElementById("invited-link"));
  }
}));

// The counts of the overview follow the work.
const tiles = document.querySelector(".tiles [data-count]");
async function count() {
  if (document.hidden || dialog?.open) return;
  try {
    const seen = await send("GET", "/api/lead/overview");
    const write = (cell, value) => { if (cell && cell.textContent !== String(value)) cell.textContent = String(value); };
    for (const cell of document.querySelectorAll(".tiles [data-count]")) write(cell, seen[cell.dataset.count]);
    for (const line of seen.people) {
      const row = [...document.querySelectorAll("tr[data-person]")].find((each) => each.dataset.person === line.person.id);
      for (const cell of row?.querySelectorAll("[data-count]") ?? []) write(cell, line[cell.dataset.count]);
    }
  } catch { /* shown at the next try, or when something is done */ }
}
if (tiles) setInterval(count, 5000);

// The header of a person follows her reviews: how many are left, how many were good in a row.
function counted(section, good) {
  const left = section?.querySelector("[data-to-read]"), row = section?.querySelector("[data-in-a-row]");
  if (left) { left.dataset.toRead = Math.max(0, left.dataset.toRead - 1); left.textContent = `${left.dataset.toRead} to read`; }
  if (row) { row.dataset.inARow = good ? Number(row.dataset.inARow) + 1 : 0; row.textContent = `${row.dataset.inARow} of ${row.dataset.wanted} good in a row`; }
}

for (const form of document.querySelectorAll("[data-review]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    doing(async () => {
      const body = { verdict: event.submitter?.value ?? "good", feedback: form.elements.feedback.value };
      const name = form.dataset.review;
      if (body.verdict === "reject") {
        await send("POST", `/api/lead/answers/${name}/reject`, { reason: body.feedback });
        return go(location.pathname);
      }
      await send("POST", `/api/lead/review/${name}`, body);
      const said = document.createElement("p");
      said.className = "tag on";
      said.textContent = body.verdict === "good" ? "Marked as good" : "Changes requested";
      counted(form.closest("section"), body.verdict === "good");
      form.replaceWith(said);
      tell(said.textContent);
      return undefined;
    });
  });
}

const exporting = document.getElementById("export");
const endings = { jsonl: "answers.jsonl", csv: "answers.csv", parquet: "answers.parquet", mic: "MIC.csv", stories: "stories.jsonl", human: "human.csv", people: "people.jsonl", audit: "audit.jsonl" };
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
