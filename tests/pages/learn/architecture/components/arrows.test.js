// The arrows on the drawing of a model: each leaves where it starts, ends at its box, and points into it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { alone, flow, made, pair } from "./made_drawing.js";
import { wayOf } from "../../../../../pages/learn/architecture/components/drawing/arrows.js";

/** A decoder whose feed-forward network reads what the attention beside it reads. */
function parallel() {
  const data = alone(2);
  data.arrows.push(flow("decoder.below", "decoder.*.ln2", "residual"));
  return data;
}

/** The plans of several models, each with the ways of its arrows. */
const drawn = [pair(), pair({ encoder: 0, decoder: 4 }), pair({ encoder: 2, decoder: 0 }), alone(0), alone(3), parallel()].map((data) => {
  const drawing = made(data);
  const { plan } = drawing.root.view;
  drawing.leave();
  const memoryTo = new Set(data.arrows.filter(({ memory }) => memory).map(({ end }) => end));
  const ways = data.arrows.map((arrow) => ({ ...arrow, way: wayOf({ ...arrow, isMemory: arrow.memory, hasMemory: memoryTo.has(arrow.end) }, plan) }));
  return { plan, ways };
});
const arrows = drawn.flatMap(({ plan, ways }) => ways.map((one) => ({ plan, ...one, what: `${one.flow} of ${one.start} to ${one.end}` })));

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
  for (const { plan, end, way, what } of arrows) {
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
});

test("each arrow leaves the box where it starts, or the stream below the layer; a dot is where it parts from the stream", () => {
  for (const { plan, start, flow: kind, way, what } of arrows.filter(({ memory }) => !memory)) {
    const from = plan.items.get(start) ?? plan.edges.get(start);
    const { left, right, top } = edgesOf(from);
    const [[x, y]] = pointsOf(way.d);
    if (kind === "inside") assert.ok(x >= left && x <= right && isNear(y, top), what);
    else if (from.pill) assert.ok((isNear(x, left) || isNear(x, right)) && isNear(y, from.y), what);
    else assert.ok(isNear(x, from.x) && y <= top && y >= top - 9, what);
    assert.deepEqual(way.dot, kind === "residual" ? [x, y] : undefined, what);
  }
});

test("keys, values and queries enter an attention apart, in one order everywhere", () => {
  for (const { ways } of drawn) {
    for (const end of new Set(ways.filter(({ flow: kind }) => kind === "key").map((one) => one.end))) {
      const xOf = (kind) => ways.find((one) => one.end === end && one.flow === kind).way.heads[0][0];
      assert.ok(xOf("key") + 20 < xOf("value") && xOf("value") + 20 < xOf("query"), end);
    }
  }
});

test("residual arrows go around outside of what they pass, on the side of their stack, and into a norm on the other", () => {
  for (const { plan, end, way, what } of arrows.filter(({ flow: kind }) => kind === "residual")) {
    const { left, right } = edgesOf(plan.items.get(end.replace(/\w+$/, "mlp")));
    const xs = pointsOf(way.d).map(([x]) => x);
    const isLeft = end.startsWith("encoder") !== (plan.items.get(end).box.kind === "norm");
    if (isLeft) assert.ok(Math.min(...xs) < left && Math.max(...xs) <= right, what);
    else assert.ok(Math.max(...xs) > right && Math.min(...xs) >= left, what);
  }
});

test("boxes and plates stand one above the other, later layers above, and none meets another", () => {
  for (const { plan } of drawn) {
    const all = [...plan.items.values(), ...plan.plates.map((plate) => ({ ...plate, width: 196 }))].map(edgesOf);
    all.forEach((one, i) => {
      for (const other of all.slice(i + 1)) {
        assert.ok(one.right <= other.left || other.right <= one.left || one.bottom <= other.top + 0.01 || other.bottom <= one.top + 0.01);
      }
    });
    for (const name of ["encoder", "decoder"]) {
      const ys = plan.plates.filter(({ stack }) => stack === name).map(({ y }) => y);
      assert.deepEqual(ys, ys.toSorted((one, other) => other - one));
    }
  }
});
