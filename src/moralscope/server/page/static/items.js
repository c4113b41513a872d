// The lead's items: a table to search and sort; more from a file.

import "./actions.js";
import { send, tell, trouble } from "./api.js";

const csrf = document.querySelector("meta[name=csrf]")?.content ?? "";
const whole = (row) => Object.values(row.texts).join(" \u2192 ");
const short = (text) => (text.length > 160 ? `${text.slice(0, 159)}\u2026` : text);

async function load() {
  const rows = await send("GET", "/api/lead/items"), box = document.getElementById("items");
  if (!rows.length) {
    const none = document.createElement("p");
    none.textContent = "No items yet: add a table above.";
    box.replaceChildren(none);
    return;
  }
  box.replaceChildren(globalThis.moralscope.tables.make({ name: "Items", file: "items.csv", rows, columns: [
    { title: "Item", head: true, filter: false, value: (row) => row.id },
    { title: "Text", filter: false, value: whole, cell: (row) => short(whole(row)) },
    { title: "Round", value: (row) => (row.stage === "staging" ? "trial" : row.stage) },
    { title: "Answers", kind: "whole", value: (row) => row.answers },
    { title: "Wanted", kind: "whole", value: (row) => row.wanted },
  ] }));
}

document.getElementById("add").addEventListener("submit", async (event) => {
  event.preventDefault();
  trouble("");
  const { file, staging } = event.target.elements, chosen = file.files[0];
  if (!chosen) return trouble("Choose a file first.");
  if (chosen.size > 256 * 1024) return trouble(`${chosen.name} is larger than 256 kB: add it on the command line.`);
  try {
    const query = new URLSearchParams({ name: chosen.name, staging: staging.value || "0" });
    const { added } = await send("POST", `/api/lead/items?${query}`, undefined, { body: await chosen.arrayBuffer(), headers: { Accept: "application/json", "X-CSRF-Token": csrf, "Content-Type": "application/octet-stream" } });
    event.target.reset();
    await load();
    tell(`${added} items were added.`);
  } catch (error) {
    trouble(error.message);
  }
  return undefined;
});
load().catch((error) => trouble(error.message));
