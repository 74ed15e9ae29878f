// A text that is being written, as a component: its chips, their tooltips, and where the model looks.

import assert from "node:assert/strict";
import { test } from "node:test";

import { areSame, place, point, press, resize, setTheme } from "../../../dom.js";
import { given, open, SHADES, written } from "./texts.js";
import show from "../../../../../pages/explore/decoding/components/writing/writing.js";

const SOURCE = ["the", "cat", "sees", "<eos>"];
const ALTERNATIVES = [["le", 0.6], ["la", 0.3], ["un", 0.00004]];
const TOKENS = [
  given("<bos>"), given("bon"),
  written("le", 0.6, { alternatives: ALTERNATIVES }),
  written("chat", 0.1, { kind: "forced", rank: 3, entropy: 0.003, alternatives: [["chien", 0.8]] }),
  written("voit", 0.9),
];
const LOOKED = { 2: [[0.5, 0.051, 0.004, 0.049], [0.2, 0.3, 0.4, 0.1]], 3: [[0, 0, 1, 0], [0.1, 0, 0, 0.8, 0.1]] };
const state = (more = {}) => ({ source: SOURCE, tokens: TOKENS, nGiven: 2, at: 2, looked: LOOKED, ...more });
const chips = (writing, side) => writing.findAll(`.chip[data-side="${side}"]`);
const words = (writing, side) => chips(writing, side).map((chip) => chip.querySelector(".word").textContent);
const label = (writing, side, index) => chips(writing, side)[index].getAttribute("aria-label");
const weight = (chip) => Number(chip.style.getPropertyValue("--weight"));
const numbers = (writing, side) => chips(writing, side).map((chip) => chip.querySelector(".number")?.textContent ?? "");
const current = (writing) => chips(writing, "output").flatMap((chip, i) => (chip.getAttribute("aria-current") === "true" ? [i] : []));
const faint = (writing) => chips(writing, "output").flatMap((chip, i) => (chip.classList.contains("faint") ? [i] : []));
const tipOf = (writing) => writing.root.querySelector(".tip");
const isOpen = (writing) => tipOf(writing).matches(":popover-open");
const ground = (writing) => chips(writing, "output").map(({ style }) => [style.getPropertyValue("--ground"), style.getPropertyValue("--ink")]);

test("each token has a chip, colored by its probability, and what was given has no color", () => {
  const writing = open(show, state());
  assert.deepEqual([words(writing, "source"), words(writing, "output")], [SOURCE, TOKENS.map((token) => token.label)]);
  const shade = (theme, ...places) => places.map((i) => (i === null ? ["", ""] : SHADES[theme][i]));
  assert.deepEqual(ground(writing), shade("light", null, null, 2, 0, 4)); // 0.6, 0.1 and 0.9 of four steps
  const kinds = ["given", "given", "written", "forced", "written"];
  chips(writing, "output").forEach((chip, i) => {
    for (const kind of ["given", "written", "forced"]) assert.equal(chip.classList.contains(kind), kind === kinds[i]);
    assert.equal(chip.classList.contains("fixed"), i < 1, "one can go to the step before the first written token");
  });
  setTheme("dark");
  assert.deepEqual(ground(writing), shade("dark", null, null, 2, 0, 4));
  assert.match(writing.find(".gradient").style.background, /rgb\(0, 0, 0\).*rgb\(255, 0, 0\)/);
  writing.update({ tokens: [...TOKENS, written("!", 1)] });
  assert.deepEqual(ground(writing).at(-1), SHADES.dark[4]);
  setTheme("light");
  assert.deepEqual(ground(writing).at(-1), SHADES.light[4]);
  assert.match(writing.find(".gradient").style.background, /rgb\(255, 255, 255\).*rgb\(0, 0, 0\)/);
});

test("a chip says its place, its attention, how it came there, and its numbers", () => {
  const writing = open(show, state());
  assert.equal(label(writing, "source", 1), "source 1 'cat', 0.05 attention");
  assert.equal(label(writing, "source", 2), "source 2 'sees'");
  assert.equal(label(writing, "source", 3), "source 3 '<eos>', 0.049 attention");
  assert.equal(label(writing, "output", 1), "output 1 'bon', 0.30 attention, given, not generated");
  assert.equal(label(writing, "output", 2), "output 2 'le', 0.40 attention, probability 0.60, most probable, log-probability −0.51 nats, entropy of the distribution 1.25 nats");
  assert.equal(label(writing, "output", 3), "output 3 'chat', 0.10 attention, forced: chosen by hand, probability 0.10, rank 3 (0 is the most probable), log-probability −2.30 nats, entropy of the distribution 0.003 nats");
  assert.doesNotMatch(label(writing, "output", 4), /attention/);
});

