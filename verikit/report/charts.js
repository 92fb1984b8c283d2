// Charts as inline SVG: lines with bands, histograms, forests. Each is drawn to its box's width, again when that
// changes; the pointer or the arrow keys read values off; a table of the numbers is folded under each.

const COLOURS = 6;
const DOTS = 30; // points up to which each is a dot
const CHARACTER = 7.4; // pixels, about
const VERDICTS = new Set(["right", "wrong"]); // series with a colour of their own
const MARGIN = { top: 10, right: 14, bottom: 38, left: 52 };

function chartFigure(chart) {
  const box = el("div", { class: "plot" });
  const figure = el("figure", { class: "chart" }, el("figcaption", {}, chart.title));
  const hidden = new Set();
  if (chart.rows.length || chart.kind !== "forest" && (chart.series.length > 1 || VERDICTS.has(chart.series[0].name)))
    figure.append(legend(chart, hidden, () => box.replaceChildren(...draw(chart, width, hidden))));
  figure.append(box);
  if (chart.note) figure.append(el("p", { class: "note" }, chart.note));
  figure.append(numbers(chart), saved(chart));
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now && now !== width) {
      width = now;
      box.replaceChildren(...draw(chart, width, hidden));
    }
  }).observe(box);
  return figure;
}

// The picture for a paper was drawn where the page was made; an address that holds it needs no request.

function saved(chart) {
  const href = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(chart.picture)}`;
  const download = `${chart.title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "chart"}.svg`;
  return el("a", { class: "save", href, download, "aria-label": `Save ${chart.title} as SVG` }, "Save as SVG");
}

function colour(series, place) {
  return `series ${VERDICTS.has(series.name) ? series.name : `c${place % COLOURS}`}`;
}

// Series are switched off and on by their names in the legend; a chart keeps its scales.

function legend(chart, hidden, redraw) {
  const items = chart.series.map((one, i) => {
    const button = el("button", { type: "button", class: colour(one, i), "aria-pressed": "true", onclick: () => {
      if (!hidden.delete(i)) hidden.add(i);
      button.setAttribute("aria-pressed", String(!hidden.has(i)));
      redraw();
    } }, el("span", { class: "key" }), one.name);
    return el("li", {}, button);
  });
  return el("ul", { class: "legend", "aria-label": "Series" }, ...items);
}

function draw(chart, width, hidden) {
  if (chart.kind === "forest") return forest(chart, width, hidden);
  const height = Math.max(190, Math.min(280, Math.round(width * 0.55)));
  return chart.kind === "histogram" ? histogram(chart, width, height, hidden) : lines(chart, width, height, hidden);
}

// Scales.

function ticks(low, high, most) {
  const raw = (high - low) / Math.max(1, most) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= raw * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) found.push(at * step);
  return found;
}

function scale(low, high, from, to, log) {
  const f = log ? Math.log2 : (value) => value;
  const span = f(high) - f(low) || 1;
  return (value) => from + ((f(value) - f(low)) / span) * (to - from);
}

function label(value, percent, step) {
  if (percent) return `${Number((100 * value).toFixed(step < 0.01 ? 1 : 0))}`;
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  if (value !== 0 && size < 1e-3) return value.toExponential(0);
  return String(Number(value.toPrecision(6)));
}

function axes(chart, width, height, xs, ys, xAt, yAt) {
  const bottom = height - MARGIN.bottom;
  const step = ys.length > 1 ? ys[1] - ys[0] : 1;
  const group = svg("g", { class: "axes", "aria-hidden": "true" });
  for (const y of ys) {
    group.append(
      svg("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: yAt(y), y2: yAt(y) }),
      svg("text", { class: "tick", x: MARGIN.left - 7, y: yAt(y) + 4, "text-anchor": "end" }, label(y, chart.percent, step)));
  }
  for (const x of xs) {
    group.append(
      svg("line", { class: "stub", x1: xAt(x), x2: xAt(x), y1: bottom, y2: bottom + 4 }),
      svg("text", { class: "tick", x: xAt(x), y: bottom + 17, "text-anchor": "middle" }, label(x, false, 1)));
  }
  group.append(
    svg("line", { class: "base", x1: MARGIN.left, x2: width - MARGIN.right, y1: bottom, y2: bottom }),
    svg("text", { class: "name", x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 4, "text-anchor": "middle" }, chart.x),
    svg("text", { class: "name", transform: `translate(11 ${(MARGIN.top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" },
      chart.percent ? `${chart.y} (%)` : chart.y));
  return group;
}

