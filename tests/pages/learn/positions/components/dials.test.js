// The dials of rotary positions as a whole component: hands, products, and all ways to move a query or a key.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { announced, place, point, prefer, press, run, shown } from "../../../dom.js";
import show from "../../../../../pages/learn/positions/components/dials/dials.js";

const SPEEDS = [1, 0.3, 0.05];
const GIVEN = { query: [[3, 4], [1, -2], [0, 0]], key: [[-1, 2], [2, 2], [0.5, 1]] };
const N = 12;
const CALM = "(prefers-reduced-motion: reduce)";
const data = (value = [7, 2], revision = 0, more = {}) => ({
  ...{ speeds: SPEEDS, ...GIVEN, rest: 1.5, scale: 0.5, places: { revision, value }, n: N },
  ...{ names: ["the query", "the key"], hues: ["#1060c0", "#c06010"], ...more },
});

const turned = ([a, b], angle) => [a * Math.cos(angle) - b * Math.sin(angle), a * Math.sin(angle) + b * Math.cos(angle)];

/** The products of the pairs at these places, by turning each vector and multiplying. */
const products = ([query, key]) => SPEEDS.map((speed, pair) => {
  const [a, b] = [turned(GIVEN.query[pair], query * speed), turned(GIVEN.key[pair], key * speed)];
  return 0.5 * (a[0] * b[0] + a[1] * b[1]);
});

const number = (text) => Number(text.replace("−", "-"));
const at = (line, name) => Number(line.getAttribute(name));

function made(...given) {
  const dials = shown(show, "dials", data(...given));
  const hand = (pair, which) => dials.findAll(".dial")[pair].querySelectorAll("line")[which];
  /** The angle of a hand, anticlockwise from the right, and its length. */
  const pointsTo = (pair, which) => {
    const line = hand(pair, which);
    const [x, y] = [at(line, "x2") - at(line, "x1"), at(line, "y1") - at(line, "y2")];
    return [Math.atan2(y, x), Math.hypot(x, y)];
  };
  const places = () => dials.findAll("output").map(({ textContent }) => Number(textContent));
  const sliders = () => dials.findAll("input");
  const play = () => dials.find(".play");
  const sent = () => dials.told.map(([, { value }]) => value);
  /** What a pointer does on the face of pair 1, of 0.3 radians a position, at an angle from its middle. */
  const pointer = (type, angle, more = {}) => {
    const face = dials.findAll("svg")[1];
    place(face, { left: 200, top: 100, width: 84, height: 84 });
    return point(face, `pointer${type}`, { clientX: 242 + 30 * Math.cos(angle), clientY: 142 - 30 * Math.sin(angle), pointerId: 1, ...more });
  };
  return { ...dials, hand, pointsTo, places, sliders, play, sent, pointer, messages: dials.told };
}

const isNear = (one, other, by = 1e-6) => Math.abs(one - other) <= by;
const isSameAngle = (one, other, by = 1e-6) => isNear(Math.cos(one - other), 1, by);

/** Whether hands, products and sliders show these places. */
function check(dials, wanted) {
  products(wanted).forEach((product, pair) => {
    const dial = dials.findAll(".dial")[pair];
    assert.ok(isNear(number(dial.querySelector(".part").textContent), product, 0.00051), `pair ${pair}`);
    assert.equal(dial.querySelector(".share").classList.contains("less"), product < 0);
    for (const which of [0, 1]) {
      const vector = GIVEN[which ? "key" : "query"][pair];
      const wants = turned(vector, wanted[which] * SPEEDS[pair]);
      if (Math.hypot(...vector)) assert.ok(isSameAngle(dials.pointsTo(pair, which)[0], Math.atan2(wants[1], wants[0])), `hand ${which} of pair ${pair}`);
    }
  });
  const sum = products(wanted).reduce((one, other) => one + other, 1.5);
  const [, distance, product] = dials.find(".sum").textContent.match(/^distance (.+): .* is (.+)$/);
  assert.equal(number(distance), Math.round(wanted[0]) - Math.round(wanted[1])); // of the numbers beside the sliders
  assert.ok(isNear(number(product), sum, 0.000051));
  assert.deepEqual(dials.places(), wanted.map(Math.round));
  assert.deepEqual(dials.sliders().map(({ value }) => Number(value)), wanted.map(Math.round));
  const filled = dials.sliders().map(({ style }) => parseFloat(style.getPropertyValue("--filled")));
  assert.ok(filled.every((share, which) => isNear(share, (100 * wanted[which]) / (N - 1), 0.001)));
}

