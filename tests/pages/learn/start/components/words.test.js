// What a cell of the stage says.

import assert from "node:assert/strict";
import { test } from "node:test";

import { SIDES } from "./made_stage.js";
import { wordsOf } from "../../../../../pages/learn/start/components/stage/words.js";

const panel = { title: "Values", shape: "vectors", size: [4, 8], nHeads: 1, rows: "target", columns: "" };

test("of a vector: the token and the dimension", () => {
  assert.equal(wordsOf(panel, SIDES, { row: 2, column: 5 }, -0.3456), "Values, token 2 “chat”, dimension 5: −0.35");
});

test("of vectors by head: which head, and the dimension within it", () => {
  const ofHeads = { ...panel, shape: "head vectors", nHeads: 2 };
  assert.equal(wordsOf(ofHeads, SIDES, { row: 0, column: 5 }, 1), "Values, token 0 “<bos>”, head 1, dimension 1: 1.00");
  assert.equal(wordsOf(ofHeads, SIDES, { row: 0, column: 3 }, 1), "Values, token 0 “<bos>”, head 0, dimension 3: 1.00");
});

test("of a pattern: query and key, each of its own side, or that the cell is masked", () => {
  const pattern = { ...panel, title: "Cross-attention", shape: "heads", columns: "source" };
  assert.equal(wordsOf(pattern, SIDES, { head: 3, row: 1, column: 1 }, 0.5), "Cross-attention, head 3: query 1 “le” → key 1 “cat”: 0.50");
  assert.equal(wordsOf(pattern, SIDES, { head: 0, row: 1, column: 1 }, -Infinity), "Cross-attention, head 0: query 1 “le” → key 1 “cat”: masked");
});
