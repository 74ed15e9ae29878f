// The figure of the steps as it is painted: each number where it is pointed at, in the color of its value.

import assert from "node:assert/strict";
import { test } from "node:test";

import { between, isNear, read } from "../../../canvas.js";
import { COLORS, made as shown, STAGES } from "./made_steps.js";
import { markAt, numberRect } from "../../../../../pages/learn/steps/components/steps/marks.js";
import { shownCell, wholeCell } from "../../../../../pages/learn/steps/components/steps/numbers.js";
import { paint } from "../../../../../pages/learn/steps/components/steps/paint.js";

const { light } = COLORS;
const FIRST = { query: 10, key: 20 };
const figureAt = ({ stage = STAGES.length - 1, query = 2, key = 3 } = {}) =>
  shown({ at: { stage: STAGES[stage][0], query: FIRST.query + query, key: FIRST.key + key } }).root.view;

/** The color of a number by the definition of its scale, mixed again. */
function colorOf({ name, hue, most }, value) {
  if (value === -Infinity || (name === "mask" && !value)) return read(light.forbidden);
  const even = (colors) => colors.map((color, i) => [i / (colors.length - 1), color]);
  if (name === "mask") return between(even(light.sequential), 46 / 255);
  if (hue === "weight") return between(even(light.sequential), value ** 0.77);
  const share = Math.max(-1, Math.min(1, value / most));
  const colors = hue ? [light.muted, light.background, light[hue]] : light.diverging;
  return between(even(colors), 0.5 + 0.5 * Math.sign(share) * Math.abs(share) ** 0.8);
}

function* numbersOf(view) {
  for (const quantity of view.quantities.values()) {
    for (let row = 0; row < quantity.n; row++) {
      for (let column = 0; column < quantity.width; column++) {
        const mark = { name: quantity.name, row, column };
        const rect = numberRect(view, view.boxes, mark);
        if (rect) yield { quantity, mark, rect, value: quantity.values[row * quantity.width + column] };
      }
    }
  }
}

const middle = ({ x, y, w, h }) => [x + w / 2, y + h / 2];

test("each number of the query and of all keys is painted where it is pointed at, in the color of its value", () => {
  for (const query of [0, 2, 3]) {
    const view = figureAt({ query });
    const seen = new Set();
    for (const { quantity, mark, rect, value } of numbersOf(view)) {
      const [x, y] = middle(rect);
      const what = `${mark.name}, row ${mark.row}, column ${mark.column}, query ${query}`;
      assert.deepEqual(markAt(view, x, y), mark, what);
      seen.add(mark.name);
      if (mark.name === "pattern") continue; // a bar
      assert.ok(isNear(view.canvas.pixel(Math.floor(x), Math.floor(y)), colorOf(quantity, value), 2.5), what);
    }
    assert.deepEqual([...seen].sort(), [...view.home.keys()].sort());
  }
});

test("a key that is pointed at is painted like a chosen one, with its links in front", () => {
  for (const stage of STAGES.keys()) {
    const [view, other] = [figureAt({ key: 3, stage }), figureAt({ key: 0, stage })];
    const paths = (one) => JSON.stringify(one.canvas.getContext("2d").paths);
    paint(Object.assign(view, { pointedKey: 0 }));
    assert.equal(paths(view), paths(other), STAGES[stage][0]);
    paint(Object.assign(view, { pointedKey: null }));
    assert.notEqual(paths(view), paths(other), STAGES[stage][0]);
  }
});

test("a bar is as long as its weight, and what the mask forbids has none", () => {
  const view = figureAt({ stage: 4 });
  for (const { mark, rect, value } of numbersOf(view)) {
    if (mark.name !== "pattern") continue;
    const y = Math.floor(middle(rect)[1]);
    const at = (share) => view.canvas.pixel(Math.floor(rect.x + share * rect.w), y);
    const isLong = (share) => isNear(at(share), read(light.accent)) && at(share)[3] === 255;
    for (const share of [0.1, 0.3, 0.5, 0.7, 0.9]) {
      if (Math.abs(share - value) > 0.03) assert.equal(isLong(share), share < value, `weight ${value} at ${share}`);
    }
  }
});

test("the present stage's numbers have their own frames", () => {
  const view = figureAt();
  Object.assign(view, { pointed: { name: "z", row: view.query, column: 1 }, cell: { name: "k", row: 4, column: 2 } });
  paint(view);
  const frames = view.canvas.getContext("2d").frames.map(({ box }) => middle({ x: box[0], y: box[1], w: box[2], h: box[3] }));
  assert.deepEqual(frames, [view.pointed, view.cell].map((mark) => middle(numberRect(view, view.boxes, mark))));
});

test("a number's place in the whole text leads back to where it is shown", () => {
  const [view, other] = [figureAt({ query: 2 }), figureAt({ query: 3 })];
  for (const { mark } of numbersOf(view)) {
    const whole = wholeCell(view, mark);
    assert.deepEqual(shownCell(view, whole), mark);
    const isOfQuery = ["elementwise", "weighted"].includes(mark.name);
    assert.deepEqual(shownCell(other, whole), isOfQuery ? null : mark);
  }
  assert.deepEqual(wholeCell(view, { name: "pattern", row: 2, column: 1 }), ["pattern", 2 + FIRST.query, 1 + FIRST.key]);
  assert.deepEqual(wholeCell(view, { name: "weighted", row: 1, column: 2 }), ["weighted", (2 + FIRST.query) * 50 + 1 + FIRST.key, 2]);
});
