// A heatmap as a component: cells are chosen, pointed at and zoomed into by pointer and keyboard. Plotly draws in a browser
// alone; here stands what the component asks of it: axes of known pixels, and its events.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { announced, place, press, resize, shown } from "../dom.js";
import show from "../../../pages/components/figures/figure.js";

const PX = 10; // of a cell
const [LEFT, TOP] = [50, 20]; // px, of the axes within the plot
const settled = () => new Promise((go) => setImmediate(go));

/** Stands in for plotly: axes of PX a place, and what it was asked to show. */
function makePlotly() {
  const asked = { hovered: [], relayouts: [] };
  const axis = ([low, high], offset) => {
    const start = Math.min(low, high);
    return { range: [low, high], _offset: offset, _length: PX * Math.abs(high - low), l2p: (at) => PX * (at - start), p2l: (px) => start + px / PX };
  };
  const react = (plot, data, layout) => {
    plot.drawn = { data, layout };
    plot.hearers ??= [];
    plot.on = (name, hear) => plot.hearers.push([name, hear]);
    plot.tell = (name, event) => plot.hearers.forEach(([of, hear]) => of === name && hear(event));
    plot._fullLayout = { xaxis: axis(layout.xaxis.range, LEFT), yaxis: axis(layout.yaxis.range, TOP) };
    plot.lastDrag ??= plot.appendChild(Object.assign(document.createElement("div"), { className: "draglayer" }));
  };
  const relayout = (plot, ranges) => {
    asked.relayouts.push(ranges);
    for (const [name, range] of Object.entries(ranges)) plot._fullLayout[name.split(".")[0]] = axis(range, name.startsWith("x") ? LEFT : TOP);
    plot.tell("plotly_relayout", ranges);
  };
  const Fx = { hover: (plot, { xval, yval }) => asked.hovered.push([plot, yval, xval]), unhover: (plot) => asked.hovered.push([plot, null]) };
  return { asked, react, relayout, Fx, purge: () => {} };
}

const Z = (rows, columns) => Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (_, column) => row / 10 + column / 100));
function figure({ rows = 4, columns = 6, first = [0, 0], meta } = {}) {
  const span = (from, n) => [from - 0.5, from + n - 0.5];
  const [down, across] = meta?.blocks ? [meta.blocks.queries, meta.blocks.keys].map((starts) => [starts[0], starts.at(-1) - starts[0]]) : [[first[0], rows], [first[1], columns]];
  const layout = { title: { text: "A head" }, meta, xaxis: { range: span(...across) }, yaxis: { range: span(...down).reverse() } };
  return JSON.stringify({ data: [{ type: "heatmap", z: Z(rows, columns), y0: first[0], x0: first[1] }], layout });
}
const TEMPLATES = { light: "{}", dark: "{}" };
const data = (more = {}) => ({ figure: figure(), templates: TEMPLATES, name: "head", offers: [], files: null, answers: null, height: 300, clicks: true, windows: false, cell: null, isWindow: false, link: null, preview: null, about: null, opens: false, ...more });

async function drawn(more) {
  globalThis.Plotly = makePlotly();
  return { ...(await another(more)), asked: globalThis.Plotly.asked };
}
async function another(more) {
  const component = shown(show, "figure", data(more));
  const plot = component.find(".plot");
  resize(plot, 400, 300);
  await settled();
  const at = (row, column) => ({ clientX: LEFT + PX * (column + 0.5), clientY: TOP + PX * (row + 0.5) });
  const down = (row, column, detail = 1) => {
    plot.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true, ...at(row, column) }));
    plot.querySelector(".draglayer").dispatchEvent(new MouseEvent("mousedown", { bubbles: true, composed: true, detail, ...at(row, column) }));
  };
  const up = (row, column) => window.dispatchEvent(new MouseEvent("mouseup", at(row, column)));
  const clicked = (row, column) => plot.tell("plotly_click", { points: [{ data: { type: "heatmap" }, pointNumber: [row, column] }] });
  const click = (row, column, detail) => (down(row, column, detail), up(row, column), clicked(row, column));
  const newer = async (values) => (component.update(data({ ...more, ...values })), settled());
  return { ...component, plot, click, down, up, clicked, newer, outline: component.find(".cell") };
}

test("a click chooses the cell that the pointer is at, and once more lets it go", async () => {
  const { click, down, up, clicked, told, leave } = await drawn({ figure: figure({ first: [7, 3] }) });
  click(2, 5);
  click(2, 5);
  down(1, 0);
  up(1, 0);
  clicked(1, 1); // where plotly saw the pointer 50 ms before
  assert.deepEqual(told, [["cell", { query: 9, key: 8 }], ["cell", { query: null, key: null }], ["cell", { query: 8, key: 3 }]]);
  leave();
});

test("a double click leads back to the whole text, and takes back what its first click chose", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const cell = { query: 1, key: 2 };
  const { click, down, up, told, asked, leave } = await drawn({ windows: true, cell, isWindow: true });
  click(3, 4);
  down(3, 4, 2);
  up(3, 4);
  mock.timers.tick(1);
  assert.deepEqual(told, [["cell", { query: 3, key: 4 }], ["cell", cell], ["window", { queries: null, keys: null }]]);
  assert.equal(asked.relayouts.length, 1);
  told.length = 0;
  click(0, 0);
  down(0, 3, 2); // two quick clicks on different cells are two
  up(0, 3);
  mock.timers.tick(1);
  assert.deepEqual(told.map(([what]) => what), ["cell"]);
  leave();
  mock.timers.reset();
});

