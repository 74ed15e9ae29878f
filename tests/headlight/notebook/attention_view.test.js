// A view of a notebook or a file as a whole: what it unpacks, draws and changes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";

import { announced, point, resize } from "../../pages/dom.js";
import { showAttention } from "../../../headlight/notebook/attention_view.js";
import { decode, FORBIDDEN, NOT_FINITE, strongestCell, thumbnailLevels, weightsOf } from "../../../headlight/notebook/decode.js";
import { isolated } from "../../../headlight/components/kit/canvas.js";
import { placesOfLabels } from "../../../headlight/components/heatmap/layout.js";

const TOP = 1000;
const SCALE = {
  ...{ sequential: [[0, "#ffffff"], [1, "#101020"]], forbidden: "#c8ccd0", notFinite: "#d01080" },
  ...{ text: "#101010", muted: "#606060", ground: "#fefefe" },
};
const pack = (numbers) => new Uint8Array(deflateSync(Uint8Array.from([...numbers.map((n) => n & 255), ...numbers.map((n) => n >> 8)])));

test("numbers come back as they were packed, and become levels and weights", async () => {
  const numbers = [0, 1, 255, 256, 1000, FORBIDDEN, NOT_FINITE];
  const decoded = await decode(pack(numbers));
  assert.deepEqual([...decoded], numbers);
  assert.deepEqual([...thumbnailLevels(decoded, TOP)], [0, 0, 65, 65, 253, 255, 254]);
  const [one, other] = [Uint16Array.of(0, 500, FORBIDDEN, NOT_FINITE), Uint16Array.of(1000, 500, FORBIDDEN, 1)];
  assert.deepEqual([...weightsOf([one, other], TOP)], [0.5, 0.5, -1, NaN]);
  assert.deepEqual([...weightsOf([Uint16Array.of(FORBIDDEN), Uint16Array.of(500)], TOP)], [0.25]); // of two layers
});

test("the strongest cell is one of a query with a choice, where there is any", () => {
  const of = (...numbers) => strongestCell(Uint16Array.from(numbers), 3);
  assert.deepEqual(of(1000, FORBIDDEN, FORBIDDEN, 300, 700, FORBIDDEN), { query: 1, key: 1, number: 700, hasChoice: true });
  assert.deepEqual(of(1000, FORBIDDEN, FORBIDDEN), { query: 0, key: 0, number: 1000, hasChoice: false });
});

test("labels from right to left begin on the right, on a canvas too", () => {
  assert.deepEqual(["·ال", "·שלום", "·今天", "é 1/2"].map(isolated), ["\u2068·ال\u2069", "\u2068·שלום\u2069", "·今天", "é 1/2"]);
});

test("as many labels are written as have room, and the chosen one in any case", () => {
  assert.deepEqual(placesOfLabels(3, 20, 12, 1), [0, 1, 2]);
  assert.deepEqual(placesOfLabels(9, 3.5, 9, null), [0, 3, 6]);
  assert.deepEqual(placesOfLabels(9, 3.5, 9, 4), [0, 4]);
});

const group = (attention, queries, keys) => ({
  ...{ attention, title: `${attention} attention`, layers: 1, heads: 2, queries, keys, layerNumbers: [4], headNumbers: [0, 7] },
  border: { query: null, key: null },
});
const CHOSEN = { attention: "encoder", layer: 0, head: 0 };
const HEADER = {
  ...{ language: "en", title: "A model", top: TOP, decimals: 3, hues: ["#111111", "#222222", "#333333"], notes: ["Rounded."], steps: null },
  groups: [group("encoder", ["a", "b"], ["a", "b"]), group("cross", ["x"], ["a", "b"])],
  start: { chosen: CHOSEN, pinned: [], figure: "cells", measure: "", order: "" },
  measures: [{ id: "entropy", title: "Entropy", name: "entropy", unit: "nats", ends: [0, 1], values: { encoder: [[0.5, 0.25]] } }],
  scales: { light: SCALE, dark: SCALE },
  themes: { light: { "--st-text-color": "#101010" }, dark: { "--st-text-color": "#f0f0f0" } },
  colors: { query: "#0000ff", key: "#ff8800" },
};
const NUMBERS = [...[900, 100, 250, 750], ...[1000, 0, 500, 500], ...[200, 800], ...[FORBIDDEN, 1000]];

async function shown(signal, more = {}) {
  const place = document.body.appendChild(document.createElement("div"));
  const chosen = [];
  const view = await showAttention(place, { header: { ...HEADER, ...more }, packed: pack(NUMBERS) }, { signal, onChosen: (head) => chosen.push(head) });
  const shadows = [place.shadowRoot, ...[...place.shadowRoot.querySelectorAll(".part")].map((part) => part.shadowRoot)];
  const all = (selector) => shadows.flatMap((shadow) => [...shadow.querySelectorAll(selector)]);
  const heatmap = all(".heatmap")[0];
  resize(heatmap, 300, 300);
  return { view, chosen, all, heatmap, button: (words) => all("button").find(({ textContent }) => textContent === words) };
}
const texts = (elements) => elements.map(({ textContent }) => textContent);