test("a bar over each token is as high as its weight, and the five strongest have a number", () => {
  const many = [0.06, 0.2, 0.05, 0.11, 0.049, 0.3, 0.08, 0.004, 0.07];
  const writing = open(show, state({ source: many.map((_, i) => `s${i}`), looked: { 2: [many, [0.5, 0.05, 0.05, 0.4]] } }));
  chips(writing, "source").forEach((chip, i) => assert.ok(many[i] < 0.005 ? weight(chip) === 0 : Math.abs(weight(chip) - many[i]) <= 0.0026));
  assert.deepEqual(numbers(writing, "source"), ["", "0.20", "", "0.11", "", "0.30", "0.08", "", "0.07"]);
  assert.deepEqual(numbers(writing, "output"), ["0.50", "0.05", "0.05", "0.40", ""]);
  assert.equal(weight(chips(writing, "output")[4]), 0);
  const stronger = [0.06, 0.2, 0.15, 0.11, 0.049, 0.22, 0.08, 0.004, 0.1]; // two more than 0.08, which is as it was
  writing.update({ looked: { 2: [stronger, [0.5, 0.05, 0.05, 0.4]] } });
  assert.deepEqual(numbers(writing, "source"), ["", "0.20", "0.15", "0.11", "", "0.22", "", "", "0.10"]);
  writing.update({ looked: { 2: [many, [0.5, 0.05, 0.05, 0.4]] } });
  assert.deepEqual(numbers(writing, "source"), ["", "0.20", "", "0.11", "", "0.30", "0.08", "", "0.07"]);
  writing.update({ looked: { 2: [[...many].reverse(), []] } });
  assert.deepEqual(numbers(writing, "source"), ["0.07", "", "0.08", "0.30", "", "0.11", "", "0.20", ""]);
  assert.deepEqual(numbers(writing, "output"), ["", "", "", "", ""]);
});

test("the last token of the step is outlined, later tokens are faint, and the caret stands where the next one comes", () => {
  const writing = open(show, state());
  const caret = writing.find(".caret");
  assert.deepEqual([current(writing), faint(writing), caret.hidden], [[3], [4], false]);
  assert.ok(areSame(writing.findAll('.output .chip:not([tabindex="-1"])'), [chips(writing, "output")[3]]));
  writing.update({ at: 0, revision: 1 });
  assert.deepEqual([current(writing), faint(writing)], [[1], [2, 3, 4]]);
  writing.update({ at: 3, revision: 1, ended: "That is all." });
  assert.deepEqual([current(writing), faint(writing), caret.hidden], [[4], [], true]);
  assert.ok(writing.root.textContent.includes("That is all."));
  writing.update({ at: 1 });
  assert.ok(!caret.hidden && !writing.root.textContent.includes("That is all."));
});

test("chips stay where they are when others come or go, and another source starts over", () => {
  const writing = open(show, state());
  const before = [chips(writing, "source"), chips(writing, "output")];
  writing.update({ tokens: [...TOKENS, written("!", 0.5)] });
  assert.ok(areSame(chips(writing, "output").slice(0, 5), before[1]));
  assert.ok(areSame(chips(writing, "source"), before[0]));
  const other = [...TOKENS.slice(0, 3), written("chien", 0.8)];
  const [sourcePane] = writing.findAll(".pane");
  for (const chip of before[0]) place(chip, { top: 5, width: 60, height: 10 });
  sourcePane.scrollTop = 5;
  writing.update({ tokens: other });
  assert.deepEqual(words(writing, "output"), ["<bos>", "bon", "le", "chien"]);
  assert.match(label(writing, "output", 3), /'chien'.*probability 0\.80/);
  assert.deepEqual(ground(writing)[3], SHADES.light[3]);
  assert.ok(chips(writing, "output")[3].classList.contains("written") && !chips(writing, "output")[3].classList.contains("forced"));
  assert.equal(sourcePane.scrollTop, 5);
  writing.update({ source: ["a", "dog"], looked: { 2: [[0.3, 0.7], [0, 0, 0, 1]] }, nGiven: 1, at: 2 });
  assert.deepEqual([words(writing, "source"), sourcePane.scrollTop], [["a", "dog"], 0]);
  assert.deepEqual(numbers(writing, "source"), ["0.30", "0.70"]);
  assert.ok(areSame(writing.findAll('.source .chip:not([tabindex="-1"])'), [chips(writing, "source")[0]]));
  assert.ok(!chips(writing, "output")[0].classList.contains("fixed"));
});

