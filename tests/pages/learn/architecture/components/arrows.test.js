// The arrows on the drawing of a model: each leaves where it starts, ends at its box, and points into it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { memoryTrunk, MEMORY_SLOT, wayOf } from "../../../../../pages/learn/architecture/components/drawing/arrows.js";
import { fillEdges } from "../../../../../pages/learn/architecture/components/drawing/flow.js";
import { arrange } from "../../../../../pages/learn/architecture/components/drawing/layout.js";

const box = (name, kind, more = {}) => ({ name, kind, heads: 0, title: name, ...more });

function stack(name, inside, more = {}) {
  const before = [box(`${name}.embed`, "embedding"), box(`${name}.sum`, "sum"), box(`${name}.positions`, "positions", { added: true })];
  return { name, layers: 4, text: "text", input: "input", shape: "10 x 8", before, after: [], inside, ...more };
}

const ENCODER = [box("encoder.*.attn", "attention"), box("encoder.*.add", "add_norm"), box("encoder.*.mlp", "feed_forward"), box("encoder.*.add_2", "add_norm")];
const DECODER = [box("decoder.*.norm", "norm"), box("decoder.*.attn", "attention"), box("decoder.*.add", "add"), box("decoder.*.cross", "attention"), box("decoder.*.add_2", "add_norm"), box("decoder.*.norm_mlp", "norm"), box("decoder.*.mlp", "feed_forward")];
const ARROWS = [
  ...["query", "key", "value"].map((flow) => ({ start: "encoder.below", end: "encoder.*.attn", flow })),
  { start: "encoder.below", end: "encoder.*.add", flow: "residual" },
  { start: "encoder.*.attn", end: "encoder.*.add", flow: "stream" },
  { start: "encoder.*.add", end: "encoder.*.mlp", flow: "stream" },
  { start: "encoder.*.add", end: "encoder.*.add_2", flow: "residual" },
  { start: "encoder.positions", end: "encoder.sum", flow: "stream" },
  { start: "decoder.below", end: "decoder.*.norm", flow: "stream" },
  ...["query", "key", "value"].map((flow) => ({ start: "decoder.*.norm", end: "decoder.*.attn", flow })),
  { start: "decoder.below", end: "decoder.*.add", flow: "residual" },
  { start: "decoder.*.add", end: "decoder.*.cross", flow: "query" },
  { start: "decoder.*.add_2", end: "decoder.*.norm_mlp", flow: "residual" }, // of a feed-forward network beside attention
  ...["key", "value"].map((flow) => ({ start: "encoder.*.add_2", end: "decoder.*.cross", flow, memory: true })),
  { start: "decoder.positions", end: "decoder.sum", flow: "stream" },
];

function drawn(layer) {
  const data = {
    stacks: [stack("encoder", ENCODER), stack("decoder", DECODER)],
    head: [box("head.linear", "linear"), box("head.softmax", "softmax")],
    output: { name: "output", text: "text" },
    arrows: ARROWS,
  };
  const plan = arrange(data, { encoder: layer, decoder: layer });
  fillEdges(plan, data);
  const memoryTo = new Set(ARROWS.filter(({ memory }) => memory).map(({ end }) => end));
  const ways = ARROWS.map((arrow) => ({
    ...arrow,
    way: wayOf({ ...arrow, isMemory: arrow.memory, hasMemory: memoryTo.has(arrow.end) }, plan),
  }));
  return { plan, ways };
}

/** The points of a path, from its first to its last. */
function pointsOf(path) {
  let [x, y] = [0, 0];
  return [...path.matchAll(/([MHVLQC])([^MHVLQC]*)/g)].map(([, kind, numbers]) => {
    const at = numbers.trim().split(/[ ,]+/).map(Number);
    if (kind === "H") [x] = at;
    else if (kind === "V") [y] = at;
    else [x, y] = at.slice(-2);
    return [x, y];
  });
}

const edgesOf = ({ x, y, width, height }) => ({ left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 });
const isNear = (one, other) => Math.abs(one - other) < 0.01;

test("each arrow ends at the border of its box, where its head points into the box", () => {
  for (const layer of [0, 2, 3]) {
    const { plan, ways } = drawn(layer);
    for (const { end, start, flow, way } of ways) {
      const what = `${flow} of ${start} to ${end}, layer ${layer}`;
      const { left, right, top, bottom } = edgesOf(plan.items.get(end));
      const [x, y] = pointsOf(way.d).at(-1);
      const [[headX, headY, direction]] = way.heads;
      assert.deepEqual([headX, headY], [x, y], what);
      if (direction === "up") assert.ok(isNear(y, bottom) && x >= left && x <= right, what);
      else assert.ok(isNear(x, direction === "right" ? left : right) && y >= top && y <= bottom, what);
      const [fromX, fromY] = pointsOf(way.d).findLast((point) => point[0] !== x || point[1] !== y);
      if (direction === "up") assert.ok(fromY > y, what);
      else assert.ok(direction === "right" ? fromX < x : fromX > x, what);
    }
  }
});

