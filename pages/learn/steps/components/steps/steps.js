// Attention step by step: one figure through which the numbers of a head flow, stage by stage, as a person goes along.
//
// The header's `at` is where the page wants to be: stage, query, key and cell, in places of the whole text. What a person
// chooses here is shown at once and told to the page, which answers below the figure.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { mount } from "../../../../components/kit/mount.js";
import { SharedValue } from "../../../../../headlight/components/kit/shared_value.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { legible, watchTheme } from "../../../../../headlight/components/kit/theme.js";
import { describe, placeOf, strongestKey } from "./choosing.js";
import { makePalette } from "./colors.js";
import { heights, makeColumns, NARROWEST } from "./columns.js";
import { makeLens, showLens } from "./lens.js";
import { linkStages } from "./links.js";
import { makeOfQuery, readSteps, shownCell } from "./numbers.js";
import { paint } from "./paint.js";
import { fillPlayer, makePlayer, press, showPlayer } from "./player.js";
import { listen } from "./pointing.js";
import { makeStage, showStage } from "./stage.js";
import { fillKeys, fillQueries, makeQueries } from "./tokens.js";
import { showKeys, showQueries } from "./tokens_shown.js";

export default await mount(import.meta.url, {
  styles: ["../../../../../headlight/components/kit/play_buttons.css", "../../../../../headlight/components/kit/tip.css", "./steps.css", "./player.css", "./stage.css", "./tokens.css", "./lens.css"],
  make: makeView,
  update,
});

function update(view, data, send) {
  const { root } = view;
  view.send = send;
  const here = view.header && placeOf(view);
  Object.assign(view, readSteps(data), { layouts: null, motion: null, pointed: null, pointedKey: null });
  view.tip.hidden = true;
  Object.assign(view, makeColumns(view));
  view.born = linkStages(view);
  view.lines = heights(view);
  view.palette = makePalette(view.header, view.theme());
  for (const hue of ["query", "key"]) root.style.setProperty(`--${hue}`, view.palette.hues[hue]);
  take(view, view.at.hear(view.header.at) ? view.header.at.value : here);
  fit(view);
  fillPlayer(view);
  fillQueries(view);
  fillKeys(view);
  view.figure.style.height = `${view.lines.height}px`;
  measure(view);
  showAll(view);
}

function makeView(root) {
  const view = { root, stage: 0 };
  view.at = new SharedValue((message) => view.send("view", message));
  root.tabIndex = -1;
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", say("Attention step by step"));
  view.figure = element("div", "figure");
  view.canvas = document.createElement("canvas");
  view.canvas.tabIndex = 0;
  view.canvas.setAttribute("role", "application");
  const help = say("Left and right arrows choose the stage, up and down arrows the key; Enter leads to the numbers.");
  view.canvas.setAttribute("aria-description", help);
  view.labels = element("div", "labels");
  view.tip = element("div", "tip");
  view.tip.hidden = true;
  view.canvas.style.minWidth = `${NARROWEST}px`;
  view.figure.append(view.canvas, view.labels, view.tip);
  root.append(makePlayer(view), makeStage(view), makeQueries(view), view.figure, makeLens(view));
  view.theme = watchTheme(root, () => {
    if (!view.header) return;
    view.palette = makePalette(view.header, view.theme());
    showAll(view);
  });
  root.addEventListener("keydown", (event) => press(view, event));
  root.addEventListener("keyup", (event) => event.key === " " && event.target.matches(".stop") && event.preventDefault());
  listen(view);
  new ResizeObserver(() => {
    if (view.header && measure(view)) paint(view);
  }).observe(view.figure);
  return view;
}

function take(view, { stage, query, key, cell }) {
  const { first, stages } = view.header;
  const place = stages.findIndex(({ name }) => name === stage);
  Object.assign(view, { stage: place < 0 ? Math.min(view.stage, stages.length - 1) : place, query: query - first.query, key: key - first.key });
  view.cell = cell && shownCell(view, cell);
}

function fit(view) {
  // Keeps what is chosen within what this head has.
  const { header, quantities } = view;
  view.stageName = header.stages[view.stage].name;
  view.query = Math.min(Math.max(view.query, 0), header.query.length - 1);
  if (view.key >= header.key.length || view.key < 0) view.key = strongestKey(view);
  makeOfQuery(view);
  const of = view.cell && quantities.get(view.cell.name);
  const isWithin = (place, n) => place >= 0 && place < n;
  if (!of || !isWithin(view.cell.row, of.n) || !isWithin(view.cell.column, of.width)) view.cell = null;
}

function measure(view) {
  // Takes the figure's width; returns whether it can be drawn.
  const { clientWidth } = view.figure;
  if (!clientWidth) return false;
  view.font = getComputedStyle(view.root).fontFamily;
  view.sizes = { name: legible(view.root, 12), number: legible(view.root, 11) }; // px, of what is written on the figure
  Object.assign(view, { width: Math.max(clientWidth, NARROWEST), layouts: null });
  return true;
}

function showAll(view) {
  showPlayer(view);
  showStage(view);
  showQueries(view);
  showKeys(view);
  showLens(view);
  describe(view);
  if (view.width) paint(view);
}
