// Draws the charts and tables of a report from its data block.
// Every text is data: the DOM gets it as textContent, Plotly through safe().
(() => {
  "use strict";
  const page = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const main = page.main && page.blocks[page.main];
  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
  const COLOURS = ["paper", "panel", "ink", "muted", "line", "good", "bad", "third", "fourth", "band", "veil"];
  const FIRST = 25, MORE = 200;

  // Plotly reads a little HTML in its texts; line breaks are the only one we mean.
  const safe = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;")
    .replace(/>/g, "&gt;").replace(/\n/g, "<br>");
  const short = (text, size) => {
    const chars = [...text];
    return chars.length > size ? chars.slice(0, size - 1).join("") + "…" : text;
  };
  const wrap = (text, size) => {
    const lines = [];
    for (let rest = [...text]; rest.length; ) {
      let end = rest.length <= size ? rest.length : rest.lastIndexOf(" ", size);
      if (end <= 0) end = size;
      lines.push(rest.slice(0, end).join("").trim());
      rest = rest.slice(end);
    }
    return lines.join("\n");
  };
  const element = (name, text, attributes) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    return made;
  };

  const write = (value, kind, digits) => {
    if (value === null || value === undefined || value === "") return "–";
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (kind === "text" || typeof value === "string") return String(value);
    if (kind === "whole") return value.toLocaleString("en");
    const sign = kind === "signed" && value >= 0 ? "+" : "";
    return (sign + value.toFixed(digits)).replace("-", "−");
  };

  const hoverOf = (place) => {
    const row = main.rows[place], shown = main.columns.length;
    const number = (value) => write(value, "signed", main.columns[1][2]);
    const lines = [wrap(row[0], 44), `score ${number(row[1])}`];
    if (row[2] !== null) lines[1] += `  (${number(row[2])} … ${number(row[3])})`;
    main.details.forEach((name, at) => {
      if (row[shown + at] !== undefined) lines.push(`${number(row[shown + at])}  ${short(name, 40)}`);
    });
    return lines.join("\n");
  };

  // ---- charts ----------------------------------------------------------------------------
  const colours = () => {
    const style = getComputedStyle(root);
    return Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  };

  const extent = (traces, axis) => {
    let low = Infinity, high = -Infinity;
    for (const trace of traces) for (const value of trace[axis]) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    const pad = (high - low || 1) * 0.06;
    return [low - pad, high + pad];
  };

  const trace = (given, theme) => {
    const made = { ...given };
    for (const key of ["rows", "hover", "legend"]) delete made[key];
    for (const part of ["marker", "line", "error_x"]) {
      if (given[part]) made[part] = { ...given[part], color: theme[given[part].color] };
    }
    if (made.marker && made.marker.pattern) made.marker.pattern = { ...made.marker.pattern, fillmode: "overlay", fgcolor: theme.paper, size: 7 };
    if (made.fillcolor) made.fillcolor = theme[made.fillcolor];
    made.name = safe(given.name || "");
    made.showlegend = given.legend !== false && Boolean(given.name);
    const texts = given.rows && main ? given.rows.map(hoverOf) : given.hovertext;
    made.hoverinfo = given.hover === false || !texts ? "skip" : "text";
    if (texts) made.hovertext = texts.map((text) => safe(text));
    if (given.type === "bar") made.x = given.x.map(safe);
    return made;
  };

  const axis = (given, theme, width, names) => {
    const made = {
      title: { text: safe(given.title || ""), standoff: 8 }, gridcolor: theme.line, linecolor: theme.line,
      zeroline: Boolean(given.zero), zerolinecolor: theme.muted, zerolinewidth: 1.5, automargin: false,
      tickfont: { color: theme.ink }, range: given.range, type: given.type || "linear",
    };
    if (given.names) {
      const size = names ? (width < 560 ? 18 : 38) : 16;
      Object.assign(made, { tickmode: "array", tickvals: given.tickvals, showgrid: !names,
        ticktext: given.names.map((name) => safe(short(name, size))) });
    }
    return made;
  };

  const pen = document.createElement("canvas").getContext("2d");
  const textWidth = (text, size) => { pen.font = `${size}px ${FONT}`; return pen.measureText(text).width; };

  const shape = (spec, theme, width) => {
    const small = width < 560, size = small ? 11 : 13;
    const { xaxis, yaxis, ends, fixed, same } = spec.layout;
    const named = yaxis.names;
    const longest = named ? Math.max(...named.map((n) => textWidth(short(n, small ? 18 : 38), size))) : 0;
    const left = named ? longest + 16 : ends ? (small ? 34 : 0.26 * width) : small ? 52 : 64;
    const right = ends ? (small ? 0.5 * width : 0.26 * width) : 14;
    const legends = spec.traces.filter((t) => t.legend !== false && t.name).length > 1;
    const x = axis(xaxis, theme, width, false), y = axis(yaxis, theme, width, Boolean(named));
    if (small) x.title.text = x.title.text.replace(/ {3,}/g, " ");
    if (spec.labels.length) {
      x.range = extent(spec.traces, "x");
      y.range = extent(spec.traces, "y");
      if (same) x.range = y.range = [Math.min(x.range[0], y.range[0]), Math.max(x.range[1], y.range[1])];
    }
    if (ends) Object.assign(y, { range: extent(spec.traces, "y"), showticklabels: false, showgrid: false });
    return {
      font: { family: FONT, size, color: theme.ink }, paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest", dragmode: fixed || small ? false : "zoom",
      margin: { l: left, r: right, t: legends ? 56 : 16, b: 52, pad: 4 }, xaxis: x, yaxis: y,
      legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { color: theme.ink } },
      showlegend: legends, bargap: 0.25, height: spec.height,
      hoverlabel: { bgcolor: theme.panel, bordercolor: theme.line, align: "left", font: { color: theme.ink, family: FONT, size: 12 } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: theme.muted, activecolor: theme.ink },
      annotations: ends ? endLabels(spec, y.range, theme, width, small) : [],
    };
  };

  // The names at both ends of a slope chart: the first of those that would overlap stays.
  const endLabels = (spec, range, theme, width, small) => {
    const size = small ? 11 : 12, high = spec.height - 68, made = [];
    for (const side of small ? ["right"] : ["left", "right"]) {
      const taken = [];
      for (const end of spec.layout.ends) {
        const at = high * (end[side] - range[0]) / (range[1] - range[0]);
        if (taken.some((other) => Math.abs(other - at) < size + 3)) continue;
        taken.push(at);
        made.push({
          x: side === "left" ? 0 : 1, xref: "paper", xanchor: side === "left" ? "right" : "left",
          xshift: side === "left" ? -12 : 12, y: end[side], yanchor: "middle", showarrow: false,
          text: safe(short(end.text, small ? 24 : 32)), font: { size, color: theme.ink },
        });
      }
    }
    return made;
  };

  // Greedy labels: the most telling points first, each where it touches no label and few points.
  const place = (spec, layout, width, theme) => {
    const size = width < 560 ? 11 : 12, tall = size + 3, { l, r, t, b } = layout.margin;
    const w = width - l - r, h = spec.height - t - b;
    const px = (x) => w * (x - layout.xaxis.range[0]) / (layout.xaxis.range[1] - layout.xaxis.range[0]);
    const py = (y) => h * (layout.yaxis.range[1] - y) / (layout.yaxis.range[1] - layout.yaxis.range[0]);
    const dots = [];
    for (const one of spec.traces) if (one.mode && one.mode.includes("markers")) {
      one.x.forEach((x, at) => dots.push([px(x), py(one.y[at])]));
    }
    const inside = dots.filter(([x, y]) => x >= 0 && x <= w && y >= 0 && y <= h);
    const allowed = inside.length > 400 ? 3 : 0, taken = [], made = [];
    let tried = 0;
    for (const [x, y, which] of spec.labels) {
      const cx = px(x), cy = py(y);
      if (cx < 0 || cx > w || cy < 0 || cy > h) continue;
      if (made.length >= 90 || (tried += 1) > 600) break;
      const name = typeof which === "number" ? main.rows[which][0] : which;
      const text = short(name, width < 560 ? 18 : 30), wide = textWidth(text, size) + 4;
      for (const [dx, dy] of [[7, 0], [-7 - wide, 0], [-wide / 2, -13], [-wide / 2, 13], [6, -11], [6, 11], [-6 - wide, -11], [-6 - wide, 11]]) {
        const box = [cx + dx, cy + dy - tall / 2, cx + dx + wide, cy + dy + tall / 2];
        if (box[0] < 0 || box[2] > w || box[1] < 0 || box[3] > h) continue;
        if (taken.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3])) continue;
        const hit = inside.filter(([u, v]) => u > box[0] - 4 && u < box[2] + 4 && v > box[1] - 3 && v < box[3] + 3);
        if (hit.length > allowed) continue;
        taken.push(box);
        made.push({ x, y, text: safe(text), showarrow: false, xanchor: "left", yanchor: "middle",
          xshift: dx, yshift: -dy, borderpad: 0, bgcolor: theme.veil, font: { size, color: theme.ink } });
        break;
      }
    }
    return made;
  };

  const config = (small) => ({ displaylogo: false, displayModeBar: small ? false : "hover", showTips: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] });

  const draw = (id) => {
    const spec = page.blocks[id], holder = document.getElementById(id), theme = colours();
    const width = holder.clientWidth, layout = shape(spec, theme, width);
    if (spec.labels.length) layout.annotations = place(spec, layout, width, theme);
    layout.width = width;
    Plotly.react(holder, spec.traces.map((one) => trace(one, theme)), layout, config(width < 560));
    if (!spec.labels.length || holder.dataset.zooms) return;
    holder.dataset.zooms = "yes";
    holder.on("plotly_relayout", (change) => {
      if (!Object.keys(change).some((key) => key.startsWith("xaxis") || key.startsWith("yaxis"))) return;
      const seen = { margin: holder.layout.margin, xaxis: { range: [...holder.layout.xaxis.range] },
        yaxis: { range: [...holder.layout.yaxis.range] } };
      Plotly.relayout(holder, { annotations: place(spec, seen, holder.clientWidth, colours()) });
    });
  };

  const charts = Object.keys(page.blocks).filter((id) => page.blocks[id].traces);
  const attempt = (id) => {
    try { draw(id); } catch (problem) {
      console.error(problem);
      document.getElementById(id).textContent = "This chart could not be drawn.";
    }
  };
  const drawAll = () => charts.forEach(attempt);

  // ---- tables ----------------------------------------------------------------------------
  const table = (id) => {
    const { columns, rows, details } = page.blocks[id], holder = document.getElementById(id);
    const body = holder.querySelector("tbody"), heads = [...holder.querySelectorAll("th")];
    let order = rows.map((_, place) => place), sorted = null, shown = FIRST;
    const count = element("p", "", { class: "count", role: "status" });
    const more = element("button", "", { class: "more", type: "button" });

    const line = (place) => {
      const made = element("tr");
      columns.forEach(([, kind, digits], at) => {
        const text = write(rows[place][at], kind, digits);
        const cell = element("td", undefined, kind === "text" ? {} : { class: "n" });
        if (at === 0 && details.length) cell.append(opener(text, made, place));
        else cell.textContent = text;
        made.append(cell);
      });
      return made;
    };
    const opener = (text, row, place) => {
      const button = element("button", text, { type: "button", "aria-expanded": "false" });
      button.addEventListener("click", () => {
        const open = button.getAttribute("aria-expanded") === "true";
        button.setAttribute("aria-expanded", String(!open));
        if (open) return void row.nextSibling.remove();
        const cell = element("td", undefined, { colspan: columns.length }), list = element("dl", undefined, { class: "facts" });
        details.forEach((name, at) => {
          const pair = element("div");
          pair.append(element("dt", name), element("dd", write(rows[place][columns.length + at], "signed", columns[1][2])));
          list.append(pair);
        });
        cell.append(list);
        const extra = element("tr", undefined, { class: "details" });
        extra.append(cell);
        row.after(extra);
      });
      return button;
    };
    const fill = () => {
      body.replaceChildren(...order.slice(0, shown).map(line));
      const left = order.length - shown;
      more.hidden = left <= 0;
      more.textContent = `Show ${Math.min(left, MORE).toLocaleString("en")} more`;
      count.textContent = `${Math.min(shown, order.length).toLocaleString("en")} of ${order.length.toLocaleString("en")} rows shown`;
    };
    const sortBy = (at) => {
      const down = sorted && sorted.at === at ? !sorted.down : columns[at][1] !== "text";
      sorted = { at, down };
      const empty = (value) => value === null || value === undefined;
      order.sort((a, b) => {
        const u = rows[a][at], v = rows[b][at];
        if (empty(u) || empty(v)) return empty(u) - empty(v);
        const step = typeof u === "number" && typeof v === "number" ? u - v : String(u).localeCompare(String(v));
        return down ? -step : step;
      });
      heads.forEach((head, place) => place === at
        ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort"));
      fill();
    };
    if (rows.length > 10) heads.forEach((head, at) => {
      const button = element("button", head.textContent, { type: "button" });
      button.addEventListener("click", () => sortBy(at));
      head.replaceChildren(button);
    });
    if (rows.length > FIRST) {
      const search = element("input", undefined, { type: "search", placeholder: "Search", "aria-label": "Search the table" });
      search.addEventListener("input", () => {
        const wanted = search.value.trim().toLowerCase();
        order = rows.map((_, place) => place).filter((place) => columns.some(([, kind], at) =>
          kind === "text" && String(rows[place][at] ?? "").toLowerCase().includes(wanted)));
        shown = FIRST;
        if (sorted) { sorted.down = !sorted.down; sortBy(sorted.at); } else fill();
      });
      holder.prepend(search);
      more.addEventListener("click", () => { shown += MORE; fill(); });
      holder.append(count, more);
    }
    if (details.length || rows.length > FIRST) fill();
  };

  // ---- start -----------------------------------------------------------------------------
  for (const id of Object.keys(page.blocks)) if (page.blocks[id].rows && page.blocks[id].rows.length > 2) table(id);
  // What is in sight is drawn at once; the rest one by one, so that the page can be read meanwhile.
  const near = (id) => document.getElementById(id).getBoundingClientRect().top < 1.5 * innerHeight;
  const queue = charts.filter((id) => !near(id));
  charts.filter(near).forEach(attempt);
  root.dataset.ready = String(Math.round(performance.now()));
  const next = () => {
    if (queue.length) { attempt(queue.shift()); setTimeout(next, 20); } else root.dataset.complete = String(Math.round(performance.now()));
  };
  setTimeout(next, 20);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  let seen = innerWidth, wait;
  addEventListener("resize", () => {
    if (innerWidth === seen) return;
    clearTimeout(wait);
    wait = setTimeout(() => { seen = innerWidth; drawAll(); }, 120);
  });
  addEventListener("beforeprint", () => { root.dataset.print = "yes"; drawAll(); });
  addEventListener("afterprint", () => { delete root.dataset.print; drawAll(); });
})();
