// A page for tests of whole components without a browser: jsdom's, whose canvases paint as those of canvas.js do. It has
// no layout: an element has the box that a test gives it, or one as wide as its text. To be imported before components.

import { readFile } from "node:fs/promises";
import { afterEach } from "node:test";

import { JSDOM } from "jsdom";

import { boxOf, Canvas } from "./canvas.js";

const { window: page } = new JSDOM("<!doctype html><body></body>", { url: "http://localhost/", pretendToBeVisual: false });
const LETTER = 6; // px, the width of each
const LINE = 20; // px
const NAMES = [
  ...["document", "localStorage", "sessionStorage", "location", "history", "customElements", "Node", "Element"],
  ...["HTMLElement", "HTMLButtonElement", "HTMLInputElement", "HTMLCanvasElement", "Option", "SVGElement", "Document", "ShadowRoot"],
  ...["DocumentFragment", "Event", "CustomEvent", "KeyboardEvent", "MouseEvent", "PointerEvent", "FocusEvent", "WheelEvent"],
  ...["InputEvent", "AbortController", "AbortSignal", "XMLSerializer", "DOMParser", "MutationObserver", "Blob", "File"],
];

/** The theme of the page, "light" or "dark", and what a person's system asks for: see `setTheme` and `prefer`. */
const settings = { theme: "light", queries: new Set() };
const boxes = new WeakMap();
let under = null; // what the pointer is over
const watched = new Map(); // by element, the observers of its size
const captured = new Map(); // by pointer, the element that has it
const frames = [];
let now = 0; // ms
const components = new Set(); // on the page: each takes itself off it

afterEach(() => {
  components.forEach((leave) => leave());
  const left = [...listeners].map(([, type]) => type);
  listeners.clear();
  if (left.length) throw new Error(`These listeners remain: ${left.join()}`);
});

// What listens on the window or the document until something ends it: a component takes all of it along.
const listeners = new Set();
for (const target of [page, page.document]) {
  const { addEventListener, removeEventListener } = target;
  const captures = (options) => Boolean(options?.capture ?? options);
  target.addEventListener = (type, hear, options) => {
    const one = [target, type, hear, captures(options)];
    if (!options?.once) listeners.add(one);
    options?.signal?.addEventListener("abort", () => listeners.delete(one));
    addEventListener.call(target, type, hear, options);
  };
  target.removeEventListener = (...gone) => {
    const wanted = [target, gone[0], gone[1], captures(gone[2])];
    for (const one of listeners) if (one.every((part, i) => part === wanted[i])) listeners.delete(one);
    removeEventListener.call(target, ...gone);
  };
}

for (const name of NAMES) Object.defineProperty(globalThis, name, { value: page[name], configurable: true, writable: true });
for (const name of ["addEventListener", "removeEventListener", "dispatchEvent"]) globalThis[name] = page[name].bind(page);

// An error that is thrown in a listener fails the test.
page.addEventListener("error", ({ error }) => queueMicrotask(() => { throw error; }));

class ResizeObserver {
  constructor(hear) {
    this.hear = hear;
  }
  observe(element) {
    watched.set(element, (watched.get(element) ?? new Set()).add(this));
  }
  unobserve(element) {
    watched.get(element)?.delete(this);
  }
  disconnect() {
    for (const observers of watched.values()) observers.delete(this);
  }
}

class Query extends page.EventTarget {
  constructor(media) {
    super();
    this.media = media;
  }
  get matches() {
    return settings.queries.has(this.media);
  }
}
const queries = new Map();
const queryOf = (media) => queries.get(media) ?? queries.set(media, new Query(media)).get(media);

