// What a chapter keeps in the browser: its own answers beside those of the others, and nothing before the server has read it.

import assert from "node:assert/strict";
import { test } from "node:test";

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
  const parentElement = { getRootNode: () => ({ host: { ownerDocument: page } }) };
  show({ data, parentElement, setTriggerValue: (...message) => told.push(message) });
  return told;
}

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