test("heads are chosen, combined, measured, and drawn as cells and as lines", async () => {
  const gone = new AbortController();
  const { view, chosen, all, heatmap, button } = await shown(gone.signal);
  const names = () => all(".head[aria-label]").map((head) => head.getAttribute("aria-label"));
  assert.deepEqual(names().slice(0, 2), [
    "encoder attention L4.H0. Strongest: “a” → “a” 0.90",
    "encoder attention L4.H7. Strongest: “a” → “a” 1.00",
  ]);
  assert.equal(all(".of-head")[0].textContent, "L4.H0entropy 0.50 natsSave picture");
  const heads = all(".head[aria-label]");
  heads[1].click();
  assert.deepEqual(chosen, [{ ...CHOSEN, head: 1 }]);
  assert.equal(all(".of-head strong")[0].textContent, "L4.H7");
  for (const head of heads) head.dispatchEvent(new MouseEvent("click", { bubbles: true, composed: true, shiftKey: true }));
  assert.equal(all(".of-head")[0].textContent, "L4.H0 + L4.H7mean of 2 headsClearSave picture");
  assert.deepEqual([...view.parts.cells.data.weights].map((weight) => Number(weight.toFixed(3))), [0.95, 0.05, 0.375, 0.625]);
  button("Lines").click();
  assert.deepEqual([heatmap.getRootNode().host.hidden, texts(all(".legend .item"))], [true, ["L4.H0", "L4.H7"]]);
  button("Clear").click();
  assert.deepEqual(texts(all(".legend .item")), ["L4.H7"]);
  const [measure, order] = all("select");
  assert.equal(order.disabled, true);
  measure.value = "entropy";
  measure.dispatchEvent(new Event("change"));
  assert.deepEqual(texts(all(".gauge .number")), ["0.50", "0.25"]);
  order.value = "ascending";
  order.dispatchEvent(new Event("change"));
  assert.deepEqual(texts(all(".gauge .number")), ["0.25", "0.50"]);
  button("cross attention").click();
  assert.deepEqual(chosen.at(-1), { attention: "cross", layer: 0, head: 0 });
  gone.abort();
});

test("the steps of a decoding show one query after the other", async () => {
  const gone = new AbortController();
  const steps = { attentions: ["encoder"], first: 0, tokens: ["b", "end"], probabilities: [0.75, 0.5] };
  const { view, all, button } = await shown(gone.signal, { steps });
  const press = (title) => all(".player button").find((it) => it.title === title).click();
  const words = () => all(".player .words")[0].textContent;
  const rowOf = () => view.parts.cells.data.step;
  assert.deepEqual([words(), rowOf()], ["Step through the generated tokens", null]);
  press("Next step");
  assert.deepEqual([words(), rowOf()], ["Step 1 of 2: “b”, probability 0.75", 0]);
  press("Next step");
  press("Next step"); // there is none
  assert.deepEqual([words(), rowOf()], ["Step 2 of 2: “end”, probability 0.50", 1]);
  button("Lines").click();
  assert.deepEqual(view.parts.lines.pinned, { query: 1, key: null });
  button("cross attention").click(); // which has no steps here
  assert.deepEqual(view.parts.lines.pinned, { query: null, key: null });
  press("Whole text");
  assert.equal(words(), "Step through the generated tokens");
  gone.abort();
});

test("a cell is named with its weight under the pointer and with the arrow keys", async () => {
  const gone = new AbortController();
  const { view, all, heatmap } = await shown(gone.signal);
  const cells = all(".cells")[0];
  const { left, top, pitch } = view.parts.cells.places;
  cells.dispatchEvent(new MouseEvent("pointermove", { clientX: left + 1.5 * pitch, clientY: top + 0.5 * pitch, bubbles: true }));
  assert.equal(heatmap.querySelector(".tip").textContent, "“a” → “b”0.100");
  cells.dispatchEvent(new MouseEvent("pointerleave"));
  assert.ok(heatmap.querySelector(".tip").hidden);
  const press = (key) => cells.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  press("ArrowRight");
  assert.equal(announced(), "“a” → “a” 0.900");
  press("ArrowDown");
  press("End");
  assert.equal(announced(), "“b” → “b” 0.750");
  press("Escape");
  assert.ok(heatmap.querySelector(".frame").hidden);
  point(cells, "mouseover");
  gone.abort();
});
