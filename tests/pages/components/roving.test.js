// Where the arrow keys lead: in a line, in rows of unlike lengths, over a drawing; and whom they leave alone.

import assert from "node:assert/strict";
import { test } from "node:test";

import { inLine, inRows, nearest } from "../../../pages/components/kit/roving.js";

test("a line ends at its ends, and only its own keys lead along it", () => {
  const items = ["a", "b", "c", "d"];
  assert.deepEqual(["ArrowLeft", "ArrowRight", "Home", "End"].map((key) => inLine(key, "b", items)), ["a", "c", "a", "d"]);
  assert.deepEqual([inLine("ArrowLeft", "a", items), inLine("ArrowRight", "d", items)], ["a", "d"]);
  assert.deepEqual(["ArrowUp", "ArrowDown", "Enter", " "].map((key) => inLine(key, "b", items)), Array(4).fill(undefined));
  const down = (key) => inLine(key, "b", items, "down");
  assert.deepEqual(["ArrowUp", "ArrowDown", "ArrowLeft"].map(down), ["a", "c", undefined]);
});

test("in rows of unlike lengths a shorter row is entered at its end", () => {
  const lengths = [3, 1, 4];
  const from = (row, column) => (key) => inRows(key, { row, column }, lengths);
  assert.deepEqual(["ArrowDown", "ArrowUp", "End", "PageDown"].map(from(0, 2)), [
    { row: 1, column: 0 },
    { row: 0, column: 2 },
    { row: 0, column: 2 },
    { row: 2, column: 2 },
  ]);
  assert.deepEqual(from(2, 3)("ArrowRight"), { row: 2, column: 3 });
  assert.equal(from(0, 0)("Enter"), undefined);
});

test("what stands beside one, a pixel or two off, lies in no direction", () => {
  const [here, beside, ahead] = [{ x: 0, y: 0 }, { x: 2, y: 40 }, { x: 3, y: 300 }];
  assert.equal(nearest("ArrowRight", here, [here, beside]), -1);
  assert.equal(nearest("ArrowRight", here, [here, beside, ahead]), 2);
});

test("straight ahead comes before nearer, but aside; behind lies nothing", () => {
  const [here, ahead, aside] = [{ x: 0, y: 0 }, { x: 50, y: 0 }, { x: 30, y: 20 }];
  assert.equal(nearest("ArrowRight", here, [here, ahead, aside]), 1);
  assert.equal(nearest("ArrowDown", here, [here, ahead, aside]), 2);
  assert.equal(nearest("ArrowLeft", here, [here, ahead, aside]), -1);
  assert.equal(nearest("ArrowUp", ahead, [here, ahead]), -1);
});
