// The page: what was run, the metrics, charts and tables of each run, several runs side by side, and the samples.

const FIGURES = 8; // a strip of more is no headline; the charts and tables have them all
const NOTICES = 4;
const data = JSON.parse(document.getElementById("data").textContent);

function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return digits(value);
  if (typeof value === "object") {
    const range = interval(value.low, value.high, value.percent);
    return number(value.value, value.percent) + (range ? ` [${range}]` : "");
  }
  return plainly(value);
}

function grid(table) {
  const shown = table.rows.map((row) => row.map(cell));
  const numeric = table.columns.map((_, i) => shown.every((row) => /^$|^\u2013|^[-\u2212]?[\d.,]+(e-?\d+)?( ?%)?( \[.*\])?$/.test(row[i])));
  const align = (i) => (numeric[i] && i > 0 ? "number" : null);
  const head = el("tr", {}, ...table.columns.map((name, i) => el("th", { scope: "col", class: align(i) }, name)));
  const rows = shown.map((row) => el("tr", {}, ...row.map((text, i) =>
    (i ? el("td", { class: align(i), "data-column": table.columns[i] }, text) : el("th", { scope: "row" }, text)))));
  return scroller(table.title ?? "Numbers", el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
}

// A table that is wider than its place, as on a phone, becomes a list for each row.

function scroller(label, table) {
  const box = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);
  let width = 0;
  new ResizeObserver(() => {
    if (box.clientWidth === width) return;
    width = box.clientWidth;
    box.classList.remove("stacked");
    box.classList.toggle("stacked", box.scrollWidth > box.clientWidth);
  }).observe(box);
  return box;
}

const WIDE = 4; // columns

function tableSection(table) {
  return el("section", { class: table.columns.length > WIDE ? "table wide" : "table" }, el("h3", {}, table.title), grid(table),
    table.note ? el("p", { class: "note" }, table.note) : null);
}

function pairs(rows) {
  return el("dl", { class: "facts" }, ...rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, plainly(value)))));
}

function headline(metrics) {
  const cards = metrics.map((one) => {
    const range = interval(one.low, one.high, one.percent);
    return el("div", { class: "figure" },
      el("dt", {}, one.label), el("dd", {}, number(one.value, one.percent)),
      el("dd", { class: "range" }, range ? `95 %: ${range}` : ""), one.note ? el("dd", { class: "note" }, one.note) : null);
  });
  return el("dl", { class: "figures" }, ...cards);
}

function notices(texts) {
  const list = (some) => el("ul", {}, ...some.map((text) => el("li", {}, plainly(text))));
  const rest = texts.slice(NOTICES);
  const more = rest.length ? el("details", {}, el("summary", {}, `${rest.length} more`), list(rest)) : null;
  return el("aside", { class: "notices", "aria-label": "Notices" }, list(texts.slice(0, NOTICES)), more);
}

function folded(title, fill) {
  const details = el("details", { class: "more" }, el("summary", {}, title));
  details.addEventListener("toggle", () => details.append(...fill()), { once: true });
  return details;
}

function foldedTables(tables) {
  return tables.filter((table) => table.more).map((table) =>
    folded(table.title, () => [grid(table), table.note ? el("p", { class: "note" }, table.note) : ""]));
}

// The charts and tables that are not folded.

function parts(someCharts, tables) {
  const shown = [...someCharts.filter((chart) => !chart.more).map(chartFigure), ...tables.filter((table) => !table.more).map(tableSection)];
  return el("div", { class: "charts" }, ...shown);
}

function charts(some) {
  return el("div", { class: "charts" }, ...some.map(chartFigure));
}

function flat(settings, prefix = "") {
  return Object.entries(settings).flatMap(([name, value]) => {
    const path = prefix ? `${prefix}.${name}` : name;
    const inner = value !== null && typeof value === "object" && !Array.isArray(value);
    if (inner && Object.keys(value).length) return flat(value, path);
    return [[path, inner || value === null ? "" : Array.isArray(value) ? value.map(String).join(", ") : String(value)]];
  });
}

function runSection(run, place) {
  const section = el("section", { class: "run", id: `run-${place}` },
    el("header", {}, el("h2", {}, run.name), el("span", { class: "kind" }, run.kind)), pairs(run.facts));
  if (run.notices.length) section.append(notices(run.notices));
  if (run.metrics.length && run.metrics.length <= FIGURES) section.append(headline(run.metrics));
  section.append(parts(run.charts, run.tables));
  const rest = run.charts.filter((chart) => chart.more);
  if (rest.length) section.append(folded(`${many(rest.length, "more chart")}`, () => [charts(rest)]));
  section.append(...foldedTables(run.tables));
  const settings = flat(run.settings);
  if (settings.length)
    section.append(folded("Settings", () => [grid({ title: "Settings", columns: ["setting", "value"], rows: settings })]));
  return section;
}

function together(same, place) {
  const section = el("section", { class: "run", id: `together-${place}` },
    el("header", {}, el("h2", {}, "Side by side"), el("span", { class: "kind" }, same.kind)));
  if (!same.tables.length && !same.charts.length) section.append(el("p", { class: "empty" }, "These runs have no metric in common."));
  section.append(...same.sentences.map((text) => el("p", { class: "sentence" }, plainly(text))));
  section.append(parts(same.charts, same.tables));
  if (same.worst.length)
    section.append(el("h3", {}, "Questions on which the runs differ most"), ...same.worst.map(difference));
  section.append(...foldedTables(same.tables));
  return section;
}

function difference(found) {
  const replies = found.replies.map(({ run, value, text }) => el("section", {},
    el("h4", {}, `${plainly(run)} `, el("span", { class: `verdict ${value >= PASS ? "right" : "wrong"}` }, digits(value))),
    el("pre", { dir: "auto" }, ...(text ? whole(text) : ["The page does not have this text."]))));
  return el("article", { class: "difference" },
    el("h4", {}, el("bdi", {}, plainly(found.id)), el("span", { class: "label" }, plainly(found.about))),
    found.question.head ? el("p", { dir: "auto" }, ...whole(found.question)) : null,
    el("div", { class: "replies" }, ...replies));
}

function whole({ head, tail, omitted }) {
  if (!head) return ["Empty text."];
  return omitted ? [...visible(head), el("span", { class: "omitted" }, `${many(omitted, "character")} left out`), ...visible(tail)] : visible(head);
}

function build() {
  const links = data.runs.map((run, i) => el("a", { href: `#run-${i}` }, run.name));
  if (data.together.length) links.unshift(el("a", { href: "#together-0" }, "Side by side"));
  links.push(el("a", { href: "#samples" }, "Samples"));
  document.getElementById("page").replaceChildren(
    el("header", { class: "top" }, el("h1", {}, "verikit report"), el("nav", { "aria-label": "Sections" }, ...links)),
    ...data.together.map(together),
    ...data.runs.map(runSection),
    browser(data));
  document.documentElement.dataset.ready = "true";
}

build();
