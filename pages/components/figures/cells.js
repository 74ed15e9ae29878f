// The cells of a heatmap: chosen with a click or from the keyboard, drawn larger with a drag, pointed at in several
// figures at once. A person is at a cell {row, column}; what is sent are places in the whole text: a cell {query, key},
// or a window {queries, keys} of first and last places.

import { announce } from "../../../headlight/components/kit/announce.js";
import { element } from "../../../headlight/components/kit/elements.js";
import { inRows } from "../../../headlight/components/kit/roving.js";
import { say } from "../../../headlight/components/kit/say.js";
import { gridOf, plain } from "./numbers.js";
import { axisOf } from "./plotly_internals.js";
import { listenToPoints, makePoints, updatePoints } from "./points.js";

export const FIGURES = new Set(); // the views of all that are on the page
const STILL = 4; // px: what moves further between press and release is no click
const READ = say("Arrow keys move between cells.");
const CHOOSE = `${READ} ${say("Enter selects a cell, Escape clears the selection.")}`;
const NEARER = `${READ} ${say("Enter zooms into a cell.")}`;

export function makeCells(view) {
  view.cursor = null; // the cell that the keyboard is at
  view.press = {}; // the last one of the pointer, {at: px of the page, cell: or null, isSecond: of a double click}
  view.outline = element("div", "cell");
  view.outline.hidden = true;
  view.root.append(view.outline);
  view.plot.addEventListener("keydown", (event) => onKey(view, event));
  view.plot.addEventListener("blur", () => leave(view));
  makePoints(view);
}

export function listen(view) {
  // Once the figure is drawn for the first time: plotly's own events, and whether a press is the second of a double
  // click, which the browser knows; plotly takes two clicks for one where the page is busy, and one for two.
  view.plot.addEventListener("pointerdown", (event) => pressed(view, event), { capture: true });
  view.plot.addEventListener("mousedown", (event) => pressedTwice(view, event), { capture: true });
  view.plot.on("plotly_click", ({ points }) => {
    const { cell, isSecond } = view.press;
    if (!cellAt(points) || !cell || isSecond) return;
    view.plot.focus({ preventScroll: true, focusVisible: false });
    const opens = isOverview(view) && view.data.windows;
    view.press.former = { cell: view.data.cell, opens, isWhole: isWhole(view) };
    choose(view, cell);
  });
  view.plot.on("plotly_relayout", (change) => {
    showCursor(view);
    if (view.data.windows && view.grid && !view.zoomsOut && Object.keys(change).some((name) => /^[xy]axis/.test(name))) zoomed(view);
  });
  view.plot.on("plotly_hover", ({ points }) => share(view, cellAt(points)));
  view.plot.on("plotly_unhover", () => share(view, null));
  listenToPoints(view);
}

function pressed(view, event) {
  view.before = view.press;
  const { clientX, clientY } = event;
  view.press = { at: { clientX, clientY }, cell: cellUnder(view, event), isSecond: false };
}

function pressedTwice(view, event) {
  // Two quick clicks on different cells are what they are: on cells of what is drawn now, which may have changed.
  if (event.button !== 0 || event.detail !== 2 || !event.target.closest(".draglayer")) return;
  const [first, second] = [view.before, view.press].map(({ at }) => at && cellUnder(view, at));
  const isElsewhere = first && second && (first.row !== second.row || first.column !== second.column);
  if (isElsewhere) return;
  view.press.isSecond = true;
  const { former } = view.before;
  const onRelease = ({ clientX, clientY }) => {
    const isClick = Math.hypot(clientX - event.clientX, clientY - event.clientY) <= STILL;
    if (isClick) setTimeout(() => doubleClicked(view, former)); // after what plotly does with it
  };
  window.addEventListener("mouseup", onRelease, { once: true, capture: true });
}

