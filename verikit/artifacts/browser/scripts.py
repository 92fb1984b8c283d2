"""Scripts that run in the page to read it, in an isolated world whose objects the page's scripts can't reach.

Elements are read by the getters of their prototypes: `<input name="parentNode">` in a form changes
`form.parentNode` in every world. Expected values never go into these scripts.
`READ` returns an observation, whose shape `sight` checks.
"""

_COMMON = """
const got = (proto, name) => { const g = Object.getOwnPropertyDescriptor(proto, name).get; return x => g.call(x); };
const first = got(Node.prototype, 'firstChild'), next = got(Node.prototype, 'nextSibling');
const kind = got(Node.prototype, 'nodeType'), data = got(CharacterData.prototype, 'data');
const shadow = got(Element.prototype, 'shadowRoot'), tag = got(Element.prototype, 'localName');
const root = got(Document.prototype, 'documentElement'), up = got(Node.prototype, 'parentNode');
const above = got(ShadowRoot.prototype, 'host');
const value = x => x instanceof HTMLInputElement ? got(HTMLInputElement.prototype, 'value')(x)
  : x instanceof HTMLTextAreaElement ? got(HTMLTextAreaElement.prototype, 'value')(x) : null;
const asked = selector => Array.from(Document.prototype.querySelectorAll.call(document, selector));
const attribute = (x, name) => Element.prototype.getAttribute.call(x, name);
const children = x => {
  if (kind(x) === 1) {
    const inner = shadow(x);
    if (inner) return children(inner);
    if (x instanceof HTMLSlotElement) {
      const given = HTMLSlotElement.prototype.assignedNodes.call(x, {flatten: true});
      if (given.length) return given;
    }
  }
  const found = [];
  for (let y = first(x); y; y = next(y)) found.push(y);
  return found;
};
const box = x => {
  const r = Element.prototype.getBoundingClientRect.call(x);
  return [r.left, r.top, r.right, r.bottom];
};
"""