function frame(chart, width, height) {
  const told = `${chart.title}. ${chart.x}, ${chart.y}. The numbers are in the table below.`;
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told, tabindex: "0" });
}

function bounds(values, percent) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || value === undefined) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low === high) return percent ? [0, 1] : [low - (Math.abs(low) || 1) * 0.5, high + (Math.abs(high) || 1) * 0.5];
  const pad = (high - low) * 0.06;
  const out = [low >= 0 && low < high * 0.5 ? 0 : low - pad, high + pad];
  return percent ? [Math.max(0, out[0]), Math.min(1, out[1])] : out;
}

// Lines with bands.

function lines(chart, width, height, hidden) {
  const points = chart.series.flatMap((one) => one.points);
  const xs = [...new Set(points.map((point) => point[0]))].sort((a, b) => a - b);
  const reference = chart.reference === null ? [] : [chart.reference];
  const [low, high] = bounds(points.flatMap((point) => point.slice(1)).concat(reference), chart.percent);
  const right = width - MARGIN.right;
  const bottom = height - MARGIN.bottom;
  const log = chart.log && xs[0] > 0;
  const xAt = scale(xs[0], xs.at(-1), MARGIN.left + 8, right - 8, log);
  const yAt = scale(low, high, bottom, MARGIN.top, false);
  const apart = xs.every((x, i) => i === 0 || xAt(x) - xAt(xs[i - 1]) >= 34);
  const shown = apart || log ? xs : ticks(xs[0], xs.at(-1), Math.floor(width / 80));
  const image = frame(chart, width, height);
  image.append(axes(chart, width, height, shown, ticks(low, high, 5), xAt, yAt));
  if (chart.reference !== null)
    image.append(svg("line", { class: "reference", x1: MARGIN.left, x2: right, y1: yAt(chart.reference), y2: yAt(chart.reference) }));
  const dots = xs.length <= DOTS;
  chart.series.forEach((one, i) => hidden.has(i) || image.append(line(one, colour(one, i), xAt, yAt, dots)));
  return withReader(image, chart, xs, xAt, (x) =>
    chart.series.map((one, i) => [one, i, one.points.find((point) => point[0] === x)]).filter(([, i, point]) => point && !hidden.has(i))
      .map(([one, i, point]) => [colour(one, i), one.name, number(point[1], chart.percent), interval(point[2], point[3], chart.percent)]));
}

function line(series, name, xAt, yAt, dots) {
  const group = svg("g", { class: name });
  const known = series.points.filter((point) => point[1] !== null);
  const band = known.filter((point) => point[2] !== null && point[2] !== undefined);
  const path = (points, at) => points.map((point) => `${xAt(point[0]).toFixed(1)} ${yAt(point[at]).toFixed(1)}`).join("L");
  if (band.length > 1) group.append(svg("path", { class: "band", d: `M${path(band, 2)}L${path([...band].reverse(), 3)}Z` }));
  if (known.length > 1) group.append(svg("path", { class: "line", d: `M${path(known, 1)}` }));
  if (dots || known.length === 1)
    group.append(...known.map((point) => svg("circle", { cx: xAt(point[0]), cy: yAt(point[1]), r: 2.8 })));
  return group;
}

// Histograms: sets of bars side by side in each bin.

