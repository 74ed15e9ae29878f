// What plotly_internals.js reads, asked of the plotly.js that the app serves: another version of it may have moved it.

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { runInThisContext } from "node:vm";

import { place } from "../../dom.js";
import {
  axisOf, fullTraces, legendsOf, legendToggle, panelStarts, pointsOf, roomOf,
} from "../../../../pages/components/figures/plotly_internals.js";

const [path] = globSync(".venv/lib/python*/site-packages/plotly/package_data/plotly.min.js");
Object.assign(globalThis, { self: globalThis });
URL.createObjectURL = () => "blob:"; // of the workers of its maps
runInThisContext(readFileSync(path, "utf-8"));

/** A figure drawn by plotly itself. */
async function drawn(data, layout) {
  const plot = document.body.appendChild(document.createElement("div"));
  place(plot, { width: 700, height: 400 });
  await Plotly.newPlot(plot, data, { width: 700, height: 400, margin: { l: 90, r: 40, t: 50, b: 30 }, ...layout }, { staticPlot: true });
  return plot;
}
const isNear = (one, other) => assert.ok(Math.abs(one - other) < 0.01, `${one} is not ${other}`);

test("an axis lies between the margins and leads from its numbers to px and back", async () => {
  const z = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]];
  const plot = await drawn([{ type: "heatmap", z, x0: 20, y0: 10 }], { xaxis: { range: [19.5, 23.5] }, yaxis: { range: [12.5, 9.5] } });
  const { l, r, t, b, w, h } = roomOf(plot);
  assert.ok(l >= 90 && t >= 50);
  assert.deepEqual([l + w + r, t + h + b], [700, 400]);
  for (const [id, range, edge, size] of [["x", [19.5, 23.5], l, w], ["yaxis", [12.5, 9.5], t, h]]) {
    const { offset, length, range: found, toPixels, toNumber } = axisOf(plot, id);
    assert.deepEqual(found, range);
    isNear(offset, edge);
    isNear(length, size);
    const [start, end] = id === "x" ? range : range.toReversed(); // at the left, and at the top
    for (const [number, px] of [[start, 0], [end, length], [start + (end - start) / 3, length / 3]]) {
      isNear(toPixels(number), px);
      isNear(toNumber(px), number);
    }
  }
});

test("lines have their axes, points and categories, and a hidden one has no points", async () => {
  const data = [
    { name: "one", x: ["a", "b", "c"], y: [3, null, 5] },
    { name: "two", x: ["b", "c"], y: [1, 2], yaxis: "y2", visible: "legendonly" },
    { name: "three", x: ["c"], y: [4], yaxis: "y2", mode: "text", text: ["t"] },
  ];
  const title = { text: "nats" };
  const plot = await drawn(data, { yaxis: { domain: [0, 0.4], title }, yaxis2: { domain: [0.6, 1], tickvals: [1, 4], ticktext: ["i", "iv"] } });
  const traces = fullTraces(plot);
  assert.deepEqual(traces.map(({ index, name, xaxis, yaxis, visible }) => [index, name, xaxis, yaxis, visible]), [
    [0, "one", "x", "y", true], [1, "two", "x", "y2", "legendonly"], [2, "three", "x", "y2", true],
  ]);
  const finite = (trace) => pointsOf(plot, trace).filter(({ y }) => Number.isFinite(y)).map(({ x, y, i }) => [x, y, i]);
  assert.deepEqual(traces.map(finite), [[[0, 3, 0], [2, 5, 2]], [], [[2, 4, 0]]]);
  assert.deepEqual(axisOf(plot, "x").categories, ["a", "b", "c"]);
  const [first, second] = ["y", "y2"].map((id) => axisOf(plot, id));
  assert.deepEqual([first.categories, first.title.text, second.tickvals, second.ticktext], [[], "nats", [1, 4], ["i", "iv"]]);
  assert.ok(second.offset < first.offset && second.length < 0.41 * roomOf(plot).h);
  assert.deepEqual(panelStarts(plot).toSorted(), [0, 0.6]);
});

test("a legend has its place, its height and an entry for each line", async () => {
  const data = [{ name: "one", y: [1, 2] }, { name: "two", y: [2, 1], legend: "legend2" }, { name: "three", y: [2, 1], legend: "legend2" }];
  const plot = await drawn(data, { legend: { y: 1 }, legend2: { y: 0.4 }, showlegend: true });
  const legends = legendsOf(plot);
  assert.deepEqual(legends.map(({ y }) => y), [1, 0.4]);
  assert.ok(legends[0].height > 0 && legends[1].height > legends[0].height);
  const toggles = [0, 1, 2].map((index) => legendToggle(plot, (trace) => trace.index === index));
  assert.deepEqual(toggles.map((toggle) => toggle.getAttribute("class")), ["legendtoggle", "legend2toggle", "legend2toggle"]);
});
