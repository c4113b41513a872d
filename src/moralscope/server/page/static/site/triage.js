// What a person says of replies: a status, a note, and labels of rules. A status is for working through a list; only
// labels, each of which was chosen by hand, are data that `rules learn` reads. Every step can be undone.
import { ask, say } from "/static/site/core.js";

export const STATUSES = { agree: "Agreed", disagree: "Disagreed", later: "Later" };
const NOTHING = { status: "", note: "", labels: [] };
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// `changed(rows)` hears which rows look different now; `saved(text)` what to say of the saving.
export function makeTriage({ changed, saved }) {
  let run = null, remarks = new Map(), waiting = new Set(), busy = false, undone = [];
  const of = (at) => remarks.get(at) ?? NOTHING;
  const labels = () => [...remarks.values()].reduce((sum, each) => sum + each.labels.length, 0);

  async function save() {
    if (busy || !waiting.size || !run) return;
    const sent = [...waiting], to = run;
    [busy, waiting] = [true, new Set()];
    saved("Saving…");
    try {
      await ask("POST", `/api/site/runs/${to}/remarks`, { body: { remarks: sent.map((at) => ({ result: at, ...of(at) })) } });
      if (to === run) saved(words());
    } catch (error) {
      if (to === run) { for (const at of sent) waiting.add(at); saved("Not saved yet"); }
      say("found-trouble", `Not saved: ${error.message}`);
      busy = false;
      return;
    }
    busy = false;
    if (waiting.size) save();
  }
  function words() {
    const count = remarks.size, chosen = labels();
    return count ? `Saved: ${count.toLocaleString("en")} ${count === 1 ? "reply" : "replies"}, ${chosen} ${chosen === 1 ? "label" : "labels"}` : "Nothing saved";
  }
  // Each change is [index, what differs]; all of them are one step for `undo`.
  function set(changes, isUndo = false) {
    const before = [];
    for (const [at, difference] of changes) {
      const old = of(at), now = { ...old, ...difference };
      if (same(old, now)) continue;
      before.push([at, old]);
      if (same(now, NOTHING)) remarks.delete(at); else remarks.set(at, now);
      waiting.add(at);
    }
    if (!before.length) return [];
    if (!isUndo) undone.push(before);
    changed(before.map(([at]) => at));
    save();
    return before.map(([at]) => at);
  }
  return {
    of, set, labels,
    open(id, kept = []) {
      [run, remarks, waiting, undone] = [id, new Map(kept.map(({ result, ...said }) => [result, { ...NOTHING, ...said }])), new Set(), []];
      saved(run ? words() : "This run is not kept: nothing can be saved");
    },
    get canUndo() { return undone.length > 0; },
    get done() { return [...remarks.values()].filter((each) => each.status).length; },
    isOpen: () => Boolean(run),
    undo: () => set(undone.pop() ?? [], true),
    // Each label is [index, rule, broken], and null takes it back; all of them are one step for `undo`.
    label: (chosen) => set(chosen.map(([at, rule, broken]) => {
      const others = of(at).labels.filter((each) => each.rule !== rule);
      return [at, { labels: broken === null ? others : [...others, { rule, broken }] }];
    })),
  };
}
