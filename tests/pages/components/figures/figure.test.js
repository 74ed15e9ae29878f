// A figure as a component: when it is drawn, with what, and what becomes of it; plotly itself is not there.

import assert from "node:assert/strict";
import { test } from "node:test";

import { resize, setTheme } from "../../dom.js";
import { drawn, heatmap, of } from "./plotly.js";
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
  resize(figure.plot, 500, 420);
  assert.deepEqual([figure.last().layout.width, figure.last().layout.height], [500, 420]);
  resize(figure.plot, 500, 0); // out of sight
  assert.equal(of("react", figure).length, 2);
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
  setTheme("light");
  assert.equal(ground(figure.last()), "#ffffff");
});

test("tokens without room open in a legend, which goes where they have room", async () => {
  const figure = await drawn(show, heatmap({}, { columns: 60 }), {}, { width: 200, height: 350 });
  const legend = figure.find("details.legend");
  assert.ok(!legend.hidden);
  const [keys] = figure.findAll(".legend .list p");
  assert.match(keys.textContent, /^key 2 k2 · 3 k3 · .* · 61 k61$/);
  resize(figure.plot, 3000, 350);
  assert.ok(legend.hidden && figure.findAll(".legend .list p").length === 0);
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
  const script = document.querySelector('script[src="/vendor/plotly.min.js"]');
  globalThis.Plotly = Plotly;
  script.dispatchEvent(new Event("load"));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(of("react", later).length, 1);
  script.remove();
});
