// The keyboard: j and k, s, /, Enter and Esc. Enter follows the link that has the focus by itself.

const state = { run: null, at: -1, scroll: 0 };

function focusRow(at) {
  if (at < 0 || at >= view.runs.length) return;
  while (view.made <= at) makeMore(CHUNK);
  state.at = at;
  const link = view.body.rows[at].querySelector("a");
  link.focus({ preventScroll: true });
  link.scrollIntoView({ block: "nearest" });
}

function currentRow() {
  const row = document.activeElement && document.activeElement.closest(".runs tbody tr");
  return row ? row.sectionRowIndex : -1;
}

function move(by) {
  if (state.run) step(state.run, by);
  else focusRow(currentRow() < 0 ? 0 : currentRow() + by);
}

function escape() {
  if (state.run) closeTask();
  else if (isFiltered()) clearFilters();
  else if (document.activeElement) document.activeElement.blur();
}

function onKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = event.target.matches("input, textarea, select");
  if (event.key === "Escape") {
    if (isTyping) event.target.blur();
    escape();
  } else if (isTyping) {
    if (event.key === "Enter" && event.target === view.search) focusRow(0);
    else return;
  } else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "s" && state.run) toggleSop();
  else if (event.key === "/") {
    if (state.run) closeTask();
    view.search.focus();
    view.search.select();
  } else return;
  event.preventDefault();
}

