// Who has the last word about a value that a person changes here, and Python elsewhere on the page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { SharedValue } from "../../../pages/components/kit/shared_value.js";

function made() {
  const sent = [];
  const shared = new SharedValue((message) => sent.push(message));
  assert.ok(shared.hear({ revision: 7, value: "first" }));
  return { shared, sent };
}

test("what Python says first holds, whatever its revision", () => {
  assert.ok(new SharedValue(() => {}).hear({ revision: 0, value: null }));
});

test("an answer that is older than what a person has done since does not hold, and the answer to that does", () => {
  const { shared, sent } = made();
  shared.tell("second");
  shared.tell("third");
  assert.deepEqual(sent, [{ revision: 8, value: "second" }, { revision: 9, value: "third" }]);
  assert.equal(shared.hear({ revision: 7, value: "first" }), false);
  assert.equal(shared.hear({ revision: 8, value: "second" }), false);
  assert.ok(shared.hear({ revision: 9, value: "third" }));
});

test("while a person changes it, an answer to what was done before does not hold", () => {
  const { shared, sent } = made();
  shared.tell("second");
  shared.touch();
  shared.touch();
  assert.ok(shared.isTouched);
  assert.equal(shared.hear({ revision: 8, value: "second" }), false);
  shared.tell("third");
  assert.equal(shared.isTouched, false);
  assert.deepEqual(sent.at(-1), { revision: 9, value: "third" });
});

test("what Python changed itself holds, even while a person changes it", () => {
  const { shared, sent } = made();
  shared.touch();
  assert.ok(shared.hear({ revision: 8, value: "Python's" }));
  assert.equal(shared.isTouched, false);
  shared.tell("a person's");
  assert.deepEqual(sent, [{ revision: 9, value: "a person's" }]);
});
