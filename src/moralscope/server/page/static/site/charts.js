// Charts by Plotly: ranked scores with their intervals, and the map of a direction.
import { short, signed } from "/static/site/core.js";

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
// Plotly reads a little HTML and TeX in its texts: none of it is ours.
const safe = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\$/g, "&#36;").replace(/\n/g, "<br>");
const CLASSES = [["above zero", "accent", "circle"], ["below zero", "bad", "diamond"], ["interval spans zero", "muted", "circle-open"]];
const kind = (row) => ((row.low ?? row.score) > 0 ? 0 : (row.high ?? row.score) < 0 ? 1 : 2);
const drawn = new Map();
export const ENDS = 30; // of a long list, this many are drawn from each end

function theme() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(["paper", "panel", "ink", "muted", "line", "accent", "bad", "edge"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

const pen = document.createElement("canvas").getContext("2d");
const wide = (text, size) => { pen.font = `${size}px ${FONT}`; return pen.measureText(text).width; };

function layout(colours, width, height, more) {
  const axis = { gridcolor: colours.line, linecolor: colours.line, zerolinecolor: colours.edge, zerolinewidth: 1.5, fixedrange: true, automargin: false, tickfont: { color: colours.muted } };
  return {
    width, height, font: { family: FONT, size: 13, color: colours.ink }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    hovermode: "closest", dragmode: false, showlegend: false,
    hoverlabel: { bgcolor: colours.panel, bordercolor: colours.edge, align: "left", font: { color: colours.ink, family: FONT, size: 12 } },
    ...more, xaxis: { ...axis, ...more.xaxis }, yaxis: { ...axis, ...more.yaxis },
  };
}

const words = (row) => safe(`${short(row.action, 60)}\nscore ${signed(row.score)}  (${signed(row.low)} … ${signed(row.high)})`);

function ranked(holder, rows) {
  const colours = theme(), width = holder.clientWidth, small = width < 480, most = small ? 22 : 34;
  const all = [...rows].sort((a, b) => b.score - a.score), order = all.length > 2 * ENDS ? [...all.slice(0, ENDS), ...all.slice(-ENDS)] : all, names = order.map((row) => short(row.action, most));
  const left = Math.min(width * 0.45, Math.max(...names.map((name) => wide(name, 13))) + 22);
  const traces = CLASSES.map(([name, colour, symbol], number) => {
    const chosen = order.map((row, at) => [row, order.length - at]).filter(([row]) => kind(row) === number);
    return { type: "scatter", mode: "markers", name, x: chosen.map(([row]) => row.score), y: chosen.map(([, at]) => at), customdata: chosen.map(([row]) => row.action),
      hovertext: chosen.map(([row]) => words(row)), hoverinfo: "text", marker: { color: colours[colour], symbol, size: 10, line: { width: 1.5, color: colours[colour] } },
      error_x: { type: "data", symmetric: false, array: chosen.map(([row]) => (row.high ?? row.score) - row.score), arrayminus: chosen.map(([row]) => row.score - (row.low ?? row.score)), color: colours[colour], thickness: 2, width: 0 } };
  }).filter((trace) => trace.x.length);
  return [traces, layout(colours, width, 68 + 26 * order.length, {
    margin: { l: left, r: 16, t: 12, b: 48, pad: 6 },
    xaxis: { title: { text: small ? "← bad · good →" : "← bad      score      good →", font: { size: 12, color: colours.muted } }, zeroline: true },
    yaxis: { tickmode: "array", tickvals: order.map((_, at) => order.length - at), ticktext: names.map(safe), range: [0.3, order.length + 0.7], showgrid: false, zeroline: false, tickfont: { color: colours.ink } },
  })];
}

function span(values) {
  const low = Math.min(...values), high = Math.max(...values), pad = (high - low || 1) * 0.09;
  return [low - pad, high + pad];
}

// Names are written where they cover neither each other nor another point: the outermost first.
function labels(points, ranges, size, colours) {
  const { w, h } = size, [xr, yr] = ranges, taken = [], made = [];
  const at = ([x, y]) => [w * (x - xr[0]) / (xr[1] - xr[0]), h * (yr[1] - y) / (yr[1] - yr[0])];
  const dots = points.map((point) => at(point.place));
  const far = points.map((point, i) => [Math.hypot(dots[i][0] - w / 2, dots[i][1] - h / 2), i]).sort((a, b) => b[0] - a[0]);
  for (const [, i] of far) {
    const [cx, cy] = dots[i], text = short(points[i].row.action, w < 420 ? 16 : 26), long = wide(text, 12) + 4;
    for (const [dx, dy] of [[9, 0], [-9 - long, 0], [-long / 2, -15], [-long / 2, 15]]) {
      const box = [cx + dx, cy + dy - 8, cx + dx + long, cy + dy + 8];
      if (box[0] < 0 || box[2] > w || box[1] < 0 || box[3] > h) continue;
      if (taken.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3])) continue;
      if (dots.some(([x, y], j) => j !== i && x > box[0] - 4 && x < box[2] + 4 && y > box[1] - 3 && y < box[3] + 3)) continue;
      taken.push(box);
      made.push({ x: points[i].place[0], y: points[i].place[1], text: safe(text), showarrow: false, xanchor: "left", yanchor: "middle", xshift: dx, yshift: -dy, borderpad: 0, font: { size: 12, color: colours.ink } });
      break;
    }
  }
  return made;
}

