// Where heads stand: all of them in the room that there is, in their order, and how they are called there.

import assert from "node:assert/strict";
import { test } from "node:test";

import { press, resize } from "../../dom.js";
import { dataOf, group, GROUPS, MEASURE, overviewOf } from "./heads.js";

const BAR = 9; // px, of a bar and its number
const texts = (elements) => elements.map(({ textContent }) => textContent);

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
    ...[[6, 8, {}, [800, 400]], [12, 12, {}, [1100, 600]], [2, 4, {}, [500, 700]], [6, 8, measured, [800, 500]], [3, 16, {}, [700, 500]]],
    ...[[4, 8, { ...measured, order: "ascending" }, [900, 500]], [12, 12, measured, [1200, 800]], [1, 32, {}, [700, 400]], [24, 8, {}, [1300, 700]]],
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

test("pictures do not become smaller than can be seen: more of them are scrolled to", () => {
  const size = [300, 200];
  const plain = gridOf(alone(16, 12, {}, size));
  assert.ok(plain.width >= 10 && plain.height >= 10 && plain.height < 20);
  const measured = gridOf(alone(16, 12, { measure: { ...MEASURE, values: {} } }, size));
  assert.ok(measured.height - BAR >= 22);
  const list = gridOf(alone(16, 12, { measure: { ...MEASURE, values: {} }, order: "ascending" }, size));
  assert.ok(list.height - BAR - 18 >= 34 && list.width >= 45);
});

test("the heads of a layer take several lines where pictures win much, each with its name above it", () => {
  const overview = alone(1, 16, {}, [800, 400]);
  assert.equal(gridOf(overview).n, 8); // one line is 42 px wide, two are more than 80, four are less than 80 high
  assert.equal(overview.find(".corner"), null);
  assert.deepEqual(texts(overview.findAll(".column")), Array.from({ length: 16 }, (_, i) => `head ${i}`));
  assert.ok(overview.findAll(".column").every((it) => it.parentElement.className === "cell"));
  assert.equal(overview.find(".row").style.gridRow, "span 2");
  assert.equal(overview.find(".grid").style.gridTemplateRows, "none");
  press(overview.button("encoder", 0, 3), "ArrowDown");
  assert.equal(overview.root.getRootNode().activeElement, overview.button("encoder", 0, 11));
  resize(overview.root, 1200, 400);
  assert.equal(gridOf(overview).n, 16); // there is room for one line
  assert.equal(overview.find(".corner").textContent, "");
  assert.equal(overview.find(".row").style.gridRow, "span 1");
  assert.equal(overview.root.getRootNode().activeElement, overview.button("encoder", 0, 11));
  press(overview.button("encoder", 0, 11), "ArrowDown");
  assert.equal(overview.root.getRootNode().activeElement, overview.button("encoder", 0, 11)); // it is the last line now
});

test("heads without room for their names are numbered, and without room for that only some of them", () => {
  const overview = alone(6, 12, {}, [560, 400]);
  assert.equal(overview.find(".corner").textContent, "head");
  assert.deepEqual(texts(overview.findAll(".column")), Array.from({ length: 12 }, (_, head) => String(head)));
  assert.ok(!overview.find(".column.wide"));
  resize(overview.root, 1400, 900);
  assert.equal(overview.find(".corner").textContent, "");
  assert.deepEqual(texts(overview.findAll(".column")).slice(0, 2), ["head 0", "head 1"]);
  overview.leave();
  const dense = alone(24, 24, {}, [400, 400]);
  const { width } = gridOf(dense);
  const numbered = texts(dense.findAll(".column")).flatMap((text, head) => (text === "" ? [] : [[head, text]]));
  assert.ok(width < 18 && numbered.length > 5 && numbered.every(([head, text]) => String(head) === text));
  const step = numbered[1][0] - numbered[0][0];
  assert.ok(step * width >= 18 && (step - 1) * width < 18);
  assert.ok(numbered.every(([head]) => head % step === 0) && numbered.length === Math.ceil(24 / step));
  assert.equal(dense.findAll(".column.wide").length, 24);
});

