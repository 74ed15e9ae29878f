// Lines from every query to the keys that it attends to: queries on the left, keys on the right, one color a head.
//
// data: a header, and a weight for every head, query and key, as curves.js paints them. What is pointed at, or
// has the focus, shows its lines alone; a click keeps it so: `chosen` in the header, shared.

import { element } from "../kit/elements.js";
import { announce } from "../kit/announce.js";
import { inLine, rove } from "../kit/roving.js";
import { say } from "../kit/say.js";
import { SharedValue } from "../kit/shared_value.js";
import { paintCurves, sortCurves } from "./curves.js";
import { active, explain, findStrongest, kept, nameOf, show, SIDES, strongest, swatch } from "./spotlight.js";

const PITCH = [22, 38]; // px, from one token to the next
const NUMBER = 34; // px, the width of a written weight
const N_NUMBERS = 3; // heads whose weights are written beside a token; of more, the largest
const NARROW = 520; // px, the width below which only the largest is

export function updateLines(view, { header, weights }, send) {
  const former = view.header;
  Object.assign(view, { header, weights, nQueries: header.query.length, nKeys: header.key.length });
  view.steps = sortCurves(weights);
  view.strongest = findStrongest(view);
  view.send = (message) => send("cell", message);
  const isSame =
    former?.generatedFrom === header.generatedFrom &&
    SIDES.every((side) => former[side].join("\n") === header[side].join("\n"));
  if (!isSame) fillColumns(view);
  nameAll(view);
  const { value } = header.chosen;
  const isHeard = view.chosen.hear(header.chosen);
  if (!isSame || (isHeard && SIDES.some((side) => value[side] !== view.pinned[side]))) pin(view, value);
  fit(view);
}

export function makeLines(root) {
  const view = { root, tokens: { query: [], key: [] }, columns: {}, titles: {}, pointed: null, isWhole: true };
  view.chosen = new SharedValue((message) => view.send(message));
  root.setAttribute("role", "group");
  const parts = { div: ["head", "legend", "scroller", "sheet", "between", "window", "says"], canvas: ["all", "only"] };
  for (const [tag, names] of Object.entries(parts)) for (const name of names) view[name] = element(tag, name);
  for (const side of SIDES) {
    view.titles[side] = element("div", `title ${side}`);
    view.columns[side] = element("div", `column ${side}`);
    view.columns[side].setAttribute("role", "group");
  }
  view.window.setAttribute("aria-hidden", "true");
  view.says.setAttribute("aria-hidden", "true"); // the buttons say the same
  view.head.append(view.titles.query, view.legend, view.titles.key);
  view.window.append(view.all, view.only);
  view.between.append(view.window);
  view.sheet.append(view.columns.query, view.between, view.columns.key);
  view.scroller.append(view.sheet);
  root.append(view.head, view.scroller, view.says);
  listen(view);
  return view;
}

function listen(view) {
  const { root, sheet, scroller } = view;
  const point = (place) => {
    if (place?.side === view.pointed?.side && place?.index === view.pointed?.index) return;
    view.pointed = place;
    paintOnly(view); // first: it asks for sizes, which are known until tokens are changed
    show(view);
  };
  view.roving = rove(sheet, {
    of: ".token",
    next: (key, token) => next(view, key, placeOf(token)),
    onPoint: (token) => point(token && placeOf(token)),
    onChoose: (token) => {
      const { side, index } = placeOf(token);
      const isPinned = view.pinned[side] === index;
      choose(view, { query: null, key: null, [side]: isPinned ? null : index });
      announce(view.says.textContent);
    },
  });
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !kept(view)) return;
    choose(view, { query: null, key: null });
    event.preventDefault(); // it is done: nothing around the lines closes as well
  });
  scroller.addEventListener("scroll", () => paint(view));
  new ResizeObserver(() => fit(view)).observe(scroller);
}

const placeOf = ({ dataset: { side, index } }) => ({ side, index: Number(index) });

