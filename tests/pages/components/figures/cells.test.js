// The cells of a figure: chosen with the pointer and from the keyboard, seen larger, pointed at in several figures.

import assert from "node:assert/strict";
import { test } from "node:test";

import { announced, point, press } from "../../dom.js";
import { drawn, EDGES, heatmap, of, SIZE } from "./plotly.js";
import show from "../../../../pages/components/figures/figure.js";

const wait = () => new Promise((resolve) => setTimeout(resolve));
const cellPoints = (row, column) => ({ points: [{ data: { type: "heatmap" }, pointNumber: [row, column] }] });
const BLOCKS = { blocks: { queries: [0, 4, 8, 9], keys: [0, 4, 8, 12, 16, 17] } };
/** An overview of 9 queries and 17 keys in 3 rows and 5 columns. */
const overview = (more = {}) => heatmap({ meta: BLOCKS, xaxis: { range: [-0.5, 16.5] }, yaxis: { range: [8.5, -0.5] }, ...more });

/** A click as the browser and plotly tell it; `n` is 2 for the second of a double click. */
function click(figure, query, key, { n = 1, by = [0, 0], row = 0, column = 0 } = {}) {
  const at = figure.at(query, key);
  const layer = figure.plot.querySelector(".draglayer") ?? figure.plot.appendChild(Object.assign(document.createElement("div"), { className: "draglayer" }));
  point(layer, "pointerdown", at);
  layer.dispatchEvent(new MouseEvent("mousedown", { bubbles: true, button: 0, detail: n, ...at }));
  const there = { clientX: at.clientX + by[0], clientY: at.clientY + by[1] };
  window.dispatchEvent(new MouseEvent("mouseup", there));
  figure.tell("plotly_click", cellPoints(row, column)); // what plotly takes for under the pointer, which may be old
}

const box = (figure) => {
  const { style } = figure.find(".cell");
  return ["left", "top", "width", "height"].map((name) => Math.round(parseFloat(style[name])));
};
/** Where a cell lies within the figure, of 3 x 5. */
const edges = (row, column) => {
  const [width, height] = [(SIZE.width - EDGES.left - EDGES.right) / 5, (SIZE.height - EDGES.top - EDGES.bottom) / 3];
  return [EDGES.left + column * width, EDGES.top + row * height, width, height].map(Math.round);
};

test("a click chooses the cell under the pointer, whatever plotly says, and a second one lets it go", async () => {
  const figure = await drawn(show, heatmap());
  click(figure, 8, 5);
  assert.deepEqual(figure.told, [["cell", { query: 8, key: 5 }]]);
  assert.equal(document.activeElement, figure.plot);
  click(figure, 9, 2);
  click(figure, 9, 2); // before the server has answered
  assert.deepEqual(figure.told.slice(1), [["cell", { query: 9, key: 2 }], ["cell", { query: null, key: null }]]);
  await figure.update(heatmap(), { cell: { query: 7, key: 6 } });
  click(figure, 7, 6);
  assert.deepEqual(figure.told.at(-1), ["cell", { query: null, key: null }]);
});

test("a click beside the cells, or on something else, chooses nothing; nor does one where cells are not chosen", async () => {
  const figure = await drawn(show, heatmap());
  for (const [query, key] of [[6, 3], [10, 3], [8, 1], [8, 7]]) click(figure, query, key);
  figure.tell("plotly_click", { points: [{ data: { type: "scatter" }, pointNumber: 3 }] });
  assert.deepEqual(figure.told, []);
  await figure.update(heatmap(), { clicks: false });
  click(figure, 8, 5);
  assert.deepEqual(figure.told, []);
});

