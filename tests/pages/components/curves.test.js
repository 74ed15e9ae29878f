// Lines of attention: which weights are drawn, in which step of opacity.

import assert from "node:assert/strict";
import { test } from "node:test";

import { FORBIDDEN, LEAST, sortCurves, TOP } from "../../../pages/components/lines/curves.js";

test("each weight that can be seen is drawn once, the faintest first", () => {
  const weights = Uint16Array.from({ length: 500 }, (_, i) => (i * 7919) % (TOP + 1));
  const steps = sortCurves(weights);
  const drawn = steps.flat();
  assert.deepEqual([...drawn].sort((one, other) => one - other), [...weights.keys()].filter((i) => weights[i] >= LEAST * TOP));
  const edges = steps.filter((step) => step.length).map((step) => step.map((place) => weights[place]));
  for (let i = 1; i < edges.length; i++) assert.ok(Math.max(...edges[i - 1]) <= Math.min(...edges[i]));
});

test("what the mask forbids is no line, and a weight of 1 is the strongest", () => {
  const steps = sortCurves(Uint16Array.from([FORBIDDEN, TOP, 0, Math.ceil(LEAST * TOP), Math.ceil(LEAST * TOP) - 1]));
  assert.deepEqual(steps.at(-1), [1]);
  assert.deepEqual(steps.flat().sort(), [1, 3]);
});
