// A program as a table: what each row says, how a line is chosen, and that what was chosen here outlives older news.

import assert from "node:assert/strict";
import { test } from "node:test";

import { areSame, press, shown } from "../../../dom.js";
import show from "../../../../../pages/learn/programs/components/listing/listing.js";

const row = (number, more = {}) => ({
  ...{ number, source: `x${number} = map(lambda t: t, tokens)`, parts: [`L${number}.FFN`], values: ["a", "b"], changed: [] },
  ...{ isMistaken: false, note: "no value" },
  ...more,
});
const data = (more = {}) => ({
  tokens: ["a", "b"],
  rows: [row(1), row(2, { changed: [1], isMistaken: true, parts: ["L0.H0", "L0.FFN"] }), row(4, { values: [] })],
  outputs: [{ name: "output", values: ["b", "a"], changed: [0] }],
  line: { revision: 1, value: 2 },
  ...more,
});
const texts = (table, selector) => table.findAll(selector).map(({ textContent }) => textContent);
const chosen = (table) => table.findAll('.line[aria-pressed="true"]').map(({ dataset }) => Number(dataset.number));

test("a row has its line, what computes it, and a value for each token; a row without values says why", () => {
  const table = shown(show, "listing", data());
  assert.deepEqual(texts(table, ".source"), [1, 2, 4].map((number) => row(number).source));
  assert.deepEqual(texts(table, "tbody tr:nth-child(2) .part"), ["L0.H0", "L0.FFN"]);
  assert.deepEqual(texts(table, "tbody .note"), ["no value"]);
  assert.deepEqual(texts(table, "tfoot .value"), ["bchanged", "a"]); // said to those who do not see the color
  assert.deepEqual(texts(table, "tbody .changed"), ["bchanged"]);
  assert.equal(table.findAll(".mistaken").length, 1);
  assert.deepEqual(chosen(table), [2]);
});

test("a click and a key choose a line, and older news does not undo that", () => {
  const table = shown(show, "listing", data());
  table.findAll(".line")[0].click();
  assert.deepEqual(table.told, [["line", { revision: 2, value: 1 }]]);
  table.update(data());
  assert.deepEqual(chosen(table), [1]);
  table.update(data({ line: { revision: 2, value: 1 } }));
  const buttons = table.findAll(".line");
  press(buttons[0], "ArrowDown");
  assert.ok(areSame([table.root.getRootNode().activeElement], [buttons[1]]));
  press(buttons[1], "Enter");
  assert.deepEqual(table.told.at(-1), ["line", { revision: 3, value: 2 }]);
});