test("heads stand in the order of their measure, each attention by itself; equal ones by layer, those without it last", () => {
  const ascending = ["1 0", "0 0", "0 2", "0 1", "1 2", "1 1"].map((name) => `encoder ${name}`);
  const cross = ["2 3", "0 2", "1 2", "0 0", "1 0", "1 3", "0 3", "0 1", "1 1", "2 0", "2 1", "2 2"].map((name) => `cross ${name}`);
  const overview = overviewOf({ measure: MEASURE, order: "ascending" });
  assert.deepEqual(overview.names(), [...ascending, ...cross]);
  assert.deepEqual(texts(overview.findAll(".row")), []);
  const named = overview.findAll(".cell").map((cell) => cell.querySelector(".column").textContent);
  assert.deepEqual(named, [...ascending, ...cross].map((name) => name.replace(/^\w+ (\d+) (\d+)$/, "L$1.H$2")));
  overview.update(dataOf({ measure: MEASURE, order: "descending" }));
  const falling = ["2 1", "2 0", "0 1", "1 1", "0 3", "1 3", "0 0", "1 0", "0 2", "1 2", "2 3", "2 2"].map((name) => `cross ${name}`);
  assert.deepEqual(overview.names(), [...ascending.slice(0, 5).toReversed(), "encoder 1 1", ...falling]);
  overview.update(dataOf({ measure: MEASURE }));
  assert.deepEqual(overview.names().slice(0, 4), ["encoder 0 0", "encoder 0 1", "encoder 0 2", "encoder 1 0"]);
});

test("a head keeps the focus when the order changes, and the keys go on from where it stands then", () => {
  const overview = overviewOf({ measure: MEASURE, order: "ascending" });
  const active = () => overview.names()[overview.buttons().indexOf(overview.root.getRootNode().activeElement)];
  press(overview.button("encoder", 0, 0), "ArrowDown"); // which stands in the middle of the first line
  assert.equal(active(), "encoder 1 2");
  overview.button("encoder", 0, 2).focus();
  overview.update(dataOf({ measure: MEASURE, order: "descending" }));
  assert.equal(active(), "encoder 0 2");
  press(overview.button("encoder", 0, 2), "ArrowLeft");
  assert.equal(active(), "encoder 0 1");
  const other = { ...MEASURE, values: { encoder: [[1, 2, 3], [4, 5, 6]] } };
  overview.update(dataOf({ measure: other, order: "descending" })); // of another measure, too
  assert.deepEqual(overview.names().slice(0, 6), ["1 2", "1 1", "1 0", "0 2", "0 1", "0 0"].map((name) => `encoder ${name}`));
  press(overview.button("encoder", 0, 1), "End");
  assert.equal(active(), "encoder 0 0");
});

test("a list has as many heads in a line as are wide enough for their names, and one at least", () => {
  const ordered = (layers, heads, size) => {
    const overview = alone(layers, heads, { measure: { ...MEASURE, values: {} }, order: "ascending" }, size);
    const { n, width } = gridOf(overview);
    overview.leave();
    return [n, width];
  };
  for (const [layers, heads, size] of [[12, 12, [900, 400]], [6, 8, [500, 300]], [2, 2, [900, 500]], [16, 12, [300, 600]]]) {
    const [n, width] = ordered(layers, heads, size);
    assert.ok(width >= 45 && n <= layers * heads && n > 1, `${[layers, heads, size, n, width]}`);
  }
  assert.equal(ordered(2, 3, [50, 300])[0], 1);
  const pair = overviewOf({ measure: MEASURE, order: "ascending" }, { size: [130, 400] });
  const columns = () => pair.findAll(".grid").map(({ style }) => Number(style.gridTemplateColumns.match(/repeat\((\d+)/)[1]));
  assert.deepEqual(columns(), [2, 2]); // 48 px and 6 between
  resize(pair.root, 800, 400);
  assert.deepEqual(columns(), [3, 4]); // not more than a layer has
});

test("several attentions share the room, in their layers, and each keeps its line", () => {
  const overview = overviewOf();
  const [encoder, cross] = overview.findAll(".grid").map(({ style }) => style);
  assert.match(encoder.gridTemplateColumns, /^auto repeat\(3, minmax\(10px, 1fr\)\)$/);
  assert.match(cross.gridTemplateColumns, /^auto repeat\(4, minmax\(10px, 1fr\)\)$/);
  const lowest = parseFloat(encoder.gridAutoRows.match(/minmax\((\d+)px, 1fr\)/)[1]);
  overview.update(dataOf({ measure: MEASURE }));
  const measured = parseFloat(overview.find(".grid").style.gridAutoRows.match(/minmax\((\d+)px, 1fr\)/)[1]);
  assert.equal(measured - lowest, BAR);
  overview.update(dataOf({ groups: [group("encoder", 2, 3, 4, 4), group("cross", 1, 16, 5, 3)] })); // small, but in one line
  assert.match(overview.findAll(".grid")[1].style.gridTemplateColumns, /repeat\(16,/);
});

test("an overview without room is laid out once it has some", () => {
  const overview = overviewOf({}, { size: [0, 0] });
  assert.equal(overview.buttons().length, 18);
  assert.equal(overview.find(".grid").style.gap, "");
  resize(overview.root, 800, 400);
  assert.notEqual(overview.find(".grid").style.gap, "");
  overview.update(dataOf({ groups: GROUPS.slice(0, 1) }));
  assert.ok(gridOf(overview).width > 100);
});
