// Lines of attention as a component: what is painted, written and said of the token that is pointed at or kept.

import assert from "node:assert/strict";
import { test } from "node:test";

import { announced, areSame, place, point, press, resize, shown } from "../../../dom.js";
import { random } from "../../../canvas.js";
import { packed } from "../../../packed.js";
import { FORBIDDEN, TOP } from "../../../../../headlight/components/lines/curves.js";
import show from "../../../../../pages/explore/heads/components/lines/lines.js";

const HUES = ["#cc3311", "#0077bb", "#009988", "#ee7733"];
const QUERIES = ["le", "chat", "voit", "un", "chien"];
const KEYS = ["the", "cat", "sees", "a", "dog", "now", "."];
const FIRST = { query: 4, key: 2 };
const sum = (numbers) => numbers.reduce((one, other) => one + other, 0);

/** Weights by head, query and key; head 0 may not attend to keys 5 and 6, the others not to key 6. */
function weightsOf(nHeads, seed = 3, [nQueries, nKeys] = [QUERIES.length, KEYS.length]) {
  const next = random(seed);
  const cell = (head, key) => (key > 5 || (head === 0 && key > 4) ? FORBIDDEN : Math.floor(next() ** 3 * TOP));
  const keys = (head) => Array.from({ length: nKeys }, (_, key) => cell(head, key));
  return Array.from({ length: nHeads }, (_, head) => Array.from({ length: nQueries }, () => keys(head)));
}
const NAMES = ["L0.H1", "L1.H0", "L1.H3", "L2.H2"];
function data(weights, { chosen: [query, key] = [null, null], revision = 0, ...more } = {}) {
  const chosen = { revision, value: { query, key } };
  const names = NAMES.slice(0, weights.length);
  const header = {
    ...{ query: QUERIES, key: KEYS, first: FIRST, titles: { query: "target", key: "source" }, colors: { query: "#112233", key: "#445566" } },
    ...{ names, hues: HUES.slice(0, weights.length), chosen, generatedFrom: null, border: { query: null, key: null }, ...more },
  };
  return packed(header, Uint16Array.from(weights.flat(2)));
}

function open(weights, more = {}, { size = [800, 300], ...where } = {}) {
  const lines = shown(show, "lines", data(weights, more), { size, ...where });
  for (const canvas of lines.findAll("canvas")) place(canvas, { width: 100, height: size[1] });
  resize(lines.find(".scroller"), ...size);
  return lines;
}
const token = (lines, side, index) => lines.findAll(`.token[data-side="${side}"]`)[index];
const column = (lines, side) => lines.findAll(`.token[data-side="${side}"]`);
const numbersBeside = (lines, side) =>
  column(lines, side).map((button) => [...button.querySelectorAll(".number")].map((it) => [it.textContent, it.style.getPropertyValue("--hue")]));
const share = (weight) => (weight === FORBIDDEN ? 0 : weight / TOP);
const digits = (weight) => (share(weight) < 0.005 ? "" : share(weight).toFixed(2));
const says = (lines) => lines.find(".says").textContent;
const leaveAll = (lines) => point(lines.find(".sheet"), "mouseleave");
const lit = (lines) => lines.findAll(".token.lit").map(({ dataset: { side, index } }) => `${side} ${index}`);

/** The curves that are painted on a canvas: of which head, from where to where. */
function painted(canvas) {
  return canvas.getContext("2d").paths.flatMap(({ points, color }) => {
    const starts = points.filter(([kind]) => kind === "M");
    const ends = points.filter(([kind]) => kind === "C");
    return starts.map(([, , from], i) => [HUES.indexOf(color), from, ends[i].at(-1)].join(" "));
  }).toSorted();
}
function curvesOf(weights, pitch, isWanted, scrolled = 0) {
  const y = (index) => (index + 0.5) * pitch - scrolled;
  const all = weights.flatMap((rows, head) => rows.flatMap((row, query) => row.map((weight, key) => ({ head, query, key, weight }))));
  const drawn = all.filter(({ weight, query, key }) => share(weight) >= 0.005 && isWanted(query, key));
  return drawn.map(({ head, query, key }) => [head, y(query), y(key)].join(" ")).toSorted();
}

