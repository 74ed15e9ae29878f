// Draws the mask, the scores and the pattern, with what is pointed at, and says what the cell there is.

import { announce } from "../../../../../headlight/components/kit/announce.js";
import { fixed } from "../../../../../headlight/components/kit/numbers.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { leastText } from "../../../../../headlight/components/kit/theme.js";
import { isAllowed, patternOf } from "./cells.js";
import { arrange, drawBorder, drawCells, drawFrames, drawLabels, drawTurned, hasRoom } from "./grid.js";
import { lightChips } from "./outputs.js";
import { colorAt, prepare } from "./paint.js";

export const PICTURES = ["mask", "scores", "pattern"];
const MOST = { mask: 34, scores: 30, pattern: 30 }; // px of a cell
const SPACE = { mask: 92, scores: 60, pattern: 60 }; // px that a label takes at most

export function point(view, place) {
  view.pointed = place;
  redraw(view);
  tellCell(view);
}

export function fit(view) {
  // Makes the grids as large as their places allow, and draws.
  const { header, pictures, root } = view;
  if (!header || !root.clientWidth) return;
  const place = (name, labels) => {
    const picture = pictures[name];
    const room = picture.figure.clientWidth;
    const most = Math.min(MOST[name], Math.max(8, Math.floor((name === "mask" ? 560 : 300) / view.rows)));
    picture.labels = labels;
    picture.grid = arrange({ rows: view.rows, columns: view.columns, labels, room, most, space: SPACE[name], least: leastText(root) });
  };
  for (const name of PICTURES) place(name, header);
  const tight = PICTURES.filter((name) => !hasRoom(pictures[name].grid));
  if (tight.length) {
    // Where tokens have no room, numbers stand for them; the largest picture has both.
    const numbered = (word) => ({ query: header.query.map(word), key: header.key.map(word) });
    for (const name of tight) pictures[name].labels = numbered((_, i) => String(i)); // what is pointed at is named
    if (!tight.includes("mask")) place("mask", numbered((text, i) => `${i} ${text}`));
  }
  redraw(view);
  tellCell(view);
}

export function redraw(view) {
  const { header, pictures, parts, root } = view;
  if (!header || !pictures.mask.grid) return;
  const colors = header.colors[view.theme()];
  const { allowed, forbidden } = colors;
  for (const [name, color] of Object.entries({ allowed, forbidden, turned: header.hues.cell })) {
    root.style.setProperty(`--${name}`, color);
  }
  const now = patternOf(view);
  view.shown = now;
  const instead = (text) => (cell) => (isAllowed(view, cell) ? null : { text, color: colors.muted });
  const ofAllowed = {
    mask: () => allowed,
    scores: (cell) => colorAt(colors.diverging, 0.5 + view.scores[cell] / view.strongest / 2),
    pattern: (cell) => colorAt(colors.sequential, now[cell]),
  };
  const words = { mask: () => null, scores: instead("−∞"), pattern: instead("0") };
  const isFaint = (side, index) => index >= header.real[side];
  for (const name of PICTURES) {
    const { canvas, grid, labels } = pictures[name];
    const context = prepare(canvas, grid.width, grid.height);
    drawCells(context, grid, (cell) => (isAllowed(view, cell) ? ofAllowed[name](cell) : forbidden), words[name]);
    if (name === "mask") drawTurned(context, grid, view.turned, header.hues.cell);
    drawLabels(context, grid, { labels, words: header, hues: header.hues, colors, pointed: view.pointed, isFaint });
    drawBorder(context, grid, header.border, colors.text);
    drawFrames(context, grid, view.pointed, header.hues);
  }
  parts.undo.disabled = view.place === 0;
  parts.redo.disabled = view.place === view.history.length - 1;
  parts.reset.disabled = view.turned.size === 0;
  lightChips(view);
}

function tellCell(view) {
  const { pointed, header, parts, columns, scores, shown, before } = view;
  if (!shown) return;
  if (!pointed || pointed.row === null || pointed.column === null) {
    parts.says.textContent = header.hint;
    return;
  }
  const { row, column } = pointed;
  const cell = row * columns + column;
  const values = {
    query: row,
    from: header.query[row],
    key: column,
    to: header.key[column],
    score: fixed(scores[cell], 2),
    weight: fixed(shown[cell], 3),
    own: fixed(before[cell], 3),
  };
  parts.says.textContent = isAllowed(view, cell)
    ? say("query {query} “{from}” → key {key} “{to}”: may attend; score {score}, weight {weight} (with the model’s own masks {own})", values)
    : say("query {query} “{from}” → key {key} “{to}”: masked; score −∞ instead of {score}, weight 0 (with the model’s own masks {own})", values);
  if (pointed === view.cursor && !view.hand) announce(parts.says.textContent);
}
