// Masks that are edited by hand: what is turned over, the way back, who answers whom, and the softmax of what is left.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import {
  commit, isAllowed, patternOf, put, putLine, rowOf, takeMask, turnLine, walk,
} from "../../../../../pages/learn/masks/components/masks/cells.js";

import { SharedValue } from "../../../../../pages/components/kit/shared_value.js";

const [ROWS, COLUMNS] = [3, 4];

function made() {
  const sent = [];
  const view = { rows: ROWS, columns: COLUMNS, edits: new SharedValue((message) => sent.push(message)) };
  const base = Uint8Array.from({ length: ROWS * COLUMNS }, (_, cell) => Number(cell % COLUMNS <= Math.floor(cell / COLUMNS)));
  takeMask(view, { base, turned: { revision: 5, value: [] }, of: "causal" });
  return { view, base, sent };
}

const allowed = (view) => Array.from({ length: ROWS * COLUMNS }, (_, cell) => Number(isAllowed(view, cell)));

test("a line from any cell to any other passes neighbours only, no more than it must, and both ends", () => {
  const [rows, columns] = [3, 5];
  for (let from = 0; from < rows * columns; from++) {
    for (let to = 0; to < rows * columns; to++) {
      const view = { rows, columns, base: new Uint8Array(rows * columns), turned: new Set() };
      putLine(view, from, to, true);
      const passed = [...view.turned].map((cell) => [Math.floor(cell / columns), cell % columns]);
      const apart = (one, other) => Math.max(Math.abs(one[0] - other[0]), Math.abs(one[1] - other[1]));
      const [start, end] = [passed[0], passed.at(-1)];
      assert.deepEqual([start[0] * columns + start[1], end[0] * columns + end[1]], [from, to]);
      assert.equal(passed.length, apart(start, end) + 1);
      assert.ok(passed.slice(1).every((cell, i) => apart(cell, passed[i]) === 1));
    }
  }
});

test("a row is allowed whole, and forbidden whole once it is", () => {
  const { view } = made();
  turnLine(view, rowOf(view, 1));
  assert.deepEqual(allowed(view).slice(4, 8), [1, 1, 1, 1]);
  turnLine(view, rowOf(view, 1));
  assert.deepEqual(allowed(view).slice(4, 8), [0, 0, 0, 0]);
});

test("the way back and forth is told step by step, and a new edit ends the way forth", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { view, sent } = made();
  assert.equal(commit(view), false); // nothing was turned
  put(view, 2, true);
  assert.equal(commit(view), true);
  put(view, 3, true);
  commit(view);
  mock.timers.tick(0);
  assert.ok(walk(view, -1));
  assert.deepEqual([...view.turned], [2]);
  assert.ok(walk(view, -1));
  assert.deepEqual([...view.turned], []);
  assert.equal(walk(view, -1), false);
  assert.ok(walk(view, 1));
  put(view, 7, true);
  commit(view);
  assert.equal(walk(view, 1), false);
  mock.timers.tick(0);
  assert.deepEqual(sent.map(({ value }) => value), [[2, 3], [2, 7]]); // what is done within one moment is told at once
  assert.ok(sent[0].revision < sent[1].revision);
  mock.timers.reset();
});

test("an answer to an edit that another one followed is not taken; one of another mask is", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { view, base, sent } = made();
  put(view, 2, true);
  commit(view);
  put(view, 3, true);
  commit(view);
  mock.timers.tick(0);
  const [{ revision }] = sent;
  assert.equal(takeMask(view, { base, turned: { revision: revision - 1, value: [2] }, of: "causal" }), false);
  assert.deepEqual([...view.turned], [2, 3]);
  assert.ok(takeMask(view, { base, turned: { revision, value: [2, 3] }, of: "causal" }));
  assert.equal(view.history.length, 3);
  takeMask(view, { base, turned: { revision: 0, value: [1] }, of: "none" });
  assert.deepEqual([...view.turned], [1]);
  assert.deepEqual(view.history, ["1"]);
  mock.timers.reset();
});

test("rows that changed are the softmax of their open cells; the others stay the model's", () => {
  const { view, base } = made();
  const scores = Float32Array.from({ length: 12 }, (_, cell) => Math.sin(cell * 1.7) * 3);
  const pattern = Float32Array.from({ length: 12 }, (_, cell) => cell / 100);
  Object.assign(view, { scores, pattern, ran: base });
  put(view, 3, true); // row 0: 0 and 3
  for (const cell of [8, 9, 10]) put(view, cell, false); // row 2: nothing
  const now = patternOf(view);
  assert.deepEqual([...now.slice(4, 8)], [...pattern.slice(4, 8)]);
  const [zero, three] = [Math.exp(scores[0]), Math.exp(scores[3])];
  for (const [cell, share] of [[0, zero / (zero + three)], [1, 0], [2, 0], [3, three / (zero + three)]]) {
    assert.ok(Math.abs(now[cell] - share) < 1e-6);
  }
  assert.deepEqual([...now.slice(8)], [0, 0, 0, 0]);
});
