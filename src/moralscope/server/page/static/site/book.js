// The editor of a rulebook, on the pages Audit and Rules: open, start from ours, lint while it is typed.
import { $, ask, askText, download, el } from "/static/site/core.js";

const FORMS = { yaml: "yaml", yml: "yaml", csv: "csv", txt: "txt" };
const wrong = (text) => $("lint").replaceChildren(el("ul", { class: "remarks" }, el("li", { class: "wrong" }, text)));

// `books()` says what is checked (null: nothing), `changed` hears of every change.
export function bookEditor({ books, changed }) {
  let wait, turn = 0;
  const goTo = (line) => {
    const area = $("book"), before = area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.focus();
    area.setSelectionRange(before, before + (area.value.split("\n")[line - 1]?.length ?? 0));
  };
  const placed = (text) => { // "line 3" in a message leads there
    const found = /\bline (\d+)/.exec(text);
    return found ? [text.slice(0, found.index), el("button", { type: "button", class: "as-link", onclick: () => goTo(Number(found[1])) }, found[0]), text.slice(found.index + found[0].length)] : [text];
  };
  async function lint() {
    const given = books();
    if (!given) return $("lint").replaceChildren();
    const mine = (turn += 1);
    try {
      const found = await ask("POST", "/v1/rules/lint", { body: { rulebooks: given } });
      if (mine !== turn) return;
      const rules = `${found.statistics.rules.toLocaleString("en")} ${found.statistics.rules === 1 ? "rule" : "rules"}`;
      $("lint").replaceChildren(el("p", { class: found.results.length ? "small" : "small fine" }, found.results.length ? `${rules}; ${found.results.length === 1 ? "1 remark" : `${found.results.length} remarks`}:` : `${rules}, no remarks.`),
        el("ul", { class: "remarks" }, found.results.slice(0, 20).map((each) => el("li", {}, el("b", {}, each.kind), " ", ...placed(each.message)))));
    } catch (error) {
      if (mine === turn) $("lint").replaceChildren(el("ul", { class: "remarks" }, el("li", { class: "wrong" }, ...placed(error.message))));
    }
  }
  const set = async (text, form) => { $("book").value = text; $("form-of").value = form; changed(); await lint(); };
  $("book").addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(lint, 450); });
  $("form-of").addEventListener("change", () => { changed(); lint(); });
  $("book-file").addEventListener("change", async () => {
    const file = $("book-file").files[0];
    if (!file) return;
    const form = FORMS[file.name.split(".").at(-1).toLowerCase()];
    if (!form) wrong(`${file.name} isn’t a rulebook. Open a .yaml, .csv or .txt file.`);
    else if (file.size > 500_000) wrong(`${file.name} is larger than 500 kB.`);
    else await set(await file.text(), form);
    $("book-file").value = "";
  });
  $("start-ours").addEventListener("click", async () => { try { await set(await askText("GET", "/api/site/rulebook"), "yaml"); } catch (error) { wrong(error.message); } });
  $("book-save").addEventListener("click", () => download(`rulebook.${$("form-of").value}`, $("book").value, "text/plain"));
  return { lint, set };
}
