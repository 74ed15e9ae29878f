// Two runs beside each other: what is dragged, where it lands, what is shaded, and the same by keyboard and by a click.

import assert from "node:assert/strict";
import { test } from "node:test";

import { areSame, place, point, press, shown } from "../../../dom.js";
import show from "../../../../../pages/investigate/interventions/components/source_run/source_run.js";

const half = (rows, columns, border = {}) => ({ rows, columns, border, values: rows.map(() => columns.map(() => 0.5)) });
const sites = {
  title: "Decoder",
  stack: "decoder",
  steps: [0, 1],
  isPattern: false,
  there: half(["L0.H0", "L1.H0"], ["a", "new", "b"]),
  here: half(["L0.H0", "L1.H0"], ["a", "b"]),
  rowsHere: [0, 1],
  columnsHere: [0, null, 1],
};
const pattern = {
  ...{ title: "L0.H0", stack: "decoder", steps: [0, 0], isPattern: true, rowsHere: [0, null, 1], columnsHere: [0, null, 1] },
  ...{ there: half(["a", "new", "b"], ["a", "new", "b"]), here: half(["a", "b"], ["a", "b"]) },
};
const stacks = [{ name: "decoder", steps: [{ mixes: "self", mask: ["10", "11"] }, { mixes: "self", mask: ["10", "11"] }] }];
const data = (boards = [sites]) => ({ boards, stacks });
const from = (view, board, row, column) =>
  view.find(`.from[data-board="${board}"][data-row="${row}"][data-column="${column}"]`);
const places = (view, name) => view.findAll(`.here .${name}`).map(({ dataset }) => `${dataset.row},${dataset.column}`);
const at = (x, y) => ({ pointerId: 1, button: 0, clientX: x, clientY: y });

function drag(view, item, x, y) {
  place(view.find(".here"), { left: 300, top: 0, width: 100, height: 50 });
  const other = { pointerId: 2 }; // another finger, which changes nothing
  point(item, "pointerdown", at(10, 10));
  point(from(view, 0, 1, 0), "pointerdown", { ...at(10, 10), ...other });
  point(view.root, "pointermove", { ...at(12, 10), ...other });
  point(view.root, "pointermove", at(20, 20));
  point(view.root, "pointermove", at(x, y));
  point(view.root, "pointerup", { ...at(310, 30), ...other });
  const during = { lands: places(view, "lands"), cone: places(view, "cone"), isGhost: !view.find(".ghost").hidden };
  point(view.root, "pointerup", at(x, y));
  return during;
}

test("a cell that is dragged onto the text is patched at its counterpart, and its cone is shaded meanwhile", () => {
  const view = shown(show, "source_run", data());
  assert.deepEqual(drag(view, from(view, 0, 0, 2), 320, 20), { lands: ["0,1"], cone: ["1,1"], isGhost: true });
  assert.deepEqual(view.told, [["drop", { board: 0, row: 0, column: 2 }]]);
  assert.deepEqual([places(view, "lands"), view.find(".ghost").hidden], [[], true]);
});

test("beside the text, or with Escape, nothing is patched", () => {
  const view = shown(show, "source_run", data());
  drag(view, from(view, 0, 0, 0), 200, 20);
  point(from(view, 0, 0, 0), "pointerdown", at(10, 10));
  point(view.root, "pointermove", at(320, 20));
  press(from(view, 0, 0, 0), "Escape");
  point(view.root, "pointerup", at(320, 20));
  assert.deepEqual(view.told, []);
  assert.deepEqual([view.find(".ghost").hidden, places(view, "lands")], [true, []]);
});

test("a token without a counterpart cannot be dragged, and says why", () => {
  const view = shown(show, "source_run", data());
  const item = from(view, 0, 0, 1);
  assert.ok(item.classList.contains("unpaired"));
  assert.deepEqual(drag(view, item, 320, 20), { lands: [], cone: [], isGhost: false });
  item.click();
  assert.match(view.find(".status").textContent, /“new” has no counterpart/);
  assert.deepEqual([view.told, view.find(".patch").hidden], [[], true]);
});

test("a click chooses a cell and the button patches it; with the keyboard Enter does", () => {
  const view = shown(show, "source_run", data());
  from(view, 0, 1, 0).click();
  assert.equal(view.find(".status").textContent, "L1.H0 at “a” goes to “a” (position 0)");
  view.find(".patch").click();
  view.update(data());
  const label = from(view, 0, 0, -1);
  assert.equal(label.tabIndex, 0);
  label.focus();
  press(label, "ArrowDown");
  press(from(view, 0, 1, -1), "ArrowRight");
  assert.ok(areSame([view.root.getRootNode().activeElement], [from(view, 0, 1, 0)]));
  press(from(view, 0, 1, 0), "Enter");
  assert.deepEqual(view.told, [
    ["drop", { board: 0, row: 1, column: 0 }],
    ["drop", { board: 0, row: 1, column: 0 }],
  ]);
});

test("a cell of a pattern goes to its query and key, and its row's cone is shaded among the components", () => {
  const view = shown(show, "source_run", data([pattern, sites]));
  assert.deepEqual(view.findAll(".there .label.from").map(({ dataset }) => dataset.board), ["1", "1"]); // no whole rows of a pattern
  from(view, 0, 2, 0).click();
  assert.match(view.find(".status").textContent, /weight of b → a in the source run; it goes to b → a/);
  const marked = view.findAll(".here .lands").map(({ dataset }) => [dataset.board, dataset.row, dataset.column]);
  assert.deepEqual(marked, [["0", "1", "0"]]);
  const cone = view.findAll(".here .cone").map(({ dataset }) => [dataset.board, dataset.row, dataset.column]);
  assert.deepEqual(cone, [["1", "1", "1"]]);
});

test("lines part two texts", () => {
  const board = { ...pattern, here: half(["a", "b"], ["a", "b"], { row: 1, column: 0 }) };
  const view = shown(show, "source_run", data([board]));
  assert.deepEqual(["behind", "below"].map((side) => places(view, side)), [[], ["1,0", "1,1"]]);
});