beforeEach(() => prefer(CALM, false));

test("each pair's hands point where its numbers do after their rotation, and its product is theirs", () => {
  for (const places of [[7, 2], [0, 11], [5, 5]]) {
    const dials = made(places);
    check(dials, places);
    const longest = dials.pointsTo(0, 0)[1]; // 5 long
    assert.ok(isNear(dials.pointsTo(1, 1)[1] / longest, Math.hypot(2, 2) / 5));
    assert.ok(isNear(dials.pointsTo(0, 1)[1] / longest, Math.hypot(1, 2) / 5));
    assert.ok(dials.pointsTo(2, 0)[1] > 0 && dials.pointsTo(2, 0)[1] < dials.pointsTo(2, 1)[1]); // nothing, and yet to be seen
    dials.leave();
  }
});

test("up and down move the query, with Shift the key, as far as there are positions; the others lead to other dials", () => {
  const dials = made([10, 1]);
  const [first, second, third] = dials.findAll(".dial");
  press(second, "ArrowUp");
  check(dials, [11, 1]);
  press(second, "ArrowUp");
  check(dials, [11, 1]);
  press(second, "ArrowDown", { shiftKey: true });
  press(second, "ArrowDown", { shiftKey: true });
  check(dials, [11, 0]);
  press(second, "ArrowDown");
  check(dials, [10, 0]);
  assert.deepEqual(dials.sent().at(-1), [10, 0]);
  assert.equal(announced(), dials.find(".sum").textContent);
  const focus = () => dials.root.getRootNode().activeElement;
  assert.equal(focus(), second);
  for (const [key, to] of [["ArrowRight", third], ["ArrowRight", third], ["ArrowLeft", second], ["Home", first], ["End", third]]) {
    press(focus(), key);
    assert.equal(focus(), to);
  }
});

test("a slider is seen while it moves and sent at its release, and what the page says meanwhile does not hold", () => {
  const dials = made([7, 2], 4);
  const [, key] = dials.sliders();
  key.value = "9";
  key.dispatchEvent(new Event("input"));
  check(dials, [7, 9]);
  assert.equal(dials.messages.length, 0);
  dials.update(data([1, 1], 4));
  check(dials, [7, 9]);
  key.dispatchEvent(new Event("change"));
  assert.deepEqual(dials.messages, [["places", { revision: 5, value: [7, 9] }]]);
  dials.update(data([7, 9], 5));
  dials.update(data([3, 4], 6));
  check(dials, [3, 4]);
});

test("a hand that is dragged takes its own position along, and settles on a whole one", () => {
  for (const which of [0, 1]) {
    const dials = made([7, 2], 3);
    const { pointer } = dials;
    const [angle] = dials.pointsTo(1, which);
    pointer("move", angle + 1);
    check(dials, [7, 2]); // nothing is held
    assert.ok(pointer("down", angle + 0.05).defaultPrevented && dials.findAll("svg")[1].hasPointerCapture(1));
    pointer("move", angle + 0.05 + 0.3);
    pointer("move", angle + 0.05 + 0.42);
    const wanted = [7, 2].map((one, other) => (other === which ? one + 1.4 : one));
    const [now] = dials.pointsTo(1, which);
    assert.ok(isSameAngle(now, angle + 0.42));
    assert.equal(dials.messages.length, 0);
    dials.update(data([0, 0], 3));
    assert.ok(isSameAngle(dials.pointsTo(1, which)[0], angle + 0.42));
    pointer(which ? "up" : "cancel", angle + 0.47);
    check(dials, wanted.map(Math.round));
    assert.deepEqual(dials.messages, [["places", { revision: 4, value: wanted.map(Math.round) }]]);
    let [around] = dials.pointsTo(1, which);
    pointer("down", around);
    for (let turns = 0; turns < 9; turns++) pointer("move", (around += 1.5)); // round and round, to the last
    check(dials, wanted.map((one, other) => (other === which ? N - 1 : Math.round(one))));
    for (let turns = 0; turns < 9; turns++) pointer("move", (around -= 1.5));
    check(dials, wanted.map((one, other) => (other === which ? 0 : Math.round(one))));
    pointer("up", 0);
    dials.leave();
  }
});