Object.assign(globalThis, {
  ResizeObserver,
  matchMedia: queryOf,
  requestAnimationFrame: (draw) => frames.push(draw),
  cancelAnimationFrame: (id) => delete frames[id - 1],
  innerWidth: 1440,
  innerHeight: 900,
  scrollTo: () => {},
  fetch: async (url) => ({ ok: true, text: () => readFile(new URL(url), "utf-8") }),
  getComputedStyle: (element) => {
    const own = page.getComputedStyle(element);
    const background = settings.theme === "dark" ? "rgb(16, 17, 20)" : "rgb(255, 255, 255)";
    const isProbe = element.style.cssText.includes("--st-background-color");
    return isProbe ? new Proxy(own, { get: (_, name) => (name === "backgroundColor" ? background : own[name]) }) : own;
  },
});
Object.defineProperty(performance, "now", { value: () => now });
Object.defineProperty(page.document, "hidden", { value: false, configurable: true });

const wide = (element) => LETTER * element.textContent.length;
const widthOf = (element) => boxes.get(element)?.width ?? (parseFloat(element.style?.width) || wide(element));
const heightOf = (element) => boxes.get(element)?.height ?? (parseFloat(element.style?.height) || LINE);
const define = (kind, parts) => Object.defineProperties(kind.prototype, parts);
const read = (get) => ({ get, configurable: true });
const { matches } = page.Element.prototype;
const does = (value) => ({ value, configurable: true, writable: true });

define(page.Element, {
  clientWidth: read(function () { return widthOf(this); }),
  clientHeight: read(function () { return heightOf(this); }),
  scrollWidth: read(function () { return wide(this); }),
  getBoundingClientRect: does(function () {
    const { left = 0, top = 0 } = boxes.get(this) ?? {};
    return { ...boxOf(left, top, widthOf(this), heightOf(this)), x: left, y: top };
  }),
  matches: does(function (selector) {
    if (selector === ":popover-open") return "open" in this.dataset;
    return selector === ":hover" ? this.contains(under) : matches.call(this, selector);
  }),
  setPointerCapture: does(function (id) { captured.set(id, this); }),
  releasePointerCapture: does((id) => captured.delete(id)),
  hasPointerCapture: does(function (id) { return captured.get(id) === this; }),
  scrollIntoView: does(function () { this.dispatchEvent(new page.CustomEvent("shown", { bubbles: true })); }),
  scrollTo: does(function (place) { Object.assign(this, { scrollLeft: place.left ?? 0, scrollTop: place.top ?? 0 }); }),
});
define(page.HTMLElement, {
  offsetWidth: read(function () { return widthOf(this); }),
  offsetHeight: read(function () { return heightOf(this); }),
  offsetLeft: read(function () { return boxes.get(this)?.left ?? 0; }),
  offsetTop: read(function () { return boxes.get(this)?.top ?? 0; }),
  showPopover: does(function () { this.dataset.open = ""; }),
  hidePopover: does(function () { delete this.dataset.open; }),
  popover: { get() { return this.getAttribute("popover"); }, set(value) { this.setAttribute("popover", value); }, configurable: true },
});
define(page.SVGElement, {
  getBBox: does(function () { return boxOf(0, 0, wide(this), LINE); }),
  getComputedTextLength: does(function () { return wide(this); }),
});
for (const kind of [page.Document, page.ShadowRoot]) {
  define(kind, { adoptedStyleSheets: read(function () { return (this.sheets ??= []); }) });
}
page.addEventListener("mouseover", (event) => (under = event.composedPath()[0]), true);
page.addEventListener("mouseleave", () => (under = null), true);
listeners.clear(); // these are the page's own

const canvases = new WeakMap();
const paintedOn = (canvas) => canvases.get(canvas) ?? canvases.set(canvas, new Canvas()).get(canvas);
const side = (name) => ({
  get() { return paintedOn(this)[name]; },
  set(value) { paintedOn(this)[name] = Math.trunc(value); },
  configurable: true,
});
define(page.HTMLCanvasElement, {
  width: side("width"),
  height: side("height"),
  getContext: does(function () { return paintedOn(this).brush; }),
  pixel: does(function (x, y) { return paintedOn(this).pixel(x, y); }),
  toDataURL: does(() => "data:image/png;base64,"),
});

/** Give elements a box, in px: what is not said is 0. */
export function place(element, { left = 0, top = 0, width = 0, height = 0 }) {
  boxes.set(element, { left, top, width, height });
}

