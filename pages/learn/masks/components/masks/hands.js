// How a mask is edited: with the pointer, and with the keyboard.

import { inRows } from "../../../../../headlight/components/kit/roving.js";
import { columnOf, commit, isAllowed, put, putLine, rowOf, turnLine, walk } from "./cells.js";
import { placeAt } from "./grid.js";
import { point, redraw } from "./pictures.js";

const KEY_WAIT = 350; // ms after the last key until the model runs

export function listenToHands(view) {
  const { canvas } = view.pictures.mask;
  canvas.addEventListener("pointerdown", (event) => press(view, event));
  canvas.addEventListener("pointermove", (event) => move(view, event));
  canvas.addEventListener("pointerup", (event) => draws(view, event) && release(view));
  canvas.addEventListener("pointercancel", (event) => draws(view, event) && giveUp(view));
  canvas.addEventListener("focus", () => {
    if (!canvas.matches(":focus-visible")) return;
    view.cursor ??= { row: 0, column: 0 };
    point(view, view.cursor);
  });
  canvas.addEventListener("blur", () => point(view, null));
  canvas.addEventListener("keydown", (event) => type(view, event));
  for (const { canvas: other, name } of Object.values(view.pictures)) {
    other.addEventListener("pointermove", (event) => view.hand ?? point(view, under(view, name, event)));
    other.addEventListener("pointerleave", () => view.hand ?? point(view, null));
  }
}

function under(view, name, event) {
  const picture = view.pictures[name];
  const box = picture.canvas.getBoundingClientRect();
  return picture.grid && placeAt(picture.grid, event.clientX - box.left, event.clientY - box.top);
}

const draws = ({ hand }, { pointerId }) => hand?.pointerId === pointerId; // another finger does not

function press(view, event) {
  const place = under(view, "mask", event);
  if (!place || event.button !== 0 || (view.hand && !draws(view, event))) return;
  const { row, column } = place;
  if (row === null || column === null) {
    turnLine(view, row === null ? columnOf(view, column) : rowOf(view, row));
    finish(view);
    return;
  }
  const cell = row * view.columns + column;
  view.hand = { pointerId: event.pointerId, value: !isAllowed(view, cell), last: cell, before: new Set(view.turned) };
  view.cursor = place;
  view.edits.touch(); // an answer that comes while the hand draws is old
  view.pictures.mask.canvas.setPointerCapture(event.pointerId);
  put(view, cell, view.hand.value);
  redraw(view);
}

function move(view, event) {
  if (!draws(view, event)) return;
  const { grid, canvas } = view.pictures.mask;
  const box = canvas.getBoundingClientRect();
  const inside = (value, low, high) => Math.min(Math.max(value, low), high);
  const { left, top, pitch, rows, columns } = grid;
  const column = inside(Math.floor((event.clientX - box.left - left) / pitch), 0, columns - 1);
  const row = inside(Math.floor((event.clientY - box.top - top) / pitch), 0, rows - 1);
  const cell = row * columns + column;
  if (cell === view.hand.last) return;
  putLine(view, view.hand.last, cell, view.hand.value);
  view.hand.last = cell;
  view.cursor = { row, column };
  point(view, view.cursor);
}

function release(view) {
  view.hand = null;
  finish(view);
}

function giveUp(view) {
  view.turned = view.hand.before;
  release(view);
}

function wait(view) {
  view.root.classList.add("waiting");
}

export function finish(view, options) {
  if (commit(view, options)) wait(view);
  redraw(view);
}

export function goBack(view, by) {
  if (walk(view, by)) wait(view);
  redraw(view);
}

function type(view, event) {
  const { rows, columns } = view;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.ctrlKey || event.metaKey) {
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    goBack(view, key === "y" || event.shiftKey ? 1 : -1);
    return;
  }
  if (key === "Escape" && view.hand) return giveUp(view);
  const { row, column } = (view.cursor ??= { row: 0, column: 0 });
  const next = inRows(key, view.cursor, Array(rows).fill(columns));
  if (next) {
    event.preventDefault();
    view.cursor = next;
    if (event.shiftKey) {
      putLine(view, row * columns + column, next.row * columns + next.column, isAllowed(view, row * columns + column));
      finish(view, { wait: KEY_WAIT });
    }
    point(view, view.cursor);
    return;
  }
  const turns = {
    " ": () => put(view, row * columns + column, !isAllowed(view, row * columns + column)),
    r: () => turnLine(view, rowOf(view, row)),
    c: () => turnLine(view, columnOf(view, column)),
  };
  const turn = turns[key === "Enter" ? " " : key];
  if (!turn || event.altKey) return;
  event.preventDefault();
  turn();
  finish(view, { wait: KEY_WAIT });
  point(view, view.cursor);
}