READ = (
    """(selectors, most, final) => {"""
    + _COMMON
    + """
const marks = new Map(), elements = [];
let marked = 0;
for (const selector of selectors) {
  let found;
  try { found = asked(selector); } catch (error) { elements.push({count: -1, items: []}); continue; }
  const items = [];
  for (const x of found.slice(0, 100)) {
    const attributes = {};
    for (const name of Element.prototype.getAttributeNames.call(x).slice(0, 50))
      attributes[name.slice(0, 100)] = attribute(x, name).slice(0, 2000);
    if (!marks.has(x)) marks.set(x, []);
    marks.get(x).push(marked);
    items.push({mark: marked++, attributes, checked: x instanceof HTMLInputElement
      && got(HTMLInputElement.prototype, 'checked')(x)});
  }
  elements.push({count: found.length, items});
}
const rank = (x, l, t, r, b) => {
  if (!final) return 0;
  let on = x;
  for (let y = x; y; y = y instanceof ShadowRoot ? above(y) : up(y)) if (y instanceof ShadowRoot) on = above(y);
  return Document.prototype.elementsFromPoint.call(document, (l + r) / 2, (t + b) / 2).indexOf(on);
};
const pieces = [], clips = [], fonts = new Map();
let custom = false;
if (final) got(Document.prototype, 'fonts')(document).forEach(
  face => { if (got(FontFace.prototype, 'status')(face) === 'loaded') custom = true; });
const aspects = custom ? Array.from(getComputedStyle(root(document))).filter(name => name.startsWith('font-')
  || ['-webkit-locale', 'text-rendering', 'letter-spacing'].includes(name)) : [];
const font = style => {
  const told = aspects.map(name => name + ':' + style.getPropertyValue(name)).join(';');
  if (!fonts.has(told)) fonts.set(told, fonts.size);
  return fonts.get(told);
};
const others = (x, own) => ['::first-line', '::first-letter'].map(part => font(getComputedStyle(x, part)))
  .filter(other => other !== own);
let blocks = 0, letters = 0, nodes = 0;
const range = Document.prototype.createRange.call(document);
const shown = (text, transform) => transform === 'uppercase' ? text.toUpperCase()
  : transform === 'lowercase' ? text.toLowerCase() : text;
const path = x => {
  const steps = [];
  for (let y = x; y && kind(y) === 1; y = up(y)) {
    let place = 1;
    const parent = up(y);
    if (!parent) break;
    for (let z = first(parent); z && z !== y; z = next(z)) if (kind(z) === 1) place++;
    steps.unshift(':nth-child(' + place + ')');
  }
  return steps.join('>');
};
const put = (x, text, here) => pieces.push({text: text.slice(0, most), rects: box(x), ranks: [rank(x, ...box(x))],
  field: true, ...here.told, block: ++blocks});
const read = (x, from) => {
  if (nodes++ > 50000 || letters > most) return;
  if (kind(x) === 3) {
    const text = data(x);
    const told = Array.from(text), drawn = [], rects = [], ranks = [];
    if (!text.trim()) { pieces.push({text: ' ', rects: [], ranks, field: false, ...from.told}); return; }
    let place = 0;
    for (const letter of told) {
      if (letters > most) break;
      Range.prototype.setStart.call(range, x, place);
      place += letter.length;
      Range.prototype.setEnd.call(range, x, place);
      const r = Range.prototype.getClientRects.call(range)[0];
      drawn.push(Array.from(shown(letter, from.transform))[0] || letter);
      if (r) rects.push(r.left, r.top, r.right, r.bottom); else rects.push(0, 0, 0, 0);
      ranks.push(r && letter.trim() ? rank(up(x), r.left, r.top, r.right, r.bottom) : -1);
      letters++;
    }
    pieces.push({text: drawn.join(''), rects, ranks, field: false, ...from.told});
    return;
  }
  if (kind(x) !== 1) { if (kind(x) === 9 || kind(x) === 11) children(x).forEach(y => read(y, from)); return; }
  const name = tag(x);
  if (['script', 'style', 'template', 'noscript', 'canvas', 'iframe', 'object', 'datalist'].includes(name)) return;
  const style = getComputedStyle(x);
  if (style.display === 'none') return;
  if (name === 'br') { pieces.push({text: '\\n', rects: [], ranks: [], field: false, ...from.told}); return; }
  const inline = style.display.startsWith('inline') || style.display === 'contents' || style.display === 'ruby';
  if (style.webkitBackgroundClip === 'text' && clips.length < 50) clips.push(path(x));
  const owners = marks.has(x) ? from.told.owners.concat(marks.get(x)) : from.told.owners;
  const own = custom ? font(style) : 0;
  const parts = inline || !custom ? from.parts : from.parts.concat(others(x, own)).slice(-20);
  const here = {
    transform: style.textTransform, parts,
    told: {
      fonts: custom ? [own, ...parts] : [],
      block: inline ? from.told.block : ++blocks, owners, opacity: from.told.opacity * Number(style.opacity),
      out: style.visibility !== 'visible' || style.unicodeBidi.includes('override')
        || (style.webkitTextSecurity || 'none') !== 'none',
    },
  };
  const kept = value(x);
  if (kept !== null) {
    const type = x instanceof HTMLInputElement ? got(HTMLInputElement.prototype, 'type')(x) : '';
    if (kept && !['password', 'hidden', 'checkbox', 'radio', 'file', 'color', 'range', 'image'].includes(type)) {
      letters += kept.length;
      put(x, kept, here);
    }
    return;
  }
  if (name === 'select') {
    const chosen = x instanceof HTMLSelectElement
      ? Array.from(got(HTMLSelectElement.prototype, 'selectedOptions')(x)).map(got(HTMLOptionElement.prototype, 'text'))
      : [];
    put(x, chosen.join(' '), here);
    return;
  }
  children(x).forEach(y => read(y, here));
};
read(root(document), {transform: 'none', parts: [], told: {block: 0, owners: [], fonts: [], opacity: 1, out: false}});
const moving = Document.prototype.getAnimations.call(document).filter(a => a.playState === 'running' && a.effect
  && Number.isFinite(a.effect.getComputedTiming().endTime)).length;
return {pieces, elements, clips, fonts: Array.from(fonts.keys()), moving, whole: letters <= most && nodes <= 50000,
  height: Math.ceil(got(Element.prototype, 'scrollHeight')(root(document))),
  address: String(location.href).slice(0, 2000),
  title: String(got(Document.prototype, 'title')(document)).slice(0, 2000)};
}"""
)
"""Receives selectors, the maximum number of letters, and whether to count the elements on top of each letter."""

FIND = (
    """(selector, text) => {"""
    + _COMMON
    + """
if (selector !== null) return asked(selector)[0] || null;
const squeeze = told => told.split(/\\s+/).filter(word => word).join(' ');
const words = x => kind(x) === 3 ? data(x) : (kind(x) === 1 && ['script', 'style'].includes(tag(x))) ? ''
  : value(x) ?? children(x).map(words).join('');
const seen = x => {
  const [l, t, r, b] = box(x);
  return r > l && b > t && getComputedStyle(x).visibility === 'visible';
};
const among = x => {
  for (const y of children(x)) {
    if (kind(y) !== 1) continue;
    const found = among(y);
    if (found) return found;
  }
  return kind(x) === 1 && squeeze(words(x)) === text && seen(x) ? x : null;
};
return among(root(document));
}"""
)
"""Gets a selector, or the text of an element; returns the first element, or null."""

PLACE = (
    """function() {"""
    + _COMMON
    + """
Element.prototype.scrollIntoView.call(this, {block: 'center', inline: 'center', behavior: 'instant'});
const [left, top, right, bottom] = box(this), x = (left + right) / 2, y = (top + bottom) / 2;
let hit = Document.prototype.elementFromPoint.call(document, x, y);
for (let inner = hit && shadow(hit); inner; inner = shadow(hit)) {
  const deeper = ShadowRoot.prototype.elementFromPoint.call(inner, x, y);
  if (!deeper || deeper === hit) break;
  hit = deeper;
}
let on = hit;
while (on && on !== this) on = on instanceof ShadowRoot ? above(on) : up(on);
return {x, y, empty: !(right > left && bottom > top), covered: on !== this};
}"""
)
"""Called on an element: scrolls it into sight; its middle, and whether a click there reaches it."""

