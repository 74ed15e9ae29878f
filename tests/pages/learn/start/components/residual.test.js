// The arrows of the residual stream, against figure 1 of the paper.

import assert from "node:assert/strict";
import { test } from "node:test";

import { jointOf, sublayersOf, waysOf } from "../../../../../pages/learn/start/components/stage/residual.js";

const panelsOf = (names, streams) => names.map((name, i) => ({ name, isStream: streams.includes(i) }));
const POST = panelsOf(["input", "self_attn", "attn_out", "add", "norm", "mlp", "mlp_out", "add", "norm"], [0, 3, 4, 7, 8]);
const PRE = panelsOf(["input", "norm", "self_attn", "attn_out", "add", "norm", "mlp", "mlp_out", "add"], [0, 4, 8]);
const OVERVIEW = panelsOf(["token", "position", "sum", "self_attn", "mlp", "output", "self_attn", "mlp", "output", "logits"], [2, 5, 8]);

test("in a block the stream goes around each sub-layer, with its norm where that comes first", () => {
  assert.deepEqual(sublayersOf(POST, "block"), [{ from: 0, to: 3, parts: [[1, 2]] }, { from: 4, to: 7, parts: [[5, 6]] }]);
  assert.deepEqual(sublayersOf(PRE, "block"), [{ from: 0, to: 4, parts: [[1, 3]] }, { from: 4, to: 8, parts: [[5, 7]] }]);
});

test("on the overview each sub-layer of a block is read from the stream and added to it", () => {
  assert.deepEqual(sublayersOf(OVERVIEW, "overview"), [{ from: 2, to: 5, parts: [[3, 3], [4, 4]] }, { from: 5, to: 8, parts: [[6, 6], [7, 7]] }]);
});

test("between panels stands what combines them, except where the stream's arrows do", () => {
  const joints = (panels, level) => panels.map((_, i) => jointOf(panels, i, level)).join(",");
  assert.equal(joints(OVERVIEW, "overview"), ",+,=,,,,,,,›");
  assert.equal(joints(POST, "block"), ",,›,,›,,›,,›");
  assert.equal(joints(PRE, "block"), ",,›,›,,,›,›,");
  assert.equal(joints(panelsOf(["q", "k", "v", "self_attn", "z", "attn_out"], []), "attention"), ",,,›,›,›");
});

test("each sum lies over the sub-layer that is added; in parallel blocks all sub-layers read the block's input", () => {
  const boxes = OVERVIEW.map((_, i) => ({ left: 100 * i, right: 100 * i + 60 }));
  const { sums, lines } = waysOf(OVERVIEW, boxes, { level: "overview", isParallel: false });
  assert.deepEqual(sums.map(({ x }) => Math.floor(x / 100)), [3, 4, 6, 7]);
  const reads = (text, y) => [...text.matchAll(new RegExp(`M(\\d+) ${y}V12`, "g"))].map(([, x]) => Number(x));
  assert.deepEqual(reads(lines, 5), [527, 306, 406, 827, 606, 706]); // into the outputs, and into each sub-layer
  const parallel = waysOf(OVERVIEW, boxes, { level: "overview", isParallel: true }).lines;
  assert.deepEqual(reads(parallel, 11), [306, 406, 606, 706]);
  assert.match(parallel, /M233 11H406/); // from the block's input
});