for (const nHeads of [1, 2, 3]) {
  test(`a token of ${nHeads} heads that is pointed at has its weights beside the other side, each in its head's color`, () => {
    const weights = weightsOf(nHeads);
    const lines = open(weights);
    const pitch = parseFloat(lines.root.style.getPropertyValue("--pitch"));
    const hue = (head) => (nHeads > 1 ? HUES[head] : "");
    assert.deepEqual(painted(lines.find(".all")), curvesOf(weights, pitch, () => true));
    assert.deepEqual(painted(lines.find(".only")), []);
    for (const [side, other, of] of [["query", "key", (head, i, j) => weights[head][i][j]], ["key", "query", (head, i, j) => weights[head][j][i]]]) {
      column(lines, side).forEach((button, index) => {
        point(button.querySelector(".word"), "mouseover");
        assert.deepEqual(lit(lines), [`${side} ${index}`]);
        assert.ok(lines.root.classList.contains("lit"));
        column(lines, other).forEach((beside, j) => {
          const own = weights.map((_, head) => of(head, index, j));
          const wanted = own.some((weight) => digits(weight)) ? own.map((weight, head) => [digits(weight), hue(head)]) : [];
          assert.deepEqual(numbersBeside(lines, other)[j], wanted, `${side} ${index}, ${other} ${j}`);
          assert.equal(beside.classList.contains("forbidden"), own.every((weight) => weight === FORBIDDEN));
          assert.equal(button.classList.contains("forbidden"), false);
        });
        assert.ok(numbersBeside(lines, side).every((numbers) => numbers.length === 0));
        const isOf = (query, key) => (side === "query" ? query : key) === index;
        assert.deepEqual(painted(lines.find(".only")), curvesOf(weights, pitch, isOf));
      });
    }
    leaveAll(lines);
    assert.deepEqual([lit(lines), painted(lines.find(".only"))], [[], []]);
    assert.ok(!lines.root.classList.contains("lit"));
    assert.equal(lines.find(".number, .forbidden"), null);
    assert.ok(lines.findAll(".token").every(({ style }) => style.backgroundSize === ""));
    lines.leave();
  });
}

test("beside a token stand the weights of three heads, of more the largest, and in a narrow place only that", () => {
  for (const [nHeads, width, isOne] of [[3, 520, false], [4, 520, true], [2, 519, true], [2, 520, false], [1, 519, false]]) {
    const weights = weightsOf(nHeads, 8);
    const lines = open(weights, {}, { size: [width, 300] });
    point(token(lines, "query", 2), "mouseover");
    KEYS.forEach((_, key) => {
      const own = weights.map((rows) => rows[2][key]);
      const best = own.map(share).indexOf(Math.max(...own.map(share)));
      if (!isOne || share(own[best]) < 0.005) return;
      assert.deepEqual(numbersBeside(lines, "key")[key], [[digits(own[best]), HUES[best]]], `${nHeads} heads, ${width} px`);
    });
    const n = Math.max(...numbersBeside(lines, "key").map((numbers) => numbers.length));
    assert.equal(n, isOne ? 1 : nHeads, `${nHeads} heads in ${width} px`);
    assert.equal(lines.root.style.getPropertyValue("--numbers"), `${34 * n}px`);
    lines.leave();
  }
});

test("the description names the strongest of each head, of one head alone its three strongest, the first of equal ones first", () => {
  const weights = [[[0.5, 0.2, 0.25, 0.05], [0.3, 0.3, 0.1, 0.3], [0, 0.004, 0, 0]].map((row) => row.map((it) => Math.round(it * TOP)))];
  const tokens = { query: ["a", "b", "c"], key: ["d", "e", "f", "g"], first: { query: 10, key: 20 } };
  const label = (lines, side, index) => token(lines, side, index).getAttribute("aria-label");
  const lines = open(weights, tokens);
  assert.equal(label(lines, "query", 0), "query 10 'a'. Strongest: key 20 'd' 0.50, key 22 'f' 0.25, key 21 'e' 0.20");
  assert.equal(label(lines, "query", 1), "query 11 'b'. Strongest: key 20 'd' 0.30, key 21 'e' 0.30, key 23 'g' 0.30");
  assert.equal(label(lines, "key", 0), "key 20 'd'. Strongest: query 10 'a' 0.50, query 11 'b' 0.30");
  point(token(lines, "key", 3), "mouseover");
  assert.equal(says(lines), "key 23 'g' ←query 11 'b' 0.30, query 10 'a' 0.05");
  const other = [[0.1, 0.2, 0.3, 0.4], [0, 0, 0, 1], [1, 0, 0, 0]].map((row) => row.map((it) => Math.round(it * TOP)));
  lines.update(data([weights[0], other], tokens));
  assert.equal(label(lines, "query", 0), "query 10 'a'. Strongest: L0.H1: key 20 'd' 0.50; L1.H0: key 23 'g' 0.40");
});

