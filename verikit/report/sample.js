// One sample in full: its texts, its scores with their parts, and its steps one by one.

const PASS = 0.5;
const SIBLINGS = 200;
const RANKING = "ranked by"; // a score that orders candidates says nothing of right and wrong

function sample(data, rows, row, query, open) {
  const { item } = row;
  const run = data.runs[row.run];
  const head = el("header", {},
    el("h3", {}, el("bdi", {}, plainly(item.id)), el("span", { class: "label" }, item.label)),
    el("span", { class: `verdict ${verdictOf(item)}` }, item.verdict + (item.value === null || item.verdict === String(item.value) ? "" : ` \u00b7 ${digits(item.value)}`)));
  const others = rows.filter((other) => other.item.id === item.id && data.runs[other.run].kind === run.kind);
  const facts = [...item.facts];
  if (data.runs.length > 1) facts.unshift(["run", run.name]);
  if (item.length) facts.push(["length", many(item.length, "character")]);
  return [
    head,
    others.length > 1 ? siblings(data, others, row, open) : null,
    facts.length ? pairs(facts) : null,
    ...item.texts.map(([title, start, end, omitted]) => textSection(title, data.strings[start], data.strings[end], omitted, query)),
    item.files.length ? leftFiles(item.files, item.more_files) : null,
    Object.keys(item.scores).length ? scoreTable(item.scores) : null,
    ...stepViews(item.scores, candidate(data, item)),
  ].filter(Boolean);
}

function candidate(data, item) {
  const [, head, , omitted] = item.texts[1] ?? [];
  return head === undefined || omitted ? "" : data.strings[head];
}

function siblings(data, others, row, open) {
  const runs = [...new Set(others.map((other) => other.run))];
  const button = (other) => el("button", {
    type: "button", class: `sibling ${verdictOf(other.item)}`, "aria-current": other === row ? "true" : null, onclick: () => open(other),
    title: `${other.item.label}: ${other.item.verdict}`,
  }, `${MARKS[verdictOf(other.item)] ?? ""} ${other.item.label}`);
  const lines = runs.map((run) => el("div", { class: "line" }, runs.length > 1 ? el("span", { class: "label" }, data.runs[run].name) : null,
    ...others.filter((other) => other.run === run).slice(0, SIBLINGS).map(button)));
  return el("div", { class: "siblings", role: "group", "aria-label": "All candidates of this prompt" }, ...lines);
}

function textSection(title, head, tail, omitted, query) {
  const body = el("pre", { dir: "auto" }, ...marked(head, query));
  if (omitted) body.append(el("span", { class: "omitted" }, `${many(omitted, "character")} left out`), ...marked(tail, query));
  return el("section", { class: "text" }, el("h4", {}, title), head ? body : el("p", { class: "empty" }, "Empty text."));
}

function marked(text, query) {
  if (!query) return visible(text);
  const parts = [];
  const lower = text.toLowerCase();
  const needle = query.toLowerCase();
  if (lower.length !== text.length) return visible(text);
  let from = 0;
  for (let at = lower.indexOf(needle); at >= 0 && parts.length < 2000; at = lower.indexOf(needle, from)) {
    parts.push(...visible(text.slice(from, at)), el("mark", {}, ...visible(text.slice(at, at + needle.length))));
    from = at + needle.length;
  }
  return [...parts, ...visible(text.slice(from))];
}

function scoreTable(scores) {
  const rows = Object.entries(scores).flatMap(([name, score]) => scoreRows(name, score, 0));
  const names = ["", "value", "extracted", "reason"];
  const used = names.map((_, i) => i < 2 || rows.some((row) => row.children[i].textContent));
  for (const row of rows) [...row.children].forEach((child, i) => used[i] || child.remove());
  const head = el("tr", {}, ...names.filter((_, i) => used[i]).map((name) => el("th", { scope: "col" }, name)));
  const table = el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows));
  return el("section", { class: "scores" }, el("h4", {}, "Scores"), scroller("Scores", table));
}

function standing(score) {
  return score.value === null ? "unscored" : score.value >= PASS ? "right" : "wrong";
}

function scoreRows(name, score, depth) {
  const state = name === RANKING ? "" : standing(score);
  const row = el("tr", {},
    el("th", { scope: "row", class: `depth-${Math.min(depth, 4)}` }, name),
    el("td", { class: `number ${state}`, "data-column": "value" }, score.value === null ? score.status : digits(score.value)),
    el("td", { class: "extracted", "data-column": "extracted" }, el("bdi", {}, ...visible(score.answer ?? ""))),
    el("td", { "data-column": "reason" }, el("bdi", {}, ...visible(score.reason ?? ""))));
  return [row, ...Object.entries(score.parts ?? {}).flatMap(([inner, part]) => scoreRows(inner, part, depth + 1))];
}