const tipLines = (writing) => [...tipOf(writing).children].map((line) => line.textContent);

test("the box beside a chip says all of it, and what else could have stood there", () => {
  const writing = open(show, state());
  point(chips(writing, "output")[2].querySelector(".word"), "mouseover");
  assert.ok(isOpen(writing));
  assert.deepEqual(tipLines(writing).slice(0, 5), ["output 2 'le'", "probability 0.60, most probable", "log-probability −0.51 nats", "entropy of the distribution 1.25 nats", "attention 0.40"]);
  const list = tipOf(writing).querySelector(".alternatives");
  assert.equal(list.textContent, "le0.60la0.30unbelow 0.0001");
  assert.deepEqual([...list.querySelectorAll(".this")].map(({ textContent }) => textContent), ["le"]);
  point(chips(writing, "output")[3], "mouseover"); // it has fewer alternatives
  assert.equal(tipOf(writing).querySelector(".alternatives").textContent, "chien0.80");
  assert.equal(tipOf(writing).querySelector(".this"), null);
  point(chips(writing, "output")[4], "mouseover"); // it is not there yet at this step
  assert.doesNotMatch(tipLines(writing).join(), /attention/);
  assert.equal(tipOf(writing).querySelector(".alternatives"), null);
  point(chips(writing, "source")[2], "mouseover");
  assert.deepEqual(tipLines(writing), ["source 2 'sees'", "attention 0.0040"]);
  point(writing.find(".source .list"), "mouseleave");
  assert.ok(!isOpen(writing));
});

test("the box is of this step and this text as long as it is open, and closes with its token or when a pane is scrolled", () => {
  const writing = open(show, state());
  point(chips(writing, "source")[2], "mouseover");
  writing.update({ at: 3, revision: 1 });
  assert.deepEqual(tipLines(writing), ["source 2 'sees'", "attention 1.00"]);
  point(chips(writing, "output")[4], "mouseover");
  assert.equal(tipLines(writing).at(-1), "attention 0.10");
  writing.update({ tokens: TOKENS.slice(0, 4), at: 2, revision: 2 });
  assert.ok(!isOpen(writing));
  for (const pane of writing.findAll(".pane")) {
    point(chips(writing, "output")[2], "mouseover");
    assert.ok(isOpen(writing));
    pane.dispatchEvent(new Event("scroll"));
    assert.ok(!isOpen(writing));
  }
});

/** Puts the writing into a room of two panes, with chips 60 px wide, as a browser would. */
function furnish(writing) {
  const [sourcePane, outputPane] = writing.findAll(".pane");
  place(writing.find("svg.curves"), { left: 10, top: 20, width: 800, height: 300 });
  place(sourcePane, { left: 10, top: 50, width: 700, height: 60 });
  place(outputPane, { left: 10, top: 200, width: 700, height: 60 });
  chips(writing, "source").forEach((chip, i) => place(chip.querySelector(".word"), { left: 20 + 70 * i, top: 60, width: 60, height: 24 }));
  chips(writing, "output").forEach((chip, i) => place(chip, { left: 20 + 70 * i, top: 10, width: 60, height: 24 }));
  place(writing.find(".caret"), { left: 300, top: 210, width: 4, height: 24 });
  resize(outputPane, 700);
}
const curves = (writing) => writing.findAll("svg.curves path").map((path) => ({
  ends: path.getAttribute("d").match(/^M(\S+) (\S+)C.* (\S+) (\S+)$/).slice(1).map(Number),
  opacity: Number(path.style.strokeOpacity),
  width: Number(path.style.strokeWidth),
}));

