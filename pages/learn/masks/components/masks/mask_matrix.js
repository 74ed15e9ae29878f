// A mask that is edited, and what becomes of it: as -inf in the scores, as zeros in the pattern, and in the output.
//
// data: as packing.py packs it; after the header, for every query and key, the head's scores without the mask, its
// pattern, its pattern under the model's own masks (float32, little endian), then the preset and the mask that the
// model ran with (a byte each, 1 = may attend). What a hand does is seen at once; the model answers when it has run.

import { fixed } from "../../../../components/kit/numbers.js";
import { announce } from "../../../../components/kit/announce.js";
import { element } from "../../../../components/kit/elements.js";
import { mount } from "../../../../components/kit/mount.js";
import { unpack } from "../../../../components/kit/packing.js";
import { SharedValue } from "../../../../components/kit/shared_value.js";
import { say } from "../../../../components/kit/say.js";
import { watchTheme } from "../../../../components/kit/theme.js";
import { isAllowed, patternOf, takeMask } from "./cells.js";
import { arrange, drawCells, drawFrames, drawLabels, drawTurned, hasRoom } from "./grid.js";
import { finish, goBack, listenToHands } from "./hands.js";
import { fillOutputs, lightChips } from "./outputs.js";
import { colorAt, prepare } from "./paint.js";

const PICTURES = ["mask", "scores", "pattern"];
const MOST = { mask: 34, scores: 30, pattern: 30 }; // px of a cell
const SPACE = { mask: 92, scores: 60, pattern: 60 }; // px that a label takes at most

export default await mount(import.meta.url, {
  styles: ["./mask_matrix.css"],
  make: makeView,
  update,
});

function update(view, data, send) {
  const { root } = view;
  const { header, rest } = unpack(data);
  const [rows, columns] = [header.query.length, header.key.length];
  const n = rows * columns;
  const floats = new Float32Array(rest.slice(0, 12 * n).buffer);
  const [scores, pattern, before] = [0, 1, 2].map((part) => floats.subarray(part * n, (part + 1) * n));
  Object.assign(view, { header, rows, columns, scores, pattern, before, ran: rest.slice(13 * n, 14 * n) });
  view.send = send;
  const isAnswer = takeMask(view, { base: rest.slice(12 * n, 13 * n), turned: header.turned, of: header.of });
  view.strongest = Math.max(1e-6, ...scores.map(Math.abs));
  if (view.cursor && (view.cursor.row >= rows || view.cursor.column >= columns)) view.cursor = null;
  if (isAnswer) root.classList.remove("waiting");
  fillOutputs(view);
  nameParts(view);
  fit(view);
}

function makeView(root) {
  const view = { root, pictures: {}, parts: {}, history: [""], place: 0, hand: null, pointed: null };
  view.edits = new SharedValue((message) => view.send("turned", message));
  const { parts } = view;
  for (const name of ["tools", "pictures", "results", "says", "words", "counted", "chips", "legend"]) {
    parts[name] = element("div", name);
  }
  for (const name of PICTURES) {
    const [figure, caption] = [element("figure", name), element("figcaption", "caption")];
    const canvas = element("canvas", "cells");
    figure.append(caption, canvas);
    view.pictures[name] = { figure, caption, canvas, name };
  }
  const { mask, scores, pattern } = view.pictures;
  Object.assign(mask.canvas, { tabIndex: 0 });
  mask.canvas.setAttribute("role", "application");
  const acts = { undo: () => goBack(view, -1), redo: () => goBack(view, 1), reset: () => reset(view) };
  for (const [name, act] of Object.entries(acts)) {
    parts[name] = element("button", "tool");
    parts[name].type = "button";
    parts[name].addEventListener("click", act);
    parts.tools.append(parts[name]);
  }
  parts.tools.append(parts.legend);
  mask.figure.append(parts.tools);
  parts.pictures.append(scores.figure, pattern.figure);
  parts.results.append(parts.pictures, parts.says, parts.words, parts.counted, parts.chips);
  root.append(mask.figure, parts.results);
  parts.chips.addEventListener("mouseover", ({ target }) => {
    const chip = target.closest(".chip");
    if (chip && view.header.outputs.areQueries) point(view, { row: Number(chip.dataset.place), column: null });
  });
  parts.chips.addEventListener("mouseleave", () => point(view, null));
  view.theme = watchTheme(root, () => redraw(view));
  listenToHands(view);
  new ResizeObserver(() => fit(view)).observe(root);
  return view;
}

function nameParts(view) {
  const { header, pictures, parts, rows, columns } = view;
  const size = { rows, columns };
  pictures.mask.canvas.setAttribute(
    "aria-label",
    say("Mask of {rows} queries by {columns} keys. Arrow keys move, Space toggles a cell, R its row, C its column, Shift with arrows draws, Ctrl+Z undoes.", size),
  );
  for (const name of PICTURES) {
    const { title, what } = header.captions[name];
    pictures[name].caption.replaceChildren(element("b", "", title), ` ${what}`);
  }
  for (const { canvas } of [pictures.scores, pictures.pattern]) canvas.setAttribute("aria-hidden", "true");
  parts.undo.textContent = say("Undo");
  parts.redo.textContent = say("Redo");
  parts.reset.textContent = say("Reset to preset");
  const entries = {
    allowed: say("may attend"),
    forbidden: say("masked"),
    turned: say("edited by hand"),
  };
  parts.legend.replaceChildren(
    ...Object.entries(entries).map(([name, text]) => {
      const item = element("span", "entry");
      item.append(element("i", name), text);
      return item;
    }),
  );
}

export function wait(view) {
  view.root.classList.add("waiting");
}

function reset(view) {
  view.turned = new Set();
  finish(view);
}

export function point(view, place) {
  view.pointed = place;
  redraw(view);
  tellCell(view);
}

function fit(view) {
  // Makes the grids as large as their places allow, and draws.
  const { header, pictures, root } = view;
  if (!header || !root.clientWidth) return;
  const place = (name, labels) => {
    const picture = pictures[name];
    const room = picture.figure.clientWidth;
    const most = Math.min(MOST[name], Math.max(8, Math.floor((name === "mask" ? 560 : 300) / view.rows)));
    picture.labels = labels;
    picture.grid = arrange({ rows: view.rows, columns: view.columns, labels, room, most, space: SPACE[name] });
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
