// The cells of a figure: chosen with the pointer and from the keyboard, seen larger, pointed at in several figures.

import assert from "node:assert/strict";
import { test } from "node:test";

import { announced, point, press, resize } from "../../dom.js";
import { calls, drawn, EDGES, heatmap, of, SIZE } from "./plotly.js";
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
  assert.deepEqual(figure.told, []);
  point(figure.plot, "pointerdown", figure.at(8, 3));
  figure.tell("plotly_click", { points: [{ data: { type: "scatter" }, pointNumber: 3 }] });
  figure.tell("plotly_click", { points: [] });
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
  assert.deepEqual(to("ArrowRight"), ["q7 < k3", { xval: 3, yval: 7 }, edges(0, 1)]);
  assert.deepEqual(to("ArrowDown"), ["q8 < k3", { xval: 3, yval: 8 }, edges(1, 1)]);
  assert.deepEqual(to("End"), ["q8 < k6", { xval: 6, yval: 8 }, edges(1, 4)]);
  assert.deepEqual(to("PageDown"), ["q9 < k6", { xval: 6, yval: 9 }, edges(2, 4)]);
  assert.deepEqual(to("ArrowLeft"), ["q9 < k5", { xval: 5, yval: 9 }, edges(2, 3)]);
  assert.ok(!figure.find(".cell").hidden);
  assert.deepEqual(figure.told, []);
  for (const more of [{ altKey: true }, { ctrlKey: true }, { metaKey: true }]) assert.ok(!press(plot, "ArrowLeft", more).defaultPrevented);
  assert.ok(!press(plot, "Tab").defaultPrevented && !press(plot, "x").defaultPrevented);
  assert.equal(announced(), "q9 < k5");
  press(plot, "Enter");
  assert.deepEqual(figure.told, [["cell", { query: 9, key: 5 }]]);
  press(plot, "Enter");
  assert.deepEqual(figure.told[1], ["cell", { query: null, key: null }]);
});

test("keys go on from the chosen cell; Escape leaves the cell and lets the chosen one go", async () => {
  const figure = await drawn(show, heatmap(), { cell: { query: 8, key: 4 } });
  const { plot } = figure;
  press(plot, "ArrowRight");
  assert.equal(announced(), "q8 < k5");
  assert.ok(press(plot, "Escape").defaultPrevented);
  assert.deepEqual(figure.told, [["cell", { query: null, key: null }]]);
  assert.ok(figure.find(".cell").hidden);
  assert.equal(figure.hovered(), null);
  assert.ok(!press(plot, "Escape").defaultPrevented); // which closes something else
  assert.ok(!press(plot, "Enter").defaultPrevented);
  assert.equal(figure.told.length, 1);
  press(plot, "ArrowDown");
  assert.equal(announced(), "q7 < k2");
  press(plot, "Escape"); // nothing is chosen
  assert.equal(figure.told.length, 1);
  await figure.update(heatmap(), { cell: { query: 9, key: 3 } });
  assert.ok(press(plot, "Escape").defaultPrevented); // without a cell of the keyboard
  assert.deepEqual(figure.told[1], ["cell", { query: null, key: null }]);
  await figure.update(heatmap(), { cell: { query: 30, key: 3 } }); // which is not shown
  press(plot, "ArrowUp");
  assert.equal(announced(), "q7 < k2");
});

test("the outline goes with the focus, and with a cell that newer data does not have", async () => {
  const figure = await drawn(show, heatmap());
  const { plot } = figure;
  const outline = figure.find(".cell");
  const to = (...keys) => keys.forEach((key) => press(plot, key));
  to("ArrowDown", "ArrowDown");
  plot.blur();
  assert.ok(outline.hidden && figure.hovered() === null);
  to("ArrowDown", "PageDown", "End");
  await figure.update(heatmap({}, { rows: 3, columns: 4 }));
  assert.ok(outline.hidden);
  await figure.update(heatmap());
  to("ArrowDown", "PageDown", "End");
  await figure.update(heatmap({}, { rows: 2, columns: 5 }));
  assert.ok(outline.hidden);
  await figure.update(heatmap());
  to("ArrowDown", "ArrowDown", "ArrowRight");
  await figure.update(heatmap({}, { rows: 2, columns: 2 })); // the cell is its last one
  assert.ok(!outline.hidden);
  assert.equal(box(figure)[2], Math.round((SIZE.width - 100) / 2));
  await figure.update({ data: [{ type: "bar", y: [1] }], layout: { title: { text: "bars" } } });
  assert.ok(outline.hidden);
});