const pressed = (lines) => lines.findAll('[aria-pressed="true"]').map(({ dataset: { side, index } }) => `${side} ${index}`);

test("a click keeps a token's lines, on one side, until the next one, a second one or Escape", () => {
  const weights = weightsOf(2);
  const lines = open(weights);
  const only = () => painted(lines.find(".only"));
  token(lines, "query", 0).click();
  assert.deepEqual([pressed(lines), lines.told.at(-1)], [["query 0"], ["cell", { revision: 1, value: { query: 0, key: null } }]]);
  assert.match(announced(), /^query 4 'le' →/);
  leaveAll(lines);
  assert.deepEqual(lit(lines), ["query 0"]);
  const pitch = parseFloat(lines.root.style.getPropertyValue("--pitch"));
  assert.deepEqual(only(), curvesOf(weights, pitch, (query) => query === 0));
  point(token(lines, "key", 3), "mouseover"); // what is pointed at comes first
  assert.deepEqual([lit(lines), pressed(lines)], [["key 3"], ["query 0"]]);
  assert.deepEqual(only(), curvesOf(weights, pitch, (_, key) => key === 3));
  token(lines, "key", 3).click();
  assert.deepEqual([pressed(lines), lines.told.at(-1)], [["key 3"], ["cell", { revision: 2, value: { query: null, key: 3 } }]]);
  token(lines, "key", 3).click();
  assert.deepEqual([pressed(lines), lines.told.at(-1)], [[], ["cell", { revision: 3, value: { query: null, key: null } }]]);
  leaveAll(lines);
  assert.deepEqual([lit(lines), only()], [[], []]);
  press(token(lines, "query", 2), "Enter");
  assert.deepEqual(pressed(lines), ["query 2"]);
  lines.root.getRootNode().activeElement.blur();
  assert.deepEqual(lit(lines), ["query 2"]);
  lines.find(".scroller").dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  assert.deepEqual([pressed(lines), lit(lines), only()], [[], [], []]);
  assert.deepEqual(lines.told.at(-1), ["cell", { revision: 5, value: { query: null, key: null } }]);
  assert.match(says(lines), /^Point at a token/);
});

test("what the page keeps holds when it changes, and not what it has said already", () => {
  const weights = weightsOf(2);
  const lines = open(weights, { chosen: [3, null] });
  assert.deepEqual([pressed(lines), lit(lines)], [["query 3"], ["query 3"]]);
  assert.ok(areSame(lines.findAll('button:not([tabindex="-1"])'), [token(lines, "query", 3)]));
  token(lines, "key", 1).click();
  token(lines, "key", 5).click();
  lines.update(data(weightsOf(2, 9), { chosen: [null, 1], revision: 1 })); // newer weights, the answer to the first click
  assert.deepEqual(pressed(lines), ["key 5"]);
  lines.update(data(weightsOf(2), { chosen: [null, 5], revision: 2 }));
  token(lines, "key", 6).click();
  lines.update(data(weightsOf(2), { chosen: [null, 5], revision: 2, key: KEYS.slice(0, 6) })); // another text, without such a key
  assert.deepEqual(pressed(lines), ["key 5"]);
  lines.update(data(weights, { chosen: [3, null], revision: 3 }));
  lines.update(data(weights, { chosen: [null, 6], revision: 4 }));
  assert.deepEqual(pressed(lines), ["key 6"]);
  leaveAll(lines);
  assert.deepEqual(lit(lines), ["key 6"]);
  lines.update(data(weights, { chosen: [null, 6], revision: 4, query: [...QUERIES, "!"], key: KEYS }));
  assert.deepEqual(pressed(lines), ["key 6"], "in new columns, too");
  lines.update(data(weights, { revision: 5 }));
  assert.deepEqual([pressed(lines), lit(lines)], [[], []]);
});

