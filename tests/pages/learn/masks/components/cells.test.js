// Masks that are edited by hand: the cells that a hand passes, and the softmax of what is left. The rest: mask_matrix.test.js.

import assert from "node:assert/strict";
import { test } from "node:test";

import { patternOf, put, putLine } from "../../../../../pages/learn/masks/components/masks/cells.js";

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

test("rows that changed are the softmax of their open cells; the others stay the model's", () => {
  const base = Uint8Array.from({ length: 12 }, (_, cell) => Number(cell % 4 <= Math.floor(cell / 4)));
  const scores = Float32Array.from({ length: 12 }, (_, cell) => Math.sin(cell * 1.7) * 3);
  const pattern = Float32Array.from({ length: 12 }, (_, cell) => cell / 100);
  const view = { rows: 3, columns: 4, base, turned: new Set(), scores, pattern, ran: base };
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
