// Charts as SVG, for reports and for the local page: marks with intervals, lines, bars, slopes, maps.
// A chart is plain data (`pages/page.py: Chart`). Every text is data: it reaches the DOM as
// textContent only. Colours are names of theme.css, so that a chart follows light and dark.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const FONT = 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
  const COLOURS = ["paper", "panel", "ink", "muted", "line", "good", "bad", "third", "fourth", "fifth", "band", "veil"];
  const NARROW = 560, REACH = 16; // pixels: of a small chart, and between pointer and mark
  const drawn = new Map();

  const make = (name, attributes, text) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const theme = (holder) => { // the browser resolves light-dark(): only a colour in use is a plain colour
    const probe = holder.appendChild(document.createElement("i")), style = getComputedStyle(probe);
    const found = Object.fromEntries(COLOURS.map((name) => { probe.style.color = `var(--${name})`; return [name, style.color]; }));
    probe.remove();
    return found;
  };
  const pen = document.createElement("canvas").getContext("2d");
  const wide = (text, size) => { pen.font = `${size}px ${FONT}`; return pen.measureText(text).width; };
  const fit = (text, most, size) => {
    if (wide(text, size) <= most) return text;
    const chars = [...text];
    let low = 0, high = chars.length;
    while (low < high) { const middle = (low + high + 1) >> 1; if (wide(`${chars.slice(0, middle).join("")}…`, size) <= most) low = middle; else high = middle - 1; }
    return `${chars.slice(0, low).join("").trimEnd()}…`;
  };

  // ---- scales ----------------------------------------------------------------------------
  const extent = (traces, axis, pad = 0.06) => {
    let low = Infinity, high = -Infinity;
    for (const trace of traces) trace[axis].forEach((value, at) => {
      const spans = axis === "x" && trace.error_x;
      low = Math.min(low, value - (spans ? spans.arrayminus[at] : 0));
      high = Math.max(high, value + (spans ? spans.array[at] : 0));
    });
    if (low > high) return [0, 1];
    const room = (high - low || Math.abs(high) || 1) * pad;
    return [low - room, high + room];
  };
  const ticks = ([low, high], count) => {
    const rough = (high - low) / Math.max(3, count), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? 10 * power;
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(Math.abs(at) < step * 1e-6 ? 0 : at);
    const digits = Math.max(0, Math.min(8, Math.ceil(-Math.log10(step) - 1e-9) + (Math.abs(step / power - 2.5) < 1e-9 ? 1 : 0)));
    return found.map((value) => [value, value.toFixed(digits).replace("-", "−")]);
  };

  // ---- one drawing -----------------------------------------------------------------------
  const SHAPES = {
    circle: (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
    diamond: (x, y, r) => `M${x} ${y - 1.25 * r}L${x + 1.25 * r} ${y}L${x} ${y + 1.25 * r}L${x - 1.25 * r} ${y}z`,
    square: (x, y, r) => `M${x - 0.9 * r} ${y - 0.9 * r}h${1.8 * r}v${1.8 * r}h${-1.8 * r}z`,
    "triangle-up": (x, y, r) => `M${x} ${y - 1.2 * r}L${x + 1.1 * r} ${y + 0.8 * r}L${x - 1.1 * r} ${y + 0.8 * r}z`,
    x: (x, y, r) => `M${x - r} ${y - r}l${2 * r} ${2 * r}M${x + r} ${y - r}l${-2 * r} ${2 * r}`,
    "cross-thin-open": (x, y, r) => `M${x - r} ${y}h${2 * r}M${x} ${y - r}v${2 * r}`,
  };
  const mark = (symbol, points, size, colour, panel) => {
    const open = symbol.endsWith("-open") || symbol === "x", shape = SHAPES[symbol] ?? SHAPES[symbol.replace("-open", "")] ?? SHAPES.circle;
    const round = (value) => Math.round(value * 10) / 10;
    return make("path", { d: points.map(([x, y]) => shape(round(x), round(y), size / 2)).join(""), fill: open ? (symbol === "circle-open" ? panel : "none") : colour, stroke: colour, "stroke-width": open ? 1.8 : 0.8 });
  };
  const dashes = { dash: "6 4", dot: "2 4" };

  class Drawing {
    constructor(holder, spec, view) {
      this.holder = holder; this.spec = spec; this.colours = theme(holder); this.points = [];
      this.width = Math.max(200, holder.clientWidth); this.height = spec.height; this.small = this.width < NARROW;
      this.size = this.small ? 11 : 13;
      this.svg = make("svg", { xmlns: SVG, width: this.width, height: this.height, viewBox: `0 0 ${this.width} ${this.height}`, "font-family": FONT, "font-size": this.size, fill: this.colours.ink });
      this.svg.setAttribute("aria-hidden", "true");
      this.margins();
      this.ranges(view);
      this.frame();
      if (this.categories) this.bars(); else this.traces();
      this.zero();
      if (spec.layout.ends) this.ends();
      if (spec.labels?.length) this.label();
    }
    put(name, attributes, text) { const made = make(name, attributes, text); this.svg.append(made); return made; }
    margins() {
      const { xaxis, yaxis, ends } = this.spec.layout, { width, small, size } = this;
      this.categories = this.spec.traces[0]?.type === "bar" ? [...new Set(this.spec.traces.flatMap((each) => each.x.map(String)))] : null;
      this.named = yaxis.names;
      const share = small ? 0.42 : 0.4, longest = this.named ? Math.max(0, ...this.named.map((name) => wide(name, size))) : 0;
      this.nameRoom = this.named ? Math.min(share * width, longest) : ends ? 0.26 * width : 0;
      const left = this.named ? this.nameRoom + 14 : ends ? (small ? 12 : this.nameRoom) : yaxis.title ? (small ? 52 : 64) : 46;
      this.plot = { left, right: width - (ends ? (small ? 0.5 * width : 0.26 * width) : 16), top: 14 + this.legend(left), bottom: this.height - (xaxis.title ? 50 : 32) };
    }
    legend() {
      const entries = this.spec.traces.filter((each) => each.legend !== false && each.name);
      if (entries.length < 2) return 0;
      let x = 4, y = 14;
      for (const each of entries) {
        const text = fit(each.name, this.width - 40, this.size), room = wide(text, this.size) + 34;
        if (x + room > this.width && x > 4) { x = 4; y += 20; }
        const colour = this.colours[each.marker?.color ?? each.line?.color] ?? this.colours.ink;
        if (each.type === "bar") this.put("rect", { x, y: y - 6, width: 12, height: 12, fill: colour });
        else if (each.mode?.includes("markers")) this.svg.append(mark(each.marker.symbol ?? "circle", [[x + 6, y]], 9, colour, this.colours.paper));
        else this.put("path", { d: `M${x} ${y}h14`, stroke: colour, "stroke-width": 2, "stroke-dasharray": dashes[each.line?.dash] });
        this.put("text", { x: x + 20, y: y + 4, class: "legend" }, text);
        x += room;
      }
      return y + 12;
    }
    ranges(view) {
      const { xaxis, yaxis, same, ends } = this.spec.layout;
      this.x = view?.x ?? xaxis.range ?? (this.categories ? [0, this.categories.length] : extent(this.spec.traces, "x"));
      this.y = view?.y ?? (ends ? extent(this.spec.traces, "y") : yaxis.range) ?? extent(this.spec.traces, "y");
      if (this.categories) this.y = [Math.min(0, this.y[0]), Math.max(0, ...this.spec.traces.flatMap((each) => each.y)) * 1.06 || 1];
      if (same && !view) this.x = this.y = [Math.min(this.x[0], this.y[0]), Math.max(this.x[1], this.y[1])];
      if (xaxis.zero && !view && !xaxis.range) this.x = [Math.min(this.x[0], 0), Math.max(this.x[1], 0)];
    }
    px(value) { const { left, right } = this.plot; return left + (right - left) * (value - this.x[0]) / (this.x[1] - this.x[0]); }
    py(value) { const { top, bottom } = this.plot; return bottom - (bottom - top) * (value - this.y[0]) / (this.y[1] - this.y[0]); }
    frame() {
      const { left, right, top, bottom } = this.plot, { xaxis, yaxis, ends } = this.spec.layout, { colours, size } = this;
      const clip = this.put("clipPath", { id: `clip-${this.holder.id || "chart"}` });
      clip.append(make("rect", { x: left - 6, y: top - 6, width: Math.max(1, right - left + 12), height: bottom - top + 12 }));
      const across = xaxis.names ? xaxis.tickvals.map((value, at) => [value, xaxis.names[at]]) : this.categories ? this.categories.map((name, at) => [at + 0.5, name]) : ticks(this.x, Math.max(3, (right - left) / 90));
      const room = this.categories || xaxis.names ? (right - left) / Math.max(1, across.length) - 6 : 90;
      const nth = this.categories?.length > 12 ? Math.ceil(48 / (room + 6)) : 1; // of many bars, as many are named as fit
      across.forEach(([value, text], at) => {
        if ((across.length - 1 - at) % nth) return;
        const x = this.px(value), edge = xaxis.names && across.length > 1 ? (at === 0 ? "start" : at === across.length - 1 ? "end" : "middle") : "middle";
        if (!this.categories) this.put("path", { d: `M${x} ${top}V${bottom}`, stroke: colours.line, "stroke-width": 1, class: "grid" });
        const label = this.put("text", { x: edge === "start" && ends ? x - 4 : x, y: bottom + size + 6, "text-anchor": ends ? "middle" : edge, class: "xtick", fill: colours.ink }, fit(String(text), Math.max(nth * (room + 6) - 6, 40), size));
        if (label.textContent !== String(text)) label.append(make("title", {}, String(text)));
      });
      if (this.named) yaxis.tickvals.forEach((value, at) => {
        const text = fit(yaxis.names[at], this.nameRoom, size), label = this.put("text", { x: left - 10, y: this.py(value) + size / 3, "text-anchor": "end", class: "ytick" }, text);
        if (text !== yaxis.names[at]) label.append(make("title", {}, yaxis.names[at]));
        this.put("path", { d: `M${left} ${this.py(value)}H${right}`, stroke: colours.line, "stroke-width": 1, "stroke-dasharray": "1 4" });
      });
      else if (!ends) for (const [value, text] of ticks(this.y, (bottom - top) / 55)) {
        this.put("path", { d: `M${left} ${this.py(value)}H${right}`, stroke: colours.line, "stroke-width": 1, class: "grid" });
        this.put("text", { x: left - 8, y: this.py(value) + size / 3, "text-anchor": "end", class: "ytick" }, text);
      }
      const quiet = { fill: colours.muted, "font-size": size - 1, "text-anchor": "middle" };
      if (xaxis.title) this.put("text", { ...quiet, x: (left + right) / 2, y: this.height - 8, class: "xtitle" }, fit(xaxis.title.replace(/ {3,}/g, " · "), this.width - 12, size - 1));
      if (yaxis.title && !ends) this.put("text", { ...quiet, transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)` }, fit(yaxis.title, bottom - top, size - 1));
    }
    zero() {
      const { left, right, top, bottom } = this.plot, line = { stroke: this.colours.muted, "stroke-width": 1.4, class: "zero" };
      const first = this.svg.querySelector("[clip-path]");
      const before = (made) => this.svg.insertBefore(made, first);
      const [low, high] = (this.spec.layout.xaxis.band ?? [0, 0]).map((value) => Math.min(right, Math.max(left, this.px(value))));
      if (high > low) before(make("rect", { x: low, y: top, width: high - low, height: bottom - top, fill: this.colours.band, class: "zero-band" }));
      if (this.spec.layout.xaxis.zero && this.x[0] <= 0 && this.x[1] >= 0) before(make("path", { ...line, d: `M${this.px(0)} ${top}V${bottom}` }));
      if ((this.spec.layout.yaxis.zero || this.categories) && this.y[0] <= 0 && this.y[1] >= 0) before(make("path", { ...line, d: `M${left} ${this.py(0)}H${right}` }));
    }
    traces() {
      const inside = `url(#clip-${this.holder.id || "chart"})`;
      this.spec.traces.forEach((trace, number) => {
        const group = this.put("g", { "clip-path": inside, "data-trace": number });
        const places = trace.x.map((x, at) => [this.px(x), this.py(trace.y[at])]);
        const colour = this.colours[trace.line?.color] ?? this.colours.ink;
        if (trace.fill === "tonexty") {
          const before = this.spec.traces[number - 1], back = before.x.map((x, at) => [this.px(x), this.py(before.y[at])]).reverse();
          group.append(make("path", { d: `M${[...places, ...back].map((each) => each.map(Math.round).join(" ")).join("L")}z`, fill: this.colours[trace.fillcolor] }));
        }
        if (trace.mode?.includes("lines") && (trace.line?.width ?? 2) > 0) group.append(make("path", { d: `M${places.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`, fill: "none", stroke: colour, "stroke-width": trace.line?.width ?? 2, "stroke-dasharray": dashes[trace.line?.dash], "stroke-linejoin": "round" }));
        if (trace.error_x) group.append(make("path", { d: trace.x.map((x, at) => `M${this.px(x - trace.error_x.arrayminus[at]).toFixed(1)} ${places[at][1].toFixed(1)}H${this.px(x + trace.error_x.array[at]).toFixed(1)}`).join(""), stroke: this.colours[trace.error_x.color], "stroke-width": 2, "stroke-linecap": "round" }));
        if (trace.mode?.includes("markers")) {
          const dots = mark(trace.marker.symbol ?? "circle", places, trace.marker.size, this.colours[trace.marker.color], this.colours.panel);
          dots.setAttribute("class", "points");
          dots.setAttribute("data-count", places.length);
          group.append(dots);
        }
        if (trace.hover !== false && (trace.rows || trace.hovertext)) places.forEach(([x, y], at) => this.points.push({ x, y, trace: number, at, row: trace.rows?.[at], text: trace.hovertext?.[at] }));
      });
    }
    bars() {
      const series = this.spec.traces, room = (this.px(1) - this.px(0)) * 0.76 / series.length;
      series.forEach((trace, number) => {
        const group = this.put("g", { "clip-path": `url(#clip-${this.holder.id || "chart"})`, "data-trace": number }), colour = this.colours[trace.marker.color];
        trace.x.forEach((name, at) => {
          const left = this.px(this.categories.indexOf(String(name)) + 0.12) + number * room, top = Math.min(this.py(trace.y[at]), this.py(0)), tall = Math.abs(this.py(trace.y[at]) - this.py(0));
          group.append(make("rect", { x: left, y: top, width: Math.max(1, room - 2), height: tall, fill: number % 2 ? "none" : colour, stroke: colour, "stroke-width": 1.6, class: "points" }));
          if (number % 2) group.append(make("path", { d: hatch(left, top, Math.max(1, room - 2), tall), stroke: colour, "stroke-width": 1.4 }));
          this.points.push({ x: left + room / 2, y: top, trace: number, at, text: trace.hovertext?.[at] });
        });
      });
    }
    // The names at both ends of a slope chart: the first of those that would overlap stays.
    ends() {
      const size = this.small ? 11 : 12, { left, right } = this.plot;
      for (const side of this.small ? ["right"] : ["left", "right"]) {
        const taken = [];
        for (const end of this.spec.layout.ends) {
          const y = this.py(end[side]);
          if (taken.some((other) => Math.abs(other - y) < size + 3)) continue;
          taken.push(y);
          const at = side === "left" ? left - 12 : right + 12, room = side === "left" ? left - 16 : this.width - right - 16;
          this.put("text", { x: at, y: y + size / 3, "text-anchor": side === "left" ? "end" : "start", "font-size": size, class: "end" }, fit(end.text, room, size));
        }
      }
    }
    // Greedy labels: the most telling points first, each where it touches no label and few points.
    label() {
      const size = this.small ? 11 : 12, tall = size + 3, { left, right, top, bottom } = this.plot;
      const inside = ([x, y]) => x >= left && x <= right && y >= top && y <= bottom;
      const dots = this.spec.traces.filter((each) => each.mode?.includes("markers")).flatMap((each) => each.x.map((x, at) => [this.px(x), this.py(each.y[at])])).filter(inside);
      const allowed = dots.length > 400 ? 3 : 0, taken = [];
      let tried = 0, put = 0;
      for (const [x, y, which] of this.spec.labels) {
        const cx = this.px(x), cy = this.py(y);
        if (!inside([cx, cy])) continue;
        if (put >= 90 || (tried += 1) > 600) break;
        const name = typeof which === "number" ? this.spec.nameOf(which) : which, text = fit(name, this.small ? 110 : 190, size), room = wide(text, size) + 4;
        for (const [dx, dy] of [[7, 0], [-7 - room, 0], [-room / 2, -13], [-room / 2, 13], [6, -11], [6, 11], [-6 - room, -11], [-6 - room, 11]]) {
          const box = [cx + dx, cy + dy - tall / 2, cx + dx + room, cy + dy + tall / 2];
          if (box[0] < left || box[2] > right || box[1] < top || box[3] > bottom) continue;
          if (taken.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3])) continue;
          if (dots.filter(([u, v]) => u > box[0] - 4 && u < box[2] + 4 && v > box[1] - 3 && v < box[3] + 3).length > allowed) continue;
          taken.push(box);
          this.put("text", { x: box[0] + 2, y: cy + dy + size / 3, "font-size": size, class: "label", stroke: this.colours.veil, "stroke-width": 3, "paint-order": "stroke" }, text);
          put += 1;
          break;
        }
      }
    }
    near(x, y) {
      let best = null, least = REACH ** 2;
      for (const point of this.points) {
        const far = (point.x - x) ** 2 + (point.y - y) ** 2 * (this.named ? 1.5 : 1);
        if (far < least) { best = point; least = far; }
      }
      return best;
    }
  }
  const hatch = (x, y, w, h) => {
    let path = "";
    for (let at = 6; at < w + h; at += 6) path += `M${x + Math.max(0, at - h)} ${y + Math.min(h, at)}L${x + Math.min(w, at)} ${y + Math.max(0, at - w)}`;
    return path || "M0 0";
  };

  // ---- what a reader does ----------------------------------------------------------------
  const hoverText = (spec, point) => (point.row !== undefined && spec.hoverOf ? spec.hoverOf(point.row) : point.text) ?? "";
  const tip = (state, point) => {
    const { holder, drawing } = state, box = state.tip;
    box.hidden = !point;
    state.ring.setAttribute("visibility", point ? "visible" : "hidden");
    if (!point) return;
    box.textContent = hoverText(state.spec, point);
    const room = box.offsetWidth, left = Math.max(0, Math.min(drawing.width - room, point.x - room / 2)), above = point.y - box.offsetHeight - 12;
    box.style.left = `${left}px`;
    box.style.top = `${above < 0 ? point.y + 14 : above}px`;
    state.ring.setAttribute("cx", point.x);
    state.ring.setAttribute("cy", point.y);
    holder.style.cursor = state.spec.click ? "pointer" : "";
  };
  const listen = (state) => {
    const { holder } = state, place = (event) => { const box = state.drawing.svg.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    const mayZoom = () => state.spec.labels?.length && !state.spec.layout.fixed && !state.drawing.small;
    holder.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      if (state.start) {
        const [u, v] = state.start;
        for (const [key, value] of Object.entries({ x: Math.min(x, u), y: Math.min(y, v), width: Math.abs(x - u), height: Math.abs(y - v) })) state.box.setAttribute(key, value);
        state.box.setAttribute("visibility", Math.hypot(x - u, y - v) > 6 ? "visible" : "hidden");
      }
      state.at = state.drawing.near(x, y);
      tip(state, state.at);
    });
    holder.addEventListener("pointerleave", () => { state.start = null; state.at = null; tip(state, null); });
    holder.addEventListener("pointerdown", (event) => { if (mayZoom() && event.pointerType === "mouse") state.start = place(event); });
    holder.addEventListener("pointerup", (event) => {
      const from = state.start, to = place(event), { plot, x, y } = state.drawing;
      state.start = null;
      if (!from || Math.hypot(to[0] - from[0], to[1] - from[1]) < 12) return;
      const back = (value, low, high, range) => range[0] + (range[1] - range[0]) * (Math.max(low, Math.min(high, value)) - low) / (high - low);
      const xs = [from[0], to[0]].map((each) => back(each, plot.left, plot.right, x)).sort((a, b) => a - b);
      const ys = [from[1], to[1]].map((each) => back(plot.bottom - each + plot.top, plot.top, plot.bottom, y)).sort((a, b) => a - b);
      zoom(holder, { x: xs, y: ys });
    });
    holder.addEventListener("dblclick", () => { if (state.view) zoom(holder, null); });
    holder.addEventListener("click", () => { if (state.at && state.spec.click) state.spec.click(state.at); });
    holder.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], order = [...state.drawing.points].sort((a, b) => a.y - b.y || a.x - b.x);
      if (event.key === "Enter" && state.at && state.spec.click) state.spec.click(state.at);
      if (!step || !order.length) return;
      event.preventDefault();
      const now = order.findIndex((each) => each === state.at);
      state.at = order[Math.max(0, Math.min(order.length - 1, now < 0 ? 0 : now + step))];
      tip(state, state.at);
    });
  };
  const zoom = (holder, view) => { drawn.get(holder).view = view; redraw(holder); };

  const redraw = (holder) => {
    const state = drawn.get(holder);
    state.drawing = new Drawing(holder, state.spec, state.view);
    state.ring = state.drawing.put("circle", { r: 8, fill: "none", stroke: state.drawing.colours.ink, "stroke-width": 1.5, visibility: "hidden", class: "ring" });
    state.box = state.drawing.put("rect", { fill: state.drawing.colours.band, stroke: state.drawing.colours.muted, visibility: "hidden" });
    state.at = null;
    holder.replaceChildren(state.drawing.svg, state.tip);
    state.tip.hidden = true;
    holder.style.height = `${state.spec.height}px`;
  };

  // Draws a chart into an element; `spec.click` hears which point was chosen.
  const draw = (holder, spec) => {
    const known = drawn.get(holder), state = known ?? { holder, tip: Object.assign(document.createElement("div"), { className: "tip", hidden: true }) };
    state.spec = spec;
    state.view = null;
    if (!holder.id) holder.id = `chart-${drawn.size}`;
    drawn.set(holder, state);
    redraw(holder);
    if (!known) listen(state);
  };
  const redrawAll = () => { for (const holder of [...drawn.keys()]) if (holder.isConnected) redraw(holder); else drawn.delete(holder); };

  // ---- pictures to take away ---------------------------------------------------------------
  const toSvg = (holder) => {
    const { drawing } = drawn.get(holder), copy = drawing.svg.cloneNode(true);
    copy.querySelector(".ring")?.remove();
    copy.removeAttribute("aria-hidden");
    copy.insertBefore(make("rect", { width: "100%", height: "100%", fill: drawing.colours.paper }), copy.firstChild);
    if (drawn.get(holder).spec.title) copy.insertBefore(make("title", {}, drawn.get(holder).spec.title), copy.firstChild);
    return new XMLSerializer().serializeToString(copy);
  };
  const toPng = (holder, scale = 2) => new Promise((resolve, reject) => {
    const { width, height } = drawn.get(holder).drawing, image = new Image();
    image.onload = () => {
      const canvas = Object.assign(document.createElement("canvas"), { width: scale * width, height: scale * height });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(resolve, "image/png");
    };
    image.onerror = () => reject(new Error("The picture could not be made."));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(toSvg(holder))}`; // pages let in no blob:
  });

  // For tests and programs: where the marks lie, and what each says.
  const pointsOf = (holder) => drawn.get(holder).drawing.points.map((each) => ({ x: each.x, y: each.y, text: hoverText(drawn.get(holder).spec, each) }));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  let seen = innerWidth, wait;
  addEventListener("resize", () => {
    if (innerWidth === seen) return;
    clearTimeout(wait);
    wait = setTimeout(() => { seen = innerWidth; redrawAll(); }, 120);
  });
  globalThis.moralscope = { ...globalThis.moralscope, charts: { draw, redrawAll, zoom, toSvg, toPng, pointsOf, wide, fit } };
})();
