// A number and its formula as a whole component: its terms, its constants, and how exact it is.

import assert from "node:assert/strict";
import { test } from "node:test";

import { prefer, run, shown } from "../../../dom.js";
import { ask } from "../../../../../pages/learn/steps/components/steps/asked.js";
import show from "../../../../../pages/learn/steps/components/steps/steps_number.js";

const term = (i, a, b = null, value = a * (b ?? 1)) => ({ label: `d ${i}`, a, b, value });
const data = (more = {}) => ({
  ...{ place: "q, query 1, dimension 2", value: 0.123456789, recomputed: 0.123456788, difference: 1e-9, torch: null, torchName: "torch", note: "" },
  formula: ["mrow", [["msub", [["mi", "q"], ["mn", "1"]]], ["mo", "="], ["mtext", "x"]]],
  ...{ constants: [], terms: [], factors: [{ symbol: "q", hue: "#1060c0" }, { symbol: "x", hue: "" }], ...more },
});
const numberOf = (more) => shown(show, "steps_number", data(more));
/** A formula as the page is given it. */
const treeOf = (node) => [node.localName, node.children.length ? [...node.children].map(treeOf) : node.textContent];
const texts = (component, selector) => component.findAll(selector).map(({ textContent }) => textContent);

test("the number, its formula and its constants are written out", () => {
  const constants = [[["mi", "d"], 32], [["mi", "a"], 0.08838834764831845], [["mi", "m"], "-Infinity"], [["mi", "e"], 0.00001], [["mi", "n"], -2.5], [["mi", "t"], 1.23456789e-7]];
  const number = numberOf({ constants, note: "A note." });
  assert.deepEqual([texts(number, ".place"), texts(number, ".value")], [["q, query 1, dimension 2"], ["= 0.12345679"]]);
  const [block, ...inline] = number.findAll("math");
  assert.deepEqual([block.getAttribute("display"), treeOf(block.firstChild)], ["block", data().formula]);
  assert.ok(inline.length === 6 && inline.every((math) => math.getAttribute("display") === "inline"));
  assert.deepEqual(texts(number, ".constant"), ["d = 32", "a = 0.088388348", "m = −∞", "e = 0.00001", "n = −2.5", "t = 1.234568e−7"]);
  assert.deepEqual(texts(number, ".note"), ["A note."]);
  assert.deepEqual([number.findAll(".terms").length, number.findAll(".checks div").length], [0, 2]);
  number.update(data({ value: 1.5e-5, formula: ["script", "alert()"] }));
  assert.deepEqual([texts(number, ".value"), texts(number, ".note"), number.findAll("script").length, texts(number, ".formula")], [["= 1.500000e−5"], [], 0, [""]]);
});

test("up to sixteen terms stand in their order, with their factors and how large each is beside the largest", () => {
  const terms = [term(0, 0.5, 2), term(1, -4, 0.5), term(2, 0.0001, 3), term(3, 250, 0)];
  const number = numberOf({ terms: [...terms, ...Array.from({ length: 12 }, (_, i) => term(i + 4, 0.25, 1))] });
  assert.equal(number.findAll(".term").length, 16);
  assert.equal(number.find("button"), null);
  assert.deepEqual(texts(number, ".product").slice(0, 4), ["0.5000 · 2.0000", "−4.0000 · 0.5000", "1.0e−4 · 3.0000", "250.0 · 0.0000"]);
  assert.deepEqual(texts(number, ".sum").slice(0, 4), ["1.0000", "−2.0000", "3.0e−4", "0.0000"]);
  number.update(data({ terms: [term(0, 1.25, null, 3.5)], factors: [] }));
  assert.deepEqual([texts(number, ".product"), texts(number, ".sum")], [["1.2500"], ["e^(S − max) = 3.5000"]]);
});

test("of more the largest are shown, and the rest on request, with their sum", () => {
  const terms = Array.from({ length: 17 }, (_, i) => term(i, (i % 2 ? -1 : 1) * (1 + ((7 * i) % 17)), 2));
  const number = numberOf({ terms });
  const largest = terms.toSorted((one, other) => Math.abs(other.value) - Math.abs(one.value));
  assert.deepEqual(texts(number, ".label"), largest.slice(0, 12).map(({ label }) => label));
  const rest = largest.slice(12).reduce((sum, { value }) => sum + value, 0);
  const more = number.find("button");
  assert.equal(more.textContent, `and 5 more, sum ${rest.toFixed(4).replace("-", "−")}`);
  more.click();
  assert.deepEqual(texts(number, ".label"), largest.map(({ label }) => label));
  assert.equal(number.find("button"), null);
  assert.equal(number.root.getRootNode().activeElement, number.findAll(".term")[12]);
  number.update(data({ terms: terms.map((one, i) => (i % 8 ? term(i, 0, 2) : one)) }));
  assert.deepEqual(texts(number, ".label"), [terms[16], terms[8], terms[0]].toSorted((one, other) => Math.abs(other.value) - Math.abs(one.value)).map(({ label }) => label));
  assert.equal(number.find("button").textContent, "and 14 more, sum 0.0000");
});

test("the model's number stands beside a recomputed one and torch's, each with its difference", () => {
  const number = numberOf({ torch: 0.123456788, torchName: "torch.nn" });
  const rows = () => number.findAll(".checks div").map((row) => [...row.children].map(({ textContent }) => textContent));
  assert.deepEqual(rows(), [["Model", "0.12345679", ""], ["Recomputed in float64", "0.12345679", "difference 1.0e−9"], ["torch.nn", "0.12345679", "difference 1.0e−9"]]);
  number.update(data({ value: "-Infinity", recomputed: "-Infinity", difference: 0, torch: "-Infinity" }));
  assert.deepEqual(rows(), [["Model", "−∞", ""], ["Recomputed in float64", "−∞", "difference 0"], ["torch", "−∞", "difference 0"]]);
});

test("the answer to a click in the figure comes into sight, once and soon, and softly where that is wanted", () => {
  const number = numberOf();
  const shows = [];
  number.root.scrollIntoView = ({ behavior }) => shows.push(behavior);
  const answer = (after) => (run(after), number.update(data()), run(16));
  answer(0);
  assert.deepEqual(shows, []);
  ask();
  answer(4800);
  assert.deepEqual(shows, ["smooth"]);
  ask();
  answer(5016);
  assert.deepEqual(shows, ["smooth"]);
  prefer("(prefers-reduced-motion: reduce)");
  ask();
  answer(0);
  assert.deepEqual(shows, ["smooth", "auto"]);
  prefer("(prefers-reduced-motion: reduce)", false);
});
