// Elements are made by name and filled by textContent: a text never becomes markup.

const SVG = "http://www.w3.org/2000/svg";

function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Characters that are not seen, or turn the order of others around: a reader must see what was scored.

const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

// In one line: each as a replacement character.
function plainly(text) {
  return text.replace(HIDDEN, "\ufffd");
}

// In a text: the character stays, kept from what is around it, under its code.
function visible(text) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    const code = `U+${found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
    parts.push(text.slice(from, found.index), el("span", { class: "code", "data-code": code }, found[0]));
    from = found.index + found[0].length;
  }
  return [...parts, text.slice(from)];
}

// Numbers.

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

function digits(value) {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return plain.format(value);
  if (size >= 1000) return plain.format(value);
  if (size >= 1e-3) return String(Number(value.toPrecision(4)));
  return size === 0 ? "0" : value.toExponential(1);
}

// With more places where it would read as 0 and is not.
function inPercent(share, places) {
  const value = Math.abs(100 * share) < 1e-6 ? 0 : 100 * share;
  while (value !== 0 && Number(value.toFixed(places)) === 0) places += 1;
  return value.toFixed(places);
}

function number(value, percent) {
  if (value === null || value === undefined) return "\u2013";
  return percent ? `${inPercent(value, 1)} %` : digits(value);
}

function interval(low, high, percent) {
  if (low === null || low === undefined) return "";
  if (!percent) return `${digits(low)} to ${digits(high)}`;
  const places = 100 * (high - low) >= 5 ? 0 : 1;
  return `${inPercent(low, places)} to ${inPercent(high, places)}`;
}

function many(count, what) {
  return `${plain.format(count)} ${what}${count === 1 ? "" : "s"}`;
}
