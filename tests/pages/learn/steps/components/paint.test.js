// The figure of the steps as it is painted: each number where it is pointed at, in the color of its value.

import assert from "node:assert/strict";
import { test } from "node:test";

import { HUES, STAGES } from "./stages.js";
import { between, Canvas, isNear, random, read } from "../../../canvas.js";
import { inkOf, makePalette, pictureOf } from "../../../../../pages/learn/steps/components/steps/colors.js";
import { heights, makeColumns, rectOf } from "../../../../../pages/learn/steps/components/steps/columns.js";
import { linkStages } from "../../../../../pages/learn/steps/components/steps/links.js";
import { makeOfQuery, readSteps, shownCell, wholeCell } from "../../../../../pages/learn/steps/components/steps/numbers.js";
import { paint } from "../../../../../pages/learn/steps/components/steps/paint.js";
import { markAt, numberRect } from "../../../../../pages/learn/steps/components/steps/pointing.js";
import { turnNow } from "../../../../../pages/learn/steps/components/steps/travel.js";

const [N_QUERIES, N_KEYS, D_MODEL, D_HEAD, N_HEADS] = [4, 5, 6, 3, 2];
const SIZES = { query: N_QUERIES, key: N_KEYS, d_model: D_MODEL, d_head: D_HEAD, "head d_head": N_HEADS * D_HEAD };
const COLORS = {
  diverging: ["#b35806", "#f7f7f7", "#542788"],
  sequential: ["#ffffff", "#7070d0", "#101040"],
  ...{ background: "#ffffff", muted: "#808080", forbidden: "#c0c4c8", text: "#101114", accent: "#4040c0", border: "#dddddd" },
  ...{ query: "#1060c0", key: "#c06010", value: "#10a060" },
};

function made({ stage = STAGES.length - 1, query = 2, key = 3, first = { query: 10, key: 20 }, width = 1100 } = {}) {
  const next = random(7);
  const quantities = new Map(STAGES.flatMap(([, matrices]) => Object.entries(matrices)));
  const valueOf = (name, i) => {
    if (name === "mask") return Number(i % 3 > 0);
    if (name === "attn_scores" && i % 3 === 0) return -Infinity;
    return name === "pattern" ? next() : 4 * (next() - 0.5);
  };
  const told = [...quantities].map(([name, [rows, columns]]) => {
    return { name, symbol: name, caption: name, title: name, rows, columns, hue: HUES[name] ?? "", shape: [SIZES[rows], SIZES[columns]] };
  });
  const numbers = told.map(({ name, shape: [n, wide] }) => Array.from({ length: n * wide }, (_, i) => valueOf(name, i)));
  const pair = (symbol, hue) => ({ symbol, caption: symbol, title: symbol, hue, size: "" });
  const header = {
    stages: STAGES.map(([name, matrices]) => ({ name, title: name, notice: "", matrices: Object.keys(matrices) })),
    quantities: told,
    pairs: { elementwise: pair("q*k", ""), weighted: pair("Av", "value") },
    query: Array.from({ length: N_QUERIES }, (_, i) => `q${i}`),
    key: Array.from({ length: N_KEYS }, (_, i) => `k${i}`),
    ...{ first, nQueries: 40, nKeys: 50, head: 1, nHeads: N_HEADS, dHead: D_HEAD, isSelf: false },
    colors: { light: COLORS },
  };
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  const bytes = Buffer.concat([length, json, Buffer.from(Float32Array.from(numbers.flat()).buffer)]);
  const view = { ...readSteps(new Uint8Array(bytes)), stage, stageName: STAGES[stage][0], query, key, cell: null, width, font: "sans" };
  Object.assign(view, makeColumns(view), { pointed: null, pointedKey: null, motion: null, layouts: null });
  view.born = linkStages(view);
  view.lines = heights(view);
  view.palette = makePalette(view.header, "light");
  makeOfQuery(view);
  const part = () => ({ style: {}, dataset: {} });
  Object.assign(view, { canvas: new Canvas(), labels: part(), asking: part(), keys: view.header.key.map(part) });
  paint(view);
  return view;
}