test("the outline moves with the figure, and is not seen where its cell is zoomed away", async () => {
  const figure = await drawn(show, heatmap());
  const { plot } = figure;
  const outline = figure.find(".cell");
  press(plot, "ArrowDown");
  press(plot, "ArrowDown");
  press(plot, "ArrowRight");
  assert.deepEqual(box(figure), edges(1, 1));
  resize(plot, 1100, 350);
  assert.deepEqual(box(figure).slice(0, 3), [EDGES.left + 200, edges(1, 1)[1], 200]);
  const zoom = (xs, ys) => {
    const { xaxis, yaxis } = plot._fullLayout;
    Object.assign(plot._fullLayout, {
      xaxis: { ...xaxis, c2p: (value) => ((value - xs[0]) / (xs[1] - xs[0])) * xaxis._length },
      yaxis: { ...yaxis, c2p: (value) => ((value - ys[0]) / (ys[1] - ys[0])) * yaxis._length },
    });
    figure.tell("plotly_relayout", {});
    return !outline.hidden;
  };
  assert.ok(zoom([2.5, 3.5], [7.5, 8.5]));
  assert.deepEqual([zoom([3.5, 5.5], [6.5, 9.5]), zoom([0.5, 2.5], [6.5, 9.5]), zoom([1.5, 6.5], [8.5, 9.5]), zoom([1.5, 6.5], [6.5, 7.5])], [false, false, false, false]);
  assert.ok(zoom([1.5, 6.5], [6.5, 9.5]));
});

test("a figure says what it is and what its keys do", async () => {
  const figure = await drawn(show, heatmap());
  const says = () => ["aria-label", "role", "tabindex", "aria-description"].map((name) => figure.plot.getAttribute(name));
  const bars = { data: [{ type: "bar", y: [1] }], layout: { title: { text: "bars" } } };
  for (const [shown, more, name, keys] of [
    [heatmap(), {}, "one", /cells\. Enter selects .*, Escape clears/],
    [heatmap({ title: {} }), { clicks: false, name: "file" }, "file", /cells\.$/],
    [overview({ title: { text: "all" } }), {}, "all", /cells\. Enter zooms/],
    [overview({ title: { text: "all, anew" } }), { windows: false }, "all, anew", /cells\.$/],
    [bars, {}, "bars", null],
  ]) {
    await figure.update(shown, more);
    const [label, role, stop, help] = says();
    assert.deepEqual([label, role, stop], [name, keys ? "application" : "img", keys ? "0" : "-1"]);
    assert.match(help, keys ?? /^$/);
  }
});

test("a cell without words is called by its places, and what lies on top says what a cell is", async () => {
  const bare = heatmap();
  delete bare.data[0].customdata;
  const figure = await drawn(show, bare);
  press(figure.plot, "ArrowDown");
  press(figure.plot, "ArrowDown");
  assert.equal(announced(), "query 8, key 2");
  const two = heatmap();
  const top = { ...structuredClone(two.data[0]), customdata: [["masked"], [null]], z: [[1, null], [null]] };
  await figure.update({ ...two, data: [...two.data, { ...top, name: "masked", z: two.data[0].z.map((row, i) => row.map(() => (i === 0 ? 0 : null))) }] });
  press(figure.plot, "ArrowUp");
  assert.equal(announced(), "masked");
  press(figure.plot, "ArrowDown");
  assert.equal(announced(), "q8 < k2");
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
  assert.deepEqual(draw([2.4, 5.4], [8.6, 7.4]), [["window", { queries: [7, 9], keys: [2, 5] }]]);
  assert.deepEqual(draw([2.6, 5.6], [8.6, 7.4]), [["window", { queries: [7, 9], keys: [3, 6] }]]);
  assert.deepEqual(draw([2.4, 5.6], [8.4, 7.4]), [["window", { queries: [7, 8], keys: [2, 6] }]]);
  assert.deepEqual(draw([-20, 2.2], [40, 8.8]), [["window", { queries: [9, 9], keys: [2, 2] }]]); // beyond the edges
  assert.deepEqual(draw([2.6, 5.4], [8.4, 7.6], { width: 300 }), []);
  await figure.update(heatmap(), { windows: false });
  assert.deepEqual(draw([2.6, 5.4], [8.4, 7.6]), []);
});

