// What all components share: words and numbers, what Python packs, what they tell each other, and values that Python shares.

import assert from "node:assert/strict";
import { test } from "node:test";

import { channels, mixed } from "../../../pages/components/kit/colors.js";
import { shownStep } from "../../../pages/components/kit/channel.js";
import { unpack } from "../../../pages/components/kit/packing.js";
import { fixed, probability, roundStep, scientific, short, significant, thousands } from "../../../pages/components/kit/numbers.js";
import { say, sayNumber } from "../../../pages/components/kit/say.js";
import { SharedValue } from "../../../pages/components/kit/shared_value.js";

test("values are put into a text; what has none stays as it is", () => {
  assert.equal(say("{n} of {m}, {n}", { n: 0, m: "x" }), "0 of x, 0");
  assert.equal(say("{n} of {m}", { n: 3 }), "3 of {m}");
  assert.equal(say("{n}", { n: "{m}", m: "no" }), "{m}");
});

test("thousands are set apart", () => {
  assert.equal(thousands(1234567), "1,234,567");
  assert.equal(thousands(999), "999");
  assert.equal(thousands(6283.19, 1), "6,283.2");
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

test("what has left the page is told nothing", () => {
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

test("who leaves because of what it was told does not silence the others", () => {
  const [first, second] = [new AbortController(), new AbortController()];
  let heard = 0;
  shownStep.listen(() => first.abort(), first.signal);
  shownStep.listen(() => heard++, second.signal);
  shownStep.send(1);
  assert.equal(heard, 1);
  second.abort();
});

test("numbers have a true minus, and nothing is written as less than nothing", () => {
  assert.deepEqual([1.005, -1.25, -0.001, 0].map((value) => fixed(value, 2)), ["1.00", "−1.25", "0.00", "0.00"]);
  assert.deepEqual([Infinity, -Infinity, NaN].map((value) => fixed(value, 2)), ["∞", "−∞", "NaN"]);
  assert.equal(scientific(-0.00012, 1), "−1.2e−4");
  assert.deepEqual([12.345678912, -0.0034, 123456].map((value) => significant(value, 2)), ["12", "−0.0034", "120000"]);
  assert.equal(fixed(12345.6, 1), "12345.6");
});

test("ties go to the even digit, as in Python", () => {
  assert.deepEqual([0.125, 0.375, 0.625, -0.125].map((value) => fixed(value, 2)), ["0.12", "0.38", "0.62", "−0.12"]);
});

test("no probability looks like 0 or 1 that is not", () => {
  const values = [0, 0.004, 0.006, 0.994, 0.996, 1];
  assert.deepEqual(values.map(probability), ["0.00", "<0.01", "0.01", "0.99", ">0.99", "1.00"]);
});

test("colors are mixed between their neighbours, and stay at the ends", () => {
  const stops = [[0, channels("#000000")], [0.5, channels("#FF0000")], [1, channels("#FFFFFF")]];
  assert.deepEqual(channels("#1a2B3c"), [26, 43, 60]);
  assert.deepEqual(mixed(stops, 0), [0, 0, 0]);
  assert.deepEqual(mixed(stops, 0.25), [128, 0, 0]);
  assert.deepEqual(mixed(stops, 0.5), [255, 0, 0]);
  assert.deepEqual(mixed(stops, 0.75), [255, 128, 128]);
  assert.deepEqual([mixed(stops, -1), mixed(stops, 2)], [[0, 0, 0], [255, 255, 255]]);
});

test("round steps are 1, 2, 5 and ten times as much", () => {
  const least = [0.1, 1, 1.5, 2, 3, 5, 6, 10, 11, 49, 50, 51, 501];
  assert.deepEqual(least.map(roundStep), [1, 1, 2, 2, 5, 5, 10, 10, 20, 50, 50, 100, 1000]);
});

test("a short number has two digits that count, and two decimals at least", () => {
  assert.deepEqual([99.99, 100, -100, 0.1, 0.0999, 1e-6, 9.9e-7].map(short), ["99.99", "100", "−100", "0.10", "0.10", "0.0000010", "9.9e−7"]);
  assert.deepEqual([0, 0.25, 3.14159, 0.01234, -0.0004, 2.5e-7, 250.4].map(short), ["0.00", "0.25", "3.14", "0.012", "−0.00040", "2.5e−7", "250"]);
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

test("what Python says first holds, whatever its revision", () => {
  assert.ok(new SharedValue(() => {}).hear({ revision: 0, value: null }));
});

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

test("what Python changed itself holds, even while a person changes it", () => {
  const { shared, sent } = sharedValue();
  shared.touch();
  assert.ok(shared.hear({ revision: 8, value: "Python's" }));
  assert.equal(shared.isTouched, false);
  shared.tell("a person's");
  assert.deepEqual(sent, [{ revision: 9, value: "a person's" }]);
});
