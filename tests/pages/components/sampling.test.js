// What temperature and the filters leave of a distribution, worked out by their definitions.

import assert from "node:assert/strict";
import { test } from "node:test";

import { random } from "../canvas.js";
import { leave, shareOf } from "../../../pages/components/sampling/sampling.js";
import { SLIDERS } from "../../../pages/components/sampling/sliders.js";

const OFF = { temperature: 1, top_k: 0, top_p: 1, min_p: 0 };
const sum = (numbers) => numbers.reduce((one, other) => one + other, 0);
const sharesOf = (scores, temperature = 1) => {
  const weights = scores.map((score) => Math.exp((score - scores[0]) / temperature));
  return weights.map((weight) => weight / sum(weights));
};
const isNear = (one, other, why) => assert.ok(Math.abs(one - other) < 1e-6, `${one} is not ${other}: ${why ?? ""}`);
const left = (scores, sampling) => {
  const found = leave(Float32Array.from(scores), { ...OFF, ...sampling });
  const shares = scores.map((_, place) => shareOf(found, place));
  return { ...found, n: found.end - found.first, shares };
};

/** How many tokens the settings leave: each filter by its own definition, on what the one before it left. */
function kept(scores, { temperature, top_k: topK, top_p: topP, min_p: minP }) {
  let shares = sharesOf(scores, temperature);
  if (topK) shares = shares.slice(0, topK);
  const whole = sum(shares);
  let n = 1;
  while (n < shares.length && sum(shares.slice(0, n)) / whole < topP) n += 1;
  return shares.slice(0, n).filter((share) => share >= minP * shares[0]).length;
}

test("what is left shares all probability, as by the definitions of temperature and of each filter", () => {
  const next = random(11);
  for (let round = 0; round < 200; round++) {
    const scores = Array.from({ length: 5 + Math.floor(20 * next()) }, () => 8 * next() - 4).toSorted((a, b) => b - a);
    const pick = (...values) => values[Math.floor(values.length * next())];
    const sampling = { temperature: pick(0.3, 1, 1.7), top_k: pick(0, 1, 3, 7, 50), top_p: pick(1, 0.9, 0.51, 0.13), min_p: pick(0, 0.07, 0.4) };
    const { first, n, shares, entropy, held } = left(scores, sampling);
    const why = JSON.stringify({ scores, sampling });
    assert.equal(first, 0);
    assert.equal(n, kept(scores, sampling), why);
    const all = sharesOf(scores, sampling.temperature);
    const wanted = all.slice(0, n).map((share) => share / sum(all.slice(0, n)));
    wanted.forEach((share, place) => isNear(shares[place], share, why));
    assert.ok(shares.slice(n).every((share) => share === 0));
    isNear(entropy, -sum(wanted.map((share) => share * Math.log(share))), why);
    isNear(held, sum(all.slice(0, n)), why);
  }
});

test("temperature 0 leaves one token, of equally probable ones the last, whatever the filters", () => {
  for (const more of [{}, { top_k: 2 }, { top_p: 0.2, min_p: 1 }]) {
    const { first, end, shares, entropy, held } = left([2, 2, 2, 1, 1], { temperature: 0, ...more });
    assert.deepEqual([first, end, shares, entropy, held], [2, 3, [0, 0, 1, 0, 0], 0, 1]);
  }
  assert.deepEqual(left([3, 1], { temperature: 0 }).shares, [1, 0]);
});

test("each filter keeps what lies on its edge", () => {
  const log = (...shares) => shares.map(Math.log);
  assert.equal(left([3, 2, 2, 2, 1], { top_k: 2 }).n, 4); // as good as the second
  assert.equal(left([3, 2, 2, 2, 1], { top_k: 1 }).n, 1);
  assert.equal(left([3, 2, 2, 2, 1], { top_k: 5 }).n, 5);
  assert.equal(left(log(0.5, 0.25, 0.125, 0.125), { top_p: 0.75 }).n, 2);
  assert.equal(left(log(0.5, 0.25, 0.125, 0.125), { top_p: 0.76 }).n, 3);
  assert.equal(left(log(0.5, 0.25, 0.125, 0.125), { top_p: 0.01 }).n, 1);
  assert.equal(left(log(0.5, 0.25, 0.125, 0.125), { min_p: 0.5 }).n, 2);
  assert.equal(left(log(0.5, 0.25, 0.125, 0.125), { min_p: 0.51 }).n, 1);
  assert.equal(left(log(0.4, 0.4, 0.2), { min_p: 1 }).n, 2);
});

test("a token that can never be written is never left, and takes nothing", () => {
  const { n, shares, entropy, held } = left([1, 1, -Infinity, -Infinity], {});
  assert.deepEqual([n, shares], [2, [0.5, 0.5, 0, 0]]);
  isNear(entropy, Math.log(2));
  assert.equal(held, 1);
  assert.equal(left([0, -Infinity], { top_k: 2, top_p: 0.5 }).n, 1);
  const far = left([0, -2000, -2000], {}); // their weights are 0 in double precision
  assert.ok(far.entropy === 0 && far.shares[1] === 0);
});

const stopsOf = (name, nTokens = 500) => SLIDERS.find((kind) => kind.name === name).stops(nTokens);

test("temperature and shares go in hundredths from end to end", () => {
  for (const [name, first, last] of [["temperature", 0, 2], ["top_p", 0.01, 1], ["min_p", 0, 1]]) {
    const stops = stopsOf(name);
    assert.deepEqual([stops[0], stops.at(-1), stops.length], [first, last, Math.round((last - first) * 100) + 1], name);
    stops.forEach((stop, i) => assert.ok(Math.abs(stop - first - i / 100) < 1e-9, `${name} at ${i}`));
  }
});

test("top-k goes from 1 towards the vocabulary, ever faster, and is off at the end", () => {
  for (const nTokens of [2, 60, 500, 50_000]) {
    const stops = stopsOf("top_k", nTokens);
    assert.deepEqual([stops[0], stops.at(-1)], [1, 0]);
    const counts = stops.slice(0, -1);
    assert.deepEqual(counts, [...new Set(counts)].toSorted((one, other) => one - other));
    assert.ok(counts.at(-1) <= nTokens && counts.at(-1) >= 0.9 * nTokens ** (1 - 1 / 160), `${nTokens}`);
    assert.ok(counts.every((count, i) => i === 0 || count - counts[i - 1] <= Math.max(1, 0.2 * count)));
  }
});

test("each slider can stand at its usual value", () => {
  for (const { name, usual, stops } of SLIDERS) assert.ok(stops(500).includes(usual), name);
});
