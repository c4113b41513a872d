// What the pages draw, as data for /assets/charts.js: ranked scores, the map, slopes, dots, before and after.
import { signed } from "/static/site/core.js";

const CLASSES = [["above zero", "good", "circle"], ["below zero", "bad", "diamond"], ["interval spans zero", "muted", "circle-open"]];
const MARKS = [["good", "circle"], ["bad", "diamond"], ["third", "square"], ["fourth", "triangle-up"], ["fifth", "x"]];
const kind = (row) => ((row.low ?? row.score) > 0 ? 0 : (row.high ?? row.score) < 0 ? 1 : 2);
export const ENDS = 30; // of a long list, this many are drawn from each end
const said = (row, name = row.action) => `${name}\nscore ${signed(row.score)}${row.low === null || row.low === undefined ? "" : `  (${signed(row.low)} … ${signed(row.high)})`}`;
const rowsAxis = (names, low = 0.3) => ({ names, tickvals: names.map((_, at) => names.length - at), range: [low, names.length + 0.7] });

// Scores with their intervals, one row each, the best first.
export function ranked(rows, click, name = (row) => row.action) {
  const all = [...rows].sort((a, b) => b.score - a.score), order = all.length > 2 * ENDS ? [...all.slice(0, ENDS), ...all.slice(-ENDS)] : all;
  const traces = CLASSES.map(([label, colour, symbol], number) => {
    const chosen = order.map((row, at) => [row, order.length - at]).filter(([row]) => kind(row) === number);
    return { type: "scatter", mode: "markers", name: label, legend: false, x: chosen.map(([row]) => row.score), y: chosen.map(([, at]) => at), of: chosen.map(([row]) => row), hovertext: chosen.map(([row]) => said(row, name(row))), marker: { color: colour, symbol, size: 10 },
      error_x: { color: colour, array: chosen.map(([row]) => (row.high ?? row.score) - row.score), arrayminus: chosen.map(([row]) => row.score - (row.low ?? row.score)) } };
  }).filter((trace) => trace.x.length);
  return { title: "Scores", traces, height: 76 + 25 * order.length, labels: [], layout: { fixed: true, xaxis: { title: "← bad      score      good →", zero: true }, yaxis: rowsAxis(order.map(name)) }, click: (point) => click?.(traces[point.trace].of[point.at]) };
}

export function moralMap(rows, map, click) {
  const points = rows.map((row, at) => ({ row, place: map.points[at] }));
  const traces = [{ type: "scatter", mode: "markers", name: "fitted from", legend: false, x: map.fitting.map((each) => each.x), y: map.fitting.map((each) => each.y), hovertext: map.fitting.map((each) => each.action), marker: { color: "muted", symbol: "cross-thin-open", size: 6 } }];
  CLASSES.forEach(([name, colour, symbol], number) => {
    const chosen = points.filter(({ row }) => kind(row) === number);
    if (chosen.length) traces.push({ type: "scatter", mode: "markers", name, legend: false, of: chosen.map((each) => each.row), x: chosen.map((each) => each.place[0]), y: chosen.map((each) => each.place[1]), hovertext: chosen.map(({ row }) => said(row)), marker: { color: colour, symbol, size: 10 } });
  });
  const middle = [0, 1].map((axis) => points.reduce((sum, each) => sum + each.place[axis], 0) / points.length), far = (each) => (each.place[0] - middle[0]) ** 2 + (each.place[1] - middle[1]) ** 2;
  const labels = [...points].sort((a, b) => far(b) - far(a)).map(({ row, place }) => [...place, row.action]);
  return { title: "Map of the actions", traces, labels, height: 440, layout: { xaxis: { title: "← bad      moral direction      good →", zero: true }, yaxis: { title: "" } }, click: (point) => { const row = traces[point.trace].of?.[point.at]; if (row) click?.(row); } };
}

// Rows are {action, scores: [one a model]}, on a common scale.
export function slopes(names, rows) {
  const traces = rows.map(({ action, scores }) => {
    const rises = scores.at(-1) >= scores[0], colour = rises ? "good" : "bad";
    return { type: "scatter", mode: "lines+markers", name: action, legend: false, x: scores.map((_, at) => at), y: scores, hovertext: scores.map((value, at) => `${action}\n${names[at]}: ${signed(value, 2)}`), line: { color: colour, width: 2, dash: rises ? "solid" : "dash" }, marker: { color: colour, size: 7 } };
  });
  return { title: "Score of each action by model", traces, labels: [], height: Math.max(380, 110 + 20 * rows.length),
    layout: { fixed: true, xaxis: { title: "", names, tickvals: names.map((_, at) => at), range: [-0.05, names.length - 0.95] }, yaxis: { title: "" }, ends: rows.map(({ action, scores }) => ({ text: action, left: scores[0], right: scores.at(-1) })) } };
}
export function dots(names, rows) {
  const traces = names.map((name, number) => ({ type: "scatter", mode: "markers", name, x: rows.map((row) => row.scores[number]), y: rows.map((_, at) => rows.length - at), hovertext: rows.map((row) => `${row.action}\n${name}: ${signed(row.scores[number], 2)}`), marker: { color: MARKS[number % MARKS.length][0], symbol: MARKS[number % MARKS.length][1], size: 10 } }));
  return { title: "Score of each action by model", traces, labels: [], height: 104 + 25 * rows.length, layout: { fixed: true, xaxis: { title: "← bad      on a common scale      good →", zero: true }, yaxis: rowsAxis(rows.map((row) => row.action)) } };
}

// Two runs: each item at its score before and after; what did not change lies on the line.
export function beforeAfter(rows, names) {
  const all = rows.flatMap((row) => [row.before, row.after]), ends = [Math.min(...all), Math.max(...all)];
  const groups = [["higher after", "good", "circle", (row) => row.after > row.before], ["lower after", "bad", "diamond", (row) => row.after < row.before], ["the same", "muted", "circle-open", (row) => row.after === row.before]];
  const traces = [{ type: "scatter", mode: "lines", name: "no change", legend: false, hover: false, x: ends, y: ends, line: { color: "muted", dash: "dot", width: 1.5 } }];
  for (const [name, colour, symbol, is] of groups) {
    const chosen = rows.filter(is);
    if (chosen.length) traces.push({ type: "scatter", mode: "markers", name, x: chosen.map((row) => row.before), y: chosen.map((row) => row.after), hovertext: chosen.map((row) => `${row.text}\n${signed(row.before)} → ${signed(row.after)}`), marker: { color: colour, symbol, size: 9 } });
  }
  const labels = [...rows].sort((a, b) => Math.abs(b.change) - Math.abs(a.change)).slice(0, 60).map((row) => [row.before, row.after, row.text]);
  return { title: "Before and after", traces, labels, height: 460, layout: { same: true, xaxis: { title: names[0] }, yaxis: { title: names[1] } } };
}

// Yes rates of people against scores.
export function peopleChart(rows) {
  const trace = { type: "scatter", mode: "markers", name: "actions", legend: false, x: rows.map((row) => row.score), y: rows.map((row) => 100 * row.rate), hovertext: rows.map((row) => `${row.action}\nscore ${signed(row.score)}, ${Math.round(100 * row.rate)} % of people said yes`), marker: { color: "good", symbol: "circle", size: 9 } };
  return { title: "People beside the model", traces: [trace], labels: rows.map((row) => [row.score, 100 * row.rate, row.action]), height: 340, layout: { xaxis: { title: "← bad      score      good →" }, yaxis: { title: "% of people who say yes" } } };
}
