// The SOP beside a run; the clauses of its broken rules are marked in it.

const sopPanel = { wanted: null };

/** Return the first and the last line of a clause, whose text stands on one line. */
function clauseLines(lines, text) {
  let first = -1;
  lines.forEach((line, at) => {
    const own = line.trim();
    if (own && text.startsWith(own) && (first < 0 || own.length > lines[first].trim().length)) first = at;
  });
  if (first < 0) return null;
  let last = first;
  let joined = lines[first].trim();
  while (joined.length < text.length && last + 1 < lines.length) {
    last += 1;
    joined += " " + lines[last].trim();
  }
  return joined === text ? [first, last] : null;
}

function sopOf(run, detail) {
  const text = DATA.sops[run.domain];
  if (!text) return null;
  const lines = text.split("\n");
  const marked = new Map();
  for (const [, clause, , , said] of (detail && detail.rules) || []) {
    const found = said ? clauseLines(lines, said) : null;
    if (found) marked.set(found[0], { clause, last: found[1] });
  }
  const parts = [];
  let plain = [];
  for (let at = 0; at < lines.length; at += 1) {
    const mark = marked.get(at);
    if (!mark) {
      plain.push(lines[at]);
      continue;
    }
    parts.push(plain.join("\n") + "\n", el("mark", { tabindex: "-1", "data-clause": mark.clause }, lines.slice(at, mark.last + 1).join("\n")), "\n");
    plain = [];
    at = mark.last;
  }
  parts.push(plain.join("\n"));
  return el("aside", { class: "sop", id: "sop", "aria-labelledby": "sop-head", tabindex: "0" }, el("h3", { id: "sop-head" }, "SOP of " + run.domain), el("div", { class: "text" }, parts));
}

/** Whether the SOP is shown: as it was last asked for, else if there is room and a clause was broken. */
function showsSop(run) {
  if (sopPanel.wanted !== null) return sopPanel.wanted;
  return run.rules.length > 0 && matchMedia("(min-width: 75rem)").matches;
}

function setSop(shown) {
  if (!byId("sop")) return;
  byId("sop").hidden = !shown;
  byId("sop-button").setAttribute("aria-expanded", String(shown));
  byId("task").classList.toggle("wide-task", shown);
  const first = byId("sop").querySelector("mark");
  // If the SOP scrolls by itself, it begins with what was broken.
  if (shown && first) byId("sop").scrollTop += first.getBoundingClientRect().top - byId("sop").getBoundingClientRect().top - 48;
}

function toggleSop() {
  if (!byId("sop")) return;
  sopPanel.wanted = byId("sop").hidden;
  setSop(sopPanel.wanted);
}

/** A clause that a rule names: pressed, it shows itself in the SOP. */
function clauseLink(clause) {
  return button("clause " + clause, () => {
    const mark = [...document.querySelectorAll("#sop mark")].find((one) => one.dataset.clause === seen(clause));
    setSop(true);
    if (!mark) return;
    mark.scrollIntoView({ block: "center" });
    mark.focus({ preventScroll: true });
  });
}

