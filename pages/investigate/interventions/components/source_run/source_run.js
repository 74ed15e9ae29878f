// Two runs beside each other. What is dragged from the source run onto the text is patched there, at the token that it
// is paired with; while it is dragged, or only pointed at, the cells that it can change are shaded.
//
// data: {boards: [{title, stack, steps, isPattern, there, here, rowsHere, columnsHere}], stacks: see cone.js}; there and
// here: {rows, columns, values}, the labels and how strongly each cell is filled.

import { element } from "../../../../../headlight/components/kit/elements.js";
import { mount } from "../../../../components/kit/mount.js";
import { inRows, rove } from "../../../../../headlight/components/kit/roving.js";
import { say } from "../../../../../headlight/components/kit/say.js";
import { causalCone } from "./cone.js";

const FAR = 4; // px from where a pointer was pressed: a drag begins

export default await mount(import.meta.url, { styles: ["./source_run.css"], make, update });

function make(root) {
  /** @type {any} */
  const view = { root, boards: [], pinned: null, drag: null };
  const foot = element("div", "foot");
  view.status = element("p", "status");
  view.status.setAttribute("role", "status");
  view.button = element("button", "patch", say("Patch into your text"));
  Object.assign(view.button, { type: "button", hidden: true, onclick: () => drop(view, view.pinned) });
  foot.append(view.status, view.button);
  view.box = element("div", "boards");
  view.ghost = element("div", "ghost");
  view.ghost.hidden = true;
  root.append(view.box, foot, view.ghost);
  root.addEventListener("pointerdown", (event) => press(view, event));
  root.addEventListener("pointermove", (event) => move(view, event));
  root.addEventListener("pointerup", (event) => release(view, event));
  root.addEventListener("pointercancel", () => endDrag(view));
  root.addEventListener("keydown", ({ key }) => key === "Escape" && (endDrag(view), pin(view, null)));
  return view;
}

function update(view, data, send) {
  view.send = send;
  view.data = data;
  const focused = view.root.querySelector(".from:focus")?.dataset;
  const place = focused && { ...focused };
  view.box.replaceChildren(...data.boards.map((board, index) => drawn(view, board, index)));
  pin(view, null);
  if (place) fromOf(view, place)?.focus({ preventScroll: true });
}

const fromOf = (view, { board, row, column }) =>
  view.root.querySelector(`.from[data-board="${board}"][data-row="${row}"][data-column="${column}"]`);

/** A board: the source run's matrix, and beside it that of the text. */
function drawn(view, board, index) {
  const box = element("section", "board");
  const there = matrix(view, board, index, "there");
  box.append(element("h4", "title", board.title), there, matrix(view, board, index, "here"));
  const lengths = board.there.rows.map(() => board.there.columns.length + 1);
  const roving = rove(there, {
    of: ".from",
    next: (key, item) => {
      const to = inRows(key, { row: Number(item.dataset.row), column: Number(item.dataset.column) + 1 }, lengths);
      return to && fromOf(view, { board: index, row: to.row, column: to.column - 1 });
    },
    onPoint: (item) => preview(view, item ?? view.pinned),
    onChoose: (item, event) => (event instanceof KeyboardEvent ? drop(view, item) : pin(view, item)),
  });
  roving.rest(there.querySelector(".from"));
  return box;
}

function matrix(view, board, index, side) {
  const { rows, columns, values, border } = board[side];
  const isThere = side === "there";
  const box = element("div", `matrix ${side}`);
  box.setAttribute("role", "grid");
  box.setAttribute("aria-label", `${board.title}, ${isThere ? say("source run") : say("your text")}`);
  box.style.setProperty("--n", String(columns.length));
  const head = element("div", "row head");
  head.setAttribute("role", "row");
  const heading = (/** @type {string} */ name, /** @type {string} */ text) => {
    const label = element("span", name, text);
    label.setAttribute("role", "columnheader");
    return label;
  };
  head.append(heading("label", isThere ? say("Source run") : say("Your text")), ...columns.map((column) => heading("column", column)));
  box.append(head);
  rows.forEach((label, row) => {
    const line = element("div", "row");
    line.setAttribute("role", "row");
    const whole = element("span", isThere && !board.isPattern ? "label from" : "label", label);
    whole.title = label;
    whole.setAttribute("role", "rowheader");
    line.append(place(whole, { board: index, row, column: -1 }, isThere && !board.isPattern));
    columns.forEach((column, at) => {
      const cell = element("span", isThere ? "cell from" : "cell");
      cell.setAttribute("role", "gridcell");
      cell.setAttribute("aria-label", `${label}, ${column}`);
      cell.classList.toggle("below", row > 0 && row === border.row);
      cell.classList.toggle("behind", at > 0 && at === border.column);
      cell.style.setProperty("--filled", `${Math.round(100 * values[row][at])}%`);
      if (isThere && !landing(view.data, { board: index, row, column: at })) cell.classList.add("unpaired");
      line.append(place(cell, { board: index, row, column: at }, isThere));
    });
    box.append(line);
  });
  return box;
}

function place(node, at, canFocus) {
  Object.assign(node.dataset, at);
  if (canFocus) node.tabIndex = -1;
  return node;
}

