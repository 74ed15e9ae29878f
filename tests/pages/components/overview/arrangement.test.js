// Where heads stand: all of them in the room that there is, in their order, and how they are called there.

import assert from "node:assert/strict";
import { test } from "node:test";

import { press, resize } from "../../dom.js";
import { dataOf, group, MEASURE, overviewOf } from "./heads.js";

const BAR = 9; // px, of a bar and its number

/** Of the only grid: its columns, the px of a picture with what belongs to it, and those between. */
function gridOf(overview) {
  const { style } = overview.find(".grid");
  const [, n, width] = style.gridTemplateColumns.match(/repeat\((\d+), ([\d.]+)px\)/).map(Number);
  const [down, across = down] = style.gap.split(" ").map(parseFloat);
  return { n, width, height: parseFloat(style.gridAutoRows), down, across, isLabeled: style.gridTemplateColumns.startsWith("max-content") };
}

const alone = (layers, heads, more, size) => overviewOf({ groups: [group("encoder", layers, heads, 4, 4)], ...more }, { size });

test("all pictures fit into the room, and fill it one way, as long as they are not too small or too long", () => {
  const measured = { measure: { ...MEASURE, values: {} } };
  for (const [layers, heads, more, size] of [
    ...[[6, 8, {}, [800, 400]], [2, 4, {}, [500, 700]], [3, 16, {}, [700, 500]], [24, 8, {}, [1300, 700]]],
    ...[[12, 12, measured, [1200, 800]], [4, 8, { ...measured, order: "ascending" }, [900, 500]]],
  ]) {
    const overview = alone(layers, heads, more, size);
    const { n, width, height, down, across, isLabeled } = gridOf(overview);
    const isNamed = overview.find(".corner") === null;
    const lines = isLabeled ? layers * Math.ceil(heads / n) : Math.ceil((layers * heads) / n);
    const besides = (isNamed ? 18 : 0) + (more.measure ? BAR : 0);
    const [room, high] = [size[0] - (isLabeled ? 50 : 10), size[1] - (isNamed ? 28 : 46) - (more.measure ? 24 : 0)];
    const words = JSON.stringify([layers, heads, Boolean(more.measure), more.order, size, n, width, height]);
    assert.ok(n * (width + across) <= room, `wide: ${words}`);
    assert.ok(lines * (height + down) <= high, `high: ${words}`);
    const isFullAcross = n * (width + 1.5 + across) > room - 50;
    const isFullDown = lines * (height + 1.5 + down) > high - 5;
    assert.ok(isFullAcross || isFullDown, `room is left: ${words}`);
    const ratio = width / (height - besides);
    assert.ok(ratio <= 1.36 && ratio >= 1 / 1.36, `long: ${words}`);
    overview.leave();
  }
});

test("heads are sorted by their measure within each attention; equal ones by layer, those without it last", () => {
  const ascending = ["1 0", "0 0", "0 2", "0 1", "1 2", "1 1"].map((name) => `encoder ${name}`);
  const cross = ["2 3", "0 2", "1 2", "0 0", "1 0", "1 3", "0 3", "0 1", "1 1", "2 0", "2 1", "2 2"].map((name) => `cross ${name}`);
  const overview = overviewOf({ measure: MEASURE, order: "ascending" });
  assert.deepEqual(overview.names(), [...ascending, ...cross]);
  const named = overview.findAll(".cell").map((cell) => cell.querySelector(".column").textContent);
  assert.deepEqual(named, [...ascending, ...cross].map((name) => name.replace(/^\w+ (\d+) (\d+)$/, "L$1.H$2")));
  overview.update(dataOf({ measure: MEASURE, order: "descending" }));
  const falling = ["2 1", "2 0", "0 1", "1 1", "0 3", "1 3", "0 0", "1 0", "0 2", "1 2", "2 3", "2 2"].map((name) => `cross ${name}`);
  assert.deepEqual(overview.names(), [...ascending.slice(0, 5).toReversed(), "encoder 1 1", ...falling]);
  overview.update(dataOf({ measure: MEASURE }));
  assert.deepEqual(overview.names().slice(0, 4), ["encoder 0 0", "encoder 0 1", "encoder 0 2", "encoder 1 0"]);
});

test("a head keeps the focus when the order changes, and the keys move on from its new place", () => {
  const overview = overviewOf({ measure: MEASURE, order: "ascending" });
  const active = () => overview.names()[overview.buttons().indexOf(overview.root.getRootNode().activeElement)];
  press(overview.button("encoder", 0, 0), "ArrowDown"); // which stands in the middle of the first line
  assert.equal(active(), "encoder 1 2");
  overview.button("encoder", 0, 2).focus();
  overview.update(dataOf({ measure: MEASURE, order: "descending" }));
  assert.equal(active(), "encoder 0 2");
  press(overview.button("encoder", 0, 2), "ArrowLeft");
  assert.equal(active(), "encoder 0 1");
});

test("an overview without room is laid out once it has some", () => {
  const overview = overviewOf({}, { size: [0, 0] });
  assert.equal(overview.buttons().length, 18);
  assert.equal(overview.find(".grid").style.gap, "");
  resize(overview.root, 800, 400);
  assert.notEqual(overview.find(".grid").style.gap, "");
});
