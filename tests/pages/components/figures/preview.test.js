// A head that is clicked in the overview, or played there: its picture is drawn large at once, and its numbers replace it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { drawn, heatmap, of } from "./plotly.js";
import { shownHead } from "../../../../headlight/components/kit/channel.js";
import show from "../../../../pages/components/figures/figure.js";

const LEVELS = Uint8Array.from([0, 255, 255, 253, 127, 255, 10, 20, 30, 40, 50, 255, 60, 70, 80]); // of 3 queries and 5 keys
const frame = (title, rows = 3, columns = 5) => ({
  layout: { title: { text: title }, xaxis: { range: [-0.5, columns - 0.5] }, yaxis: { range: [rows - 0.5, -0.5] } },
});
const preview = (more = {}) => ({
  ...{ attention: "encoder", layer: 0, head: 1, name: "attention", forbidden: "masked" },
  ...{ frames: { encoder: frame("encoder L{layer}.H{head}"), cross: frame("cross L{layer}.H{head} after step {step}") }, ...more },
});
const head = (attention, layer, number, more = {}) => ({ attention, layer, head: number, rows: 3, columns: 5, levels: LEVELS, ...more });

function figure() {
  const map = heatmap({ shapes: [{ type: "rect" }], coloraxis: { cmin: 0 } });
  map.data.push({ type: "scatter", mode: "text", text: [".25", ".5"], x: [1, 2], y: [1, 2] }, { type: "scatter", mode: "lines", name: "frame", x: [], y: [] });
  return map;
}

test("another head is drawn at once, cell by cell, without words and numbers of the one before", async () => {
  const one = await drawn(show, figure(), { preview: preview() });
  shownHead.send(head("cross", 2, 3, { step: 1250 }));
  const { data, layout } = one.last();
  assert.equal(layout.title.text, "cross L2.H3 after step 1,250");
  assert.deepEqual([layout.width, layout.height, layout.shapes, layout.coloraxis], [600, 350, [], { cmin: 0 }]);
  const [masked, weights] = data.filter(({ type }) => type === "heatmap");
  assert.deepEqual([masked.name, masked.coloraxis, weights.name], ["masked", "coloraxis2", "attention"]);
  const isForbidden = (cell) => LEVELS[cell] === 255;
  weights.z.flat().forEach((weight, cell) => {
    if (isForbidden(cell)) assert.ok(Number.isNaN(weight));
    else assert.ok(Math.abs(weight - LEVELS[cell] / 253) < 1e-6);
  });
  assert.deepEqual(masked.z.flat().map((value) => value === 0), [...LEVELS.keys()].map(isForbidden));
  assert.ok([masked, weights].every(({ customdata, hoverinfo, hovertemplate }) => customdata === null && hoverinfo === "skip" && hovertemplate === ""));
  assert.deepEqual(data.filter(({ mode }) => mode === "text").map(({ text }) => text), [[" ", " "]]);
  shownHead.send(head("encoder", 1, 2, { levels: new Uint8Array(15) }));
  assert.equal(one.last().layout.title.text, "encoder L1.H2");
  assert.equal(one.last().data.filter(({ type }) => type === "heatmap").length, 1); // nothing is masked
});

test("the numbers of the head replace its picture, and the one before comes back where it is clicked again", async () => {
  const one = await drawn(show, figure(), { preview: preview() });
  const n = () => of("react", one).length;
  const isSaved = () => one.findAll(".kind").some(({ disabled }) => !disabled);
  shownHead.send(head("encoder", 0, 1)); // which is there
  assert.equal(n(), 1);
  assert.ok(isSaved());
  shownHead.send(head("encoder", 0, 2));
  assert.equal(n(), 2);
  assert.ok(!isSaved()); // the file would have the numbers of the one before
  shownHead.send(head("encoder", 0, 1));
  assert.equal(n(), 3);
  assert.ok(isSaved());
  assert.equal(one.last().layout.title.text, "<b>one</b>");
  shownHead.send(head("encoder", 1, 1));
  await one.update(figure(), { preview: preview({ layer: 1 }) }); // the same picture, whose numbers came
  assert.equal(n(), 5);
  assert.equal(one.last().layout.title.text, "<b>one</b>");
});

test("another snapshot of the same head is another picture; a click beside a film keeps its snapshot", async () => {
  const one = await drawn(show, figure(), { preview: preview({ attention: "cross", step: 500 }) });
  const n = () => of("react", one).length;
  shownHead.send(head("cross", 0, 1, { step: 500 }));
  assert.equal(n(), 1);
  shownHead.send(head("cross", 0, 1, { step: 1000 }));
  assert.equal(one.last().layout.title.text, "cross L0.H1 after step 1,000");
  shownHead.send(head("cross", 1, 0));
  assert.equal(one.last().layout.title.text, "cross L1.H0 after step 500");
  shownHead.send(head("cross", 0, 1));
  assert.equal(one.last().layout.title.text, "<b>one</b>");
});

test("pictures of other sizes, of other attentions, and where no head is drawn are no preview", async () => {
  const one = await drawn(show, figure(), { preview: preview() });
  const other = await drawn(show, figure());
  shownHead.send(head("encoder", 1, 2, { rows: 5, columns: 3 }));
  shownHead.send(head("decoder", 1, 2));
  assert.equal(of("react", one).length, 1);
  shownHead.send(head("encoder", 1, 2));
  assert.equal(of("react", other).length, 1);
  one.leave();
  const n = of("react", one).length;
  shownHead.send(head("encoder", 1, 3));
  assert.equal(of("react", one).length, n);
});