test("the arrow keys go over the cells, say each, show its words and outline it; the first one goes into the corner", async () => {
  const figure = await drawn(show, heatmap());
  const { plot } = figure;
  assert.ok(figure.find(".cell").hidden);
  const to = (key) => {
    assert.ok(press(plot, key).defaultPrevented);
    return [announced(), figure.hovered(), box(figure)];
  };
  assert.deepEqual(to("ArrowRight"), ["q7 < k2", { xval: 2, yval: 7 }, edges(0, 0)]);
  assert.deepEqual(to("ArrowDown"), ["q8 < k2", { xval: 2, yval: 8 }, edges(1, 0)]);
  assert.deepEqual(to("End"), ["q8 < k6", { xval: 6, yval: 8 }, edges(1, 4)]);
  assert.deepEqual(to("PageDown"), ["q9 < k6", { xval: 6, yval: 9 }, edges(2, 4)]);
  assert.deepEqual(to("ArrowLeft"), ["q9 < k5", { xval: 5, yval: 9 }, edges(2, 3)]);
  assert.ok(!figure.find(".cell").hidden);
  assert.deepEqual(figure.told, []);
  assert.ok(!press(plot, "ArrowLeft", { ctrlKey: true }).defaultPrevented && !press(plot, "Tab").defaultPrevented);
  press(plot, "Enter");
  assert.deepEqual(figure.told, [["cell", { query: 9, key: 5 }]]);
  press(plot, "Enter");
  assert.deepEqual(figure.told[1], ["cell", { query: null, key: null }]);
});

test("keys move from the chosen cell; Escape leaves the cell and lets the chosen one go", async () => {
  const figure = await drawn(show, heatmap(), { cell: { query: 8, key: 4 } });
  const { plot } = figure;
  press(plot, "ArrowRight");
  assert.equal(announced(), "q8 < k5");
  assert.ok(press(plot, "Escape").defaultPrevented);
  assert.deepEqual(figure.told, [["cell", { query: null, key: null }]]);
  assert.ok(figure.find(".cell").hidden);
  assert.ok(!press(plot, "Escape").defaultPrevented); // which closes something else
  assert.equal(figure.told.length, 1);
  await figure.update(heatmap(), { cell: { query: 9, key: 3 } });
  assert.ok(press(plot, "Escape").defaultPrevented); // without a cell of the keyboard
  assert.deepEqual(figure.told[1], ["cell", { query: null, key: null }]);
});

test("the outline goes with the focus, and with a cell that newer data does not have", async () => {
  const figure = await drawn(show, heatmap());
  const { plot } = figure;
  const outline = figure.find(".cell");
  const to = (...keys) => keys.forEach((key) => press(plot, key));
  to("ArrowDown", "PageDown", "End");
  await figure.update(heatmap({}, { rows: 3, columns: 4 }));
  assert.ok(outline.hidden);
  await figure.update(heatmap());
  to("ArrowDown", "ArrowDown", "ArrowRight");
  await figure.update(heatmap({}, { rows: 2, columns: 2 })); // the cell is its last one
  assert.ok(!outline.hidden);
  plot.blur();
  assert.ok(outline.hidden && figure.hovered() === null);
});

test("a box drawn with the pointer asks for all places that it touches, and one around everything for nothing", async () => {
  const figure = await drawn(show, heatmap());
  const { plot } = figure;
  const draw = (xs, ys, change = { "xaxis.range[0]": 1 }) => {
    const { xaxis, yaxis } = plot._fullLayout;
    Object.assign(plot._fullLayout, { xaxis: { ...xaxis, range: xs }, yaxis: { ...yaxis, range: ys } });
    figure.tell("plotly_relayout", change);
    return figure.told.splice(0);
  };
  assert.deepEqual(draw([2.6, 5.4], [8.4, 7.6]), [["window", { queries: [8, 8], keys: [3, 5] }]]);
  assert.deepEqual(draw([2.4, 5.6], [8.6, 7.4]), []); // all of it
  assert.deepEqual(draw([-20, 2.2], [40, 8.8]), [["window", { queries: [9, 9], keys: [2, 2] }]]); // beyond the edges
  await figure.update(heatmap(), { windows: false });
  assert.deepEqual(draw([2.6, 5.4], [8.4, 7.6]), []);
});

test("where a figure stays whole, any box is requested, once, and nothing is zoomed", async () => {
  const figure = await drawn(show, heatmap(), { staysWhole: true });
  const { plot } = figure;
  const whole = { "xaxis.range": [1.5, 6.5], "yaxis.range": [9.5, 6.5] };
  const { xaxis, yaxis } = plot._fullLayout;
  Object.assign(plot._fullLayout, { xaxis: { ...xaxis, range: [2.4, 5.6] }, yaxis: { ...yaxis, range: [8.6, 7.4] } });
  figure.tell("plotly_relayout", { "xaxis.range[0]": 1 });
  await wait();
  assert.deepEqual(figure.told, [["window", { queries: [7, 9], keys: [2, 6] }]]); // all of it
  assert.deepEqual(of("relayout", figure).map(({ change }) => change), [whole]);
});

