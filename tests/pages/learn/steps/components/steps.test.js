// Attention step by step as a whole component: what a person does in it, what it shows and tells then, and newer answers.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { announced, point, press, setTheme } from "../../../dom.js";
import { D_HEAD, D_MODEL, NUMBERS, N_KEYS, N_QUERIES, SIZES, current, data, isMasked, made, stageOf, strongest, valueOf, where } from "./made_steps.js";

test("a stage says its title, its notice, its formula and the shapes of what it shows", () => {
  const steps = made({ at: { stage: "projection" } });
  assert.equal(steps.title(), "2. The projection");
  const [row] = steps.find(".formula math").children;
  assert.deepEqual([row.localName, row.firstChild.localName, row.textContent], ["mrow", "mi", "projection"]);
  assert.deepEqual(steps.findAll(".shape").map(({ textContent }) => textContent), ["q [query × d_head]", "k [key × d_head]", "v [key × d_head]"]);
  assert.match(steps.canvas.ariaLabel, /^Stage The projection: query 12 “q2”, key 23 “k3”$/);
});

test("names, buttons and keys move along the stages, and the last of several is sent a moment later", () => {
  const steps = made();
  const [back, forward] = [steps.find(".back"), steps.find(".forward")];
  const state = () => [stageOf(steps), current(steps), ...[back, forward].map((button) => button.getAttribute("aria-disabled"))];
  assert.deepEqual(state(), [2, 2, "false", "false"]);
  steps.findAll(".stop")[4].click();
  assert.deepEqual(state(), [4, 4, "false", "false"]);
  assert.equal(announced(), "5. The softmax. See softmax.");
  back.click();
  back.click();
  forward.click();
  assert.equal(stageOf(steps), 3);
  assert.equal(steps.soon(), 0);
  steps.settle();
  assert.deepEqual(steps.all(), [where({ stage: "mask" })]);
  const go = (key, to) => {
    assert.ok(press(steps.canvas, key).defaultPrevented, key);
    assert.equal(stageOf(steps), to, key);
  };
  go("ArrowRight", 4);
  go("ArrowLeft", 3);
  go("End", 8);
  assert.deepEqual(state(), [8, 8, "false", "true"]);
  go("Home", 0);
  go("ArrowLeft", 0);
  assert.deepEqual(state(), [0, 0, "true", "false"]);
  assert.ok(!press(steps.canvas, "ArrowRight", { ctrlKey: true }).defaultPrevented);
  press(steps.findAll(".stop")[0], "ArrowRight");
  assert.equal(steps.focus(), steps.findAll(".stop")[1]); // the focus goes along
  steps.settle();
  assert.deepEqual(steps.all().slice(1), [where({ stage: "projection" })]);
});

test("they play from stage to stage to the last, and from there again from the first; anything that a person does ends it", () => {
  const steps = made({ at: { stage: "concat" } });
  const play = steps.find(".play");
  const says = () => play.getAttribute("aria-label");
  assert.equal(says(), "Play");
  press(steps.canvas, " ");
  assert.deepEqual([says(), stageOf(steps)], ["Pause", 8]);
  mock.timers.tick(3200);
  assert.deepEqual([says(), stageOf(steps)], ["Play again", 8]);
  play.click();
  assert.deepEqual([says(), stageOf(steps)], ["Pause", 0]);
  mock.timers.tick(3199);
  assert.equal(stageOf(steps), 0);
  mock.timers.tick(1);
  assert.equal(stageOf(steps), 1);
  play.click();
  const ends = [
    () => steps.find(".back").click(),
    () => press(steps.canvas, "ArrowRight"),
    () => steps.findAll(".stop")[0].click(),
    () => steps.find(".number").click(),
    () => press(steps.canvas, " "),
  ];
  for (const end of ends) {
    play.click();
    end();
    const stage = stageOf(steps);
    mock.timers.tick(9999);
    assert.deepEqual([says(), stageOf(steps)], ["Play", stage], String(end));
  }
});

