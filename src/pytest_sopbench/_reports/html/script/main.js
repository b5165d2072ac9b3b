// From the plain list to the page: what is below replaces it once everything is in its place.

function hashName() {
  const raw = location.hash.slice(1);
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
}

function showList() {
  byId("task").hidden = true;
  byId("overview").hidden = byId("tasks").hidden = false;
}

function openTask(run) {
  if (!state.run) state.scroll = scrollY;
  state.run = run;
  renderTask(run);
  byId("overview").hidden = byId("tasks").hidden = true;
  byId("task").hidden = false;
  setSop(showsSop(run));
  scrollTo(0, 0);
  byId("task-name").focus({ preventScroll: true });
}

function closeTask() {
  const run = state.run;
  state.run = null;
  history.pushState(null, "", location.pathname + location.search + filterHash());
  backToList(run);
}

function backToList(run) {
  state.run = null;
  showList();
  scrollTo(0, state.scroll);
  const at = run ? positionOf(run) : -1;
  if (at >= 0) focusRow(at);
}

function route() {
  const name = hashName();
  const isView = location.hash === "" || location.hash.startsWith("#?");
  // Of an address that says what is shown already nothing is made anew: a row may have the focus.
  const isOther = isView && location.hash !== filterHash();
  const unknown = isOther ? readFilters(location.hash.slice(2)) : [];
  const run = BY_NAME.get(name) || RUNS.find((one) => seen(one.name) === name);
  if (run) openTask(run);
  else {
    if (isOther) showChosen();
    if (state.run) backToList(state.run);
    byId("unknown").hidden = isView ? !unknown.length : !name.includes("/");
    byId("unknown").textContent = isView ? "This page has no " + seen(unknown.join(", ")) : "No run in this page is called " + seen(name);
  }
}

/** Make buttons of words and numbers that filter the table. */
function enhance() {
  for (const mark of document.querySelectorAll("[data-filter]")) {
    const { filter, value } = mark.dataset;
    if (!view.lists[filter] || !wordsOf(filter).some(([word]) => word === value)) continue;
    const made = button("", () => goToTasks(() => choose(filter, value)));
    made.append(...mark.childNodes);
    mark.append(made);
  }
  for (const cell of document.querySelectorAll("td[data-expected]")) {
    const table = Number(cell.closest("table").dataset.table);
    const what = { table, expected: Number(cell.dataset.expected), actual: Number(cell.dataset.actual), agent: cell.closest("table").dataset.agent };
    const made = button(cell.textContent, () => goToTasks(() => choose("cell", what)));
    made.setAttribute("aria-label", cell.textContent + " with " + seen(cellWords(what)));
    cell.replaceChildren(made);
  }
}

function goToTasks(change) {
  change();
  byId("tasks").scrollIntoView();
  byId("tasks").focus({ preventScroll: true });
}

function start() {
  makeTable();
  enhance();
  byId("plain").remove();
  byId("table").before(el("p", { class: "warn", id: "unknown", role: "status", hidden: true }));
  byId("table").hidden = byId("keys").hidden = false;
  document.documentElement.dataset.ready = "true";
  addEventListener("hashchange", route);
  addEventListener("popstate", route);
  addEventListener("keydown", onKey);
  // Paper cannot scroll, nor unfold anything.
  addEventListener("beforeprint", () => {
    makeMore(1000);
    for (const one of document.querySelectorAll("#task details.fold")) one.open = true;
  });
  route();
}

start();