test("where a figure stays whole, any box is asked for, once, and nothing is zoomed", async () => {
  const figure = await drawn(show, heatmap(), { staysWhole: true });
  const { plot } = figure;
  const whole = { "xaxis.range": [1.5, 6.5], "yaxis.range": [9.5, 6.5] };
  for (const [xs, ys, window] of [
    [[2.6, 5.4], [8.4, 7.6], { queries: [8, 8], keys: [3, 5] }],
    [[2.4, 5.6], [8.6, 7.4], { queries: [7, 9], keys: [2, 6] }], // all of it
  ]) {
    const { xaxis, yaxis } = plot._fullLayout;
    Object.assign(plot._fullLayout, { xaxis: { ...xaxis, range: xs }, yaxis: { ...yaxis, range: ys } });
    figure.tell("plotly_relayout", { "xaxis.range[0]": 1 });
    await wait();
    assert.deepEqual(figure.told.splice(0), [["window", window]]);
    assert.deepEqual(of("relayout", figure).at(-1).change, whole);
  }
  assert.equal(of("relayout", figure).length, 2);
});

test("in an overview a click or Enter asks for the places of a cell, with other sizes at the end", async () => {
  const figure = await drawn(show, overview());
  click(figure, 5, 13);
  assert.deepEqual(figure.told.splice(0), [["window", { queries: [4, 7], keys: [12, 15] }]]);
  press(figure.plot, "ArrowDown");
  press(figure.plot, "PageDown");
  press(figure.plot, "End");
  assert.deepEqual(figure.hovered(), { xval: 16, yval: 8 });
  press(figure.plot, "Home");
  assert.deepEqual(figure.hovered(), { xval: 1.5, yval: 8 });
  press(figure.plot, "Enter");
  assert.deepEqual(figure.told.splice(0), [["window", { queries: [8, 8], keys: [0, 3] }]]);
  await figure.update(overview(), { windows: false });
  click(figure, 5, 13);
  assert.deepEqual(figure.told, []);
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

test("two quick clicks on different cells, a press that is dragged, and another button are no double click", async () => {
  const figure = await drawn(show, heatmap(), { isWindow: true });
  const n = () => of("relayout", figure).length;
  click(figure, 8, 4);
  click(figure, 8, 5, { n: 2 });
  await wait();
  assert.deepEqual(figure.told.splice(0), [["cell", { query: 8, key: 4 }], ["cell", { query: 8, key: 5 }]]);
  click(figure, 8, 5);
  click(figure, 9, 5, { n: 2 });
  await wait();
  assert.equal(figure.told.splice(0).length, 2);
  click(figure, 8, 4);
  click(figure, 8, 4, { n: 2, by: [3, 4] });
  await wait();
  assert.equal(n(), 0);
  click(figure, 8, 4);
  click(figure, 8, 4, { n: 2, by: [0, -4] });
  await wait();
  assert.equal(n(), 1);
  const at = figure.at(8, 4);
  const layer = figure.find(".draglayer");
  for (const more of [{ button: 2, detail: 2 }, { button: 0, detail: 1 }, { button: 0, detail: 3 }]) {
    layer.dispatchEvent(new MouseEvent("mousedown", { bubbles: true, ...at, ...more }));
    window.dispatchEvent(new MouseEvent("mouseup", at));
  }
  figure.plot.dispatchEvent(new MouseEvent("mousedown", { button: 0, detail: 2, ...at })); // on a legend, say
  window.dispatchEvent(new MouseEvent("mouseup", at));
  await wait();
  assert.equal(n(), 1);
});

test("a double click in a whole overview asks for the part as one click does, and in a part for the whole", async () => {
  const whole = await drawn(show, overview());
  click(whole, 5, 13);
  click(whole, 5, 13, { n: 2 });
  await wait();
  assert.deepEqual(whole.told, [["window", { queries: [4, 7], keys: [12, 15] }]]);
  whole.leave();
  const part = await drawn(show, overview(), { isWindow: true });
  click(part, 5, 13);
  click(part, 5, 13, { n: 2 });
  await wait();
  assert.deepEqual(part.told.at(-1), ["window", { queries: null, keys: null }]);
  part.leave();
  const fixed = await drawn(show, heatmap(), { windows: false });
  click(fixed, 8, 4);
  click(fixed, 8, 4, { n: 2 });
  await wait();
  assert.deepEqual(fixed.told, [["cell", { query: 8, key: 4 }], ["cell", { query: null, key: null }]]);
  assert.equal(of("relayout", fixed).length, 1); // zoomed out
});

test("an axis without a range is shown as a whole by a double click", async () => {
  const bare = heatmap();
  delete bare.layout.xaxis.range;
  bare.layout.yaxis2 = { range: [0, 2] };
  const figure = await drawn(show, bare, { clicks: false });
  click(figure, 8, 0.5);
  click(figure, 8, 0.5, { n: 2 });
  await wait();
  assert.deepEqual(of("relayout", figure)[0].change, { "xaxis.autorange": true, "yaxis.range": [9.5, 6.5], "yaxis2.range": [0, 2] });
});

test("figures of one link are pointed at together, where they show the place", async () => {
  const one = await drawn(show, heatmap(), { link: "pair" });
  const blocks = await drawn(show, overview(), { link: "pair" });
  const part = await drawn(show, heatmap({}, { rows: 2, columns: 2, query: 8, key: 4 }), { link: "pair" });
  const alone = await drawn(show, heatmap(), { link: "other" });
  const bars = await drawn(show, { data: [{ type: "bar", y: [1] }], layout: {} }, { link: "pair" });
  const unlinked = [await drawn(show, heatmap()), await drawn(show, heatmap())];
  one.tell("plotly_hover", cellPoints(1, 3)); // query 8, key 5
  assert.deepEqual(blocks.hovered(), { xval: 5.5, yval: 8 });
  assert.deepEqual(part.hovered(), { xval: 5, yval: 8 });
  assert.deepEqual([alone, bars, one].map((it) => it.hovered()), [undefined, undefined, undefined]);
  one.tell("plotly_hover", cellPoints(0, 3));
  assert.equal(part.hovered(), null); // which has no query 7
  assert.deepEqual(blocks.hovered(), { xval: 5.5, yval: 5.5 });
  blocks.tell("plotly_hover", cellPoints(2, 0)); // from query 8 and key 0 on
  assert.equal(one.hovered(), null);
  blocks.tell("plotly_hover", cellPoints(2, 1));
  assert.deepEqual([one.hovered(), part.hovered()], [{ xval: 4, yval: 8 }, { xval: 4, yval: 8 }]);
  blocks.tell("plotly_unhover", {});
  assert.deepEqual([one.hovered(), part.hovered()], [null, null]);
  press(part.plot, "ArrowDown"); // the keyboard points, too
  assert.deepEqual([one.hovered(), blocks.hovered()], [{ xval: 4, yval: 8 }, { xval: 5.5, yval: 8 }]);
  part.plot.blur();
  assert.deepEqual([one.hovered(), blocks.hovered()], [null, null]);
  unlinked[0].tell("plotly_hover", cellPoints(1, 1));
  assert.equal(unlinked[1].hovered(), undefined);
  const n = calls.length;
  part.leave();
  one.tell("plotly_hover", cellPoints(1, 3));
  assert.ok(calls.slice(n).every(([name, { plot }]) => name === "purge" || plot !== part.plot));
});

test("the whole text comes back by a button, which is there only where a part is shown", async () => {
  const figure = await drawn(show, heatmap());
  const whole = figure.find(".tool.whole");
  assert.ok(whole.hidden);
  await figure.update(heatmap({ meta: { window: true } }));
  assert.ok(!whole.hidden);
  await figure.update(heatmap(), { isWindow: true });
  assert.ok(!whole.hidden);
  whole.click();
  assert.deepEqual(figure.told, [["window", { queries: null, keys: null }]]);
  await figure.update(heatmap(), { isWindow: true, windows: false });
  assert.ok(whole.hidden);
  assert.equal(whole.getAttribute("aria-label"), "Show the whole text");
});