test("another query looks where its own weight is largest, by a click or by keys", () => {
  const steps = made();
  assert.deepEqual([steps.chips(), steps.keys()], [2, 3]);
  const chips = steps.findAll(".chip");
  chips[1].click();
  assert.deepEqual([steps.chips(), steps.keys()], [1, strongest(1)]);
  assert.equal(announced(), `Stage The product: query 11 “q1”, key ${20 + strongest(1)} “k${strongest(1)}”`);
  press(chips[1], "ArrowLeft");
  assert.equal(steps.chips(), 0);
  assert.equal(steps.focus(), chips[0]);
  press(chips[0], "End");
  assert.equal(stageOf(steps), 2); // no key of the stages here
  steps.settle();
  assert.deepEqual(steps.all(), [where({ query: 13, key: 20 + strongest(3) })]);
  const text = ({ text: one }) => /^[−\d.]+$/.test(one);
  const painted = steps.texts().filter(text).map((one) => one.text);
  assert.deepEqual(painted, Array.from({ length: N_KEYS }, (_, key) => valueOf("product", 3, key).toFixed(2).replace("-", "−")));
});

test("tokens before and after the shown ones are requested at once, if there are any", () => {
  const steps = made();
  steps.findAll(".chip")[1].click();
  steps.find(".beyond.earlier").click();
  steps.find(".beyond.later").click();
  mock.timers.tick(999);
  assert.deepEqual(steps.all(), [{ ...where({ query: 9 }), key: null }, { ...where({ query: 14 }), key: null }]);
  steps.update(data({ first: { query: 0, key: 0 }, nQueries: 5, revision: 99 }));
  assert.deepEqual([steps.find(".earlier"), steps.find(".later") !== null], [null, true]);
  steps.update(data({ first: { query: 36, key: 0 }, revision: 100 }));
  assert.deepEqual([steps.find(".earlier") !== null, steps.find(".later")], [true, null]);
});

test("the focus among the queries stays where it was when others come, or goes to the chosen one", () => {
  const steps = made();
  steps.find(".later").focus();
  steps.update(data({ first: { query: 36, key: 20 }, at: { query: 37 }, revision: 100 })); // the last ones
  assert.equal(steps.focus(), steps.findAll(".chip")[1]);
  steps.update(data({ first: { query: 20, key: 20 }, at: { query: 22 }, revision: 101 }));
  assert.equal(steps.focus(), steps.findAll(".chip")[2]);
});

test("a key is chosen by a click or by keys, as far as there are keys, and shows which are forbidden", () => {
  const steps = made();
  const keys = steps.findAll(".key");
  const forbidden = () => keys.map((key) => key.matches(".forbidden"));
  assert.deepEqual(forbidden(), keys.map((_, key) => isMasked(2, key)));
  keys[1].click();
  assert.deepEqual([steps.keys(), keys.map(({ tabIndex }) => tabIndex)], [1, [-1, 0, -1, -1, -1]]);
  press(keys[1], "ArrowUp");
  assert.equal(steps.keys(), 0);
  assert.equal(steps.focus(), keys[0]);
  for (let i = 0; i < 6; i++) press(steps.canvas, "ArrowDown");
  assert.equal(steps.keys(), N_KEYS - 1);
  press(keys[4], " "); // clicks it, and plays nothing
  assert.equal(steps.find(".play").getAttribute("aria-label"), "Play");
  steps.settle();
  assert.deepEqual(steps.all(), [where({ key: 24 })]);
  steps.findAll(".chip")[3].click();
  assert.deepEqual(forbidden(), keys.map((_, key) => isMasked(3, key)));
});

test("the lens has the numbers of the stage, of the query and of the key that is selected or pointed at", () => {
  const steps = made({ at: { stage: "projection" } });
  const check = (name, row) => {
    const wanted = Array.from({ length: D_HEAD }, (_, column) => valueOf(name, row, column).toFixed(3).replace("-", "−"));
    assert.deepEqual(steps.numbers(name).map(({ textContent }) => textContent), wanted, `${name} ${row}`);
  };
  check("q", 2);
  for (const name of ["k", "v"]) check(name, 3);
  point(steps.findAll(".key")[0], "mouseenter");
  for (const name of ["k", "v"]) check(name, 0);
  check("q", 2);
  point(steps.findAll(".key")[0], "mouseleave");
  check("k", 3);
  steps.findAll(".stop")[3].click();
  assert.deepEqual(steps.numbers("mask").map(({ textContent }) => textContent), [0, 1, 2, 3, 4].map((key) => String(Number(!isMasked(2, key)))));
  assert.ok(steps.numbers("attn_scores").some(({ textContent }) => textContent === "−∞"));
});

