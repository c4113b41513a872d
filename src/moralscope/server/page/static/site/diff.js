// What a revised reply changes, word by word: the longest common subsequence.
import { el } from "/static/site/core.js";

const MOST = 1500; // words of a side; beyond, both are shown whole
const LEAST = 0.35; // share of words in common; below, a mixture could not be read

const whole = (before, after) => [["del", before], ["same", "\n"], ["ins", after]];

export function changes(before, after) {
  const a = before.match(/\S+\s*|^\s+/g) ?? [], b = after.match(/\S+\s*|^\s+/g) ?? [];
  if (a.length > MOST || b.length > MOST) return whole(before, after);
  const width = b.length + 1, long = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) for (let j = b.length - 1; j >= 0; j -= 1) {
    long[i * width + j] = a[i] === b[j] ? long[(i + 1) * width + j + 1] + 1 : Math.max(long[(i + 1) * width + j], long[i * width + j + 1]);
  }
  if (long[0] < LEAST * Math.max(a.length, b.length)) return whole(before, after);
  const made = [];
  const put = (kind, text) => { if (made.length && made.at(-1)[0] === kind) made.at(-1)[1] += text; else made.push([kind, text]); };
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { put("same", a[i]); i += 1; j += 1; }
    else if (i < a.length && (j === b.length || long[(i + 1) * width + j] >= long[i * width + j + 1])) { put("del", a[i]); i += 1; }
    else { put("ins", b[j]); j += 1; }
  }
  return made;
}

export function drawDiff(before, after) {
  return el("p", { class: "diff" }, changes(before, after).map(([kind, text]) => (kind === "same" ? text : el(kind, {}, text))));
}
