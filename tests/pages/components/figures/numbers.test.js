// The numbers and the words of a figure's cells, and where its cells lie.

import assert from "node:assert/strict";
import { test } from "node:test";

import { gridOf, plain, readGrids } from "../../../../pages/components/figures/numbers.js";
import { fillInWords } from "../../../../headlight/figures/cell_words.js";

const base64 = (numbers) => Buffer.from(numbers.buffer).toString("base64");
const cells = (more = {}) => ({ data: [{ type: "scatter", z: [[1]] }, { type: "heatmap", z: [[1, 2, 3], [4, 5, 6]], ...more }], layout: {} });

test("rows and columns begin where the figure says: one by one, by the first, or at 0", () => {
  assert.deepEqual(gridOf(cells()), { rows: [0, 1, 2], columns: [0, 1, 2, 3] });
  assert.deepEqual(gridOf(cells({ y: [4, 5], x: [6, 7, 8] })), { rows: [4, 5, 6], columns: [6, 7, 8, 9] });
  const blocks = { queries: [0, 4, 6], keys: [0, 2, 4, 5] };
  assert.deepEqual(gridOf({ ...cells({ y0: 7 }), layout: { meta: { blocks } } }), { rows: blocks.queries, columns: blocks.keys });
  assert.equal(gridOf({ data: [{ type: "scatter" }, { type: "heatmap", z: [] }], layout: {} }), null);
});

test("numbers are read in the type in which they were sent, row by row", () => {
  const types = { f4: Float32Array, f8: Float64Array, i2: Int16Array, u4: Uint32Array };
  for (const [dtype, Numbers] of Object.entries(types)) {
    const sent = Numbers.of(1, 2, 3, 4, 5, -1);
    const figure = cells({ z: { dtype, bdata: base64(sent), shape: "2, 3" } });
    readGrids(figure);
    assert.deepEqual(figure.data[1].z.map((row) => [...row]), [[...sent.slice(0, 3)], [...sent.slice(3)]], dtype);
    assert.deepEqual(figure.data[0].z, [[1]]);
  }
});

test("words lose the markup that plotly reads, and no other", () => {
  assert.equal(plain("<b>5 &lt; 6</b>&nbsp;&amp;lt; <i class='x'>it</i>"), "5 < 6 &lt; it");
  assert.equal(plain("1 < 2 > 0"), "1 < 2 > 0");
});

test("words of cells: sign, rounding to nothing, powers, what is forbidden", () => {
  const words = (z, more) => {
    const texts = { queries: ["a"], keys: ["b", "c"], before: "", forbidden: "no", decimal: ".", ...more };
    const figure = { data: [{ meta: "words", z }], layout: { meta: { words: texts } } };
    fillInWords(figure);
    return figure.data[0].customdata;
  };
  const signed = { format: "+.2f" };
  assert.deepEqual(words([[1.234, -1.235]], signed), [["a → b: +1.23", "a → c: −1.24"]]);
  assert.deepEqual(words([[-0.001, NaN]], signed), [["a → b: +0.00", ""]]);
  assert.deepEqual(words([[0.5, 2]], { format: ".2f", decimal: "," }), [["a → b: 0,50", "a → c: 2,00"]]);
  assert.deepEqual(words([[-7, -1]], { format: ".2f", power: true, below: "< 1e-6" }), [["a → b: < 1e-6", "a → c: 0.1"]]);
});
