// The numbers of Attention step by step, as they are written.

import assert from "node:assert/strict";
import { test } from "node:test";

import { readSteps, valueAt, writeNumber } from "../../../../../pages/learn/steps/components/steps/numbers.js";

test("a number is written as short as it can be read", () => {
  assert.equal(writeNumber(0.12346), "0.1235");
  assert.equal(writeNumber(-0.00001), "−1.00e−5"); // it would be 0.0000
  assert.equal(writeNumber(0.00005), "5.00e−5");
  assert.equal(writeNumber(0.000051), "0.0001");
  assert.equal(writeNumber(0), "0.0000");
  assert.equal(writeNumber(1234.56), "1234.6");
  assert.equal(writeNumber(-1234.56, 2), "−1235");
  assert.equal(writeNumber(-Infinity), "−∞");
  assert.equal(writeNumber(-0.001, 2), "−1.00e−3");
});

test("quantities lie one behind the other, row by row", () => {
  const header = { quantities: [{ name: "q", shape: [2, 3] }, { name: "mask", shape: [1, 2] }] };
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  const floats = Buffer.from(Float32Array.from([1, 2, 3, 4, -5, 6, -Infinity, 0]).buffer);
  const { quantities } = readSteps(new Uint8Array(Buffer.concat([length, json, floats])));
  assert.equal(valueAt(quantities.get("q"), 1, 1), -5);
  assert.equal(quantities.get("q").most, 6);
  assert.equal(valueAt(quantities.get("mask"), 0, 0), -Infinity);
  assert.equal(quantities.get("mask").most, 1);
});
