// How large everything on the stage is.

import assert from "node:assert/strict";
import { test } from "node:test";

import { cellAt, fitted } from "../../../../../pages/learn/start/components/stage/layout.js";

const vectors = (more = {}) => ({ shape: "vectors", size: [16, 128], rows: "target", columns: "", group: "", isOptional: false, ...more });
const heads = (nHeads, more = {}) => ({ shape: "heads", size: [nHeads, 16, 16], rows: "target", columns: "target", group: "", isOptional: false, ...more });
const counts = { target: 16, source: 13 };
const laneOf = (nBlocks, nHeads = 4) => ({
  panels: [vectors(), ...Array.from({ length: nBlocks }, (_, i) => [heads(nHeads, { group: `${i}` }), vectors({ group: `${i}`, isOptional: true }), vectors({ group: `${i}` })]).flat()],
});

test("where maps would be too small, the hidden units stay for the block's own level, and only there", () => {
  const room = { level: "overview", width: 640, height: 240, counts };
  assert.equal(fitted(laneOf(1), room).panels.length, 4);
  const deep = fitted(laneOf(4), room);
  assert.ok(deep.panels.every(({ isOptional }) => !isOptional) && deep.panels.length === 9 && deep.sizes.length === 9);
  assert.equal(fitted(laneOf(4), { ...room, level: "block" }).panels.length, 13);
});

test("maps that are much wider than high are smaller, rather than that the lane is cut off", () => {
  const few = { target: 11, source: 15 };
  const blocks = [0, 1].map((i) => [heads(4, { group: `${i}`, size: [4, 11, 11] }), heads(4, { group: `${i}`, size: [4, 11, 15] }), vectors({ group: `${i}`, isOptional: true }), vectors({ group: `${i}` })]);
  const lane = { panels: [vectors(), vectors(), vectors(), ...blocks.flat(), vectors()] };
  const { total, sizes } = fitted(lane, { level: "overview", width: 690, height: 115, counts: few });
  assert.ok(total <= 690, total);
  assert.ok(sizes.every((size) => !("mapHeight" in size) || size.mapHeight >= 24));
});

test("a point of a picture lies in one cell, also on its very edges", () => {
  const size = { width: 80, height: 40 };
  assert.deepEqual(cellAt({ x: 79.9, y: 39.9 }, size, { rows: 4, columns: 8 }), { row: 3, column: 7 });
  assert.deepEqual(cellAt({ x: 25, y: 12 }, size, { rows: 4, columns: 8 }), { row: 1, column: 2 });
  assert.deepEqual(cellAt({ x: -3, y: -1 }, size, { rows: 4, columns: 8 }), { row: 0, column: 0 });
});