test("a number is chosen in the lens, marked, told with its place in the whole text, and takes its key along", () => {
  const steps = made({ at: { stage: "weigh" } });
  assert.equal(steps.numbers("pattern").length, N_KEYS);
  steps.numbers("pattern")[1].click();
  assert.deepEqual(steps.all(), [where({ stage: "weigh", key: 21, cell: ["pattern", 12, 21] })]);
  assert.equal(steps.keys(), 1);
  assert.deepEqual(steps.findAll(".number.chosen").map(({ dataset }) => [dataset.name, dataset.column]), [["pattern", "1"]]);
  assert.equal(steps.canvas.getContext("2d").frames.length, 1);
  steps.numbers("weighted")[2].click();
  assert.deepEqual(steps.all().at(-1).cell, ["weighted", 12 * 50 + 21, 2]);
  steps.findAll(".key")[4].click();
  steps.numbers("v")[0].click();
  assert.deepEqual([steps.all().at(-1).cell, steps.all().at(-1).key], [["v", 24, 0], 24]);
  steps.findAll(".chip")[0].click(); // another query: what was open is closed
  steps.settle();
  assert.deepEqual(steps.all().at(-1), where({ stage: "weigh", query: 10, key: 20 + strongest(0) }));
  assert.equal(steps.findAll(".number.chosen").length, 0);
});

test("Enter leads from the figure to the numbers, arrows from number to number, which keep the focus when others come", () => {
  const steps = made({ at: { stage: "projection" } });
  press(steps.canvas, "Enter");
  const all = () => steps.findAll(".number");
  assert.equal(steps.focus(), all()[0]);
  press(all()[0], "ArrowRight");
  assert.equal(steps.focus(), all()[1]);
  assert.equal(stageOf(steps), 1); // no key of the stages here
  assert.equal(steps.focus().title, `q, query 12 “q2”, dimension 1: ${valueOf("q", 2, 1).toFixed(4).replace("-", "−")}`);
  assert.equal(steps.canvas.getContext("2d").frames.length, 1); // and it is framed in the figure
  steps.focus().click();
  assert.equal(steps.focus(), all()[1]);
});

test("of a wide vector the numbers that are largest are shown, in their order, and no zeros", () => {
  const [width, n] = [129, 64];
  const values = Float32Array.from({ length: N_QUERIES * width }, (_, i) => Math.sin(i * 12.9898) * ((i % 97) + 1));
  const before = ["x", "attn_out"].map((name) => [name, NUMBERS.get(name)]);
  SIZES.d_model = width;
  for (const [name, quantity] of before) NUMBERS.set(name, { ...quantity, values });
  const steps = made({ at: { stage: "input" } });
  const row = [...values.subarray(2 * width, 3 * width)].map((value, column) => [Math.abs(value), column]);
  const largest = row.toSorted(([one], [other]) => other - one).slice(0, n).map(([, column]) => column);
  assert.deepEqual(steps.numbers("x").map(({ dataset }) => Number(dataset.column)), largest.toSorted((one, other) => one - other));
  const few = values.map((value, i) => (i % 43 ? 0 : value || NaN));
  for (const [name, quantity] of before) NUMBERS.set(name, { ...quantity, values: few });
  const shown = made({ at: { stage: "input" } }).numbers("x").map(({ dataset }) => 2 * width + Number(dataset.column));
  assert.deepEqual(shown, [...few.keys()].slice(2 * width, 3 * width).filter((i) => few[i] !== 0));
  for (const [name, quantity] of before) NUMBERS.set(name, quantity);
  SIZES.d_model = D_MODEL;
});