test("curves lead from the caret to the strongest tokens of the source that are in sight", () => {
  const writing = open(show, state());
  furnish(writing);
  const ends = (index) => [302 - 10, 210 - 20, 50 + 70 * index - 10, 60 + 24 + 1 - 20];
  assert.deepEqual(curves(writing).map((curve) => curve.ends), [ends(0), ends(1)]);
  assert.match(writing.find(".caret").style.transform, /translate\(290px, 34px\)/); // after chip 3
  const word = chips(writing, "source")[0].querySelector(".word");
  for (const [top, isSeen] of [[86, true], [87, true], [88, true], [89, false], [28, true], [27, false], [26, false]]) {
    place(word, { left: 20, top, width: 60, height: 24 });
    writing.find(".pane").dispatchEvent(new Event("scroll"));
    assert.equal(curves(writing).length, isSeen ? 2 : 1, `at ${top}`);
  }
  place(word, { left: 20, top: 60, width: 60, height: 24 });
  writing.update({ at: 3, revision: 1 });
  assert.deepEqual(curves(writing).map((curve) => curve.ends), [ends(2)]);
  assert.equal(curves(writing)[0].opacity, 1);
  writing.update({ at: 3, ended: "That is all." });
  assert.deepEqual(curves(writing), [], "nothing comes next");
});

test("the token of the step, and the strongest one of the source, are scrolled to in their panes", () => {
  const source = Array.from({ length: 12 }, (_, i) => `s${i}`);
  const tokens = [given("<bos>"), ...source.map((_, i) => written(`w${i}`, 0.5))];
  const at = (index) => source.map((_, i) => (i === index ? 0.9 : 0));
  const looked = Object.fromEntries([[2, 8], [9, 1], [3, 1], [12, 11]].map(([n, index]) => [n, [at(index), Array(n + 1).fill(0)]]));
  const writing = open(show, { source, tokens, nGiven: 1, at: 0, looked: { ...looked, 0: [at(0), [0]] } });
  const [sourcePane, outputPane] = writing.findAll(".pane");
  for (const [side, pane] of [["source", sourcePane], ["output", outputPane]]) {
    place(pane, { width: 700, height: 60 });
    chips(writing, side).forEach((chip, i) => place(chip, { left: 0, top: 30 * i, width: 60, height: 24 }));
  }
  const isIn = (pane, index) => pane.scrollTop <= 30 * index && 30 * index + 24 < pane.scrollTop + 60 && pane.scrollTop >= 0;
  let revision = 0;
  for (const [n, index] of [[2, 8], [9, 1], [3, 1], [12, 11]]) {
    writing.update({ at: n, revision: (revision += 1) });
    assert.ok(isIn(outputPane, n) && isIn(sourcePane, index), `${n}: ${outputPane.scrollTop}, ${sourcePane.scrollTop}`);
  }
});

test("up and down lead from one side to the other, and along the source the focus goes alone", () => {
  const writing = open(show, state());
  const focused = () => writing.root.getRootNode().activeElement;
  const [source, output] = [chips(writing, "source"), chips(writing, "output")];
  press(output[3], "ArrowUp");
  assert.equal(focused(), source[0]);
  for (const [key, index] of [["ArrowRight", 1], ["End", 3], ["ArrowRight", 3], ["ArrowLeft", 2], ["Home", 0], ["ArrowRight", 1]]) {
    press(focused(), key);
    assert.equal(focused(), source[index], key);
  }
  press(focused(), "ArrowDown");
  assert.equal(focused(), output[3], "the token of the step");
  press(focused(), "ArrowUp");
  assert.equal(focused(), source[1], "where one was");
  press(output[3], "ArrowLeft", { shiftKey: true });
  assert.equal(focused(), output[2]);
  press(focused(), "End", { shiftKey: true });
  assert.equal(focused(), output[4]);
  assert.deepEqual(writing.told, []);
  assert.deepEqual(current(writing), [3]);
});

test("a step in a long text changes no more than one in a short text", () => {
  const nChanged = [50, 300].map((n) => {
    const tokens = [given("<bos>"), ...Array.from({ length: n }, (_, i) => written(`w${i}`, 0.5))];
    const writing = open(show, state({ tokens, nGiven: 1, at: n, looked: {} }));
    const changes = new MutationObserver(() => {});
    changes.observe(writing.root, { subtree: true, childList: true, attributes: true, characterData: true });
    press(writing.root, "ArrowLeft");
    assert.deepEqual([current(writing), faint(writing)], [[n - 1], [n]]);
    const count = changes.takeRecords().length;
    writing.leave();
    return count;
  });
  assert.ok(nChanged[0] > 0 && nChanged[1] < nChanged[0] + 20, `${nChanged}`);
});
