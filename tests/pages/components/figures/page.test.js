// A saved page: it draws on its own, with nothing but what is in it, and says what it is of.

import assert from "node:assert/strict";
import { test } from "node:test";

import { JSDOM } from "jsdom";

import "../../dom.js";
import { Canvas } from "../../canvas.js";
import { dataOf, heatmap } from "./plotly.js";
import { makePage } from "../../../../pages/components/figures/page.js";

const LIBRARY = `window.calls = [];
window.Plotly = { react: async (place, data, layout, config) => {
  calls.push({ data, layout, config });
  const w = layout.width - 200, h = layout.height - 80;
  place._fullLayout = { ...layout, _size: { w, h } };
} };`;
const fetched = [];
globalThis.fetch = async (address) => ({ text: async () => (fetched.push(address), LIBRARY) });

/** The page of a figure, opened. */
async function open(figure, { more = {}, isDark = false, width = 700, height = 600 } = {}) {
  const html = await makePage({ ...dataOf(figure, more) });
  const theme = { matches: isDark, addEventListener: (name, hear) => (theme[name] = hear) };
  const errors = [];
  const { window: page } = new JSDOM(html, {
    runScripts: "dangerously",
    beforeParse(page) {
      Object.defineProperty(page.Element.prototype, "clientWidth", { get: () => page.shownWidth });
      page.HTMLCanvasElement.prototype.getContext = () => new Canvas().getContext();
      Object.assign(page, { shownWidth: width, innerHeight: height, structuredClone, matchMedia: (media) => Object.assign(theme, { media }) });
      page.addEventListener("error", ({ message }) => errors.push(message));
      page.addEventListener("unhandledrejection", ({ reason }) => errors.push(reason));
    },
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  await settled();
  assert.deepEqual(errors, []);
  const last = () => page.calls.at(-1);
  return { html, page, theme, last, settled, document: page.document };
}

test("a saved page draws its figure with what is in it: numbers, words, layout, and the reader's theme", async () => {
  const figure = heatmap({ meta: { words: { queries: ["</script><b>a"], keys: ["b", "c"], before: "", forbidden: "no", decimal: ".", format: ".2f" } } }, { rows: 1, columns: 2 });
  const z = { dtype: "f4", bdata: Buffer.from(Float32Array.from([0.25, 0.5]).buffer).toString("base64"), shape: "1, 2" };
  Object.assign(figure.data[0], { z, meta: "words", customdata: null });
  const { last, document, theme, settled, html } = await open(figure, { more: { about: "of <b>this</b> & that" }, isDark: true });
  assert.deepEqual(fetched.at(-1), "/vendor/plotly.min.js");
  const [{ z: rows, customdata }] = last().data;
  assert.deepEqual(JSON.parse(JSON.stringify(customdata)), [["</script><b>a → b: 0.25", "</script><b>a → c: 0.50"]]);
  assert.deepEqual([...rows[0]], [0.25, 0.5]);
  assert.equal(document.title, "one");
  assert.equal(document.querySelector('p[dir="auto"]').textContent, "of <b>this</b> & that");
  assert.ok(html.includes("light-dark(#ffffff, #101114)"));
  assert.deepEqual([theme.media, last().layout.template.layout.paper_bgcolor], ["(prefers-color-scheme: dark)", "#101114"]);
  theme.matches = false;
  theme.change();
  await settled();
  assert.equal(last().layout.template.layout.paper_bgcolor, "#ffffff");
});

test("cells of a saved page are about as high as wide, where a figure sets no height", async () => {
  const cells = await open(heatmap({}, { rows: 12, columns: 12 }), { width: 1500 });
  const { width, height } = cells.last().layout;
  assert.equal(width, 960); // no wider
  assert.ok(Math.abs(height - 80 - (width - 200)) <= 1);
  const low = await open(heatmap(), { more: { height: 230 }, width: 1500 });
  assert.deepEqual([low.last().layout.width, low.last().layout.height], [1500, 230]);
});
