// The stage: a text on its way through a model, at one zoom level, with the next-token distribution at its end.
//
// data: as mounting.py packs it; after the header (as __init__.py makes it) the values of all panels and the scores of
// the distributions (float32, little endian). A step, a slider and what is pointed at are shown at once and sent to the
// server. Zooming in asks the server for the values of that level.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { leaving, mount } from "../../../../components/kit/mount.js";
import { unpack } from "../../../../../headlight/components/kit/packing.js";
import { inLine, inLines, rove } from "../../../../../headlight/components/kit/roving.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { SharedValue } from "../../../../../headlight/components/kit/shared_value.js";
import { watchTheme } from "../../../../../headlight/components/kit/theme.js";
import { makeSources } from "./follow.js";
import { followGuide, leaveGuide, makeGuide, showGuide } from "./guide.js";
import { makeLanes, repaint } from "./panels.js";
import { fillPlayer, makePlayer, pause, pressed } from "./player.js";
import { makePointing, point } from "./pointing.js";
import { inWords, makePrediction, showPrediction } from "./prediction.js";
import { arrive, leaveFor } from "./travel.js";

export default await mount(import.meta.url, {
  styles: [
    "../../../../../headlight/components/kit/play_buttons.css",
    "../../../../../headlight/components/kit/tip.css",
    "../../../../components/sampling/sliders.css",
    "./stage.css",
    "./panels.css",
    "./prediction.css",
    "./follow.css",
    "./guide.css",
  ],
  make: makeView,
  update,
});

function makeView(root) {
  const view = { root, at: 0, pointed: null, pictures: [], strips: [], typed: null, isPlaying: false };
  root.setAttribute("role", "group");
  root.tabIndex = -1; // for the focus where nothing else can have it
  root.setAttribute("aria-label", say("From text to prediction"));
  view.zoom = new SharedValue((message) => view.send("zoom", message));
  view.step = new SharedValue((message) => view.send("step", message));
  view.settings = new SharedValue((message) => view.send("sampling", message));
  view.decoded = new SharedValue((message) => view.send("decoding", message));
  view.top = element("div", "top");
  view.crumbs = element("nav", "crumbs");
  view.crumbs.setAttribute("aria-label", say("Zoom level"));
  view.architecture = element("span", "architecture");
  makeLined(view);
  view.top.append(view.crumbs, view.architecture, view.asLines, makePlayer(view));
  view.body = element("div", "body");
  view.lanes = element("div", "lanes");
  view.prediction = makePrediction(view);
  view.body.append(view.lanes, view.lined, view.prediction.box);
  root.append(makeGuide(view), view.top, makeSources(view), view.body, ...makePointing(view));
  listen(view);
  return view;
}

function listen(view) {
  const { root, lanes } = view;
  view.theme = watchTheme(root, () => view.header && repaint(view));
  view.roving = rove(lanes, {
    of: ".open",
    next: (key, item) => inLines(key, item, [...lanes.querySelectorAll(".open")]),
    onChoose: (item) => zoomTo(view, item.dataset.zoom, item),
  });
  view.rovingTokens = rove(lanes, {
    of: ".token",
    next: (key, item) => inLine(key, item, [...lanes.querySelectorAll(".token:not(.later)")], "down"),
  });
  root.addEventListener("keydown", (event) => {
    if (!event.defaultPrevented && (event.key === "Escape" ? isLeft(view) : pressed(view, event))) event.preventDefault();
  });
  const escaped = (event) => event.key === "Escape" && !event.defaultPrevented && isFree(event.target) && isLeft(view);
  document.addEventListener("keydown", escaped, { signal: leaving(root) });
  new ResizeObserver(() => {
    const width = Math.round(root.clientWidth);
    if (!view.header || width === view.width) return;
    view.width = width;
    keepFocus(view, () => layOut(view));
  }).observe(root);
  const resized = () => view.header && keepFocus(view, () => layOut(view));
  window.addEventListener("resize", resized, { signal: leaving(root) });
}

function isFree(target) {
  // Whether no part of the page beside the stage has a use for Escape.
  const used = 'input, textarea, select, [contenteditable], [role="combobox"]';
  const open = '[data-baseweb="popover"], [role="dialog"], [role="listbox"], [role="menu"]';
  return !(target instanceof Element && target.closest(`${used}, ${open}`)) && !document.querySelector(open);
}

function isLeft(view) {
  // Closes what is open, else zooms out; returns whether there was something to leave.
  const { crumbs } = view.header;
  if (leaveGuide(view)) return true;
  if (view.isHeld) {
    point(view, null);
    return true;
  }
  if (view.isLined) showAsLines(view, false);
  else if (crumbs.length > 1) zoomTo(view, crumbs.at(-2).zoom, null);
  else return false;
  return true;
}