test("newer weights appear at once at the pointer, and other tokens start at the top again", () => {
  const weights = weightsOf(2);
  const lines = open(weights);
  const before = lines.findAll(".token");
  point(token(lines, "query", 2), "mouseover");
  lines.find(".scroller").scrollTop = 12;
  const newer = weightsOf(2, 77);
  lines.update(data(newer));
  assert.ok(areSame(lines.findAll(".token"), before));
  assert.deepEqual(lit(lines), ["query 2"]);
  const written = numbersBeside(lines, "key").map((numbers) => numbers.map(([text]) => text));
  assert.deepEqual(written.filter((numbers) => numbers.length), KEYS.map((_, key) => newer.map((rows) => digits(rows[2][key]))).filter((numbers) => numbers.some(Boolean)));
  assert.equal(lines.find(".scroller").scrollTop, 12);
  lines.update(data(newer, { first: { query: 0, key: 0 }, titles: { query: "Q", key: "K" } }));
  assert.match(token(lines, "query", 2).getAttribute("aria-label"), /^query 2 /);
  assert.deepEqual(lines.findAll(".title").map(({ textContent }) => textContent), ["Q", "K"]);
  assert.deepEqual(lines.findAll(".title").map(({ style }) => style.getPropertyValue("--hue")), ["#112233", "#445566"]);
  for (const more of [{ query: [...QUERIES.slice(0, 4), "chienne"] }, { key: [...KEYS.slice(0, 6), "!"] }, { generatedFrom: 5 }]) {
    lines.find(".scroller").scrollTop = 12;
    point(token(lines, "query", 2), "mouseover");
    lines.update(data(newer, more));
    assert.deepEqual(lit(lines), []);
    assert.equal(lines.find(".scroller").scrollTop, 0);
    assert.ok(areSame(lines.findAll('button:not([tabindex="-1"])'), [token(lines, "query", 0)]));
    assert.deepEqual(column(lines, "key").map((it) => it.querySelector(".word").textContent), more.key ?? KEYS);
    assert.deepEqual(column(lines, "query").map((it) => it.querySelector(".word").textContent), more.query ?? QUERIES);
  }
});

test("a line stands above what the model wrote itself, on both sides, and above no first token", () => {
  const lines = open(weightsOf(1));
  const divided = (generatedFrom) => {
    lines.update(data(weightsOf(1), { generatedFrom }));
    return lines.findAll(".divided").map(({ dataset: { side, index } }) => `${side} ${index}`);
  };
  assert.deepEqual(divided(null), []);
  assert.deepEqual(divided(6), ["query 2", "key 4"]);
  assert.deepEqual(divided(4), ["key 2"]); // the first query is generated
  assert.deepEqual(divided(2), []);
  lines.update(data(weightsOf(1), { key: [...KEYS.slice(0, 6), "!"], border: { query: 3, key: null } }));
  assert.deepEqual(lines.findAll(".second").map(({ dataset: { side, index } }) => `${side} ${index}`), ["query 3"]);
});

test("keys lead along a side and across to the other one, as far as it goes", () => {
  const lines = open(weightsOf(1));
  const ways = [
    ["query 1", "ArrowDown", "query 2"], ["query 4", "ArrowDown", "query 4"], ["query 3", "ArrowUp", "query 2"], ["query 2", "Home", "query 0"],
    ["query 2", "End", "query 4"], ["query 3", "ArrowRight", "key 3"], ["key 6", "ArrowLeft", "query 4"], ["key 2", "End", "key 6"],
    ["key 2", "ArrowRight", "key 2"], ["query 2", "ArrowLeft", "query 2"],
  ];
  for (const [from, key, to] of ways) {
    press(token(lines, ...from.split(" ")), key);
    const { side, index } = lines.root.getRootNode().activeElement.dataset;
    assert.equal(`${side} ${index}`, to, `${key} from ${from}`);
    assert.deepEqual(lit(lines), [to], "what has the focus is pointed at");
  }
  assert.ok(sum(numbersBeside(lines, "key").map((numbers) => numbers.length)) > 0);
});
