// The causal cone: what a change can reach, in a decoder, an encoder, a window, and through the memory.

import assert from "node:assert/strict";
import { test } from "node:test";

import { causalCone } from "../../../../../pages/investigate/interventions/components/source_run/cone.js";

const causal = (n) => Array.from({ length: n }, (_, query) => "1".repeat(query + 1) + "0".repeat(n - query - 1));
const full = (n) => Array(n).fill("1".repeat(n));
const self = (mask) => ({ mixes: "self", mask });
const plain = { mixes: "", mask: null };
const drawn = (rows) => rows.map((row) => row.map((isIn) => (isIn ? "#" : ".")).join(""));

test("in a decoder a change reaches later positions of later layers, and no earlier ones", () => {
  const stacks = [{ name: "decoder", steps: [self(causal(4)), plain, self(causal(4)), plain] }];
  const cone = causalCone(stacks, { decoder: 4 }, { stack: "decoder", step: 0, positions: [1] });
  assert.deepEqual(drawn(cone.decoder), [".#..", ".#..", ".###", ".###"]);
});

test("from an encoder it comes to every position of a decoder by cross-attention, and not back", () => {
  const stacks = [
    { name: "encoder", steps: [self(full(3)), self(full(3))] },
    { name: "decoder", steps: [self(causal(2)), { mixes: "cross", mask: null }] },
  ];
  const lengths = { encoder: 3, decoder: 2 };
  const early = causalCone(stacks, lengths, { stack: "encoder", step: 0, positions: [2] });
  assert.deepEqual([drawn(early.encoder), drawn(early.decoder)], [["..#", "###"], ["..", "##"]]);
  const late = causalCone(stacks, lengths, { stack: "decoder", step: 0, positions: [1] });
  assert.deepEqual([drawn(late.encoder), drawn(late.decoder)], [["...", "..."], [".#", ".#"]]);
});