function histogram(chart, width, height, hidden) {
  const all = chart.series.flatMap((one) => one.points);
  const low = all[0][0];
  const high = all.at(-1)[1];
  const most = Math.max(...all.map((point) => point[2]));
  const right = width - MARGIN.right;
  const bottom = height - MARGIN.bottom;
  const xAt = scale(low, high, MARGIN.left + 4, right, false);
  const yAt = scale(0, most * 1.05 || 1, bottom, MARGIN.top, false);
  const image = frame(chart, width, height);
  const ys = ticks(0, most, 4).filter(Number.isInteger);
  image.append(axes(chart, width, height, ticks(low, high, Math.floor(width / 80)), ys, xAt, yAt));
  const sets = chart.series.length;
  chart.series.forEach((one, i) => {
    if (hidden.has(i)) return;
    const group = svg("g", { class: colour(one, i) });
    for (const [from, to, count] of one.points) {
      if (!count) continue;
      const whole = xAt(to) - xAt(from) - 1.5;
      const x = xAt(from) + 0.75 + (i * whole) / sets;
      group.append(svg("rect", { class: "bar", x, width: Math.max(1, whole / sets), y: yAt(count), height: bottom - yAt(count) }));
    }
    image.append(group);
  });
  const centres = chart.series[0].points.map(([from, to]) => (from + to) / 2);
  return withReader(image, chart, centres, xAt, (x) => {
    const at = centres.indexOf(x);
    return chart.series.map((one, i) => [colour(one, i), one.name, plain.format(one.points[at][2]), ""]);
  }, (x) => {
    const [from, to] = chart.series[0].points[centres.indexOf(x)];
    return `${digits(from)} to ${digits(to)}`;
  });
}

// Forests: a row for each figure, a dot and its interval. With rows of its own a chart has a dot for each series in each.

const BESIDE = 18; // height of each further series in a row

function forestRows(chart, hidden) {
  if (!chart.rows.length) return chart.series.map((one) => [one.name, [["series c0", one.points[0], 0]]]);
  return chart.rows.map((name, at) =>
    [name, chart.series.map((one, i) => [colour(one, i), one.points[at], i]).filter(([, , i]) => !hidden.has(i))]);
}

function forest(chart, width, hidden) {
  const row = 30;
  const wide = width > 400;
  const rows = forestRows(chart, hidden);
  const longest = Math.max(...rows.map(([name]) => name.length));
  const left = wide ? Math.min(Math.round(width * 0.45), 24 + Math.round(longest * CHARACTER)) : 12;
  const most = Math.floor((wide ? left - 16 : width - 24) / CHARACTER);
  const tall = (wide ? row : 46) + BESIDE * (chart.rows.length ? chart.series.length - 1 : 0);
  const height = 14 + rows.length * tall + MARGIN.bottom;
  const values = chart.series.flatMap((one) => one.points.flat()).concat(chart.reference === null ? [] : [chart.reference]);
  const [low, high] = chart.percent && !chart.rows.length ? [0, 1] : bounds(values, chart.percent);
  const xAt = scale(low, high, left, width - 78, false);
  const bottom = height - MARGIN.bottom;
  const image = frame(chart, width, height);
  for (const x of ticks(low, high, Math.max(2, Math.floor((width - left) / 90)))) {
    image.append(
      svg("line", { class: "grid", x1: xAt(x), x2: xAt(x), y1: 6, y2: bottom }),
      svg("text", { class: "tick", x: xAt(x), y: bottom + 16, "text-anchor": "middle" }, label(x, chart.percent, 1)));
  }
  if (chart.reference !== null)
    image.append(svg("line", { class: "reference", x1: xAt(chart.reference), x2: xAt(chart.reference), y1: 6, y2: bottom }));
  rows.forEach(([text, marks], i) => {
    const top = 10 + i * tall;
    const name = svg("text", wide ? { class: "entry", x: left - 14, y: top + tall / 2 + 4, "text-anchor": "end" } : { class: "entry", x: left, y: top + 19 });
    name.append(middle(plainly(text), most), svg("title", {}, plainly(text)));
    image.append(name, ...marks.flatMap(([kind, point, place]) => mark(chart, kind, point, xAt, top + (wide ? row / 2 : 32) + BESIDE * place, width)));
  });
  image.append(svg("text", { class: "name", x: (left + width - 78) / 2, y: height - 4, "text-anchor": "middle" },
    chart.percent ? `${chart.x} (%)` : chart.x));
  return [image];
}

