// The sample browser: filters over all samples, a list that holds only the rows in sight, and one sample in full.

const ROW = 58;
const SPARE = 6;
const SORTS = {
  "in order": null,
  "longest first": (a, b) => b.item.length - a.item.length,
  "shortest first": (a, b) => a.item.length - b.item.length,
  "lowest score first": (a, b) => low(a) - low(b),
  "highest score first": (a, b) => high(b) - high(a),
};
const MARKS = { right: "\u2713", wrong: "\u2717", first: "A", second: "B", tie: "=", unscored: "?" };
const low = (row) => row.item.value ?? Infinity;
const high = (row) => row.item.value ?? -Infinity;

function browser(data) {
  const rows = data.runs.flatMap((run, place) => run.items.map((item) => ({ run: place, item })));
  rows.forEach((row, number) => { row.number = number; });
  const state = { run: "", tags: new Set(), query: "", sort: "in order", shown: rows, at: 0 };
  const text = (row, place) => data.strings[row.item.texts[place]?.[1]] ?? "";

  const count = el("p", { class: "count", role: "status" });
  const chips = el("div", { class: "chips", role: "group", "aria-label": "Filters" });
  const search = el("input", { type: "search", placeholder: "Search texts, ids, reasons", "aria-label": "Search", oninput: debounced(() => {
    state.query = search.value;
    update();
  }) });
  const sort = select("Order", Object.keys(SORTS), (value) => {
    state.sort = value;
    update();
  });
  const runs = select("Run", ["", ...data.runs.keys()], (value) => {
    state.run = value;
    update();
  }, (value) => (value === "" ? "all runs" : data.runs[value].name));
  const list = virtual((row) => listRow(row, text(row, 1)), (place, moved) => {
    state.at = place;
    const row = state.shown[place];
    detail.replaceChildren(...(row ? sample(data, rows, row, state.query, open) : [el("p", { class: "empty" }, "Nothing to show.")]));
    detail.scrollTop = 0;
    if (moved) history.replaceState(null, "", `#sample-${row.number}`);
    if (moved && narrow.matches) detail.scrollIntoView({ block: "start" });
  });
  const detail = el("article", { class: "detail", "aria-label": "Sample", tabindex: "0" });
  const narrow = matchMedia("(max-width: 760px)");

  function open(row) {
    let place = state.shown.indexOf(row);
    if (place < 0) {
      reset();
      place = state.shown.indexOf(row);
    }
    list.go(place, true);
  }

  function reset() {
    Object.assign(state, { run: "", tags: new Set(), query: "" });
    search.value = "";
    runs.control.value = "";
    update();
  }

  function update() {
    const wanted = [...state.tags];
    const needle = state.query.toLowerCase();
    const here = state.run === "" ? rows : rows.filter((row) => row.run === Number(state.run));
    state.shown = here.filter(({ item }) => wanted.every((tag) => item.tags.includes(tag)));
    if (needle) state.shown = state.shown.filter((row) => holds(data.strings, row.item, needle));
    if (SORTS[state.sort]) state.shown = [...state.shown].sort(SORTS[state.sort]);
    drawChips(here);
    const all = state.shown.length === rows.length;
    count.textContent = all ? many(rows.length, "sample") : `${plain.format(state.shown.length)} of ${many(rows.length, "sample")}`;
    list.fill(state.shown);
  }

  function drawChips(here) {
    const held = new Map();
    for (const { item } of here) for (const tag of item.tags) held.set(tag, (held.get(tag) ?? 0) + 1);
    const focused = document.activeElement?.dataset?.tag;
    chips.replaceChildren(...Object.entries(data.filters).filter(([tag]) => held.has(tag) || state.tags.has(tag)).map(([tag, [name, told]]) =>
      el("button", { type: "button", class: `chip ${tag}`, "data-tag": tag, title: told, "aria-pressed": String(state.tags.has(tag)), onclick: () => toggle(tag) },
        `${name} `, el("span", { class: "n" }, plain.format(held.get(tag) ?? 0)))));
    if (focused) chips.querySelector(`[data-tag="${focused}"]`)?.focus();
  }

  function toggle(tag) {
    const on = state.tags.has(tag);
    if (data.verdicts.includes(tag)) for (const other of data.verdicts) state.tags.delete(other);
    if (on) state.tags.delete(tag);
    else state.tags.add(tag);
    update();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape" && event.target === search) {
      search.value = state.query = "";
      update();
      list.node.focus();
    } else if (!typing && event.key === "/") {
      event.preventDefault();
      search.focus();
    } else if (!typing && (event.key === "j" || event.key === "k")) {
      list.move(event.key === "j" ? 1 : -1);
      list.node.scrollIntoView({ block: "nearest" });
    }
  });

  const keys = el("p", { class: "keys" }, el("kbd", {}, "j"), " ", el("kbd", {}, "k"), " next and previous, ", el("kbd", {}, "/"), " search");
  const section = el("section", { class: "samples", id: "samples", tabindex: "-1" },
    el("header", {}, el("h2", {}, "Samples"), count, keys));
  if (!rows.length) {
    section.append(el("p", { class: "empty" }, "These runs have no samples to show."));
    return section;
  }
  const controls = el("div", { class: "controls" }, search, data.runs.length > 1 ? runs : null, sort);
  section.append(chips, controls, el("div", { class: "panes" }, list.node, detail));
  update();
  linked();
  addEventListener("hashchange", linked);
  return section;

  // The address names the sample that was chosen last, so that it can be sent to someone with the page.
  function linked() {
    const row = rows[/^#sample-(\d+)$/.exec(location.hash)?.[1]];
    if (row) requestAnimationFrame(() => {
      section.scrollIntoView({ behavior: "instant" });
      open(row);
    });
  }
}

