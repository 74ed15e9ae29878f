// The numbers of Attention step by step, as they are written.

import assert from "node:assert/strict";
import { test } from "node:test";

import { packed } from "../../../packed.js";
import { makeOfQuery, readSteps, valueAt, writeNumber } from "../../../../../pages/learn/steps/components/steps/numbers.js";

test("a number is written as short as it can be read", () => {
  assert.equal(writeNumber(0.12346), "0.1235");
  assert.equal(writeNumber(-0.00001), "−1.00e−5"); // it would be 0.0000
  assert.equal(writeNumber(0.00005), "5.00e−5");
  assert.equal(writeNumber(0.000051), "0.0001");
  assert.equal(writeNumber(0), "0.0000");
  assert.equal(writeNumber(-1234.56, 2), "−1235");
  assert.equal(writeNumber(-Infinity), "−∞");
});

test("quantities follow each other, row by row", () => {
  const header = { quantities: [{ name: "q", shape: [2, 3] }, { name: "mask", shape: [1, 2] }] };
  const { quantities } = readSteps(packed(header, Float32Array.of(1, 2, 3, 4, -5, 6, -Infinity, 0)));
  assert.equal(valueAt(quantities.get("q"), 1, 1), -5);
  assert.equal(quantities.get("q").most, 6);
  assert.equal(valueAt(quantities.get("mask"), 0, 0), -Infinity);
  assert.equal(quantities.get("mask").most, 1);
});

test("products are scaled by their own largest number, weighted values by that of the values, so that small weights fade", () => {
  const quantity = (width, values) => ({ n: values.length / width, width, values: Float32Array.from(values), most: Math.max(...values.map(Math.abs)) });
  const quantities = new Map(Object.entries({ q: quantity(2, [9, 9, 1, -2]), k: quantity(2, [3, 1, -1, 4, 0, 5]), v: quantity(2, [8, 2, 1, -4, 6, 0]), pattern: quantity(3, [1, 0, 0, 0.25, 0.5, 0.25]) }));
  makeOfQuery({ quantities, query: 1, header: { pairs: { elementwise: { symbol: "q k" }, weighted: { symbol: "A v" } } } });
  const fields = (name) => ["values", "most", "rows", "columns", "symbol"].map((part) => quantities.get(name)[part]);
  assert.deepEqual(fields("elementwise"), [Float32Array.of(3, -2, -1, -8, 0, -10), 10, "key", "d_head", "q k"]);
  assert.deepEqual(fields("weighted"), [Float32Array.of(2, 0.5, 0.5, -2, 1.5, 0), 8, "key", "d_head", "A v"]);
});
