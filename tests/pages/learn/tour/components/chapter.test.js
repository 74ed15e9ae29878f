// What a chapter keeps in the browser: its own answers beside those of the others, and nothing before the server has read it.

import assert from "node:assert/strict";
import { test } from "node:test";

import show from "../../../../../pages/learn/tour/components/chapter/chapter.js";

/** Show a chapter in a browser with this storage; return the messages that it sends to the server. */
function shown(storage, data) {
  globalThis.localStorage = {
    getItem: (name) => storage[name] ?? null,
    setItem: (name, value) => (storage[name] = value),
  };
  const told = [];
  const page = { querySelector: () => null };
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
