// One run: what it was given, what it answered, which rules it broke, and what it did.

function fieldsTable(run) {
  const expected = run.expected || {};
  const answer = run.answer || {};
  const differs = run.differs || {};
  const names = [...new Set([...Object.keys(expected), ...Object.keys(answer)])];
  if (!names.length) return null;
  const rows = names.map((name) => {
    const known = run.answer !== undefined;
    const bad = name in differs || !known;
    const why = name in differs ? differs[name] : known ? "" : "no answer";
    return el(
      "tr",
      { class: bad ? "bad" : "ok", role: "row" },
      el("td", { class: "mark", role: "cell" }, bad ? "✕" : "✓"),
      el("td", { role: "cell", class: "mono" }, name),
      el("td", { role: "cell", "data-label": "expected" }, shown(expected[name])),
      el("td", { role: "cell", "data-label": "actual" }, known ? shown(answer[name]) : "–"),
      el("td", { role: "cell", class: "why" }, why),
    );
  });
  const heads = ["", "field", "expected", "actual", "reason"].map((one) => el("th", { scope: "col", role: "columnheader", class: one ? null : "mark" }, one || el("span", { class: "away" }, "match")));
  return el("table", { class: "fields", role: "table", "aria-label": "answer" }, el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads)), el("tbody", { role: "rowgroup" }, rows));
}

function rulesList(run, domain) {
  if (!run.rules) return null;
  const items = run.rules.map(([id, clause, severity, why, text]) =>
    el("li", {}, el("b", {}, id), " (", clause ? [DATA.sops[domain] ? clauseLink(clause) : "clause " + clause, ", "] : "", el("span", { class: severity }, severity), "): " + why, text ? el("q", {}, text) : ""),
  );
  return [el("h3", {}, "Broken rules"), el("ul", { class: "clauses" }, items)];
}

function warnings(run) {
  const words = [
    run.remark,
    run.changed ? "the expected calls were changed since: the run was judged by others" : "",
    run.dispute ? "the expected answer is known to contradict the SOP: " + run.dispute : "",
    run.published ? "correct by the published scorer's rules only" : "",
    ...(run.notes || []),
  ];
  return words.filter(Boolean).map((one) => el("p", { class: "warn" }, one));
}

/** The words of a headline, whose first one is an outcome. */
function headline(text, outcome) {
  return text.startsWith(outcome) ? spaced(outcome) + text.slice(outcome.length) : text;
}

function headOf(run, detail) {
  const was = detail && detail.was ? el("p", { class: "line" }, "in " + DATA.baseline + ": ", el("span", { class: "o " + detail.was[0] }, spaced(detail.was[0])), detail.was[1].slice(detail.was[0].length)) : null;
  const at = [run.agent ? "agent " + run.agent : "", detail && detail.at, run.tags.length ? "tags " + run.tags.join(", ") : "", detail && detail.took].filter(Boolean).join(" · ");
  return [
    el("h2", { class: "name", tabindex: "-1", id: "task-name" }, run.domain + "/" + run.task + (run.trial > 1 ? " (trial " + run.trial + ")" : "")),
    el("p", { class: "head o " + run.outcome }, detail ? headline(detail.head, run.outcome) : run.why || spaced(run.outcome), run.change ? el("span", { class: "tag " + (run.change === "lost" ? "bad" : "open") }, run.change) : ""),
    was,
    at ? el("p", { class: "line" }, at) : null,
  ];
}

function saidOf(detail) {
  const [type, words, trace] = detail.problem || [];
  return [
    detail.problem ? [el("h3", {}, "Raised"), el("p", {}, el("b", {}, type), words ? ": " + words : ""), trace ? el("pre", {}, trace) : null] : null,
    detail.approvals ? [el("h3", {}, "Approvals"), el("ul", { class: "talk" }, detail.approvals.map(([step, by, granted, why]) => el("li", {}, el("span", { class: "role" }, granted ? "approved" : "denied"), el("span", {}, step + " by " + by + (why ? ": " + why : "")))))] : null,
    detail.text ? fold("What the agent returned", el("pre", {}, detail.text)) : null,
    detail.talk ? fold(counted(detail.talk.length, "message"), el("ol", { class: "talk" }, detail.talk.map(message))) : null,
    detail.output ? fold("Output", el("pre", {}, detail.output)) : null,
  ];
}

function bodyOf(detail, domain) {
  const stepWords = detail.held === true ? " – exactly the expected calls" : "";
  return [
    warnings(detail),
    el(
      "div",
      { class: "split" },
      el("div", {}, el("h3", {}, "Answer" + (detail.form ? " – " + detail.form : "")), fieldsTable(detail), rulesList(detail, domain)),
      detail.inputs ? el("div", {}, el("h3", {}, "Inputs"), pairs(detail.inputs)) : null,
    ),
    el("h3", {}, "Trajectory" + stepWords),
    timeline(detail),
    saidOf(detail),
    detail.again ? [el("h3", {}, "Run it again"), el("pre", { class: "again" }, detail.again)] : null,
  ];
}

/** Where a run stands among those that are shown; -1 if a filter hides it. */
function positionOf(run) {
  return view.runs.indexOf(run);
}

function step(run, by) {
  const at = positionOf(run);
  const next = view.runs[at < 0 ? 0 : at + by];
  if (next) location.hash = linkOf(next);
}

function navigation(run) {
  const at = positionOf(run);
  const place = at < 0 ? "not among the runs shown" : at + 1 + " of " + view.runs.length.toLocaleString("en-US");
  return el(
    "nav",
    { class: "nav", "aria-label": "runs" },
    button("← All runs", closeTask, "plainbutton"),
    el("span", { class: "pos" }, place),
    button("Previous", () => step(run, -1), "plainbutton"),
    button("Next", () => step(run, 1), "plainbutton"),
    DATA.sops[run.domain] ? el("button", { type: "button", id: "sop-button", class: "plainbutton", "aria-controls": "sop", on: { click: toggleSop } }, "SOP") : null,
  );
}

function renderTask(run) {
  const detail = detailOf(run);
  const missing = el("p", { class: "warn" }, "The details of this run are left out of the page, so that it stays small. The command: sopbench show SESSION ", el("code", {}, run.domain + "/" + run.task));
  const body = el("div", { class: "beside" }, el("div", {}, detail ? bodyOf(detail, run.domain) : missing), sopOf(run, detail));
  byId("task").replaceChildren(...[navigation(run), headOf(run, detail), body].flat(Infinity).filter((one) => one instanceof Node));
}