test("the part under the pointer is described beside it, highlighted, and chosen by a click", () => {
  const steps = made();
  const tip = steps.find(".tip");
  const [x, y] = [steps.across("product"), steps.down(1)];
  steps.on("mousemove", x, y);
  assert.deepEqual([tip.hidden, tip.textContent], [false, `product, query 12 “q2”, key 21 “k1”: ${valueOf("product", 2, 1).toFixed(4).replace("-", "−")}`]);
  steps.on("mousemove", steps.across("k"), steps.down(4));
  assert.match(tip.textContent, /^k, key 24 “k4”, dimension [12]: /);
  assert.ok(steps.findAll(".head .of").some(({ textContent }) => textContent === "key 24 “k4”")); // the lens goes along
  steps.on("mouseleave", 0, 0);
  assert.ok(tip.hidden);
  steps.on("click", x, 5);
  assert.equal(steps.messages.length, 0);
  steps.on("click", x, y);
  assert.deepEqual(steps.all(), [where({ key: 21, cell: ["product", 12, 21] })]);
  steps.on("click", steps.across("k"), steps.down(0));
  assert.deepEqual(steps.all().at(-1).cell.slice(0, 2), ["k", 20]);
  steps.on("mousemove", x, y);
  steps.update(data({ revision: 5, first: { query: 11, key: 19 } })); // other numbers come under the pointer
  assert.ok(tip.hidden);
});

test("a new selection of the page is shown, unless a person has moved meanwhile", () => {
  const steps = made({ revision: 4 });
  steps.update(data({ revision: 5, at: { stage: "z", query: 11, key: 20, cell: ["z", 11, 2] } }));
  assert.deepEqual([stageOf(steps), steps.chips(), steps.keys()], [6, 1, 0]);
  assert.deepEqual(steps.findAll(".number.chosen").map(({ dataset }) => dataset.column), ["2"]);
  steps.findAll(".stop")[7].click();
  steps.update(data({ revision: 5, at: { stage: "input", query: 13 } })); // old: of before the click
  assert.deepEqual([stageOf(steps), steps.chips(), steps.keys()], [7, 1, 0]);
  steps.settle();
  const [[name, { revision, value }]] = steps.messages;
  assert.deepEqual([name, revision, value], ["view", 6, where({ stage: "concat", query: 11, key: 20, cell: ["z", 11, 2] })]);
  steps.update(data({ revision: 5, first: { query: 11, key: 19 }, at: { stage: "input", query: 13 } })); // and other tokens
  assert.deepEqual([stageOf(steps), steps.chips(), steps.keys()], [7, 0, 1]);
  steps.update(data({ revision: 7, at: { stage: "no such", query: 99, key: 99, cell: ["z", 99, 2] } }));
  assert.deepEqual([stageOf(steps), steps.chips(), steps.keys()], [7, 3, strongest(3)]);
  assert.equal(steps.findAll(".number.chosen").length, 0);
  steps.update(data({ revision: 8, at: { query: 1, key: null, cell: ["none", 1, 2] } }));
  assert.deepEqual([stageOf(steps), steps.chips(), steps.keys()], [2, 0, strongest(0)]);
});

test("a marked number keeps to what there is, to the last row and column and not beyond", () => {
  for (const [cell, isThere] of [[["z", 13, 2], true], [["z", 14, 2], false], [["z", 12, 3], false], [["z", 12, -1], false]]) {
    const steps = made({ at: { stage: "z", query: 13, cell } });
    assert.equal(steps.findAll(".number.chosen").length, isThere ? 1 : 0, cell.join());
    steps.findAll(".stop")[5].click();
    steps.settle();
    assert.deepEqual(steps.all().at(-1).cell, isThere ? cell : null, cell.join());
    steps.leave();
  }
});

test("another theme paints the figure and the numbers again", () => {
  const steps = made({ at: { stage: "projection", key: 22 } });
  const look = () => [...steps.numbers("q").map(({ style }) => style.background), ...steps.texts().map(({ color }) => color)].join();
  const light = look();
  setTheme("dark");
  assert.notEqual(look(), light);
  setTheme("light");
  assert.deepEqual(look(), light);
});
