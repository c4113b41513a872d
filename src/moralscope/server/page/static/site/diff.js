// What a revised reply changes, word by word: the longest common subsequence.
import { el } from "/static/site/core.js";

const MOST = 1500; // words of a side; beyond, both are shown whole
const LEAST = 0.35; // share of words in common; below, a mixture could not be read

const same = (one, other) => one.trimEnd() === other.trimEnd();

// What both begin and end with stands as it is, however little is in common between.
export function changes(before, after) {
  const a = before.match(/\S+\s*|^\s+/g) ?? [], b = after.match(/\S+\s*|^\s+/g) ?? [], most = Math.min(a.length, b.length);
  let first = 0, last = 0;
  while (first < most && same(a[first], b[first])) first += 1;
  while (last < most - first && same(a.at(-1 - last), b.at(-1 - last))) last += 1;
  const [olds, news] = [a, b].map((words) => words.slice(first, words.length - last)), made = [];
  const put = (kind, text) => { if (made.length && made.at(-1)[0] === kind) made.at(-1)[1] += text; else if (text) made.push([kind, text]); };
  put("same", b.slice(0, first).join(""));
  mixed(olds, news, put, first + last > 0);
  put("same", b.slice(b.length - last).join(""));
  return made;
}

function mixed(a, b, put, inside) {
  const width = b.length + 1, fits = a.length <= MOST && b.length <= MOST, long = new Uint16Array(fits ? (a.length + 1) * width : 1);
  if (fits) for (let i = a.length - 1; i >= 0; i -= 1) for (let j = b.length - 1; j >= 0; j -= 1) {
    long[i * width + j] = same(a[i], b[j]) ? long[(i + 1) * width + j + 1] + 1 : Math.max(long[(i + 1) * width + j], long[i * width + j + 1]);
  }
  if (!fits || long[0] < LEAST * Math.max(a.length, b.length)) {
    put("del", a.join(""));
    if (!inside) put("same", "\n");
    put("ins", b.join(""));
    return;
  }
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && same(a[i], b[j])) { put("same", b[j]); i += 1; j += 1; }
    else if (i < a.length && (j === b.length || long[(i + 1) * width + j] >= long[i * width + j + 1])) { put("del", a[i]); i += 1; }
    else { put("ins", b[j]); j += 1; }
  }
}

export function drawDiff(before, after) {
  return el("p", { class: "diff" }, changes(before, after).map(([kind, text]) => (kind === "same" ? text : el(kind, {}, text))));
}
