// Numbers that a reader of a saved chapter types.

import assert from "node:assert/strict";
import { test } from "node:test";

import { isRight, readNumber } from "../../../../pages/learn/tour/saved_chapter.js";

test("numbers are read as people type them", () => {
  for (const [typed, expected] of [["28", 28], [" 1,8 ", 1.8], ["−2", -2], ["1/3", 1 / 3], ["sqrt(3)", Math.sqrt(3)], ["√2", Math.SQRT2]]) {
    assert.equal(readNumber(typed), expected);
  }
  for (const typed of ["", "alert(1)", "1.2.3", "7 tokens", "sqrt()"]) assert.ok(Number.isNaN(readNumber(typed)), typed);
});

test("a number is correct within its tolerance, also with grouped thousands", () => {
  assert.ok(isRight("119,808", 119808, 0.5) && isRight("119,808", 119.808, 0.001) && isRight("27.9", 28, 0.4));
  assert.ok(!isRight("27", 28, 0.4) && !isRight("x", 0, 1));
});