/** @returns {any} */
const placeOf = ({ dataset }) => ({
  board: Number(dataset.board),
  row: Number(dataset.row),
  column: dataset.column === "-1" ? null : Number(dataset.column),
});

/** Where something of the source run goes in the text; null: it has no counterpart. */
function landing(data, { board, row, column }) {
  const { rowsHere, columnsHere } = data.boards[board];
  const to = { row: rowsHere[row], column: column === null ? null : columnsHere[column] };
  return to.row === null || (column !== null && to.column === null) ? null : to;
}

/** Says what a cell of the source run is, and where it goes; shades what it can change. */
function preview(view, item) {
  for (const marked of view.root.querySelectorAll(".source, .lands, .cone")) marked.classList.remove("source", "lands", "cone");
  view.status.textContent = words(view, item);
  if (!item) return;
  const at = placeOf(item);
  item.classList.add("source");
  const to = landing(view.data, at);
  if (to) shade(view, at.board, to);
}

function shade(view, index, to) {
  const board = view.data.boards[index];
  const every = board.here.columns.map((_, column) => column);
  const positions = board.isPattern ? [to.row] : to.column === null ? every : [to.column];
  const step = board.steps[to.row];
  const lengths = Object.fromEntries(view.data.boards.filter((one) => !one.isPattern).map((one) => [one.stack, one.here.columns.length]));
  const cone = causalCone(view.data.stacks, lengths, { stack: board.stack, step, positions });
  for (const cell of view.root.querySelectorAll(".here .cell")) {
    const { board: of, row, column } = placeOf(cell);
    const { stack, steps, isPattern } = view.data.boards[of];
    const isIn = of === index && row === to.row && (to.column === null || column === to.column);
    const isLater = stack !== board.stack || steps[row] > step;
    cell.classList.toggle("lands", isIn);
    cell.classList.toggle("cone", !isIn && !isPattern && isLater && cone[stack][steps[row]][column]);
  }
}

function words(view, item) {
  if (!item) return say("Drag a cell or a row’s name from the source run onto your text. The cells that it can change are shaded.");
  const at = placeOf(item);
  const { there, here, isPattern } = view.data.boards[at.board];
  const to = landing(view.data, at);
  const name = there.rows[at.row];
  if (at.column === null) return say("{component} at all positions", { component: name });
  const token = there.columns[at.column];
  const cell = isPattern ? `${name} → ${token}` : token;
  if (!to) return say("“{token}” has no counterpart in your text, so it cannot be patched.", { token: cell });
  if (isPattern)
    return say("weight of {query} → {key} in the source run; it goes to {queryHere} → {keyHere}", {
      query: name,
      key: token,
      queryHere: here.rows[to.row],
      keyHere: here.columns[to.column],
    });
  return say("{component} at “{token}” goes to “{tokenHere}” (position {position})", {
    component: name,
    token,
    tokenHere: here.columns[to.column],
    position: to.column,
  });
}

function pin(view, item) {
  view.pinned = item && landing(view.data, placeOf(item)) ? item : null;
  view.button.hidden = !view.pinned;
  preview(view, item ?? null);
}

function drop(view, item) {
  const at = item && placeOf(item);
  if (!at || !landing(view.data, at)) return;
  view.send("drop", at);
  pin(view, null);
}

function press(view, event) {
  const item = event.target.closest?.(".from");
  if (!item || event.button !== 0 || view.drag) return;
  view.drag = { item, id: event.pointerId, x: event.clientX, y: event.clientY, hasBegun: false };
}

function move(view, event) {
  const { drag } = view;
  if (drag?.id !== event.pointerId) return;
  const { clientX: x, clientY: y } = event;
  if (!drag.hasBegun) {
    if (Math.hypot(x - drag.x, y - drag.y) <= FAR || !landing(view.data, placeOf(drag.item))) return;
    drag.hasBegun = true;
    view.root.setPointerCapture(drag.id);
    view.root.classList.add("dragging");
    view.ghost.textContent = words(view, drag.item);
    view.ghost.hidden = false;
  }
  preview(view, drag.item);
  const { left, top, width } = view.root.getBoundingClientRect();
  const aside = x - left < width / 2 ? "12px" : "calc(-100% - 12px)";
  view.ghost.style.transform = `translate(${x - left}px, ${y - top + 12}px) translateX(${aside})`;
  view.root.classList.toggle("over", isOver(view, x, y));
}

const isOver = (view, x, y) =>
  [...view.root.querySelectorAll(".here")].some((matrix) => {
    const box = matrix.getBoundingClientRect();
    return x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
  });

function release(view, event) {
  const { drag } = view;
  if (drag?.id !== event.pointerId) return;
  endDrag(view);
  if (!drag.hasBegun) return;
  if (isOver(view, event.clientX, event.clientY)) drop(view, drag.item);
  else preview(view, null);
}

function endDrag(view) {
  if (view.drag?.hasBegun) view.root.releasePointerCapture(view.drag.id);
  view.drag = null;
  view.ghost.hidden = true;
  view.root.classList.remove("dragging", "over");
}
