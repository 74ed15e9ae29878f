// What a chapter keeps in the browser: its own answers beside those of the others, and nothing before the server has read it.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import show from "../../../../../pages/learn/tour/components/chapter/chapter.js";

/** Show a chapter in a browser with this storage and scrolling box; return the messages that it sends to the server. */
function shown(storage, data, box = null) {
  globalThis.localStorage = {
    getItem: (name) => storage[name] ?? null,
    setItem: (name, value) => (storage[name] = value),
  };
  return sentBy(data, { querySelector: (selector) => (selector === '[data-testid="stMain"]' ? box : null) });
}

function sentBy(data, page) {
  const told = [];
  mounted(data, page, told)();
  return told;
}

/** Show a chapter that goes on to send its messages; return what takes it away. */
function mounted(data, page, told) {
  const parentElement = { getRootNode: () => ({ host: { ownerDocument: page } }) };
  return show({ data, parentElement, setTriggerValue: (...message) => told.push(message) });
}

test("what is kept is told again until the server has it, and not after the page was left", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.localStorage = { getItem: () => '{"masks":["28"]}', setItem: () => {} };
  const page = { querySelector: () => null };
  const told = [];
  mounted({ name: "masks", answers: [], restored: false }, page, told);
  mock.timers.tick(3000);
  assert.deepEqual(told, [["kept", { masks: ["28"] }], ["kept", { masks: ["28"] }]]);
  mounted({ name: "masks", answers: ["28"], restored: true }, page, told);
  mock.timers.tick(9000);
  assert.equal(told.length, 2);
  mounted({ name: "masks", answers: [], restored: false }, page, told)();
  mock.timers.tick(9000);
  assert.equal(told.length, 3);
  mock.timers.reset();
});

test("each chapter keeps its answers beside those of the others", () => {
  const storage = {};
  for (const [name, answers] of [["masks", { 0: "28" }], ["steps", { 0: "a", 1: "b" }], ["masks", { 0: "29" }]]) {
    assert.deepEqual(shown(storage, { name, answers, restored: true }), []);
  }
  const before = { ...storage };
  const all = { masks: { 0: "29" }, steps: { 0: "a", 1: "b" } };
  assert.deepEqual(shown(storage, { name: "norm", answers: {}, restored: false }), [["kept", all]]);
  assert.deepEqual(storage, before);
});

test("a tab that only looks at a chapter leaves what another one answered there", () => {
  const storage = { "headlight-tour": '{"masks":["28"],"steps":["a"]}' };
  const stored = () => JSON.parse(storage["headlight-tour"]);
  shown(storage, { name: "masks", answers: [], restored: false });
  storage["headlight-tour"] = '{"masks":["28","b"],"steps":["a"],"norm":["c"]}'; // by another tab
  shown(storage, { name: "masks", answers: ["28"], restored: true });
  shown(storage, { name: "norm", answers: [], restored: true });
  assert.deepEqual(stored(), { masks: ["28", "b"], steps: ["a"], norm: ["c"] });
  shown(storage, { name: "masks", answers: [], restored: true }); // asked again here
  shown(storage, { name: "norm", answers: ["d"], restored: true }); // answered here
  shown(storage, { name: "rows", answers: [], restored: true }); // opened here for the first time
  assert.deepEqual(stored(), { masks: [], steps: ["a"], norm: ["d"], rows: [] });
});

test("what is damaged is written anew as soon as its chapter is open", () => {
  const storage = { "headlight-tour": '{"masks":[28]}' };
  shown(storage, { name: "masks", answers: [], restored: false });
  shown(storage, { name: "masks", answers: [], restored: true });
  assert.equal(storage["headlight-tour"], '{"masks":[]}');
});

test("what is damaged counts as nothing", () => {
  for (const damaged of ["{", "[1]", "7", "null"]) {
    const told = shown({ "headlight-tour": damaged }, { name: "masks", answers: {}, restored: false });
    assert.deepEqual(told, [["kept", {}]], damaged);
  }
});

test("a browser that keeps nothing shows the chapter all the same", () => {
  const refuse = () => {
    throw new DOMException("Storage is not allowed.", "SecurityError");
  };
  globalThis.localStorage = { getItem: refuse, setItem: refuse };
  const page = { querySelector: () => null };
  assert.deepEqual(sentBy({ name: "masks", answers: { 0: "1" }, restored: true }, page), []);
  assert.deepEqual(sentBy({ name: "masks", answers: {}, restored: false }, page), [["kept", {}]]);
  globalThis.localStorage = { getItem: () => "{", setItem: refuse };
  assert.deepEqual(sentBy({ name: "masks", answers: { 0: "1" }, restored: true }, page), []);
});

test("another chapter begins at its top, and the same one stays where it is scrolled to", () => {
  const opened = () => {
    const box = { top: 70, scrollTo: ({ top }) => (box.top = top) };
    return box;
  };
  const [one, other] = [opened(), opened()];
  const go = (name, box) => {
    box.top = 70;
    shown({}, { name, answers: [], restored: true }, box);
    return box.top;
  };
  assert.equal(go("masks", one), 70, "the page was just opened");
  assert.equal(go("masks", one), 70);
  assert.equal(go("steps", one), 0);
  assert.equal(go("steps", one), 70);
  assert.equal(go("masks", other), 70, "a page that was left says nothing of this one");
  assert.equal(go("masks", one), 0);
});
