// A chapter: what it keeps in the browser, as browser_storage.test.js tests it, and where its page is scrolled to.

import assert from "node:assert/strict";
import { test } from "node:test";

import show from "../../../../../pages/learn/tour/components/chapter/chapter.js";

/** Show a chapter in a browser with this storage and scrolling box, and leave it; return its messages to the server. */
function shown(storage, data, box = null) {
  globalThis.localStorage = {
    getItem: (name) => storage[name] ?? null,
    setItem: (name, value) => (storage[name] = value),
  };
  const messages = [];
  const page = { querySelector: (selector) => (selector === '[data-testid="stMain"]' ? box : null) };
  const parentElement = { getRootNode: () => ({ host: { ownerDocument: page } }) };
  show({ data, parentElement, setTriggerValue: (...message) => messages.push(message) })();
  return messages;
}

test("each chapter keeps its answers beside those of the others, and tells all of them until they are restored", () => {
  const storage = {};
  for (const [name, answers] of [["masks", { 0: "28" }], ["steps", { 0: "a", 1: "b" }], ["masks", { 0: "29" }]]) {
    assert.deepEqual(shown(storage, { name, answers, restored: true }), []);
  }
  const all = { masks: { 0: "29" }, steps: { 0: "a", 1: "b" } };
  assert.deepEqual(JSON.parse(storage["headlight-tour"]), all);
  assert.deepEqual(shown(storage, { name: "norm", answers: {}, restored: false }, {}), [["kept", all]]);
  assert.deepEqual(JSON.parse(storage["headlight-tour"]), all);
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
