// What all components share: words and numbers, what Python packs, what they tell each other, and values that Python shares.

import assert from "node:assert/strict";
import { test } from "node:test";

import { shownStep } from "../../../headlight/components/kit/channel.js";
import { unpack } from "../../../headlight/components/kit/packing.js";
import { fixed, probability, scientific, short, significant } from "../../../headlight/components/kit/numbers.js";
import { say, sayNumber } from "../../../headlight/components/kit/say.js";
import { SharedValue } from "../../../headlight/components/kit/shared_value.js";

test("values are put into a text; what has none stays as it is", () => {
  assert.equal(say("{n} of {m}, {n}", { n: 0, m: "x" }), "0 of x, 0");
  assert.equal(say("{n} of {m}", { n: 3 }), "3 of {m}");
  assert.equal(say("{n}", { n: "{m}", m: "no" }), "{m}");
});

test("a header and bytes, wherever they begin in their buffer", () => {
  const header = Buffer.from(JSON.stringify({ name: "ü", n: 2 }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.length);
  const whole = Buffer.concat([Buffer.from("before"), length, header, Buffer.from([7, 8])]);
  const { header: read, rest } = unpack(new Uint8Array(whole).subarray(6));
  assert.deepEqual(read, { name: "ü", n: 2 });
  assert.deepEqual([...rest], [7, 8]);
});

test("a part that has left the page receives nothing", () => {
  const [here, gone] = [new AbortController(), new AbortController()];
  const heard = [];
  shownStep.listen((n) => heard.push(["here", n]), here.signal);
  shownStep.listen((n) => heard.push(["gone", n]), gone.signal);
  shownStep.send(1);
  gone.abort();
  shownStep.send(2);
  here.abort();
  shownStep.send(3);
  assert.deepEqual(heard, [["here", 1], ["gone", 1], ["here", 2]]);
});

test("numbers have a true minus, and nothing is written as less than nothing", () => {
  assert.deepEqual([1.005, -1.25, -0.001, 0].map((value) => fixed(value, 2)), ["1.00", "−1.25", "0.00", "0.00"]);
  assert.deepEqual([0.125, 0.375].map((value) => fixed(value, 2)), ["0.12", "0.38"]); // ties as in Python
  assert.deepEqual([Infinity, -Infinity, NaN].map((value) => fixed(value, 2)), ["∞", "−∞", "NaN"]);
  assert.equal(scientific(-0.00012, 1), "−1.2e−4");
  assert.deepEqual([12.345678912, -0.0034, 123456].map((value) => significant(value, 2)), ["12", "−0.0034", "120000"]);
});

test("no probability looks like 0 or 1 that is not", () => {
  const values = [0, 0.004, 0.006, 0.994, 0.996, 1];
  assert.deepEqual(values.map(probability), ["0.00", "<0.01", "0.01", "0.99", ">0.99", "1.00"]);
});

test("a short number has two digits that count, and two decimals at least", () => {
  assert.deepEqual([99.99, 100, -100, 0.1, 0.0999, 1e-6, 9.9e-7].map(short), ["99.99", "100", "−100", "0.10", "0.10", "0.0000010", "9.9e−7"]);
});

test("of one thing, or of another number of them", () => {
  const counted = (n) => sayNumber(n, "{n} token{end}", "{n} tokens{end}", { end: "!" });
  assert.deepEqual([0, 1, 2, 1200].map(counted), ["0 tokens!", "1 token!", "2 tokens!", "1,200 tokens!"]);
});

function sharedValue() {
  const sent = [];
  const shared = new SharedValue((message) => sent.push(message));
  assert.ok(shared.hear({ revision: 7, value: "first" }));
  return { shared, sent };
}

test("an answer that is older than what a person has done since does not hold, and the answer to that does", () => {
  const { shared, sent } = sharedValue();
  shared.tell("second");
  shared.tell("third");
  assert.deepEqual(sent, [{ revision: 8, value: "second" }, { revision: 9, value: "third" }]);
  assert.equal(shared.hear({ revision: 7, value: "first" }), false);
  assert.equal(shared.hear({ revision: 8, value: "second" }), false);
  assert.ok(shared.hear({ revision: 9, value: "third" }));
});

test("while a person changes it, an answer to what was done before does not hold", () => {
  const { shared, sent } = sharedValue();
  shared.tell("second");
  shared.touch();
  shared.touch();
  assert.ok(shared.isTouched);
  assert.equal(shared.hear({ revision: 8, value: "second" }), false);
  shared.tell("third");
  assert.equal(shared.isTouched, false);
  assert.deepEqual(sent.at(-1), { revision: 9, value: "third" });
});