SPECIMEN = (
    """(samples, most) => {"""
    + _COMMON
    + """
const make = (name, style) => {
  const x = Document.prototype.createElement.call(document, name);
  x.style.cssText = style;
  return x;
};
const host = make('div', 'all: initial !important; display: block !important; position: absolute !important;'
  + 'left: 0 !important; top: 0 !important; width: 1280px !important; height: ' + most + 'px !important;'
  + 'background: #fff !important; color: #000 !important; forced-color-adjust: none !important;');
host.popover = 'manual';
const inside = host.attachShadow({mode: 'closed'}), sheet = make('style', '');
sheet.textContent = ':host::before, :host::after { content: none !important; display: none !important; }';
inside.append(sheet);
if (globalThis.specimens) globalThis.specimens.remove();  // of the last sheet: a page of many would use up its memory
globalThis.specimens = host;
Node.prototype.appendChild.call(root(document), host);
host.showPopover();
const size = side => side / (host.currentCSSZoom || 1) + 'px';
host.style.setProperty('width', size(1280), 'important');
host.style.setProperty('height', size(most), 'important');
const range = Document.prototype.createRange.call(document), found = [];
const [x0, y0] = box(host);
for (const [font, text] of samples) {
  const line = make('div', font + ';color:#000;line-height:1.8;white-space:pre-wrap;'
    + 'overflow-wrap:anywhere;padding:4px 20px');
  if (['normal', '0px'].includes(line.style.letterSpacing) && line.style.fontVariantLigatures === 'normal') {
    const own = line.style.fontFeatureSettings;  // gaps would switch ligatures off
    line.style.fontFeatureSettings = '"liga", "clig", "calt"' + (own === 'normal' ? '' : ', ' + own);
  }
  line.style.letterSpacing = '.8em';
  const probe = make('i', 'display:inline-block;width:0;height:1em'), words = new Text(text);
  line.append(probe, words);
  inside.append(line);
  const em = box(probe)[3] - box(probe)[1], places = [];
  let place = 0, rise = null;
  for (const letter of text) {
    range.setStart(words, place);
    place += letter.length;
    range.setEnd(words, place);
    const r = range.getClientRects()[0] || {left: x0, top: y0, right: x0, bottom: y0};
    if (rise === null) rise = box(probe)[3] - r.top;
    places.push(r.left - x0, r.top - y0, r.right - x0, r.bottom - y0, r.top - y0 + rise, em);
  }
  if (found.length && box(line)[3] - y0 > most) break;
  found.push(places);
}
return found;
}"""
)
"""Gets fonts with texts, and a height. Covers the page with the texts, set apart in their fonts. Returns the left, top,
right, bottom, baseline and em of each letter, for the texts that fit."""

FOCUS = "function() { HTMLElement.prototype.focus.call(this); return true; }"

FREEZE = """() => {
for (const a of Document.prototype.getAnimations.call(document)) a.pause();
const all = selector => Document.prototype.querySelectorAll.call(document, selector);
for (const x of all('svg')) SVGSVGElement.prototype.pauseAnimations.call(x);
for (const x of all('video, audio')) HTMLMediaElement.prototype.pause.call(x);
return true;
}"""
"""Run when page scripts can no longer run. Nothing moves after it."""

SETTLE = """() => {
for (const a of Document.prototype.getAnimations.call(document)) {
  try { a.finish(); } catch (error) { a.currentTime = 0; }
}
const drawings = Document.prototype.querySelectorAll.call(document, 'svg');
for (const x of drawings) SVGSVGElement.prototype.setCurrentTime.call(x, 0);
return true;
}"""
"""Run before a screenshot, to make it reproducible: animations are finished, and endless ones are reset."""


STILL = """*, *::before, *::after { transition: none !important; caret-color: transparent !important;
  pointer-events: auto !important; }"""
BARE = (
    STILL
    + """
*, *::before, *::after { -webkit-text-fill-color: transparent !important; text-shadow: none !important;
  -webkit-text-stroke-color: transparent !important; text-decoration-color: transparent !important; }
svg text, svg tspan, svg textPath { fill: transparent !important; stroke: transparent !important; }
"""
)
"""Style sheets of the inspector, which neither scripts nor selectors of the page can see.

`STILL` stops all motion and exposes all elements to hit tests. `BARE` also removes text.
"""


def bare(clips: list[str]) -> str:
    """`BARE`, with the backgrounds away that are painted through the shapes of letters."""
    return BARE + "".join(f"\n{path} {{ background-image: none !important; background-color: transparent !important; }}"
                          for path in clips)  # fmt: skip