test("the arrow keys go from the chosen cell, say what is there, and Enter and Escape choose and let go", async () => {
  const { plot, told, outline, asked, leave } = await drawn({ figure: figure({ first: [7, 3] }), cell: { query: 8, key: 4 } });
  press(plot, "ArrowRight");
  assert.equal(announced(), "query 8, key 5");
  assert.deepEqual(asked.hovered.at(-1), [plot, 8, 5]);
  assert.deepEqual([outline.hidden, outline.style.left, outline.style.top, outline.style.width], [false, `${LEFT + 2 * PX}px`, `${TOP + PX}px`, `${PX}px`]);
  press(plot, "ArrowDown");
  press(plot, "Enter");
  assert.deepEqual(told, [["cell", { query: 9, key: 5 }]]);
  press(plot, "ArrowLeft", { ctrlKey: true }); // the browser's
  assert.equal(announced(), "query 9, key 5");
  press(plot, "Escape");
  assert.ok(outline.hidden);
  assert.deepEqual(told.slice(1), [["cell", { query: null, key: null }]]);
  leave();
});

test("the cursor stays where the figure still has its cell, and goes where it has it no longer", async () => {
  for (const [rows, columns, stays] of [[4, 6, true], [3, 6, true], [2, 6, false], [4, 5, true], [4, 4, false]]) {
    const { plot, newer, outline, leave } = await drawn({});
    press(plot, "End"); // the first key leads into the corner
    for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight"]) press(plot, key);
    assert.equal(announced(), "query 2, key 4");
    await newer({ figure: figure({ rows, columns }) });
    assert.equal(outline.hidden, !stays, `${rows} x ${columns}`);
    leave();
  }
});

test("a box that is drawn shows the places that it touches, and the whole is no part", async () => {
  const { plot, told, leave } = await drawn({ windows: true, figure: figure({ rows: 8, columns: 9, first: [4, 2] }) });
  const zoom = (x, y) => Plotly.relayout(plot, { "xaxis.range": x, "yaxis.range": y });
  zoom([2.6, 5.4], [8.4, 4.7]);
  zoom([1.5, 10.5], [11.5, 3.5]);
  zoom([1.5, 10.5], [9.7, 3.5]);
  zoom([4.6, 6.6], [11.5, 3.5]);
  assert.deepEqual(told, [
    ["window", { queries: [5, 8], keys: [3, 5] }],
    ["window", { queries: [4, 10], keys: [2, 10] }],
    ["window", { queries: [4, 11], keys: [5, 7] }],
  ]);
  leave();
});

test("a block of an overview opens the part of the text that it stands for", async () => {
  const blocks = { queries: [0, 5, 12], keys: [0, 4, 8, 9] };
  const { plot, click, told, leave } = await drawn({ windows: true, figure: figure({ rows: 2, columns: 3, meta: { blocks } }) });
  click(6, 8);
  press(plot, "ArrowDown");
  press(plot, "ArrowRight");
  press(plot, "Enter");
  assert.deepEqual(told, [["window", { queries: [5, 11], keys: [8, 8] }], ["window", { queries: [0, 4], keys: [4, 7] }]]);
  leave();
});

test("figures of one link are pointed at together, and one that has left no longer", async () => {
  const one = await drawn({ link: "a" });
  const same = await another({ link: "a", figure: figure({ first: [1, 0], rows: 3 }) });
  const other = await another({ link: "b" });
  const hovered = () => one.asked.hovered.splice(0).filter(([plot]) => plot !== one.plot);
  one.plot.tell("plotly_hover", { points: [{ data: { type: "heatmap" }, pointNumber: [2, 3] }] });
  assert.ok(hovered().every(([plot, y, x]) => plot === same.plot && y === 2 && x === 3));
  one.plot.tell("plotly_hover", { points: [{ data: { type: "heatmap" }, pointNumber: [0, 3] }] }); // not in the other
  assert.deepEqual(hovered().map(([, y]) => y), [null]);
  same.leave();
  one.plot.tell("plotly_unhover", {});
  assert.deepEqual(hovered(), []);
  other.leave();
  one.leave();
});

test("files of another figure are never saved for this one", async () => {
  const { find, findAll, told, newer, leave } = await drawn({ offers: ["csv"] });
  find(".tool[aria-haspopup]").click();
  const [[, first]] = told;
  const csv = () => findAll(".kind").find((button) => button.textContent.startsWith("CSV")).disabled;
  assert.ok(csv());
  const files = { "head.csv": btoa("a,b") };
  await newer({ figure: figure({ rows: 3 }) }); // another text meanwhile: it is asked for anew
  assert.equal(told.length, 2);
  await newer({ figure: figure({ rows: 3 }), files, answers: first - 1 });
  assert.ok(csv());
  await newer({ figure: figure({ rows: 3 }), files, answers: told[1][1] });
  assert.ok(!csv());
  leave();
});

test("a press on the plot's ground, with nothing under it, chooses nothing", async () => {
  const { plot, down, told, leave } = await drawn({});
  down(9, 9);
  plot.tell("plotly_click", { points: [] });
  assert.deepEqual(told, []);
  place(plot, { width: 400, height: 300 });
  leave();
});
