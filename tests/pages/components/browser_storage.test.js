// What the browser keeps: parts beside those of other tabs, told to a new session once.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import show from "../../../pages/components/browser_storage/browser_storage.js";

/** Draw it in a browser with this storage, and leave the page; return the messages that it sends to the server. */
function drawn(storage, data) {
  globalThis.localStorage = {
    getItem: (name) => storage[name] ?? null,
    setItem: (name, value) => (storage[name] = value),
  };
  const messages = [];
  mounted(data, messages)();
  return messages;
}

/** Draw it and stay; return a function that removes it. */
function mounted(data, messages) {
  const setTriggerValue = (...message) => messages.push(message);
  return show({ data: { store: "s", parts: {}, isRestored: false, ...data }, setTriggerValue });
}

test("a new session receives what is kept, and nothing where there is nothing", () => {
  const storage = {};
  assert.deepEqual(drawn(storage, { store: "none" }), []);
  assert.deepEqual(storage, {});
  assert.deepEqual(drawn({ s: '{"a":1}' }, {}), [["kept", { a: 1 }]]);
});

test("the parts are sent again until the session has it", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.localStorage = { getItem: () => '{"a":1}', setItem: assert.fail };
  const messages = [];
  mounted({ store: "again" }, messages);
  mock.timers.tick(3000);
  assert.deepEqual(messages, [["kept", { a: 1 }], ["kept", { a: 1 }]]);
  mounted({ store: "again", parts: { a: 1 }, isRestored: true }, messages);
  mock.timers.tick(9000);
  assert.equal(messages.length, 2);
  mock.timers.reset();
});

test("parts are kept beside what other tabs keep, once the session has what was kept", () => {
  const storage = { beside: '{"a":1,"b":2}' };
  const stored = () => JSON.parse(storage.beside);
  assert.deepEqual(drawn(storage, { store: "beside", parts: { b: 3 } }), [["kept", { a: 1, b: 2 }]]);
  assert.deepEqual(stored(), { a: 1, b: 2 });
  assert.deepEqual(drawn(storage, { store: "beside", parts: { b: 3, c: null }, isRestored: true }), []);
  assert.deepEqual(stored(), { a: 1, b: 3, c: null });
});

test("a tab that did not change a part leaves what another one wrote there", () => {
  const storage = { two: '{"masks":["28"],"steps":["a"]}' };
  const draw = (parts, isRestored = true) => drawn(storage, { store: "two", parts, isRestored });
  draw({ masks: [] }, false);
  storage.two = '{"masks":["28","b"],"steps":["a"],"norm":["c"]}'; // by another tab
  draw({ masks: ["28"] });
  draw({ norm: [] }); // opened here, not answered
  assert.deepEqual(JSON.parse(storage.two), { masks: ["28", "b"], steps: ["a"], norm: ["c"] });
  draw({ masks: [] }); // asked again here
  draw({ norm: ["d"], rows: [] });
  assert.deepEqual(JSON.parse(storage.two), { masks: [], steps: ["a"], norm: ["d"], rows: [] });
  storage.two = '{"norm":["e"]}'; // by another tab
  draw({ norm: ["d"], rows: [] });
  assert.deepEqual(JSON.parse(storage.two), { norm: ["e"] });
});

test("what is damaged counts as nothing, and a browser may keep nothing", () => {
  for (const damaged of ["{", "[1]", "7", "null"]) assert.deepEqual(drawn({ s: damaged }, {}), [], damaged);
  const refuse = () => {
    throw new DOMException("Storage is not allowed.", "SecurityError");
  };
  globalThis.localStorage = { getItem: refuse, setItem: refuse };
  show({ data: { store: "s", parts: { a: 1 }, isRestored: false }, setTriggerValue: assert.fail });
});
