// What the pages have in common that ask one question and show one record: the run that is shown,
// its link, how it is opened again, what the form keeps, samples, and how the page starts.
import { $, Trouble, draft, drawPage, loadRun, notes, openShared, say, shareBar, shared, show, upload, wanted, worker } from "/static/site/core.js";

// `text` names the box with what is asked about; `asked` gives the request, `given` the form of a
// kept run, `looks` its title, table and clicks; `link` and `linked` are of a page whose address says it all.
export function desk({ name, kind, button = "run", text, refresh, restore, asked, given, looks, unfit, human, link, linked }) {
  const shown = { record: null, kept: null, source: "" };
  const address = () => link?.(shown.record) ?? `/${name}?run=${shown.kept ?? ""}`;
  const draw = (record, kept) => {
    Object.assign(shown, { record, kept });
    const { title, rows, click, file = name } = looks(record);
    say("found-trouble", "");
    show(title);
    drawPage(record.view, $("views"), { click });
    notes(record.warnings);
    shareBar({ name: file, link: address, record: () => record, run: () => kept, chart: () => $("views").querySelector(".chart"), rows });
  };
  const run = worker(button, kind, {
    ask: async () => ({ request: await asked(), source: shown.source }),
    done: (record, kept) => { draw(record, kept); history.replaceState(null, "", address()); },
  });
  const fill = (value, source = "") => { $(text).value = value; shown.source = source; refresh(); };
  const open = async (id) => {
    const found = await loadRun(id), request = { ...found.config.options, ...found.page?.request };
    if (found.job !== kind || !found.results.length) throw new Trouble(unfit, 422);
    restore(given(found, request));
    if (typeof request.human === "string" && found.page) human?.set(request.human, "ratings of this run");
    shown.source = found.page?.source ?? "";
    refresh();
    draw(found, id);
  };
  const start = async () => {
    const id = wanted().get("run"), told = linked?.(), before = told ?? draft.read(name);
    if (id) {
      await openShared(id, open);
      if (shown.record && wanted().get("again")) run();
      return;
    }
    if (told) shared();
    if (before) restore(before);
    refresh();
    if (told) run(); else await run.resume();
  };

  $("form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
  $("form").addEventListener("input", (event) => { if (event.target.id === text) shown.source = ""; refresh(); });
  for (const chip of document.querySelectorAll("[data-sample]")) chip.addEventListener("click", () => fill(chip.dataset.sample));
  // A file's texts take the place of the box's; the next key runs them.
  const useFile = (value, source) => { fill(value, source); $(button).focus(); };
  return { start, useFile };
}

// The box with one action per line.
export const actionLines = () => $("actions").value.split("\n").map((line) => line.trim()).filter(Boolean);
export function actionFile(use) {
  upload({ input: $("upload"), chooser: $("chooser"), wants: [["Actions are in", ["action", "actions", "text", "phrase", "line"]]],
    use: (rows, name) => use(rows.map(([text]) => text.replace(/\s+/g, " ").trim()).filter(Boolean).join("\n"), name) });
}
