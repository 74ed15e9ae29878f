// What is allowed in the mask that is edited: a preset, the cells that were turned over, and the way back.

export function takeMask(view, { base, turned, of }) {
  // Takes what the server says, unless it answers an edit that another one has followed meanwhile; returns whether.
  const isAnother = of !== view.of;
  const isHeard = view.edits.hear(turned);
  if (!isAnother && !isHeard) return false;
  view.hand = null; // it began on the mask that was here
  if (isAnother) view.pointed = null;
  view.of = of;
  view.base = base;
  view.turned = new Set(turned.value);
  const now = edited(view);
  if (isAnother || view.history[view.place] !== now) {
    view.history = isAnother ? [now] : [...view.history.slice(0, view.place + 1), now];
    view.place = view.history.length - 1;
  }
  return isHeard;
}

const inOrder = ({ turned }) => [...turned].sort((one, other) => one - other);

const edited = (view) => inOrder(view).join();

export const isAllowed = ({ base, turned }, cell) => Boolean(base[cell]) !== turned.has(cell);

export function put(view, cell, value) {
  if (Boolean(view.base[cell]) === value) view.turned.delete(cell);
  else view.turned.add(cell);
}

export function putLine(view, from, to, value) {
  // All cells that a hand passed on its way from one cell to another.
  const { columns } = view;
  const [start, end] = [from, to].map((cell) => [Math.floor(cell / columns), cell % columns]);
  const n = Math.max(Math.abs(end[0] - start[0]), Math.abs(end[1] - start[1]), 1);
  for (let step = 0; step <= n; step++) {
    const [row, column] = [0, 1].map((axis) => Math.round(start[axis] + ((end[axis] - start[axis]) * step) / n));
    put(view, row * columns + column, value);
  }
}

export function turnLine(view, cells) {
  // A whole row or column: all are allowed, unless they are already; then all are forbidden.
  const value = !cells.every((cell) => isAllowed(view, cell));
  for (const cell of cells) put(view, cell, value);
}

export const rowOf = ({ columns }, row) => Array.from({ length: columns }, (_, column) => row * columns + column);

export const columnOf = ({ rows, columns }, column) => Array.from({ length: rows }, (_, row) => row * columns + column);

export function commit(view, { wait = 0 } = {}) {
  // What was turned over becomes a step that one can go back, and is sent to the server.
  const now = edited(view);
  if (now === view.history[view.place]) {
    if (view.edits.isTouched) tell(view, wait); // what the server said meanwhile was left aside: it says it again
    return false;
  }
  view.history = [...view.history.slice(0, view.place + 1), now];
  view.place += 1;
  tell(view, wait);
  return true;
}

export function walk(view, by) {
  const place = view.place + by;
  if (!(place in view.history)) return false;
  view.place = place;
  view.turned = new Set(view.history[place].split(",").filter(Boolean).map(Number));
  tell(view, 0);
  return true;
}

function tell(view, wait) {
  clearTimeout(view.telling);
  view.edits.touch();
  view.telling = setTimeout(() => view.edits.tell(inOrder(view)), wait);
}

export function patternOf(view) {
  // The pattern under the mask as it is now: the model's own where nothing was turned since it ran, else a softmax.
  const { scores, pattern, ran, rows } = view;
  const now = pattern.slice();
  for (let row = 0; row < rows; row++) {
    const cells = rowOf(view, row);
    if (cells.every((cell) => isAllowed(view, cell) === Boolean(ran[cell]))) continue;
    const open = cells.filter((cell) => isAllowed(view, cell));
    const highest = Math.max(...open.map((cell) => scores[cell]));
    const total = open.reduce((sum, cell) => sum + Math.exp(scores[cell] - highest), 0);
    for (const cell of cells) now[cell] = isAllowed(view, cell) ? Math.exp(scores[cell] - highest) / total : 0;
  }
  return now;
}
