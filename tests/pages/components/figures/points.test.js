// The lines of a chart, read from the keyboard.

import assert from "node:assert/strict";
import { test } from "node:test";

import { announced, press } from "../../dom.js";
import { drawn, EDGES, SIZE } from "./plotly.js";
import show from "../../../../pages/components/figures/figure.js";

const line = (name, x, y, more = {}) => ({ type: "scatter", mode: "lines", name, x, y, ...more });
const LINES = [line("loss", [0, 1000, 2000, 3000], [4, 3, 2, 1]), line("<b>other</b>", [0, 1400, 3000], [0.5, 0.25, 0.125])];
const chart = (data = LINES, more = {}) => ({
  data,
  layout: { title: { text: "lines" }, xaxis: { range: [0, 3000], title: { text: "step" } }, yaxis: { range: [0, 5], title: { text: "<i>nats</i>" } }, ...more },
});
const ringAt = (figure) => ["left", "top"].map((name) => Math.round(parseFloat(figure.find(".ring").style[name])) + 6);
/** Where a point of the chart lies within the figure. */
const px = (x, y) => [EDGES.left + ((SIZE.width - 100) * x) / 3000, EDGES.top + (SIZE.height - 50) * (1 - y / 5)].map(Math.round);

test("keys lead along a line and to the nearest point of another, each said, ringed and shown", async () => {
  const figure = await drawn(show, chart());
  const { plot } = figure;
  assert.match(plot.getAttribute("aria-description"), /Arrow keys move along a line/);
  const to = (key) => {
    assert.ok(press(plot, key).defaultPrevented);
    return [announced(), ringAt(figure), figure.hovered()];
  };
  const at = (curveNumber, pointNumber) => [{ curveNumber, pointNumber }];
  assert.ok(figure.find(".ring").hidden);
  assert.deepEqual(to("End"), ["loss: step 0, nats 4.00", px(0, 4), at(0, 0)]); // the first key comes to the beginning
  assert.deepEqual(to("ArrowRight"), ["loss: step 1,000, nats 3.00", px(1000, 3), at(0, 1)]);
  assert.deepEqual(to("ArrowDown"), ["other: step 1,400, nats 0.25", px(1400, 0.25), at(1, 1)]);
  assert.deepEqual(to("ArrowUp"), ["loss: step 1,000, nats 3.00", px(1000, 3), at(0, 1)]);
  assert.deepEqual(to("Home"), ["loss: step 0, nats 4.00", px(0, 4), at(0, 0)]);
  assert.ok(!figure.find(".ring").hidden);
  assert.ok(press(plot, "Escape").defaultPrevented);
  assert.ok(figure.find(".ring").hidden && figure.hovered() === null);
});

test("gaps, points alone, what is no line and what is hidden are passed over", async () => {
  const data = [
    line("bars", null, [1, 2], { type: "bar" }),
    line("dots", [0, 1], [1, 2], { mode: "markers" }),
    line("quiet", [0, 1], [1, 2], { hoverinfo: "skip" }),
    line("gone", [0, 1], [1, 2], { visible: false }),
    line("one", [0], [1]),
    line("empty", [], [], { mode: null }), // plotly gives a trace without points no mode
    line("gap", [0, 1000, 2000], [1, null, 3], { mode: "lines+markers" }),
  ];
  const figure = await drawn(show, chart(data));
  press(figure.plot, "ArrowDown");
  assert.equal(announced(), "gap: step 0, nats 1.00");
  press(figure.plot, "ArrowRight");
  assert.equal(announced(), "gap: step 2,000, nats 3.00");
  figure.leave();
  const none = await drawn(show, chart(data.slice(0, 6)));
  assert.deepEqual([none.plot.getAttribute("role"), none.plot.tabIndex], ["img", -1]);
  assert.ok(!press(none.plot, "ArrowDown").defaultPrevented);
});

test("Enter hides the line as the legend does, with all of its group, and shows it again", async () => {
  const data = [line("a", [0, 1], [1, 2]), line("b", [0, 3000], [3, 4], { legendgroup: "g" }), line("c", [0, 3000], [1, 2], { legendgroup: "g" })];
  const figure = await drawn(show, chart(data));
  const pressed = [];
  for (const [index, name] of ["legend", "legend2"].entries()) { // one entry stands for the group
    const entry = Object.assign(document.createElement("div"), { className: "traces", __data__: [{ trace: figure.plot._fullData[index] }] });
    const toggle = entry.appendChild(Object.assign(document.createElement("div"), { className: `${name}toggle` }));
    figure.plot.appendChild(Object.assign(document.createElement("div"), { className: name })).append(entry);
    for (const kind of ["mousedown", "mouseup"]) toggle.addEventListener(kind, () => pressed.push([index, kind]));
  }
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"]) press(figure.plot, key);
  assert.equal(announced(), "c: step 3,000, nats 2.00");
  assert.ok(press(figure.plot, "Enter").defaultPrevented);
  assert.deepEqual(pressed, [[1, "mousedown"], [1, "mouseup"]]);
  figure.plot._fullData[2].visible = "legendonly"; // as plotly then has it
  figure.plot.calcdata[2] = [];
  figure.tell("plotly_restyle", {});
  assert.equal(announced(), "c, hidden");
  assert.ok(figure.find(".ring").hidden);
  press(figure.plot, "ArrowUp"); // it is still one of the lines
  assert.equal(announced(), "b: step 0, nats 3.00");
});

test("a point is called by the label of its axis, and by its number where there is none", async () => {
  const data = [line("of tokens", [0, 1, 2], [1, 2, 3])];
  const figure = await drawn(show, chart(data, { xaxis: { range: [0, 2], tickvals: [0, 1], ticktext: ["&lt;bos&gt;", "le"] } }));
  press(figure.plot, "ArrowDown");
  assert.equal(announced(), "of tokens: <bos>, nats 1.00");
  press(figure.plot, "End");
  assert.equal(announced(), "of tokens: 2, nats 3.00"); // which has no label
});