function mark(chart, kind, [value, from, to], xAt, y, width) {
  const group = svg("g", { class: kind });
  if (from !== null && from !== undefined)
    group.append(svg("line", { class: "whisker", x1: xAt(from), x2: xAt(to), y1: y, y2: y }));
  group.append(svg("circle", { cx: xAt(value), cy: y, r: 4 }));
  return [group, svg("text", { class: "value", x: width - 2, y: y + 4, "text-anchor": "end" }, number(value, chart.percent))];
}

function middle(text, most) {
  if (text.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${text.slice(0, half)}\u2026${text.slice(-half)}`;
}

// Reading values off: by the pointer, or by the arrow keys while the chart has the focus.

function withReader(image, chart, xs, xAt, rowsAt, told = (x) => digits(x)) {
  const height = Number(image.getAttribute("height"));
  const cross = svg("line", { class: "cross", y1: MARGIN.top, y2: height - MARGIN.bottom, visibility: "hidden" });
  const tip = el("div", { class: "tip", role: "status", hidden: true });
  image.append(cross);
  let at = -1;
  const show = (place) => {
    at = Math.max(0, Math.min(xs.length - 1, place));
    const x = xAt(xs[at]);
    cross.setAttribute("x1", x);
    cross.setAttribute("x2", x);
    cross.setAttribute("visibility", "visible");
    const rows = rowsAt(xs[at]).map(([name, title, value, range]) =>
      el("tr", { class: name }, el("th", {}, el("span", { class: "key" }), title), el("td", {}, value), el("td", { class: "range" }, range)));
    tip.replaceChildren(el("strong", {}, `${chart.x} ${told(xs[at])}`), el("table", {}, ...rows));
    tip.hidden = false;
    const room = Number(image.getAttribute("width")) - tip.offsetWidth - 4;
    tip.style.transform = `translate(${Math.max(0, Math.min(room, x + 12 > room ? x - tip.offsetWidth - 12 : x + 12))}px, ${MARGIN.top}px)`;
  };
  const hide = () => {
    tip.hidden = true;
    cross.setAttribute("visibility", "hidden");
  };
  const nearest = (x) => xs.reduce((best, value, i) => (Math.abs(xAt(value) - x) < Math.abs(xAt(xs[best]) - x) ? i : best), 0);
  image.addEventListener("pointermove", (event) => show(nearest(event.clientX - image.getBoundingClientRect().left)));
  image.addEventListener("pointerleave", hide);
  image.addEventListener("blur", hide);
  image.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: xs.length - 1 };
    if (event.key === "Escape") hide();
    else if (event.key in moves) {
      event.preventDefault();
      show(moves[event.key]);
    }
  });
  return [image, tip];
}

function numbers(chart) {
  const table = { columns: [], rows: [] };
  if (chart.rows.length) {
    table.columns = ["", ...chart.series.map((one) => one.name)];
    table.rows = chart.rows.map((name, at) => [name, ...chart.series.map((one) => {
      const [value, low, high] = one.points[at];
      return `${number(value, chart.percent)} [${interval(low, high, chart.percent)}]`;
    })]);
  } else if (chart.kind === "forest") {
    table.columns = ["", chart.x, "95 % interval"];
    table.rows = chart.series.map((one) => {
      const [value, low, high] = one.points[0];
      return [one.name, number(value, chart.percent), interval(low, high, chart.percent)];
    });
  } else if (chart.kind === "histogram") {
    table.columns = [chart.x, ...chart.series.map((one) => one.name)];
    table.rows = chart.series[0].points.map(([from, to], i) =>
      [`${digits(from)} to ${digits(to)}`, ...chart.series.map((one) => one.points[i][2])]);
  } else {
    table.columns = [chart.x, ...chart.series.map((one) => one.name)];
    const xs = [...new Set(chart.series.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b);
    const held = chart.series.map((one) => new Map(one.points.map((point) => [point[0], point])));
    table.rows = xs.map((x) => [digits(x), ...held.map((points) => {
      const point = points.get(x);
      if (!point) return "";
      const range = interval(point[2], point[3], chart.percent);
      return number(point[1], chart.percent) + (range ? ` [${range}]` : "");
    })]);
  }
  const details = el("details", { class: "numbers" }, el("summary", {}, "Numbers"));
  details.addEventListener("toggle", () => details.append(grid(table)), { once: true });
  return details;
}