function makeLined(view) {
  // The button that shows patterns as lines, and their place.
  view.asLines = element("button", "as-lines", say("Show as lines"));
  view.asLines.type = "button";
  view.asLines.addEventListener("click", () => showAsLines(view, !view.isLined));
  view.lined = element("div", "lined");
  view.isLined = false;
}

async function showAsLines(view, isLined) {
  const { height } = view.lanes.getBoundingClientRect();
  view.isLined = isLined;
  if (isLined && !view.lines) {
    const { linesIn } = await import("./as_lines.js");
    view.lines ??= linesIn(view, view.lined);
  }
  view.drawLines = view.isLined ? () => view.lines(height) : null;
  showPlaces(view);
  repaint(view);
}

function showPlaces(view) {
  view.asLines.setAttribute("aria-pressed", String(view.isLined));
  view.lanes.hidden = view.isLined;
  view.says.classList.toggle("away", view.isLined);
  view.lined.hidden = !view.isLined;
}

function update(view, data, send) {
  view.leaving?.cancel(); // sizes are those of the stage at rest
  const { header, rest } = unpack(data);
  const numbers = new Float32Array(rest.slice().buffer);
  let start = 0;
  const take = (n) => numbers.subarray(start, (start += n));
  for (const lane of header.lanes) {
    for (const panel of lane.panels) panel.values = take(panel.size.reduce((product, size) => product * size, 1));
  }
  for (const distribution of header.distributions) distribution.scores = take(header.nTokens);
  const former = view.header;
  Object.assign(view, { header, send, pointed: null, width: Math.round(view.root.clientWidth) });
  view.zoom.hear(header.zoom);
  if (view.step.hear(header.step)) view.at = header.step.value;
  view.at = Math.min(view.at, Math.max(header.rows.length - 1, 0));
  view.held = inWords(header.sampling.value);
  if (view.settings.hear(header.sampling)) view.sampling = header.sampling.value;
  if (view.decoded.hear(header.decoding)) view.decoding = header.decoding.value;
  view.asLines.hidden = header.level !== "attention";
  if (former?.zoom.value !== header.zoom.value) Object.assign(view, { isLined: false, drawLines: null });
  showPlaces(view);
  keepFocus(view, () => {
    fillCrumbs(view);
    layOut(view);
  });
  fillPlayer(view);
  if (former && former.zoom.value !== header.zoom.value) arrive(view, former);
}

function keepFocus(view, draw) {
  // What had the focus is made again: it goes to what leads to the same place, else to where Escape is heard.
  const { root, lanes, crumbs } = view;
  const sideOf = (item) => view.strips?.find(({ tokens }) => tokens.contains(item))?.side;
  const active = /** @type {Document | ShadowRoot} */ (root.getRootNode()).activeElement;
  const isOurs = active && (lanes.contains(active) || crumbs.contains(active));
  const title = active instanceof HTMLElement ? active.title : "";
  const zoom = active instanceof HTMLElement ? active.dataset.zoom : undefined;
  const side = sideOf(active);
  const left = view.laidOut; // the level before, which a part of this one leads to after zooming out
  draw();
  if (!isOurs) return;
  const items = [...lanes.querySelectorAll(".open, .token")];
  const same = items.find((item) => item.title === title && item.dataset.zoom === zoom && sideOf(item) === side);
  const origin = items.find((item) => item.dataset.zoom === left);
  (same ?? origin ?? view.roving.stop ?? crumbs.lastElementChild ?? root).focus({ preventScroll: true });
}

function layOut(view) {
  view.root.dataset.level = view.header.level;
  showPrediction(view);
  makeLanes(view); // in the room that is left
  view.roving.rest(view.lanes.querySelector(".open"));
  view.rovingTokens.rest(view.lanes.querySelector(".token"));
  repaint(view);
  showGuide(view);
}

function fillCrumbs(view) {
  const { crumbs } = view.header;
  const items = crumbs.map(({ zoom, title }, i) => {
    const isLast = i === crumbs.length - 1;
    const button = element("button", "crumb", title);
    button.type = "button";
    if (isLast) button.setAttribute("aria-current", "location");
    else button.addEventListener("click", () => zoomTo(view, zoom, null));
    return button;
  });
  view.crumbs.replaceChildren(...items);
  view.architecture.textContent = view.header.architecture;
}

function zoomTo(view, zoom, from) {
  pause(view);
  followGuide(view, from);
  point(view, null);
  leaveFor(view, from);
  if (from) view.chosenHead = from.dataset.head; // marked where all heads of its attention are shown
  view.zoom.tell(zoom);
}
