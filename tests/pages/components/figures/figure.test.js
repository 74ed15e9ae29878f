// A figure as a component: when it is drawn, with what, and what becomes of it; plotly itself is not there.

import assert from "node:assert/strict";
import { test } from "node:test";

import { place, resize, setTheme, shown } from "../../dom.js";
import { dataOf, drawn, heatmap, of } from "./plotly.js";
import { FIGURES } from "../../../../pages/components/figures/cells.js";
import show from "../../../../pages/components/figures/figure.js";

const ground = ({ layout }) => layout.template.layout.paper_bgcolor;

test("a figure is drawn once it has room, with its size, and again when that changes", async () => {
  const figure = await drawn(show, heatmap(), {}, { width: 0, height: 0 });
  assert.equal(of("react", figure).length, 0);
  resize(figure.plot, 600, 350);
  assert.deepEqual([figure.last().layout.width, figure.last().layout.height], [600, 350]);
  resize(figure.plot, 600, 350);
  assert.equal(of("react", figure).length, 1);
  resize(figure.plot, 600, 420);
  assert.deepEqual([figure.last().layout.width, figure.last().layout.height], [600, 420]);
  resize(figure.plot, 500, 420);
  assert.equal(figure.last().layout.width, 500);
  resize(figure.plot, 500, 0); // out of sight
  assert.equal(of("react", figure).length, 3);
  assert.deepEqual(figure.last().config, { displayModeBar: false, doubleClick: false, showTips: false }); // plotly's own
});

test("newer data is drawn into the same place, and the same data not again", async () => {
  const figure = await drawn(show, heatmap());
  const { plot } = figure;
  await figure.update(heatmap(), { cell: { query: 8, key: 3 } });
  assert.equal(of("react", figure).length, 1);
  const updated = figure.update(heatmap({ title: { text: "two" } }));
  assert.equal(figure.last().layout.title.text, "two"); // at once, before anything that waits for its turn
  await updated;
  assert.equal(of("react", figure).length, 2);
  assert.equal(figure.find(".plot"), plot);
  assert.equal(plot.getAttribute("aria-label"), "two");
  assert.equal(plot.heard.plotly_click.length, 1);
});

test("a figure follows the theme, and one that comes while it is dark is dark", async () => {
  const figure = await drawn(show, heatmap());
  assert.equal(ground(figure.last()), "#ffffff");
  setTheme("dark");
  assert.equal(ground(figure.last()), "#101114");
  const other = await drawn(show, heatmap());
  assert.equal(ground(other.last()), "#101114");
  other.leave();
  const n = of("react", other).length;
  setTheme("light");
  assert.equal(ground(figure.last()), "#ffffff");
  assert.equal(of("react", other).length, n);
});

test("a low figure has its height, one of the stage has none of its own", async () => {
  const figure = await drawn(show, heatmap(), { height: 230 });
  assert.ok(figure.root.classList.contains("low"));
  assert.equal(figure.root.style.height, "230px");
  await figure.update(heatmap());
  assert.ok(!figure.root.classList.contains("low"));
  assert.equal(figure.root.style.height, "");
});

test("numbers and words that come as bytes are there when it is drawn", async () => {
  const sent = heatmap({ meta: { words: { queries: ["a", "b"], keys: ["c"], before: "", forbidden: "masked", format: ".2f" } } }, { rows: 2, columns: 1 });
  const z = { dtype: "f4", bdata: Buffer.from(Float32Array.from([0.25, 0.5]).buffer).toString("base64"), shape: "2, 1" };
  Object.assign(sent.data[0], { z, meta: "words", customdata: null });
  const figure = await drawn(show, sent);
  const [{ z: rows, customdata }] = figure.last().data;
  assert.deepEqual(rows.map((row) => [...row]), [[0.25], [0.5]]);
  assert.deepEqual(customdata, [["a → c: 0.25"], ["b → c: 0.50"]]);
});

test("tokens without room open in a legend, which goes where they have room", async () => {
  const figure = await drawn(show, heatmap({}, { columns: 60 }), {}, { width: 200, height: 350 });
  const legend = figure.find("details.legend");
  assert.ok(!legend.hidden);
  const [keys] = figure.findAll(".legend .list p");
  assert.match(keys.textContent, /^key 2 k2 · 3 k3 · .* · 61 k61$/);
  resize(figure.plot, 3000, 350);
  assert.ok(legend.hidden && figure.findAll(".legend .list p").length === 0);
  assert.equal(figure.find(".legend .list").tabIndex, 0);
});

test("what is drawn while the menu of what can be saved takes room keeps its title beside it", async () => {
  const title = { text: "A title that is as long as this one, of a head in a layer of an attention" };
  const narrow = async (height) => {
    const figure = shown(show, "figure", dataOf(heatmap({ title }), { height }), { isolated: false });
    place(figure.find(".tools button:not(.whole)"), { width: 150, height: 20 });
    const plot = figure.find(".plot");
    resize(plot, 500, 350);
    await new Promise((resolve) => setImmediate(resolve));
    const { layout } = of("react", { plot }).at(-1);
    figure.leave();
    return layout.title.font.size;
  };
  assert.ok((await narrow(200)) < (await narrow(null)));
});

test("a figure that leaves is thrown away, and no other", async () => {
  const [figure, other] = [await drawn(show, heatmap()), await drawn(show, heatmap())];
  assert.equal(FIGURES.size, 2);
  figure.leave();
  assert.equal(of("purge", figure).length, 1);
  assert.equal(of("purge", other).length, 0);
  assert.equal(FIGURES.size, 1);
  other.leave();
  assert.equal(FIGURES.size, 0);
});

test("where plotly.js is not there yet, one script brings it for all figures; if that fails, a figure says so", async () => {
  const { Plotly } = globalThis;
  delete globalThis.Plotly;
  const [one, other] = [await drawn(show, heatmap()), await drawn(show, heatmap())];
  const scripts = document.querySelectorAll('script[src="/vendor/plotly.min.js"]');
  assert.equal(scripts.length, 1);
  assert.equal(of("react", one).length, 0);
  globalThis.Plotly = Plotly;
  scripts[0].dispatchEvent(new Event("load"));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([of("react", one).length, of("react", other).length], [1, 1]);
  one.leave();
  other.leave();
  delete globalThis.Plotly;
  const failed = await drawn(show, heatmap());
  scripts[0].dispatchEvent(new Event("error"));
  await new Promise((resolve) => setImmediate(resolve));
  assert.match(failed.plot.textContent, /reload/);
  const later = await drawn(show, heatmap()); // asks for it again
  const [script, ...others] = document.querySelectorAll('script[src="/vendor/plotly.min.js"]');
  assert.ok(script !== scripts[0] && others.length === 0);
  globalThis.Plotly = Plotly;
  script.dispatchEvent(new Event("load"));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(of("react", later).length, 1);
  resize(failed.plot, 500, 300);
  assert.deepEqual([of("react", failed).length, failed.plot.textContent], [1, ""]);
  later.leave();
  failed.leave();
  script.remove();
});