function fillColumns(view) {
  const { header, tokens, columns } = view;
  view.pointed = null;
  for (const side of SIDES) {
    const divided = header.generatedFrom === null ? -1 : header.generatedFrom - header.first[side];
    tokens[side] = header[side].map((label, index) => {
      const button = element("button", index === divided && index ? "token divided" : "token");
      button.classList.toggle("second", index > 0 && index === header.border[side]);
      Object.assign(button, { type: "button", tabIndex: -1 });
      Object.assign(button.dataset, { side, index });
      const numbers = element("span", "numbers");
      button.append(element("bdi", "word", label), numbers);
      return { button, numbers };
    });
    columns[side].replaceChildren(...tokens[side].map(({ button }) => button));
  }
  view.roving.rest(tokens.query[0].button);
  view.scroller.scrollTop = 0;
}

function nameAll(view) {
  const { root, header, tokens, titles, columns, legend } = view;
  const { names, hues } = header;
  root.setAttribute("aria-label", say("Lines from queries to keys: {names}", { names: names.join("; ") }));
  legend.replaceChildren(
    ...names.map((name, head) => {
      const item = element("span", "item");
      item.append(swatch(hues[head]), name);
      return item;
    }),
  );
  for (const side of SIDES) {
    titles[side].textContent = header.titles[side];
    titles[side].style.setProperty("--hue", header.colors[side]);
    columns[side].setAttribute("aria-label", header.titles[side]);
    tokens[side].forEach(({ button }, index) => {
      const ofHead = (name) => (names.length > 1 ? `${name}: ` : "");
      const words = names.map((name, head) => ofHead(name) + strongest(view, side, index, head));
      const values = { name: nameOf(view, side, index), strongest: words.join("; ") };
      button.setAttribute("aria-label", say("{name}. Strongest: {strongest}", values));
    });
  }
}

function choose(view, pinned) {
  pin(view, pinned);
  paintOnly(view);
  show(view);
  view.chosen.tell(pinned);
}

function pin(view, pinned) {
  view.pinned = pinned;
  for (const side of SIDES) {
    view.tokens[side].forEach(({ button }, index) => {
      button.setAttribute("aria-pressed", String(view.pinned[side] === index));
    });
  }
  const place = kept(view);
  if (place) view.roving.rest(view.tokens[place.side][place.index]?.button);
}

function next({ tokens }, key, { side, index }) {
  const other = { ArrowLeft: tokens.query, ArrowRight: tokens.key }[key];
  const to = other ? other[Math.min(index, other.length - 1)] : inLine(key, tokens[side][index], tokens[side], "down");
  return to?.button;
}

function fit(view) {
  // Sets the distance between tokens after the window or the text changed, and draws.
  const { root, scroller, header, nQueries, nKeys } = view;
  if (!header || !scroller.clientHeight) return; // it is not seen; it is drawn when it gets its room
  const nHeads = header.names.length;
  view.nWritten = nHeads > (root.clientWidth < NARROW ? 1 : N_NUMBERS) ? 1 : nHeads;
  root.style.setProperty("--numbers", `${NUMBER * view.nWritten}px`);
  const [least, most] = PITCH;
  const n = Math.max(nQueries, nKeys);
  view.pitch = Math.min(Math.max(Math.floor(scroller.clientHeight / n), least), most);
  root.style.setProperty("--pitch", `${view.pitch}px`);
  view.window.style.height = `${Math.min(scroller.clientHeight, n * view.pitch)}px`;
  paint(view);
  show(view);
}

function paint(view) {
  const isWhole = paintCurves(view.all, curvesOf(view), () => true);
  paintOnly(view);
  if (isWhole === view.isWhole) return;
  view.isWhole = isWhole;
  explain(view, active(view));
}

function paintOnly(view) {
  const place = active(view);
  const isOfPlace = (query, key) => (place.side === "query" ? query : key) === place.index;
  paintCurves(view.only, curvesOf(view), place ? isOfPlace : () => false);
}

function curvesOf({ steps, nQueries, nKeys, header, pitch, scroller }) {
  return { steps, nQueries, nKeys, hues: header.hues, pitch, scrolled: scroller.scrollTop };
}
