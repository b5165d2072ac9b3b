// The table of runs. Rows are made a hundred at a time, however many there are.

const CHUNK = 100;
const view = { runs: [], made: 0, body: null, more: null, count: null, lists: {}, search: null, chip: null };

const COLUMNS = [
  { by: "task", label: "task", class: "c-task", cell: taskCell },
  { by: "outcome", label: "outcome", class: "c-outcome", cell: outcomeCell },
  { by: "agent", label: "agent", class: "c-agent", cell: (run) => el("td", { class: "c-agent" }, run.agent), has: () => DATA.agents.length > 0 },
  { by: "worst", label: "what came of it", class: "c-why", cell: (run) => el("td", { class: "c-why reason" }, run.why) },
  { by: "change", label: "since " + (DATA.baseline || ""), class: "c-change", cell: changeCell, has: () => Boolean(DATA.baseline) },
  { by: "time", label: "time", class: "c-num n", cell: (run) => number(seconds(run.seconds)), has: () => RUNS.some((run) => run.seconds !== null) },
  { by: "tokens", label: "tokens", class: "c-num c-minor n", cell: (run) => number(amount(run.tokens), "c-minor"), has: () => RUNS.some((run) => run.tokens !== null) },
  { by: "cost", label: "cost", class: "c-num c-minor n", cell: (run) => number(money(run.cost), "c-minor"), has: () => RUNS.some((run) => run.cost !== null) },
  { by: "calls", label: "calls", class: "c-num c-minor n", cell: (run) => number(run.calls, "c-minor") },
].filter((column) => !column.has || column.has());

function number(text, more) {
  return el("td", { class: "c-num n " + (more || "") }, String(text));
}

function taskCell(run) {
  const short = run.task + (run.trial > 1 ? "+" + run.trial : "");
  const domain = DATA.domains.length > 1 ? el("span", { class: "dom" }, run.domain + "/") : "";
  return el("td", { class: "c-task" }, el("a", { href: linkOf(run), "data-place": run.place }, domain, short || "(no id)"));
}

function outcomeCell(run) {
  return el("td", { class: "c-outcome o " + run.outcome }, spaced(run.outcome));
}

function changeCell(run) {
  return el("td", { class: "c-change " + (run.change ? run.change.split(" ")[0] + "mark" : "") }, run.change);
}

function rowOf(run) {
  const row = el("tr", { role: "row" }, COLUMNS.map((column) => column.cell(run)));
  for (const cell of row.children) cell.setAttribute("role", "cell");
  row.addEventListener("click", (event) => {
    if (!event.target.closest("a") && !String(getSelection())) location.hash = linkOf(run);
  });
  return row;
}

function makeMore(number) {
  const next = view.runs.slice(view.made, view.made + number);
  view.body.append(...next.map(rowOf));
  view.made += next.length;
  const left = view.runs.length - view.made;
  view.more.hidden = left === 0;
  view.more.textContent = "Show more (" + left.toLocaleString("en-US") + " left)";
}

function refresh() {
  // Once the page is there, its address shows the same runs to whoever is given it.
  if (document.documentElement.dataset.ready && !state.run) history.replaceState(null, "", location.pathname + location.search + filterHash());
  view.runs = shownRuns();
  view.body.replaceChildren();
  view.made = 0;
  makeMore(CHUNK);
  const all = counted(RUNS.length, "run");
  view.count.textContent = isFiltered() ? view.runs.length.toLocaleString("en-US") + " of " + all : all;
  view.chip.replaceChildren();
  if (chosen.cell) view.chip.append(button(cellWords(chosen.cell) + " ✕", () => choose("cell", null), "chip"));
  view.clear.hidden = !isFiltered();
  for (const head of view.heads) {
    const is = head.dataset.by === order.by;
    head.setAttribute("aria-sort", is && order.by !== "worst" ? (order.falling ? "descending" : "ascending") : "none");
  }
}

function cellWords(cell) {
  return (cell.agent ? cell.agent + ": " : "") + "expected " + DATA.labels[cell.expected] + ", given " + DATA.labels[cell.actual];
}

/** Set a filter, and what shows it. */
function choose(filter, word) {
  if (filter === "cell") chosen.cell = word;
  else {
    chosen.words[filter] = word;
  }
  showChosen();
}

/** Have the lists and the search say what is chosen, and show the runs. */
function showChosen() {
  view.search.value = chosen.text;
  for (const [filter, list] of Object.entries(view.lists)) {
    list.selectedIndex = wordsOf(filter).findIndex(([word]) => word === chosen.words[filter]) + 1;
  }
  refresh();
}

function clearFilters() {
  Object.assign(chosen, { text: "", cell: null, words: {} });
  showChosen();
}

function sortBy(by) {
  const isNumber = ["time", "tokens", "cost", "calls"].includes(by);
  if (order.by === by) order.falling = !order.falling;
  else Object.assign(order, { by, falling: isNumber });
  refresh();
}

function listOf(filter) {
  const words = wordsOf(filter);
  if (words.length < (filter === "outcome" ? 1 : filter === "domain" || filter === "agent" ? 2 : 1)) return null;
  const options = words.map(([word, count]) => el("option", { value: word }, spaced(word) + " (" + count + ")"));
  const list = el("select", { on: { change: () => choose(filter, words[list.selectedIndex - 1]?.[0] ?? "") } }, el("option", { value: "" }, "all"), options);
  view.lists[filter] = list;
  return el("label", {}, FILTERS[filter].label, list);
}

function toolbar() {
  let waiting = 0;
  const search = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      chosen.text = view.search.value;
      refresh();
    }, 120);
  };
  view.search = el("input", { type: "search", id: "search", autocomplete: "off", spellcheck: "false", placeholder: "in tasks, answers, calls, messages …", on: { input: search } });
  view.clear = button("Clear", clearFilters, "plainbutton");
  return el("div", { class: "bar", role: "search" }, el("label", { class: "search" }, "Search", view.search), Object.keys(FILTERS).map(listOf), view.clear);
}

function makeTable() {
  view.count = el("span", { role: "status" });
  view.chip = el("span", {});
  view.heads = COLUMNS.map((column) =>
    el("th", { scope: "col", role: "columnheader", class: column.class, "data-by": column.by }, button(column.label, () => sortBy(column.by), "head")),
  );
  view.body = el("tbody", { role: "rowgroup" });
  view.more = button("Show more", () => makeMore(CHUNK), "plainbutton");
  const table = el("table", { class: "runs", role: "table", "aria-label": "runs" }, el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, view.heads)), view.body);
  const bar = toolbar();
  byId("table").append(bar, el("p", { class: "count" }, view.count, " ", view.chip), table, el("div", { class: "more" }, view.more));
  if ("IntersectionObserver" in window) {
    new IntersectionObserver((entries) => entries.some((one) => one.isIntersecting) && view.made < view.runs.length && !byId("tasks").hidden && makeMore(CHUNK), { rootMargin: "400px" }).observe(view.more);
  }
  refresh();
}

