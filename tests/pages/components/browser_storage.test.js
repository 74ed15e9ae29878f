// What the browser keeps: parts beside those of other tabs, told to a new session once.

import assert from "node:assert/strict";
import { test } from "node:test";

import show from "../../../pages/components/browser_storage/browser_storage.js";

/** Draw it in a browser with this storage; return the messages that it sends to the server. */
function drawn(storage, data) {
  globalThis.localStorage = {
    getItem: (name) => storage[name] ?? null,
    setItem: (name, value) => (storage[name] = value),
  };
  const told = [];
  show({ data: { store: "s", parts: {}, isRestored: false, ...data }, setTriggerValue: (...message) => told.push(message) });
  return told;
}

test("a new session is told what is kept, and nothing where there is nothing", () => {
  const storage = {};
  assert.deepEqual(drawn(storage, {}), []);
  assert.deepEqual(storage, {});
  assert.deepEqual(drawn({ s: '{"a":1}' }, {}), [["kept", { a: 1 }]]);
  assert.deepEqual(drawn({ s: '{"a":1}' }, { isRestored: true }), []);
  assert.deepEqual(drawn({ other: '{"a":1}' }, {}), []);
});

test("parts are kept beside what other tabs keep", () => {
  const storage = { s: '{"a":1,"b":2}' };
  assert.deepEqual(drawn(storage, { parts: { b: 3 } }), [["kept", { a: 1, b: 2 }]]);
  assert.deepEqual(drawn(storage, { parts: { c: null }, isRestored: true }), []);
  assert.deepEqual(JSON.parse(storage.s), { a: 1, b: 3, c: null });
});

test("what is damaged counts as nothing, and a browser may keep nothing", () => {
  for (const damaged of ["{", "[1]", "7", "null"]) assert.deepEqual(drawn({ s: damaged }, {}), [], damaged);
  const refuse = () => {
    throw new DOMException("Storage is not allowed.", "SecurityError");
  };
  globalThis.localStorage = { getItem: refuse, setItem: refuse };
  show({ data: { store: "s", parts: { a: 1 }, isRestored: false }, setTriggerValue: assert.fail });
});