function doubleClicked(view, former) {
  // Leads back to the whole text, and what the first of the two clicks chose is taken back; but the part of a whole
  // overview that it asked for is what both ask for.
  if (former?.opens && former.isWhole) return;
  if (former && view.data.clicks && !former.opens) sendCell(view, former.cell);
  Plotly.relayout(view.plot, view.ranges); // a box that the server has not answered is undone here
  if (!isWhole(view)) sendWindow(view, { queries: null, keys: null });
}

export function updateCells(view) {
  // After each drawing.
  view.grid = gridOf(view.figure);
  const { plot, data } = view;
  plot.setAttribute("aria-label", plain(view.figure.layout.title?.text ?? data.name));
  const help = isOverview(view) ? (data.windows ? NEARER : READ) : data.clicks ? CHOOSE : READ;
  plot.setAttribute("aria-description", view.grid ? help : "");
  const isRead = view.grid || updatePoints(view);
  plot.setAttribute("role", isRead ? "application" : "img");
  plot.tabIndex = isRead ? 0 : -1;
  if (view.cursor && !(view.grid && view.cursor.row < view.grid.rows.length - 1)) leave(view);
  if (view.cursor && view.cursor.column >= view.grid.columns.length - 1) leave(view);
  showCursor(view);
}

function axesOf({ plot }) {
  return [axisOf(plot, "x"), axisOf(plot, "y")];
}

function showCursor(view) {
  const { outline, cursor, grid } = view;
  outline.hidden = !cursor;
  if (!cursor) return;
  const [across, down] = axesOf(view);
  const ends = (axis, starts, i) => [starts[i] - 0.5, starts[i + 1] - 0.5].map((place) => axis.toPixels(place));
  const [left, right] = ends(across, grid.columns, cursor.column);
  const [top, bottom] = ends(down, grid.rows, cursor.row);
  outline.hidden = left < -1 || right > across.length + 1 || top < -1 || bottom > down.length + 1; // zoomed away
  const px = { left: across.offset + left, top: down.offset + top, width: right - left, height: bottom - top };
  for (const [name, value] of Object.entries(px)) outline.style[name] = `${value}px`;
}

function onKey(view, event) {
  if (!view.grid || event.altKey || event.ctrlKey || event.metaKey) return;
  const next = moved(view, event.key);
  if (next) {
    view.cursor = next;
    pointAt(view, view.cursor);
    share(view, view.cursor);
    announce(wordsAt(view, view.cursor));
    showCursor(view);
  } else if (event.key === "Enter" && view.cursor) {
    choose(view, view.cursor);
  } else if (event.key === "Escape" && (view.cursor || view.data.cell)) {
    leave(view);
    if (view.data.clicks && view.data.cell) sendCell(view, null);
  } else {
    return;
  }
  event.preventDefault();
}

function moved(view, key) {
  // Where a key leads from the cursor or the chosen cell; the first one into the corner.
  const { rows, columns } = view.grid;
  const from = view.cursor ?? (view.data.cell && cellOf(view, view.data.cell));
  const next = inRows(key, from ?? { row: 0, column: 0 }, Array(rows.length - 1).fill(columns.length - 1));
  return next && (from ? next : { row: 0, column: 0 });
}

function leave(view) {
  if (!view.cursor) return;
  view.cursor = null;
  showCursor(view);
  pointAt(view, null);
  share(view, null);
}

function choose(view, { row, column }) {
  const { rows, columns } = view.grid;
  if (isOverview(view)) {
    const places = (starts, i) => [starts[i], starts[i + 1] - 1];
    if (view.data.windows) sendWindow(view, { queries: places(rows, row), keys: places(columns, column) });
  } else if (view.data.clicks) {
    const cell = { query: rows[row], key: columns[column] };
    sendCell(view, isSame(cell, view.data.cell) ? null : cell);
  }
}

function sendCell(view, cell) {
  view.data.cell = cell; // until the server answers
  view.send("cell", cell ?? { query: null, key: null });
}