/** Give an element a size, and tell those who watch it. */
export function resize(element, width, height = heightOf(element)) {
  place(element, { ...boxes.get(element), width, height });
  for (const observer of watched.get(element) ?? []) observer.hear([{ target: element, contentRect: { width, height } }]);
}

/** Whether somebody still watches the size of this element. */
export const isWatched = (element) => (watched.get(element)?.size ?? 0) > 0;

/** Let the clock run for this many ms, with a frame each 16 ms, as long as frames are requested. */
export function run(ms) {
  const end = now + ms;
  while (now < end) {
    now = Math.min(end, now + 16);
    for (const draw of frames.splice(0)) draw?.(now);
  }
}

/** Change the theme of the page, as its menu does. */
export function setTheme(theme) {
  settings.theme = theme;
  for (const probe of all("span")) if (probe.style.cssText.includes("--st-background-color")) probe.dispatchEvent(new page.Event("transitionend"));
}

/** What a person's system asks for, or no longer: prefer("(prefers-reduced-motion: reduce)"). */
export function prefer(media, is = true) {
  settings.queries[is ? "add" : "delete"](media);
  queryOf(media).dispatchEvent(Object.assign(new page.Event("change"), { matches: is, media }));
}

/** All elements of the page, those within shadows, too, that this CSS selector names. */
export function all(selector, within = page.document) {
  const own = [...within.querySelectorAll(selector)];
  return [...own, ...[...within.querySelectorAll("*")].flatMap(({ shadowRoot }) => (shadowRoot ? all(selector, shadowRoot) : []))];
}

/**
 * Puts a component on the page, as Streamlit does, in a shadow or beside all else.
 *
 * `find` and `findAll` name its parts; `update(data)` hands over newer data; `told` has all that it sent to the server,
 * [name, value] each; `leave()` takes it off the page, as the end of the test does.
 */
export function shown(show, name, data, { isolated = true, size = [800, 400] } = {}) {
  const host = page.document.createElement("div");
  page.document.body.append(host);
  const parentElement = isolated ? host.attachShadow({ mode: "open" }) : host;
  const root = page.document.createElement("div");
  root.className = name;
  parentElement.append(root);
  place(root, { width: size[0], height: size[1] });
  const messages = [];
  let cleanUp;
  const update = (newer) => {
    cleanUp = show({ data: newer, parentElement, setTriggerValue: (...message) => void messages.push(message) });
  };
  const leave = () => {
    components.delete(leave);
    host.remove();
    cleanUp?.();
  };
  components.add(leave);
  update(data);
  return {
    ...{ root, told: messages, update, leave },
    find: (selector) => root.querySelector(selector),
    findAll: (selector) => [...root.querySelectorAll(selector)],
  };
}

/** A person's key on an element that has the focus then, which clicks a button where nobody else takes it; returns the event. */
export function press(element, key, more = {}) {
  element.focus?.();
  const event = new page.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, composed: true, ...more });
  element.dispatchEvent(event);
  if (!event.defaultPrevented && ["Enter", " "].includes(key) && element.matches?.("button")) element.click();
  return event;
}

/** What a pointer does on an element: point(canvas, "pointermove", { clientX: 3, clientY: 4 }). */
export function point(element, type, more = {}) {
  const event = new page.PointerEvent(type, { bubbles: true, cancelable: true, composed: true, pointerType: "mouse", ...more });
  for (const name of ["offsetX", "offsetY"]) {
    const [edge, client] = name === "offsetX" ? ["left", "clientX"] : ["top", "clientY"];
    Object.defineProperty(event, name, { value: event[client] - element.getBoundingClientRect()[edge] });
  }
  element.dispatchEvent(event);
  return event;
}

/** Whether these are the same elements, in this order: to `deepEqual` any two elements are alike. */
export const areSame = (some, others) => some.length === others.length && some.every((one, i) => one === others[i]);

/** The last announcement for screen readers. */
export const announced = () => page.document.querySelector(".hl-announced")?.textContent ?? "";