/** The color of a number by the definition of its scale, mixed anew. */
function colorOf({ name, hue, most }, value) {
  if (value === -Infinity || (name === "mask" && !value)) return read(COLORS.forbidden);
  const even = (colors) => colors.map((color, i) => [i / (colors.length - 1), color]);
  if (name === "mask") return between(even(COLORS.sequential), 46 / 255);
  if (hue === "weight") return between(even(COLORS.sequential), value ** 0.77);
  const share = Math.max(-1, Math.min(1, value / most));
  const colors = hue ? [COLORS.muted, COLORS.background, COLORS[hue]] : COLORS.diverging;
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
    const view = made({ query });
    const seen = new Set();
    for (const { quantity, mark, rect, value } of numbersOf(view)) {
      const [x, y] = middle(rect);
      const what = `${mark.name}, row ${mark.row}, column ${mark.column}, query ${query}`;
      assert.deepEqual(markAt(view, x, y), mark, what);
      seen.add(mark.name);
      if (mark.name === "pattern") continue; // a bar
      assert.ok(isNear(view.canvas.pixel(Math.floor(x), Math.floor(y)), colorOf(quantity, value), 2.5), what);
    }
    assert.deepEqual([...seen].sort(), [...view.quantities.keys()].sort());
  }
});

test("the rows of keys are where their tokens are", () => {
  const view = made();
  const { top, pitch } = view.lines;
  view.keys.forEach(({ style }, row) => {
    const rect = rectOf(view, "rows", view.boxes[1], row);
    assert.equal(rect.y + rect.h / 2, top + (row + 0.5) * pitch);
    assert.deepEqual([style.top, style.height], [`${top + row * pitch}px`, `${pitch}px`]);
  });
});

test("behind the key that is pointed at, or else behind the chosen one, lies a band of its row", () => {
  const view = made({ key: 3 });
  const { top, pitch } = view.lines;
  for (const [pointedKey, row] of [[null, 3], [4, 4], [0, 0]]) {
    paint(Object.assign(view, { pointedKey }));
    const bands = view.canvas.getContext().paths.filter(({ color }) => color === `${COLORS.text}14`);
    assert.deepEqual(bands.map(({ points: [[, , y, , height]] }) => [y, height]), [[top + row * pitch, pitch]]);
  }
});

test("a key that is pointed at is painted like a chosen one, with its links in front", () => {
  for (const stage of STAGES.keys()) {
    const [view, other] = [made({ key: 3, stage }), made({ key: 0, stage })];
    const paths = (one) => JSON.stringify(one.canvas.getContext().paths);
    paint(Object.assign(view, { pointedKey: 0 }));
    assert.equal(paths(view), paths(other), STAGES[stage][0]);
    paint(Object.assign(view, { pointedKey: null }));
    assert.notEqual(paths(view), paths(other), STAGES[stage][0]);
  }
});

test("the gap below a head of a vector still belongs to its last number", () => {
  const view = made({ query: 1 });
  const rects = Array.from({ length: N_HEADS * D_HEAD }, (_, column) => numberRect(view, view.boxes, { name: "concat", row: 1, column }));
  const [last, next] = [rects[D_HEAD - 1], rects[D_HEAD]];
  const x = last.x + last.w / 2;
  assert.ok(next.y - (last.y + last.h) > 2);
  for (const [y, column] of [[last.y + last.h - 0.1, D_HEAD - 1], [last.y + last.h + 1, D_HEAD - 1], [next.y - 0.1, D_HEAD - 1], [next.y + 0.1, D_HEAD]]) {
    assert.deepEqual(markAt(view, x, y), { name: "concat", row: 1, column });
  }
});