function moralMap(holder, rows, map) {
  const colours = theme(), width = holder.clientWidth, height = width < 480 ? 380 : 460;
  const points = rows.map((row, at) => ({ row, place: map.points[at] }));
  const everything = [...map.points, ...map.fitting.map((each) => [each.x, each.y])];
  const ranges = [span(everything.map(([x]) => x)), span(everything.map(([, y]) => y))];
  const margin = { l: 10, r: 10, t: 12, b: 48, pad: 2 };
  const traces = [{ type: "scatter", mode: "markers", name: "fitted from", x: map.fitting.map((each) => each.x), y: map.fitting.map((each) => each.y),
    hovertext: map.fitting.map((each) => safe(each.action)), hoverinfo: "text", marker: { color: colours.edge, symbol: "cross-thin-open", size: 6, opacity: 0.7 } }];
  CLASSES.forEach(([name, colour, symbol], number) => {
    const chosen = points.filter(({ row }) => kind(row) === number);
    if (chosen.length) traces.push({ type: "scatter", mode: "markers", name, x: chosen.map((each) => each.place[0]), y: chosen.map((each) => each.place[1]), customdata: chosen.map((each) => each.row.action),
      hovertext: chosen.map(({ row }) => words(row)), hoverinfo: "text", marker: { color: colours[colour], symbol, size: 11, line: { width: 1.5, color: colours[colour] } } });
  });
  const size = { w: width - margin.l - margin.r, h: height - margin.t - margin.b };
  return [traces, layout(colours, width, height, { margin, annotations: labels(points, ranges, size, colours),
    xaxis: { title: { text: width < 480 ? "← bad · good →" : "← bad      moral direction      good →", font: { size: 12, color: colours.muted } }, zeroline: true, range: ranges[0] },
    yaxis: { zeroline: false, range: ranges[1], showticklabels: false } })];
}

const SHAPES = { ranked, map: moralMap };

export function draw(holder, shape, data, click) {
  if (!globalThis.Plotly) {
    holder.textContent = "The chart could not be drawn; all values are in the table below.";
    return;
  }
  drawn.set(holder, [shape, data, click]);
  const [traces, frame] = SHAPES[shape](holder, ...data);
  globalThis.Plotly.react(holder, traces, frame, { displayModeBar: false, showTips: false, responsive: false });
  if (holder.dataset.clicks) return;
  holder.dataset.clicks = "yes";
  holder.on("plotly_click", (event) => {
    const action = event.points[0]?.customdata;
    if (action !== undefined) drawn.get(holder)[2](action);
  });
}

function again() {
  for (const [holder, [shape, data, click]] of drawn) {
    if (holder.isConnected) draw(holder, shape, data, click);
    else drawn.delete(holder);
  }
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
let seen = innerWidth, wait;
addEventListener("resize", () => {
  if (innerWidth === seen) return;
  clearTimeout(wait);
  wait = setTimeout(() => { seen = innerWidth; again(); }, 120);
});
