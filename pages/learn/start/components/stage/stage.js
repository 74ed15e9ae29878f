// The stage: a text on its way through a model, at one zoom level, with the next-token distribution at its end.
//
// data: as mounting.py packs it; after the header (as __init__.py makes it) the values of all panels and the scores of
// the distributions (float32, little endian). A step, a slider and what is pointed at are shown at once and sent to the
// server. Zooming in asks the server for the values of that level.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { leaving, mount } from "../../../../components/kit/mount.js";
import { unpack } from "../../../../../headlight/components/kit/packing.js";
import { inLines, rove } from "../../../../../headlight/components/kit/roving.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { SharedValue } from "../../../../../headlight/components/kit/shared_value.js";
import { watchTheme } from "../../../../../headlight/components/kit/theme.js";
import { cellAt } from "./layout.js";
import { makeLanes, nShown, repaint } from "./panels.js";
import { fillPlayer, makePlayer, pause, pressed } from "./player.js";
import { inWords, makePrediction, showPrediction } from "./prediction.js";
import { arrive, leaveFor } from "./travel.js";
import { wordsOf } from "./words.js";

const HINT = say("Point at a cell to see its value. Click a block or a head to zoom in; Escape zooms out.");

export default await mount(import.meta.url, {
  styles: [
    "../../../../../headlight/components/kit/play_buttons.css",
    "../../../../components/sampling/sliders.css",
    "./stage.css",
    "./panels.css",
    "./prediction.css",
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
  view.top.append(view.crumbs, view.architecture, makePlayer(view));
  view.body = element("div", "body");
  view.lanes = element("div", "lanes");
  view.prediction = makePrediction(view);
  view.body.append(view.lanes, view.prediction.box);
  view.says = element("p", "says", HINT);
  view.says.setAttribute("aria-hidden", "true");
  root.append(view.top, view.body, view.says);
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
  lanes.addEventListener("pointermove", (event) => point(view, event));
  lanes.addEventListener("pointerleave", () => point(view, null));
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && view.header.crumbs.length > 1) zoomTo(view, view.header.crumbs.at(-2).zoom, null);
    else if (!pressed(view, event)) return;
    event.preventDefault();
  });
  new ResizeObserver(() => {
    const width = Math.round(root.clientWidth);
    if (!view.header || width === view.width) return;
    view.width = width;
    keepFocus(view, () => layOut(view));
  }).observe(root);
  const resized = () => view.header && keepFocus(view, () => layOut(view));
  window.addEventListener("resize", resized, { signal: leaving(root) });
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
  Object.assign(view, { header, send, width: Math.round(view.root.clientWidth) });
  view.zoom.hear(header.zoom);
  if (view.step.hear(header.step)) view.at = header.step.value;
  view.at = Math.min(view.at, Math.max(header.rows.length - 1, 0));
  view.held = inWords(header.sampling.value);
  if (view.settings.hear(header.sampling)) view.sampling = header.sampling.value;
  if (view.decoded.hear(header.decoding)) view.decoding = header.decoding.value;
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
  const active = /** @type {Document | ShadowRoot} */ (root.getRootNode()).activeElement;
  const isOurs = active && (lanes.contains(active) || crumbs.contains(active));
  const zoom = active instanceof HTMLElement ? active.dataset.zoom : undefined;
  draw();
  if (!isOurs) return;
  const same = [...lanes.querySelectorAll(".open")].find((item) => item.dataset.zoom === zoom);
  (same ?? view.roving.stop ?? crumbs.lastElementChild ?? root).focus({ preventScroll: true });
}

function layOut(view) {
  view.root.dataset.level = view.header.level;
  showPrediction(view);
  makeLanes(view); // in the room that is left
  view.roving.rest(view.lanes.querySelector(".open"));
  repaint(view);
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
  leaveFor(view, from);
  view.zoom.tell(zoom);
}

function point(view, event) {
  const canvas = event?.target instanceof Element ? event.target.closest("canvas") ?? event.target.querySelector?.(":scope > canvas") : null;
  const item = event?.target instanceof Element ? event.target.closest(".token") : null;
  /** @type {{side: string, row: number} | null} */
  let pointed = null;
  let words = HINT;
  if (canvas) {
    const { panel, head, quantity, rows, columns } = canvas.picture;
    const box = canvas.getBoundingClientRect();
    const at = cellAt({ x: event.clientX - box.left, y: event.clientY - box.top }, box, { rows, columns });
    const isShown = at.row < nShown(view, panel.rows) && (!panel.columns || at.column < nShown(view, panel.columns));
    if (isShown) {
      pointed = { side: panel.rows, row: at.row };
      words = wordsOf(panel, view.header.sides, { head, ...at }, quantity.values[at.row * columns + at.column]);
    }
  } else if (item) {
    const strip = view.strips.find(({ tokens }) => tokens.contains(item));
    pointed = { side: strip.side, row: Number(item.dataset.row) };
    words = item.title;
  }
  view.says.textContent = words;
  if (pointed?.side === view.pointed?.side && pointed?.row === view.pointed?.row) return;
  view.pointed = pointed;
  repaint(view);
}
