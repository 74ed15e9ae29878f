// How large everything on the stage is.

import assert from "node:assert/strict";
import { test } from "node:test";

import { cellAt, fitted } from "../../../../../pages/learn/start/components/stage/layout.js";

const vectors = (more = {}) => ({ shape: "vectors", size: [16, 128], rows: "target", columns: "", group: "", ...more });
const heads = (nHeads, more = {}) => ({ shape: "heads", size: [nHeads, 16, 16], rows: "target", columns: "target", group: "", ...more });
const counts = { target: 16, source: 13 };
const block = (group, nHeads, isCross = false) => [
  heads(nHeads, { group }),
  ...(isCross ? [heads(nHeads, { group, columns: "source", size: [nHeads, 16, 13] })] : []),
  vectors({ group }),
  vectors({ group }),
];
const laneOf = (nBlocks, { nHeads = 4, isCross = false, nLast = 1 } = {}) => ({
  panels: [vectors(), vectors(), vectors(), ...Array.from({ length: nBlocks }, (_, i) => block(`${i}`, nHeads, isCross)).flat(), ...Array.from({ length: nLast }, () => vectors())],
});

test("the shipped models' lanes fit their room with every panel, and none is narrower than its name", () => {
  const decoder = laneOf(2, { isCross: true });
  for (const [lane, room] of [
    [laneOf(4, { nLast: 2 }), { level: "overview", width: 807, height: 480, counts }], // Stories at 1440
    [decoder, { level: "overview", width: 690, height: 115, counts }], // en-fr at 1024
    [{ panels: decoder.panels.map((panel) => ({ ...panel, group: "" })) }, { level: "block", width: 690, height: 400, counts }],
  ]) {
    const { sizes, total } = fitted(lane, room);
    assert.equal(sizes.length, lane.panels.length);
    assert.ok(total <= room.width, `${total}`);
    sizes.forEach(({ width }, i) => assert.ok(width >= (lane.panels[i].group ? 24 : 30), `${i}: ${width}`));
  }
});

test("where no text may be small, rows have room for it and panels are wide enough for larger names", () => {
  const room = { level: "overview", width: 690, height: 115, counts };
  const lane = laneOf(2, { isCross: true });
  const [usual, larger] = [0, 14].map((leastText) => fitted(lane, { ...room, leastText }));
  assert.ok(usual.row < 14 && larger.row >= 14);
  larger.sizes.forEach(({ width }, i) => assert.ok(width >= 1.4 * (lane.panels[i].group ? 24 : 42), `${i}: ${width}`));
});

test("with ample room nothing is smaller, and ids are beside their tokens", () => {
  const { sizes, isNarrow, total } = fitted(laneOf(2), { level: "overview", width: 1400, height: 480, counts });
  assert.ok(!isNarrow && total <= 1400 && sizes[0].width === 58);
});

test("a deep model keeps all its panels at a size that can be seen, and is wider than its room", () => {
  for (const width of [330, 690, 807]) {
    const lane = laneOf(12, { nHeads: 12, nLast: 2 });
    const { sizes, total } = fitted(lane, { level: "overview", width, height: 480, counts });
    assert.ok(total > width && sizes.length === lane.panels.length);
    assert.ok(sizes.every((size) => size.width >= 24 && (!("mapHeight" in size) || size.mapHeight >= 24)));
  }
});

test("maps that are much wider than high are smaller, rather than that the lane is cut off", () => {
  const few = { target: 11, source: 15 };
  const blocks = [0, 1].map((i) => [heads(4, { group: `${i}`, size: [4, 11, 11] }), heads(4, { group: `${i}`, size: [4, 11, 15] }), vectors({ group: `${i}` }), vectors({ group: `${i}` })]);
  const lane = { panels: [vectors(), vectors(), vectors(), ...blocks.flat(), vectors()] };
  const { total, sizes } = fitted(lane, { level: "overview", width: 690, height: 115, counts: few });
  assert.ok(total <= 690, `${total}`);
  assert.ok(sizes.every((size) => !("mapHeight" in size) || size.mapHeight >= 24));
});

test("a point of a picture lies in one cell, also on its very edges", () => {
  const size = { width: 80, height: 40 };
  assert.deepEqual(cellAt({ x: 79.9, y: 39.9 }, size, { rows: 4, columns: 8 }), { row: 3, column: 7 });
  assert.deepEqual(cellAt({ x: 25, y: 12 }, size, { rows: 4, columns: 8 }), { row: 1, column: 2 });
  assert.deepEqual(cellAt({ x: -3, y: -1 }, size, { rows: 4, columns: 8 }), { row: 0, column: 0 });
});
