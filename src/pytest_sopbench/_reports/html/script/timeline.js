// The trajectory of a run: a row for each step, expected and actual beside one another, and what
// the baseline did there.

const DIFFERS = 1;
const CHANGED = 2;
const FIRST = 4;
const FIRST_CHANGED = 8;

function tagsOf(call) {
  return [
    call.again ? el("span", { class: "tag open" }, "retry") : "",
    call.e !== undefined ? el("span", { class: "tag bad" }, "failed") : "",
    call.f ? el("span", { class: "tag bad" }, "bad call") : "",
  ];
}

/** A call, folded; `other` is the call beside it, whose other arguments are marked. */
function callOf(call, other, unknown = "any arguments") {
  const failed = call.e !== undefined;
  const back = failed ? "✕ " + shown(call.e) : "r" in call ? "→ " + oneLine(call.r) : "";
  const summary = el("summary", {}, el("span", { class: "fn" }, call.n), tagsOf(call), el("span", { class: "args" }, oneLine(call.a)), back ? el("span", { class: "back" }, back) : "");
  const inside = el("div", { class: "inside" }, call.a === null ? el("p", { class: "none" }, unknown) : pairs(call.a, other ? other.a : undefined));
  for (const finding of call.f || []) inside.append(el("p", { class: "o wrong" }, finding));
  if (failed) inside.append(el("h3", {}, "failed"), el("pre", {}, shown(call.e)));
  else if ("r" in call) inside.append(el("h3", {}, "result"), pairs(call.r));
  for (const change of call.s || []) inside.append(el("p", { class: "o" }, "changed " + change));
  if (call.t) inside.append(el("p", { class: "note" }, "began after " + seconds(call.t[0]) + ", took " + seconds(call.t[1])));
  return el("details", { class: "call" }, summary, inside);
}

function cellOf(label, child) {
  return el("td", { "data-label": label, role: "cell" }, child || el("span", { class: "none" }, "–"));
}

function quietCell(label, sign, name) {
  return el("td", { "data-label": label, role: "cell", class: "quiet" }, el("span", { class: "same" }, sign, el("span", { class: "mono" }, name)));
}

function wantedCell(run, row, made) {
  const [place, , , marks] = row;
  if (!place) return cellOf("expected", made ? el("span", { class: "none" }, "no call expected") : "");
  const wanted = run.want[place - 1];
  if (wanted === 0 || (made && !(marks & DIFFERS))) return quietCell("expected", "✓ ", made.n);
  return cellOf("expected", callOf(wanted, made && made.n === wanted.n ? made : null));
}

function baselineCell(run, row, made) {
  const [, , before, marks] = row;
  if (!before) return cellOf(DATA.baseline, made ? el("span", { class: "none" }, "no such call") : "");
  const was = run.base[before - 1];
  if (was === 0 || (made && !(marks & CHANGED))) return quietCell(DATA.baseline, "= ", made.n);
  return cellOf(DATA.baseline, callOf(was, made && made.n === was.n && was.a ? made : null, "a slim baseline keeps no arguments"));
}

function flagRow(text, kind, width) {
  return el("tr", { class: "flagrow " + kind, role: "row" }, el("td", { class: "flag " + kind, colspan: width, role: "cell" }, text));
}

function stepRow(run, row, hasWanted, hasBase) {
  const [, step, , marks] = row;
  const made = step ? run.calls[step - 1] : null;
  const beside = hasWanted && made && row[0] ? run.want[row[0] - 1] : 0;
  const kind = (marks & DIFFERS && (hasWanted || marks & FIRST) ? "differs " : "") + (marks & CHANGED ? "changed" : "");
  return el(
    "tr",
    { class: kind, role: "row" },
    el("td", { class: "num", role: "cell" }, step ? String(step) : "–"),
    hasWanted ? wantedCell(run, row, made) : null,
    cellOf("this run", made ? callOf(made, beside && beside.n === made.n ? beside : null) : el("span", { class: "none" }, run.calls.length || hasWanted ? "not called" : "the agent called no tool")),
    hasBase ? baselineCell(run, row, made) : null,
  );
}

/** The whole table; if nothing was expected and there is no baseline, the calls alone. */
function timeline(run) {
  const calls = run.calls || [];
  const hasWanted = Boolean(run.want);
  const hasBase = Boolean(run.base);
  const full = { ...run, calls, want: run.want || [], base: run.base || [] };
  if (run.unknown) return el("p", { class: "none" }, "Unknown: the process of the run died, or it never began.");
  if (!(run.rows || []).length) return el("p", { class: "none" }, "The agent called no tool.");
  const width = 2 + hasWanted + hasBase;
  const body = el("tbody", { role: "rowgroup" });
  for (const row of full.rows) {
    if (row[3] & FIRST) body.append(flagRow((hasWanted ? "▶ First departure: " : "▶ Leaves the procedure: ") + (run.departs || "the calls differ from here on"), "", width));
    if (row[3] & FIRST_CHANGED) body.append(flagRow("▷ First step that differs from " + DATA.baseline, "since", width));
    body.append(stepRow(full, row, hasWanted, hasBase));
  }
  const heads = ["", hasWanted ? "expected" : null, "this run", hasBase ? DATA.baseline : null].filter((one) => one !== null);
  const head = el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads.map((one, at) => el("th", { scope: "col", role: "columnheader", class: at ? null : "num" }, one || el("span", { class: "away" }, "step")))));
  return el("table", { class: "steps", role: "table", "aria-label": "trajectory" }, head, body);
}

