// Attention step by step: one figure through which the numbers of a head flow, stage by stage, as a person goes along.
//
// The header's `at` is where the page wants to be: stage, query, key and cell, in places of the whole text. What a person
// chooses here is shown at once and told to the page, which answers below the figure.

import { announce } from "../../../../components/kit/announce.js";
import { element } from "../../../../components/kit/elements.js";
import { ask } from "./asked.js";
import { mount } from "../../../../components/kit/mount.js";
import { SharedValue } from "../../../../components/kit/shared_value.js";
import { say } from "../../../../components/kit/say.js";
import { watchTheme } from "../../../../components/kit/theme.js";
import { makePalette } from "./colors.js";
import { heights, makeColumns } from "./columns.js";
import { makeLens, showLens, wordsOfMark } from "./lens.js";
import { linkStages } from "./links.js";
import { makeOfQuery, readSteps, shownCell, tokenOf, wholeCell } from "./numbers.js";
import { paint } from "./paint.js";
import { fillPlayer, makePlayer, pause, press, showPlayer } from "./player.js";
import { listen } from "./pointing.js";
import { makeStage, showStage } from "./stage.js";
import { fillKeys, fillQueries, makeQueries, showKeys, showQueries } from "./tokens.js";
import { travel } from "./travel.js";

const SOON = 220; // ms until the page is told of a stage or a query

export default await mount(import.meta.url, {
  styles: ["../../../../components/kit/play_buttons.css", "../../../../components/kit/tip.css", "./steps.css", "./player.css", "./stage.css", "./tokens.css", "./lens.css"],
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

function strongestKey({ quantities, query }) {
  const pattern = quantities.get("pattern");
  const row = pattern.values.subarray(query * pattern.width, (query + 1) * pattern.width);
  return row.indexOf(Math.max(...row));
}

function measure(view) {
  // Takes the figure's width; returns whether it can be drawn.
  const { clientWidth } = view.figure;
  if (!clientWidth) return false;
  view.font = getComputedStyle(view.root).fontFamily;
  Object.assign(view, { width: clientWidth, layouts: null });
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

function describe(view) {
  const { title } = view.header.stages[view.stage];
  const told = { title, query: tokenOf(view, "query", view.query), key: tokenOf(view, "key", view.key) };
  view.canvas.setAttribute("aria-label", say("Stage {title}: query {query}, key {key}", told));
}

export function moveTo(view, stage) {
  const to = Math.min(Math.max(stage, 0), view.header.stages.length - 1);
  if (to === view.stage) return;
  const from = view.stage;
  Object.assign(view, { stage: to, stageName: view.header.stages[to].name, pointed: null });
  view.tip.hidden = true;
  showPlayer(view);
  showStage(view);
  showLens(view);
  describe(view);
  announce(`${view.told.title.textContent}. ${view.told.notice.textContent}`);
  travel(view, from);
  tellSoon(view);
}

export function chooseQuery(view, query) {
  Object.assign(view, { query, cell: null });
  view.key = strongestKey(view);
  makeOfQuery(view);
  showQueries(view);
  showKeys(view);
  showLens(view);
  describe(view);
  announce(view.canvas.ariaLabel);
  paint(view);
  tellSoon(view);
}

export function chooseKey(view, key, hasFocus = false) {
  view.key = Math.min(Math.max(key, 0), view.header.key.length - 1);
  showKeys(view);
  showLens(view);
  describe(view);
  announce(view.canvas.ariaLabel);
  paint(view);
  if (hasFocus) view.keys[view.key].focus({ preventScroll: true });
  tellSoon(view);
}

export function pointAtKey(view, key) {
  if (view.pointedKey === key) return;
  view.pointedKey = key;
  showLens(view);
  if (!view.motion) paint(view);
}

export function chooseCell(view, mark) {
  pause(view);
  ask();
  const { rows, columns } = view.quantities.get(mark.name);
  view.cell = mark;
  if (rows === "key") view.key = mark.row;
  else if (columns === "key") view.key = mark.column;
  showKeys(view);
  showLens(view);
  announce(wordsOfMark(view, mark));
  paint(view);
  tell(view, {});
}

function tellSoon(view) {
  view.at.touch();
  clearTimeout(view.telling);
  view.telling = setTimeout(() => tell(view, {}), SOON);
}

export function tell(view, wanted) {
  clearTimeout(view.telling);
  view.at.tell({ ...placeOf(view), ...wanted });
}

function placeOf(view) {
  // Where a person is in the whole text.
  const { header, query, key, cell, stageName } = view;
  const { first } = header;
  return { stage: stageName, query: query + first.query, key: key + first.key, cell: cell && wholeCell(view, cell) };
}