function holds(strings, item, needle) {
  return item.id.toLowerCase().includes(needle)
    || item.texts.some(([, head, tail]) => strings[head].toLowerCase().includes(needle) || (tail !== undefined && strings[tail].toLowerCase().includes(needle)))
    || Object.values(item.scores).some((score) => (score.reason ?? "").toLowerCase().includes(needle));
}

function select(name, values, change, told = (value) => value) {
  const control = el("select", { onchange: () => change(control.value) }, ...values.map((value) => el("option", { value }, told(value))));
  return el("label", { class: "select" }, `${name} `, control);
}

function debounced(act) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, 120);
  };
}

// A list box of any length: only the rows in sight are elements.

function virtual(render, chosen) {
  const space = el("div", { class: "space", role: "presentation" });
  const node = el("div", { class: "list", role: "listbox", tabindex: "0", "aria-label": "Samples" }, space);
  let rows = [];
  let at = 0;
  const held = new Map();

  function paint() {
    const first = Math.max(0, Math.floor(node.scrollTop / ROW) - SPARE);
    const last = Math.min(rows.length, Math.ceil((node.scrollTop + node.clientHeight) / ROW) + SPARE);
    for (const [place, row] of held) {
      if (place < first || place >= last) {
        row.remove();
        held.delete(place);
      }
    }
    for (let place = first; place < last; place++) if (!held.has(place)) held.set(place, space.appendChild(made(place)));
    for (const [place, row] of held) row.setAttribute("aria-selected", String(place === at));
    if (held.has(at)) node.setAttribute("aria-activedescendant", `row-${at}`);
    else node.removeAttribute("aria-activedescendant");
  }

  function made(place) {
    const row = render(rows[place]);
    row.id = `row-${place}`;
    row.setAttribute("role", "option");
    row.setAttribute("aria-posinset", place + 1);
    row.setAttribute("aria-setsize", rows.length);
    row.style.transform = `translateY(${place * ROW}px)`;
    row.addEventListener("click", () => go(place, true));
    return row;
  }

  function go(place, moved = false) {
    if (!rows.length) return;
    at = Math.max(0, Math.min(rows.length - 1, place));
    const top = at * ROW;
    if (top < node.scrollTop) node.scrollTop = top;
    else if (top + ROW > node.scrollTop + node.clientHeight) node.scrollTop = top + ROW - node.clientHeight;
    paint();
    chosen(at, moved);
  }

  node.addEventListener("scroll", paint, { passive: true });
  new ResizeObserver(paint).observe(node);
  node.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(node.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length };
    if (!(event.key in steps)) return;
    event.preventDefault();
    go(at + steps[event.key], true);
  });

  return {
    node,
    go,
    move: (step) => go(at + step, true),
    fill(some) {
      rows = some;
      held.clear();
      at = 0;
      space.replaceChildren();
      space.style.height = `${rows.length * ROW}px`;
      node.scrollTop = 0;
      paint();
      chosen(0, false);
    },
  };
}

function verdictOf(item) {
  return item.tags[0];
}

function listRow({ item }, preview) {
  const reason = Object.values(item.scores)[0]?.reason ?? "";
  return el("div", { class: `row ${verdictOf(item)}` },
    el("span", { class: "mark", title: item.verdict }, MARKS[verdictOf(item)] ?? "\u00b7"),
    el("span", { class: "who" }, el("bdi", {}, plainly(item.id)), el("span", { class: "label" }, item.label)),
    el("span", { class: "value" }, item.value === null ? item.verdict : digits(item.value)),
    el("bdi", { class: "preview" }, plainly((preview || reason).slice(0, 160))));
}
