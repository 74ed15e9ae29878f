// How large everything on the stage is.

import assert from "node:assert/strict";
import { test } from "node:test";

import { cellAt, fitted, GAP, mapsOf, measure, rowHeight, tokensWidth } from "../../../../../pages/learn/start/components/stage/layout.js";

const vectors = (more = {}) => ({ shape: "vectors", size: [16, 128], rows: "target", columns: "", group: "", isOptional: false, ...more });
const heads = (nHeads, more = {}) => ({ shape: "heads", size: [nHeads, 16, 16], rows: "target", columns: "target", group: "", isOptional: false, ...more });
const counts = { target: 16, source: 13 };
const laneOf = (nBlocks, nHeads = 4) => ({
  panels: [vectors(), ...Array.from({ length: nBlocks }, (_, i) => [heads(nHeads, { group: `${i}` }), vectors({ group: `${i}`, isOptional: true }), vectors({ group: `${i}` })]).flat()],
});

test("rows fill the height of a lane, within what can be read", () => {
  assert.equal(rowHeight("overview", 16, 240), 15);
  assert.equal(rowHeight("overview", 4, 400), 22);
  assert.equal(rowHeight("overview", 24, 100), 10);
  for (const level of ["overview", "block", "attention"]) assert.ok(rowHeight(level, 24, 1) >= 10);
});

test("maps have square cells, and as many columns as let each be read", () => {
  const one = mapsOf({ level: "overview", nHeads: 4, nQueries: 16, nKeys: 16, height: 240 });
  assert.deepEqual([one.columns, one.mapHeight, one.mapWidth], [1, 57, 57]);
  const wide = mapsOf({ level: "overview", nHeads: 4, nQueries: 10, nKeys: 20, height: 240 });
  assert.equal(wide.mapWidth, 2 * wide.mapHeight);
  const many = mapsOf({ level: "overview", nHeads: 12, nQueries: 16, nKeys: 16, height: 240 });
  assert.ok(many.columns > 1 && many.mapHeight >= 34);
  assert.ok(many.columns * Math.ceil(12 / many.columns) >= 12);
  assert.equal(mapsOf({ level: "attention", nHeads: 4, nQueries: 16, nKeys: 16, height: 400 }).columns, 2);
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
  const block = { panels: [vectors(), heads(4, { size: [4, 11, 11] }), ...Array.from({ length: 3 }, () => vectors()), heads(4, { size: [4, 11, 15] }), ...Array.from({ length: 7 }, () => vectors())] };
  assert.ok(fitted(block, { level: "block", width: 690, height: 372, counts: few }).total <= 690);
  const { total, sizes } = fitted(lane, { level: "overview", width: 690, height: 115, counts: few });
  assert.ok(total <= 690, total);
  assert.ok(sizes.every((size) => !("mapHeight" in size) || size.mapHeight >= 24));
});

test("where one scrolls along a lane anyway, as on a phone, maps are as large as elsewhere", () => {
  const lane = { panels: [vectors(), vectors(), vectors(), heads(4), vectors(), vectors()] };
  const maps = fitted(lane, { level: "attention", width: 330, height: 400, counts }).sizes[3];
  assert.ok(maps.mapHeight >= 96, maps.mapHeight);
});

test("tokens of another side have a list of their own, with room of its own", () => {
  const mixed = { panels: [vectors(), vectors({ rows: "source" }), heads(4, { columns: "source", size: [4, 16, 13] })] };
  const { sizes } = measure(mixed, { level: "attention", width: 1000, height: 400, counts });
  assert.deepEqual(sizes.map(({ height }) => height / 25), [16, 13, 16]);
  assert.ok(sizes.reduce((sum, { width }) => sum + width, 0) + 3 * tokensWidth(1000) <= 1000);
});

test("a block with cross-attention, and its attention with both texts, fit beside the sidebar of a projector", () => {
  const block = { panels: [vectors(), heads(4), ...Array.from({ length: 3 }, () => vectors()), heads(4, { size: [4, 16, 13] }), ...Array.from({ length: 7 }, () => vectors())] };
  const cross = { panels: [vectors(), vectors({ rows: "source" }), vectors({ rows: "source" }), heads(4, { size: [4, 16, 13] }), vectors(), vectors()] };
  for (const [level, lane, nLists] of [["block", block, 1], ["attention", cross, 3]]) {
    const { sizes } = measure(lane, { level, width: 690, height: 400, counts });
    const total = sizes.reduce((sum, size) => sum + size.width, 0) + GAP * (sizes.length + nLists - 1) + nLists * tokensWidth(690);
    assert.ok(total <= 690, `${level}: ${total}`);
  }
});

test("a point of a picture lies in one cell, also on its very edges", () => {
  const size = { width: 80, height: 40 };
  assert.deepEqual(cellAt({ x: 0, y: 0 }, size, { rows: 4, columns: 8 }), { row: 0, column: 0 });
  assert.deepEqual(cellAt({ x: 79.9, y: 39.9 }, size, { rows: 4, columns: 8 }), { row: 3, column: 7 });
  assert.deepEqual(cellAt({ x: 80, y: 40 }, size, { rows: 4, columns: 8 }), { row: 3, column: 7 });
  assert.deepEqual(cellAt({ x: 25, y: 12 }, size, { rows: 4, columns: 8 }), { row: 1, column: 2 });
  assert.deepEqual(cellAt({ x: -3, y: -1 }, size, { rows: 4, columns: 8 }), { row: 0, column: 0 });
});
