// Values of JSON as people read them.

function shown(value) {
  if (value === undefined) return "–";
  return typeof value === "string" ? value || '""' : JSON.stringify(value);
}

function isPlain(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** Names and values in two columns; `other` marks the names whose values differ there. */
function pairs(values, other) {
  if (!isPlain(values)) return el("pre", {}, typeof values === "string" ? values : JSON.stringify(values, null, 2));
  const rows = Object.entries(values).map(([name, value]) => {
    const kind = isPlain(other) && JSON.stringify(other[name]) !== JSON.stringify(value) ? "diff" : null;
    const long = value !== null && typeof value === "object" && JSON.stringify(value).length > 80;
    return [el("dt", { class: kind }, name), el("dd", { class: kind }, long ? JSON.stringify(value, null, 1) : shown(value))];
  });
  return rows.length ? el("dl", { class: "pairs" }, rows) : el("p", { class: "none" }, "none");
}

function oneLine(values) {
  if (!isPlain(values)) return values === null || values === undefined ? "" : shown(values);
  return Object.entries(values).map(([name, value]) => name + "=" + shown(value)).join(", ");
}

function fold(title, ...children) {
  return el("details", { class: "fold" }, el("summary", {}, title), children);
}

/** A message as its role and its text; anything else as JSON. */
function message(one) {
  if (!isPlain(one)) return el("li", {}, el("span", { class: "role" }, ""), el("span", { class: "content" }, shown(one)));
  const { role, type, content, ...rest } = one;
  const text = Array.isArray(content) ? content.map((part) => (isPlain(part) && typeof part.text === "string" ? part.text : shown(part))).join("\n") : content;
  const others = Object.keys(rest).length ? JSON.stringify(rest, null, 1) : "";
  const words = [text === undefined || text === null ? "" : typeof text === "string" ? text : shown(text), others].filter(Boolean).join("\n");
  return el("li", {}, el("span", { class: "role" }, role || type || ""), el("span", { class: "content" }, words));
}