test("in an overview a click or Enter asks for the places of a cell, with other sizes at the end", async () => {
  const figure = await drawn(show, overview());
  click(figure, 5, 13);
  assert.deepEqual(figure.told.splice(0), [["window", { queries: [4, 7], keys: [12, 15] }]]);
  press(figure.plot, "ArrowDown");
  press(figure.plot, "PageDown");
  press(figure.plot, "End");
  press(figure.plot, "Enter");
  assert.deepEqual(figure.told.splice(0), [["window", { queries: [8, 8], keys: [16, 16] }]]);
});

test("a double click leads back to the whole text, and takes back what its first click chose", async () => {
  const figure = await drawn(show, heatmap(), { isWindow: true, cell: { query: 9, key: 3 } });
  click(figure, 8, 4);
  click(figure, 8, 4, { n: 2 });
  await wait();
  assert.deepEqual(figure.told, [["cell", { query: 8, key: 4 }], ["cell", { query: 9, key: 3 }], ["window", { queries: null, keys: null }]]);
  const { change } = of("relayout", figure).at(-1);
  assert.deepEqual(change, { "xaxis.range": [1.5, 6.5], "yaxis.range": [9.5, 6.5] });
});

test("two quick clicks on different cells, and a press that is dragged, are no double click", async () => {
  const figure = await drawn(show, heatmap(), { isWindow: true });
  const n = () => of("relayout", figure).length;
  click(figure, 8, 4);
  click(figure, 8, 5, { n: 2 });
  await wait();
  assert.deepEqual(figure.told.splice(0), [["cell", { query: 8, key: 4 }], ["cell", { query: 8, key: 5 }]]);
  click(figure, 8, 4);
  click(figure, 8, 4, { n: 2, by: [3, 4] });
  await wait();
  assert.equal(n(), 0);
  click(figure, 8, 4);
  click(figure, 8, 4, { n: 2, by: [0, -4] });
  await wait();
  assert.equal(n(), 1);
});

test("a double click in a whole overview asks for the part as one click does", async () => {
  const whole = await drawn(show, overview());
  click(whole, 5, 13);
  click(whole, 5, 13, { n: 2 });
  await wait();
  assert.deepEqual(whole.told, [["window", { queries: [4, 7], keys: [12, 15] }]]);
});

test("figures of one link are pointed at together, where they show the place", async () => {
  const one = await drawn(show, heatmap(), { link: "pair" });
  const blocks = await drawn(show, overview(), { link: "pair" });
  const part = await drawn(show, heatmap({}, { rows: 2, columns: 2, query: 8, key: 4 }), { link: "pair" });
  const alone = await drawn(show, heatmap(), { link: "other" });
  one.tell("plotly_hover", cellPoints(1, 3)); // query 8, key 5
  assert.deepEqual(blocks.hovered(), { xval: 5.5, yval: 8 });
  assert.deepEqual(part.hovered(), { xval: 5, yval: 8 });
  assert.deepEqual([alone, one].map((it) => it.hovered()), [undefined, undefined]);
  one.tell("plotly_hover", cellPoints(0, 3));
  assert.equal(part.hovered(), null); // which has no query 7
  assert.deepEqual(blocks.hovered(), { xval: 5.5, yval: 5.5 });
  press(part.plot, "ArrowDown"); // the keyboard points, too
  assert.deepEqual([one.hovered(), blocks.hovered()], [{ xval: 4, yval: 8 }, { xval: 5.5, yval: 8 }]);
  part.plot.blur();
  assert.deepEqual([one.hovered(), blocks.hovered()], [null, null]);
});

test("the whole text comes back by a button, which is there only where a part is shown", async () => {
  const figure = await drawn(show, heatmap());
  const whole = figure.find(".tool.whole");
  assert.ok(whole.hidden);
  await figure.update(heatmap(), { isWindow: true });
  assert.ok(!whole.hidden);
  whole.click();
  assert.deepEqual(figure.told, [["window", { queries: null, keys: null }]]);
  await figure.update(heatmap(), { isWindow: true, windows: false });
  assert.ok(whole.hidden);
});
