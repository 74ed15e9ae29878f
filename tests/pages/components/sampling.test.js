// The stops of the sliders; what the settings leave of a distribution is tested against Python's, in test_sampling.py.

import assert from "node:assert/strict";
import { test } from "node:test";

import { SLIDERS } from "../../../pages/components/sampling/sliders.js";

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