// The files that an agent left, by folder, with the checks that read each.

function leftFiles(files, more) {
  const lines = [];
  let folder = "";
  for (const file of files) {
    const cut = file.path.lastIndexOf("/") + 1;
    if (file.path.slice(0, cut) !== folder) {
      folder = file.path.slice(0, cut);
      lines.push(el("li", { class: "folder" }, el("bdi", {}, ...visible(folder))));
    }
    lines.push(leftFile(file, file.path.slice(cut)));
  }
  if (more) lines.push(el("li", { class: "size" }, `${many(more, "more file")} not shown`));
  return el("section", { class: "files" }, el("h4", {}, "Files that the agent left"), el("ul", {}, ...lines));
}

function leftFile(file, name) {
  const told = [
    el("span", { class: "size" }, file.size),
    file.change ? el("span", { class: `change ${file.change === "removed" ? "wrong" : ""}` }, file.change) : null,
    file.problem ? el("bdi", { class: "unscored" }, ...visible(file.problem)) : null,
  ];
  const checks = file.checks.map(([check, value, status]) => {
    const state = status ? standing({ value }) : "";
    const result = value === null ? status : digits(value);
    return el("li", { class: `check ${state}` }, `${MARKS[state] ?? "\u2022"} `, el("bdi", {}, ...visible(check)), result ? ` ${result}` : null);
  });
  return el("li", { class: checks.length ? "file" : "file unread" },
    el("bdi", { class: "name" }, ...visible(name)), ...told,
    checks.length ? el("ul", { class: "checks" }, ...checks) : el("span", { class: "size" }, "no check read it"));
}

// Steps: one list for all verifiers that score the same number of them, so that their verdicts stand side by side.

function stepViews(scores, text) {
  const sets = new Map();
  for (const [name, score] of Object.entries(scores)) collectSteps(name, score, sets);
  const paragraphs = text.split(/\n\n+/).filter((one) => one.trim());
  return [...sets].map(([size, some]) => stepList(size, some, size === paragraphs.length ? paragraphs : []));
}

function collectSteps(name, score, sets) {
  if (score.steps?.length) {
    const size = score.steps.length;
    sets.set(size, [...(sets.get(size) ?? []), [name, score.steps]]);
  }
  for (const [inner, part] of Object.entries(score.parts ?? {})) collectSteps(inner, part, sets);
}

function stepList(size, sets, said) {
  const firsts = sets.map(([, some]) => some.findIndex((step) => step.value !== null && step.value < PASS));
  const rows = Array.from({ length: size }, (_, i) => el("li", { class: firsts.includes(i) ? "first" : null },
    el("span", { class: "place" }, String(i + 1)),
    el("div", { class: "meters" }, ...sets.map(([name, some], set) => meter(sets.length > 1 ? name : "", some[i], i === firsts[set]))),
    el("div", { class: "said" }, said[i] ? el("p", { dir: "auto" }, ...visible(said[i])) : null, ...sets.flatMap(([name, some]) => remarks(sets.length > 1 ? `${name}: ` : "", some[i], said[i])))));
  const title = sets.length > 1 ? many(size, "step") : `${many(size, "step")}, scored by ${sets[0][0]}`;
  return el("section", { class: "steps" }, el("h4", {}, title), el("ol", {}, ...rows));
}

function meter(name, step, first) {
  const state = standing(step);
  const bar = svg("svg", { class: "meter", viewBox: "0 0 60 8", "aria-hidden": "true" },
    svg("rect", { class: "back", width: 60, height: 8, rx: 2 }),
    svg("rect", { class: state, width: 60 * Math.max(0, Math.min(1, step.value ?? 0)), height: 8, rx: 2 }));
  return el("div", { class: "gauge" }, bar, el("span", { class: `number ${state}` }, step.value === null ? step.status : digits(step.value)),
    name ? el("span", { class: "by" }, name) : null, first ? el("span", { class: "flag" }, `first below ${PASS}`) : null);
}

function remarks(name, step, said) {
  return [
    step.answer && step.answer !== said ? el("p", { dir: "auto" }, ...visible(step.answer)) : null,
    step.reason ? el("p", { class: "note", dir: "auto" }, ...visible(name + step.reason)) : null,
  ];
}
