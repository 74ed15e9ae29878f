// The lines of a chart, read from the keyboard: along a line from point to point, and from line to line.

import { announce } from "../../../headlight/components/kit/announce.js";
import { element } from "../../../headlight/components/kit/elements.js";
import { inRows } from "../../../headlight/components/kit/roving.js";
import { short, thousands } from "../../../headlight/components/kit/numbers.js";
import { say } from "../../../headlight/components/kit/say.js";
import { plain } from "./numbers.js";
import { axisOf, fullTraces, legendToggle, pointsOf } from "./plotly_internals.js";

const HELP = say("Arrow keys move along a line and to other lines. Enter hides or shows the line.");
const SIZE = 12; // px, of the ring around a point

export function makePoints(view) {
  view.at = null; // {row: of the lines, column: of the points}, where the keyboard is
  view.ring = element("div", "ring");
  view.ring.hidden = true;
  view.root.append(view.ring);
  view.plot.addEventListener("keydown", (event) => onKey(view, event));
  view.plot.addEventListener("blur", () => leave(view));
}

export function listenToPoints(view) {
  // Once the figure is drawn for the first time.
  view.plot.on("plotly_relayout", () => showRing(view));
  view.plot.on("plotly_restyle", () => {
    updatePoints(view);
    if (view.at) announce(wordsAt(view));
  });
}

/** After each drawing; returns whether there are lines that can be read. */
export function updatePoints(view) {
  const { plot } = view;
  const lines = view.grid ? [] : fullTraces(plot).filter(isLine);
  view.lines = lines.map((trace) => ({ trace, points: pointsOf(plot, trace).filter(({ y }) => Number.isFinite(y)) }));
  view.lines = view.lines.filter(({ trace, points }) => points.length > 1 || trace.visible === "legendonly");
  if (view.lines.length) plot.setAttribute("aria-description", HELP);
  if (view.at && !view.lines[view.at.row]) leave(view);
  showRing(view);
  return view.lines.length > 0;
}

function isLine({ type, mode, visible, hoverinfo }) {
  return type === "scatter" && mode?.includes("lines") && visible && hoverinfo !== "skip";
}

function onKey(view, event) {
  if (!view.lines?.length || event.altKey || event.ctrlKey || event.metaKey) return;
  const next = moved(view, event.key);
  if (next) {
    view.at = next;
    showRing(view);
    hover(view);
    announce(wordsAt(view));
  } else if (event.key === "Enter" && view.at) {
    hideOrShow(view);
  } else if (event.key === "Escape" && view.at) {
    leave(view);
  } else {
    return;
  }
  event.preventDefault();
}

function moved({ at, lines }, key) {
  const to = inRows(key, at ?? { row: 0, column: 0 }, lines.map(({ points }) => Math.max(points.length, 1)));
  if (!to || !at) return to && { row: 0, column: 0 };
  if (to.row === at.row) return to;
  // To the point of the other line that lies nearest.
  const { x } = lines[at.row].points[at.column] ?? { x: 0 };
  const away = lines[to.row].points.map((point) => Math.abs(point.x - x));
  return { row: to.row, column: Math.max(away.indexOf(Math.min(...away)), 0) };
}

function pointAt({ at, lines }) {
  const { trace, points } = lines[at.row];
  return { trace, point: points[at.column] }; // none of a line that is hidden
}

function axesOf({ plot }, { xaxis, yaxis }) {
  return [axisOf(plot, xaxis), axisOf(plot, yaxis)];
}

function showRing(view) {
  const { ring } = view;
  const { trace, point } = view.at ? pointAt(view) : {};
  ring.hidden = !point;
  if (!point) return;
  const [across, down] = axesOf(view, trace);
  const [x, y] = [across.toPixels(point.x), down.toPixels(point.y)];
  ring.hidden = x < -1 || x > across.length + 1 || y < -1 || y > down.length + 1; // zoomed away
  ring.style.left = `${across.offset + x - SIZE / 2}px`;
  ring.style.top = `${down.offset + y - SIZE / 2}px`;
}

function hover(view) {
  const { trace, point } = pointAt(view);
  if (!point) return Plotly.Fx.unhover(view.plot, undefined, undefined, true);
  const subplot = `${trace.xaxis}${trace.yaxis}`;
  Plotly.Fx.hover(view.plot, [{ curveNumber: trace.index, pointNumber: point.i }], subplot);
}

function leave(view) {
  if (!view.at) return;
  view.at = null;
  showRing(view);
  Plotly.Fx.unhover(view.plot, undefined, undefined, true);
}

function wordsAt(view) {
  const { trace, point } = pointAt(view);
  const name = plain(trace.name ?? "");
  if (!point) return say("{name}, hidden", { name });
  const [across, down] = axesOf(view, trace).map(({ title }) => plain(title.text ?? ""));
  const [x, y] = [labelOf(axesOf(view, trace)[0], point.x), short(point.y)];
  return `${name}: ${[`${across} ${x}`, `${down} ${y}`].map((words) => words.trim()).join(", ")}`;
}

function labelOf({ categories, tickvals, ticktext }, x) {
  const label = categories.length ? categories[x] : ticktext?.[tickvals?.indexOf(x) ?? -1];
  return plain(String(label ?? (Number.isInteger(x) ? thousands(x) : short(x))));
}

function hideOrShow({ plot, at, lines }) {
  // As a click on the legend does, with all that plotly makes of it.
  const { trace } = lines[at.row];
  const isOf = (other) => other.index === trace.index || (trace.legendgroup && other.legendgroup === trace.legendgroup);
  const toggle = legendToggle(plot, isOf);
  for (const kind of ["mousedown", "mouseup"]) toggle?.dispatchEvent(new MouseEvent(kind, { bubbles: true }));
}