test("a bar is as long as its weight, and what the mask forbids has none", () => {
  const view = made({ stage: 4 });
  for (const { mark, rect, value } of numbersOf(view)) {
    if (mark.name !== "pattern") continue;
    const y = Math.floor(middle(rect)[1]);
    const at = (share) => view.canvas.pixel(Math.floor(rect.x + share * rect.w), y);
    const isLong = (share) => isNear(at(share), read(COLORS.accent)) && at(share)[3] === 255;
    for (const share of [0.1, 0.3, 0.5, 0.7, 0.9]) {
      if (Math.abs(share - value) > 0.03) assert.equal(isLong(share), share < value, `weight ${value} at ${share}`);
    }
  }
});

test("in cells stand their numbers, in an ink that can be read", () => {
  const view = made({ stage: 2 });
  const product = view.quantities.get("product");
  for (let key = 0; key < N_KEYS; key++) {
    const value = product.values[view.query * N_KEYS + key];
    const [x, y] = middle(numberRect(view, view.boxes, { name: "product", row: view.query, column: key }));
    const text = view.canvas.brush.texts.find((one) => Math.hypot(one.x - x, one.y - y) < 2);
    assert.equal(text?.text, value.toFixed(2).replace("-", "−"));
    assert.equal(text.color, inkOf(view.palette, product, value));
  }
});

test("the present stage's numbers are pointed at by frames of their own", () => {
  const view = made();
  Object.assign(view, { pointed: { name: "z", row: view.query, column: 1 }, cell: { name: "k", row: 4, column: 2 } });
  paint(view);
  const frames = view.canvas.brush.frames.map(({ box }) => middle({ x: box[0], y: box[1], w: box[2], h: box[3] }));
  assert.deepEqual(frames, [view.pointed, view.cell].map((mark) => middle(numberRect(view, view.boxes, mark))));
});

test("a picture of a quantity has a pixel for each number, upright or not", () => {
  const view = made();
  for (const quantity of view.quantities.values()) {
    for (const isUpright of [false, true]) {
      const picture = pictureOf(view.palette, quantity, isUpright);
      quantity.values.forEach((value, i) => {
        const [row, column] = [Math.floor(i / quantity.width), i % quantity.width];
        const at = isUpright ? [row, column] : [column, row];
        assert.ok(isNear(picture.pixel(...at), colorOf(quantity, value), 2.5), `${quantity.name} ${row} ${column}`);
      });
    }
  }
});

test("a number's place in the whole text leads back to where it is shown", () => {
  const [view, other] = [made({ query: 2 }), made({ query: 3 })];
  for (const { mark } of numbersOf(view)) {
    const whole = wholeCell(view, mark);
    assert.deepEqual(shownCell(view, whole), mark);
    const isOfQuery = ["elementwise", "weighted"].includes(mark.name);
    assert.deepEqual(shownCell(other, whole), isOfQuery ? null : mark);
  }
  const { first } = view.header;
  assert.deepEqual(wholeCell(view, { name: "pattern", row: 2, column: 1 }), ["pattern", 2 + first.query, 1 + first.key]);
  assert.deepEqual(wholeCell(view, { name: "weighted", row: 1, column: 2 }), ["weighted", (2 + first.query) * 50 + 1 + first.key, 2]);
});

test("what is made of numbers that are new themselves sets out when these have arrived", () => {
  let nChains = 0;
  STAGES.forEach((_, stage) => {
    const view = made({ stage });
    const { links, fresh } = view.header.stages[stage];
    for (let time = 0; time <= 1; time += 1 / 16) {
      view.motion = { from: stage - 1, share: time, time, flies: true };
      for (const { from, to } of links) {
        const [before, now] = [from, to].map((name) => turnNow(view, name));
        if (time === 0) assert.ok(now <= 0, `${to} has not set out`);
        if (time === 1) assert.ok(now >= 1, `${to} has arrived`);
        if (!fresh.includes(from) || !links.some((link) => link.to === from)) continue;
        nChains += 1;
        assert.ok(now <= 0 || before >= 1, `${to} at ${time}, with ${from} at ${before}`);
      }
    }
  });
  assert.ok(nChains > 0);
});