function zoomed(view) {
  // A box was drawn with the pointer: all places that it touches.
  const [across, down] = axesOf(view);
  const whole = (range, starts) => {
    const inside = (place) => Math.min(Math.max(place, starts[0]), starts.at(-1) - 1);
    return /** @type {[number, number]} */ ([inside(Math.round(Math.min(...range))), inside(Math.ceil(Math.max(...range) - 0.5))]);
  };
  const { rows, columns } = view.grid;
  const [queries, keys] = [whole(down.range, rows), whole(across.range, columns)];
  const isPart = ([first, last], starts) => first > starts[0] || last < starts.at(-1) - 1;
  if (view.data.staysWhole) zoomOut(view);
  if (view.data.staysWhole || isPart(queries, rows) || isPart(keys, columns)) sendWindow(view, { queries, keys });
}

function zoomOut(view) {
  view.zoomsOut = true; // which plotly tells of as of any other change
  Plotly.relayout(view.plot, view.ranges).then(() => {
    view.zoomsOut = false;
  });
}

export function sendWindow(view, { queries, keys }) {
  // null: of the whole text.
  view.data.isWindow = queries !== null; // until the server answers
  view.send("window", { queries, keys });
}

export function rangesOf(figure) {
  // For `relayout`; plotly writes those that a person zooms to into the figure.
  const axes = Object.keys(figure.layout).filter((name) => /^[xy]axis\d*$/.test(name));
  return Object.fromEntries(
    axes.map((name) => {
      const { range } = figure.layout[name];
      return range ? [`${name}.range`, [...range]] : [`${name}.autorange`, true];
    }),
  );
}

export function isWhole({ data, figure }) {
  return !data.windows || data.staysWhole || !(data.isWindow || figure.layout.meta?.window);
}

function isOverview({ figure }) {
  return Boolean(figure.layout.meta?.blocks);
}

function isSame(a, b) {
  return a?.query === b?.query && a?.key === b?.key;
}

function cellAt(points) {
  // Of plotly's event.
  const point = points?.[0];
  if (point?.data.type !== "heatmap") return null;
  const [row, column] = point.pointNumber;
  return { row, column };
}

function cellUnder(view, { clientX, clientY }) {
  // The one where the pointer is. What plotly says was under it lags after by up to 50 ms (`Fx.hover` is throttled):
  // anyone who moves to the next cell and clicks at once would choose the one before.
  if (!view.grid) return null;
  const { left, top } = view.plot.getBoundingClientRect();
  const [across, down] = axesOf(view);
  const query = Math.round(down.toNumber(clientY - top - down.offset));
  const key = Math.round(across.toNumber(clientX - left - across.offset));
  return cellOf(view, { query, key });
}

function cellOf({ grid }, { query, key }) {
  // Of a place in the text; null where the figure does not show it.
  const index = (starts, place) => (place < starts.at(-1) ? starts.findLastIndex((start) => start <= place) : -1);
  const [row, column] = [index(grid.rows, query), index(grid.columns, key)];
  return row < 0 || column < 0 ? null : { row, column };
}

function wordsAt({ figure, grid }, { row, column }) {
  const says = ({ type, z }) => type === "heatmap" && Number.isFinite(z[row][column]);
  const words = figure.data.findLast(says)?.customdata?.[row]?.[column];
  return plain(String(words ?? `query ${grid.rows[row]}, key ${grid.columns[column]}`));
}

function pointAt({ plot, grid }, cell) {
  // Shows a cell's hover words, or none; that is not an event.
  const middle = (starts, i) => (starts[i] + starts[i + 1] - 1) / 2;
  if (!cell) return Plotly.Fx.unhover(plot, undefined, undefined, true);
  const at = { xval: middle(grid.columns, cell.column), yval: middle(grid.rows, cell.row) };
  Plotly.Fx.hover(plot, at, "xy", true);
}

function share(view, cell) {
  // Figures of the same link show the words of the same place.
  const { link } = view.data;
  const place = cell && { query: view.grid.rows[cell.row], key: view.grid.columns[cell.column] };
  for (const other of FIGURES) {
    const isLinked = link && other !== view && other.grid && other.data.link === link;
    if (isLinked) pointAt(other, place && cellOf(other, place));
  }
}
