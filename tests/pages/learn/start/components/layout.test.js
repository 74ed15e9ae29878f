// How large everything on the stage is.

import assert from "node:assert/strict";
import { test } from "node:test";

import { cellAt, fitted, GAP, measure, tokensWidth } from "../../../../../pages/learn/start/components/stage/layout.js";

const vectors = (more = {}) => ({ shape: "vectors", size: [16, 128], rows: "target", columns: "", group: "", isOptional: false, ...more });
const heads = (nHeads, more = {}) => ({ shape: "heads", size: [nHeads, 16, 16], rows: "target", columns: "target", group: "", isOptional: false, ...more });
const counts = { target: 16, source: 13 };
const laneOf = (nBlocks, nHeads = 4) => ({
  panels: [vectors(), ...Array.from({ length: nBlocks }, (_, i) => [heads(nHeads, { group: `${i}` }), vectors({ group: `${i}`, isOptional: true }), vectors({ group: `${i}` })]).flat()],
});

test("a lane that fits is never wider than its room, and its strips take what is left", () => {
  for (const [nBlocks, width] of [[1, 700], [2, 840], [4, 1130], [2, 700]]) {
    const lane = laneOf(nBlocks);
    const { sizes } = measure(lane, { level: "overview", width, height: 240, counts });
    const total = sizes.reduce((sum, size) => sum + size.width, 0) + GAP * sizes.length + 12 * nBlocks + tokensWidth(width);
    const strips = sizes.filter((_, i) => lane.panels[i].shape === "vectors");
    assert.equal(new Set(strips.map((size) => size.width)).size, 1);
    assert.ok(total <= width || strips[0].width === 42, `${nBlocks} blocks in ${width}: ${total}`);
    assert.ok(strips[0].width >= 42 && strips[0].width <= 58);
  }
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
