// Elements and texts. Data becomes text nodes and nothing else: no markup is ever made of it.

// oxlint-disable-next-line no-control-regex -- these are what it looks for
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Write what cannot be seen, or turns the order of letters, as an escape. */
function seen(text) {
  return String(text).replace(UNSEEN, (sign) => "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));
}

/** Make an element; children are elements, texts, lists of both, or nothing. */
function el(name, properties, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "on") for (const [type, listener] of Object.entries(value)) made.addEventListener(type, listener);
    else if (key === "class") made.className = value;
    else made.setAttribute(key, value === true ? "" : seen(value));
  }
  add(made, children);
  return made;
}

function add(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    parent.append(child instanceof Node ? child : document.createTextNode(seen(child)));
  }
}

function byId(id) {
  return document.getElementById(id);
}

function button(text, listener, kind) {
  return el("button", { type: "button", class: kind || "link", on: { click: listener } }, text);
}

function counted(number, word) {
  return number.toLocaleString("en-US") + " " + word + (number === 1 ? "" : "s");
}

function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 0.001) return "<1 ms";
  if (value < 1) return Math.floor(value * 1000) + " ms";
  if (value < 60) return (Math.floor(value * 10) / 10).toFixed(1) + " s";
  return Math.floor(value / 60) + " min " + Math.floor(value % 60) + " s";
}

function amount(value) {
  if (value === null || value === undefined) return "–";
  return value < 1000 ? String(value) : (value / 1000).toFixed(1) + "k";
}

function money(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0 || value >= 1) return "$" + value.toFixed(2);
  let places = 2;
  while (places < 9 && Number(value.toFixed(places - 1)) === 0) places += 1;
  return "$" + value.toFixed(places);
}

function spaced(word) {
  return word.replaceAll("_", " ");
}