test("each arrow leaves the box where it starts, or the stream below the layer", () => {
  for (const layer of [0, 2, 3]) {
    const { plan, ways } = drawn(layer);
    for (const { start, end, flow, memory, way } of ways) {
      if (memory) continue; // leaves the line beside the decoder
      const from = plan.items.get(start) ?? plan.edges.get(start);
      const { left, right, top } = edgesOf(from);
      const [[x, y]] = pointsOf(way.d);
      const what = `${flow} of ${start} to ${end}, layer ${layer}`;
      if (from.pill) assert.ok((isNear(x, left) || isNear(x, right)) && isNear(y, from.y), what);
      else assert.ok(isNear(x, from.x) && y <= top && y >= top - 9, what);
      assert.deepEqual(way.dot, flow === "residual" ? [x, y] : undefined, what);
    }
  }
});

test("keys, values and queries enter an attention apart, in one order everywhere", () => {
  const { plan, ways } = drawn(1);
  for (const end of ["encoder.*.attn", "decoder.*.attn", "decoder.*.cross"]) {
    const xOf = (flow) => ways.find((one) => one.end === end && one.flow === flow).way.heads[0][0];
    assert.ok(xOf("key") + 20 < xOf("value") && xOf("value") + 20 < xOf("query"), end);
    const { left, right } = edgesOf(plan.items.get(end));
    for (const one of ways.filter((one) => one.end === end && one.way.letter)) {
      assert.ok(Math.abs(one.way.letter[0] - one.way.heads[0][0]) === 5 && one.way.letter[0] > left && one.way.letter[0] < right);
    }
  }
});

test("residual arrows go around outside of what they pass, on the side of their stack, and into a norm on the other", () => {
  const { plan, ways } = drawn(1);
  for (const { end, way } of ways.filter(({ flow }) => flow === "residual")) {
    const { left, right } = edgesOf(plan.items.get(end.replace(/(add|norm_mlp).*/, end.includes("_2") ? "mlp" : "attn")));
    const xs = pointsOf(way.d).map(([x]) => x);
    if (end.startsWith("encoder") || end.endsWith("norm_mlp")) assert.ok(Math.min(...xs) < left && Math.max(...xs) <= right);
    else assert.ok(Math.max(...xs) > right && Math.min(...xs) >= left);
  }
});

test("the memory's line reaches every decoder layer, at its height and its border", () => {
  const { plan } = drawn(2);
  const plates = plan.plates.filter(({ stack: name }) => name === "decoder");
  const cross = plan.items.get("decoder.*.cross");
  const targets = plates.map(({ y, frame }) => ({ y, end: frame.left, isPlate: true }));
  targets.push({ y: cross.y + cross.height / 2 + 20, end: cross.x + MEMORY_SLOT.value });
  const { d, heads } = memoryTrunk(plan.items.get("encoder.*.add_2"), targets);
  assert.deepEqual(heads, plates.map(({ y, frame }) => [frame.left, y, "right"]));
  const ys = targets.map(({ y }) => y);
  assert.ok(Math.min(...ys) < plan.items.get("encoder.*.add_2").y); // the decoder is the higher one
  const lines = [...d.matchAll(/M[\d.]+ ([\d.]+)V([\d.]+)/g)].map(([, from, to]) => [Number(from), Number(to)]);
  assert.ok(lines.some(([from, to]) => from <= Math.min(...ys) && to >= Math.max(...ys)), "one line beside all of them");
  const levels = pointsOf(d).map(([, y]) => y);
  for (const { y, end } of targets) {
    assert.ok(pointsOf(d).some((point) => point[0] === end && point[1] === y));
    assert.ok(levels.filter((level) => level === y).length >= 2); // from the line to there
  }
});

test("boxes of a stack stand one above the other, and none meets another", () => {
  for (const layer of [0, 1, 3]) {
    const { plan } = drawn(layer);
    const all = [...plan.items.values(), ...plan.plates.map((plate) => ({ ...plate, width: 196 }))].map(edgesOf);
    all.forEach((one, i) => {
      for (const other of all.slice(i + 1)) {
        const isApart = one.right <= other.left || other.right <= one.left || one.bottom <= other.top + 0.01 || other.bottom <= one.top + 0.01;
        assert.ok(isApart);
      }
    });
    for (const name of ["encoder", "decoder"]) {
      const plates = plan.plates.filter(({ stack: of }) => of === name);
      assert.deepEqual(plates.map(({ layer: of }) => of), [0, 1, 2, 3].filter((of) => of !== layer));
      const ys = plates.map(({ y }) => y);
      assert.deepEqual(ys, ys.toSorted((one, other) => other - one)); // later layers above
    }
  }
});
