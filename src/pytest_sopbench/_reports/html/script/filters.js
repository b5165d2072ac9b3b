// What is shown: words chosen in lists, a cell of a confusion table, and a search in all texts.

const FILTERS = {
  outcome: { label: "Outcome", of: (run) => [run.outcome] },
  change: { label: "Since baseline", of: (run) => (run.change ? [run.change] : []) },
  domain: { label: "Domain", of: (run) => [run.domain] },
  agent: { label: "Agent", of: (run) => (run.agent ? [run.agent] : []) },
  field: { label: "Field that differs", of: (run) => run.fields },
  rule: { label: "Broken rule", of: (run) => run.rules },
  tag: { label: "Tag", of: (run) => run.tags },
};

const chosen = { text: "", cell: null, words: {} };
const haystacks = new Map();

/** Return each word of a filter with the number of its runs, the most frequent first. */
function wordsOf(filter) {
  const counts = new Map();
  for (const run of RUNS) for (const word of FILTERS[filter].of(run)) counts.set(word, (counts.get(word) || 0) + 1);
  return [...counts].sort((one, other) => other[1] - one[1]);
}

/** Return all texts of a run in one, in small letters. */
function haystack(run) {
  let text = haystacks.get(run.place);
  if (text === undefined) {
    const row = [run.name, run.outcome, run.why, run.change, run.agent, ...run.fields, ...run.rules, ...run.tags];
    text = (row.join("\n") + "\n" + JSON.stringify(detailOf(run) || "")).toLowerCase();
    haystacks.set(run.place, text);
  }
  return text;
}

function isShown(run, needles) {
  for (const [filter, word] of Object.entries(chosen.words)) {
    if (word && !FILTERS[filter].of(run).includes(word)) return false;
  }
  const cell = chosen.cell;
  if (cell && cell.agent && run.agent !== cell.agent) return false;
  if (cell && !run.answers.some((one) => one[0] === cell.table && one[1] === cell.expected && one[2] === cell.actual)) return false;
  return needles.every((needle) => haystack(run).includes(needle));
}

function shownRuns() {
  const needles = chosen.text.toLowerCase().split(/\s+/).filter(Boolean);
  return sorted(RUNS.filter((run) => isShown(run, needles)));
}

const ORDERS = {
  worst: (run) => run.rank,
  outcome: (run) => run.outcome,
  task: (run) => run.name,
  agent: (run) => run.agent,
  change: (run) => run.change || "~",
  time: (run) => run.seconds,
  tokens: (run) => run.tokens,
  cost: (run) => run.cost,
  calls: (run) => run.calls,
};

const order = { by: "worst", falling: false };

/** Sort runs; unknown numbers come last, and equal ones stay in the order of the session. */
function sorted(runs) {
  const key = ORDERS[order.by];
  const sign = order.falling ? -1 : 1;
  return runs
    .map((run) => [key(run), run])
    .sort(([one, first], [other, second]) => {
      if (one === null || other === null) return (one === null) - (other === null) || first.place - second.place;
      if (one === other) return first.place - second.place;
      return typeof one === "string" ? sign * one.localeCompare(other, "en", { numeric: true }) : sign * (one - other);
    })
    .map(([, run]) => run);
}

/** Write what is chosen as it stands in the address, behind the `#`; nothing if all is shown. */
function filterHash() {
  const words = new URLSearchParams();
  if (chosen.text) words.set("q", wellFormed(chosen.text));
  for (const [filter, word] of Object.entries(chosen.words)) if (word) words.set(filter, wellFormed(word));
  if (chosen.cell) {
    const { table, expected, actual, agent } = chosen.cell;
    words.set("table", wellFormed(DATA.tables[table]));
    words.set("expected", wellFormed(DATA.labels[expected]));
    words.set("given", wellFormed(DATA.labels[actual]));
    if (agent) words.set("by", wellFormed(agent));
  }
  if (order.by !== "worst" || order.falling) words.set("sort", (order.falling ? "-" : "") + order.by);
  const text = words.toString();
  return text ? "#?" + text : "";
}

/** Choose what an address says, and return the words in it that mean nothing here. */
function readFilters(text) {
  const words = new URLSearchParams(text);
  const unknown = [];
  const placeOf = (list, word) => list.findIndex((one) => wellFormed(one) === word);
  Object.assign(chosen, { text: words.get("q") || "", cell: null, words: {} });
  Object.assign(order, { by: "worst", falling: false });
  for (const [name, word] of words) {
    if (Object.hasOwn(FILTERS, name)) {
      const found = wordsOf(name).find(([one]) => wellFormed(one) === word);
      if (found) chosen.words[name] = found[0];
      else unknown.push(name + "=" + word);
    } else if (name === "sort" && Object.hasOwn(ORDERS, word.replace(/^-/, ""))) {
      Object.assign(order, { by: word.replace(/^-/, ""), falling: word.startsWith("-") });
    } else if (!["q", "table", "expected", "given", "by"].includes(name)) unknown.push(name + "=" + word);
  }
  if (words.has("table")) {
    const cell = { table: placeOf(DATA.tables, words.get("table")), expected: placeOf(DATA.labels, words.get("expected")), actual: placeOf(DATA.labels, words.get("given")), agent: words.get("by") || "" };
    if (cell.table < 0 || cell.expected < 0 || cell.actual < 0) unknown.push("table=" + words.get("table"));
    else chosen.cell = cell;
  }
  return unknown;
}

function isFiltered() {
  return Boolean(chosen.text || chosen.cell || Object.values(chosen.words).some(Boolean));
}