test("they play on together at five positions a second, begin again from the end, and rest on whole ones", () => {
  const dials = made([4, 1]);
  dials.play().click();
  assert.deepEqual([dials.play().textContent, dials.play().ariaPressed], ["Pause", "true"]);
  run(480); // 2.4 positions
  check(dials, [6.4, 3.4]);
  assert.equal(dials.messages.length, 0);
  dials.update(data([4, 1])); // the page has not heard of it
  check(dials, [6.4, 3.4]);
  run(912); // 11, at the last one
  check(dials, [10.96, 7.96]);
  run(16);
  check(dials, [3, 0]);
  run(320);
  dials.play().click();
  check(dials, [5, 2]); // 4.6 and 1.6
  assert.deepEqual([dials.play().textContent, dials.play().ariaPressed, dials.sent()], ["Play", "false", [[5, 2]]]);
});

test("whatever moves a hand ends the play, and so does a new value from the page, and leaving it", () => {
  const moves = {
    slider: (dials) => (dials.sliders()[0].value = "3", dials.sliders()[0].dispatchEvent(new Event("input"))),
    key: (dials) => press(dials.find(".dial"), "ArrowUp"),
    hand: (dials) => point(dials.find("svg"), "pointerdown", { pointerId: 1 }),
    page: (dials) => dials.update(data([8, 8], 50)),
    rotation: (dials) => dials.update(data([4, 1], 50, { scale: 0.25 })),
  };
  for (const [name, move] of Object.entries(moves)) {
    const dials = made([4, 1]);
    dials.play().click();
    run(64);
    move(dials);
    const before = dials.sliders().map(({ style }) => style.cssText);
    run(320);
    assert.deepEqual(dials.sliders().map(({ style }) => style.cssText), before, name);
    assert.equal(dials.play().textContent, "Play", name);
    assert.equal(dials.messages.length, name === "key" ? 1 : 0, name);
    dials.leave();
  }
});

test("a dial is turned by one finger at a time, and by the main button only", () => {
  const dials = made([7, 2]);
  const { pointer } = dials;
  const [query, key] = [0, 1].map((which) => dials.pointsTo(1, which)[0]);
  pointer("down", query, { button: 2 });
  pointer("move", query + 0.6);
  check(dials, [7, 2]);
  pointer("down", query);
  pointer("down", key, { pointerId: 2 });
  pointer("move", key + 0.9, { pointerId: 2 });
  pointer("up", key + 0.9, { pointerId: 2 });
  check(dials, [7, 2]);
  pointer("move", query + 0.6);
  check(dials, [9, 2]);
  pointer("up", query + 0.6);
  assert.deepEqual(dials.sent(), [[9, 2]]);
});

test("what fills all positions has no room to play, and stays where it is", () => {
  for (const [places, more] of [[[11, 0], {}], [[0, 11], {}], [[0, 0], { n: 1 }]]) {
    const dials = made(places, 0, more);
    dials.play().click();
    assert.deepEqual([dials.play().textContent, dials.play().disabled], ["Play", true]);
    run(320);
    assert.deepEqual([dials.places(), dials.messages], [places, []]);
    press(dials.find(".dial"), places[0] ? "ArrowDown" : "ArrowUp");
    assert.equal(dials.play().disabled, more.n === 1);
    dials.leave();
  }
});

test("with reduced motion, each press of Play moves by one position and announces it", () => {
  prefer(CALM);
  const dials = made([10, 8]);
  dials.play().click();
  check(dials, [11, 9]);
  run(500);
  check(dials, [11, 9]);
  dials.play().click();
  check(dials, [2, 0]);
  assert.deepEqual([dials.sent(), dials.play().textContent], [[[11, 9], [2, 0]], "Play"]);
});

test("other positions leave the dials unchanged, other numbers make new ones", () => {
  const dials = made();
  const [, second] = dials.findAll(".dial");
  second.focus();
  dials.update(data([3, 9], 1));
  assert.equal(dials.root.getRootNode().activeElement, second);
  check(dials, [3, 9]);
  dials.update(data([3, 9], 2, { speeds: [0.1, 0.2], n: 30 }));
  assert.equal(dials.findAll(".dial").length, 2);
  assert.deepEqual(dials.sliders().map(({ max }) => max), ["29", "29"]);
  assert.deepEqual(dials.findAll(".dial").map(({ tabIndex, ariaValueMax }) => [tabIndex, ariaValueMax]), [[0, "29"], [-1, "29"]]);
});
