// Lines of attention: which weights are drawn, from where to where, in which color and how strongly.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Canvas, random } from "../../../canvas.js";
import { FORBIDDEN, LEAST, MOST_CURVES, paintCurves, sortCurves, TOP } from "../../../../../headlight/components/lines/curves.js";

test("each weight that can be seen is drawn once, the faintest first", () => {
  const weights = Uint16Array.from({ length: 500 }, (_, i) => (i * 7919) % (TOP + 1));
  const steps = sortCurves(weights);
  const drawn = steps.flat();
  assert.deepEqual([...drawn].sort((one, other) => one - other), [...weights.keys()].filter((i) => weights[i] >= LEAST * TOP));
  const edges = steps.filter((step) => step.length).map((step) => step.map((place) => weights[place]));
  for (let i = 1; i < edges.length; i++) assert.ok(Math.max(...edges[i - 1]) <= Math.min(...edges[i]));
});

const HUES = ["#3366cc", "#cc6633", "#33aa55"];

function painted({ nQueries, nKeys, pitch, scrolled = 0, size, weights, isWanted = () => true, ratio = 1 }) {
  const canvas = Object.assign(new Canvas(), { offsetWidth: size[0], offsetHeight: size[1] });
  globalThis.devicePixelRatio = ratio;
  const isWhole = paintCurves(canvas, { steps: sortCurves(weights), nQueries, nKeys, hues: HUES, pitch, scrolled }, isWanted);
  globalThis.devicePixelRatio = 1;
  const curves = canvas.brush.paths.flatMap(({ points, color, alpha, width }) => {
    const pairs = points.map((_, i) => points.slice(i, i + 2)).filter((_, i) => i % 2 === 0);
    return pairs.map(([[, ...from], [, ...way]]) => ({ line: [...from, ...way].join(), color, alpha, width }));
  });
  return { canvas, curves, isWhole };
}

test("each curve leads from its query to its key, in its head's color, the stronger the more opaque and thick", () => {
  const [nQueries, nKeys, pitch, scrolled, size] = [5, 7, 20, 30, [100, 90]];
  const next = random(5);
  const weights = Uint16Array.from({ length: HUES.length * nQueries * nKeys }, () => Math.floor(next() ** 2 * TOP));
  weights.set([FORBIDDEN, TOP], 3);
  const isWanted = (query, key) => query !== 2 && key !== 1;
  const { curves, isWhole } = painted({ nQueries, nKeys, pitch, scrolled, size, weights, isWanted });
  const expected = [];
  for (let head = 0, place = 0; head < HUES.length; head++) {
    for (let query = 0; query < nQueries; query++) {
      for (let key = 0; key < nKeys; key++, place++) {
        const [from, to] = [query, key].map((index) => (index + 0.5) * pitch - scrolled);
        const isSeen = Math.max(from, to) >= 0 && Math.min(from, to) <= size[1];
        if (weights[place] === FORBIDDEN || weights[place] < LEAST * TOP || !isWanted(query, key) || !isSeen) continue;
        const line = [0, from, 50, from, 50, to, 100, to].join();
        expected.push({ line, color: HUES[head], share: weights[place] / TOP });
      }
    }
  }
  assert.ok(isWhole && expected.length > 30);
  assert.equal(curves.length, expected.length);
  for (const { line, color, share } of expected) {
    const [curve, other] = curves.filter((one) => one.line === line && one.color === color);
    assert.ok(curve && !other, `${line} in ${color}`);
    assert.ok(Math.abs(curve.alpha - share ** (1 / 1.3)) <= 1 / 24, `${curve.alpha} of a weight of ${share}`);
    assert.ok(Math.abs(curve.width - (1.1 + 1.9 * share)) < 0.15, `${curve.width} px of a weight of ${share}`);
  }
  const alphas = curves.map(({ alpha }) => alpha);
  assert.deepEqual(alphas, alphas.toSorted((one, other) => one - other)); // the strongest lie on top
});

test("of too many curves the strongest are drawn, with a note", () => {
  const n = 80;
  const weights = Uint16Array.from({ length: n * n }, (_, i) => Math.round(TOP * (0.1 + (0.9 * ((i * 7919) % (n * n))) / (n * n))));
  const { curves, isWhole } = painted({ nQueries: n, nKeys: n, pitch: 10, size: [100, 800], weights });
  assert.equal(isWhole, false);
  assert.equal(curves.length, MOST_CURVES);
  const least = weights.toSorted()[n * n - MOST_CURVES] / TOP;
  assert.ok(Math.min(...curves.map(({ alpha }) => alpha)) >= least ** (1 / 1.3) - 1 / 24);
});
