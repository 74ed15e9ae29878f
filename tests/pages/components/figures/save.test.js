// The menu of what can be saved: what it offers, when it closes, and what is in the files.

import assert from "node:assert/strict";
import { Blob } from "node:buffer";
import { test } from "node:test";

import { announced, point, press } from "../../dom.js";
import { drawn, heatmap } from "./plotly.js";
import show from "../../../../pages/components/figures/figure.js";

globalThis.Blob = Blob;
const saved = []; // [name, blob] each
const blobs = new Map();
Object.assign(URL, {
  createObjectURL: (blob) => blobs.set(`blob:${blobs.size}`, blob) && `blob:${blobs.size - 1}`,
  revokeObjectURL: () => {},
});
document.createElement("a").constructor.prototype.click = function () {
  saved.push([this.download, blobs.get(this.getAttribute("href"))]);
};

const base64 = (text) => Buffer.from(text).toString("base64");
const FILES = { "one.csv": base64("a,b\n1,2"), "one.npz": base64("\x01\x02\xff"), "README.txt": base64("read") };
const OFFERS = { offers: ["csv", "npz"] };
const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

function partsOf(figure) {
  const kinds = () => figure.findAll(".kind");
  const kind = (ending) => kinds().find((it) => it.firstChild.textContent === ending);
  const opener = figure.findAll(".tool").find(({ textContent }) => textContent === "Save");
  const menu = figure.find(".menu");
  return { kinds, kind, opener, menu, note: figure.find(".note"), isOpen: () => !menu.hidden };
}
const answer = (figure) => ({ ...OFFERS, files: FILES, answers: figure.told.at(-1)[1] });

test("the menu opens by its button, asks for the numbers once, and offers what is there meanwhile", async () => {
  const figure = await drawn(show, heatmap(), OFFERS);
  const { kinds, kind, opener, isOpen, menu } = partsOf(figure);
  assert.ok(!isOpen());
  assert.deepEqual(["aria-haspopup", "aria-expanded"].map((name) => opener.getAttribute(name)), ["dialog", "false"]);
  opener.click();
  assert.ok(isOpen());
  assert.equal(opener.getAttribute("aria-expanded"), "true");
  assert.deepEqual([menu.getAttribute("role"), menu.getAttribute("aria-label"), menu.tabIndex], ["dialog", "Save this figure", -1]);
  assert.equal(document.activeElement, figure.find("input[type=radio]:checked"));
  assert.deepEqual(figure.told.map(([name]) => name), ["open"]);
  const state = () => kinds().map((it) => [it.firstChild.textContent, it.hidden, it.disabled]);
  const shown = (isWaiting) => [["SVG", false, false], ["PNG", false, false], ["CSV", false, isWaiting], ["NPZ", false, isWaiting], ["HTML", false, false], ["ZIP", false, isWaiting]];
  assert.deepEqual(state(), shown(true));
  assert.deepEqual(kind("CSV").lastChild.textContent, "…");
  assert.equal(kind("SVG").getAttribute("aria-label"), "Save vector image, for papers and slides (SVG)");
  await figure.update(heatmap(), { ...answer(figure), answers: figure.told[0][1] - 1 }); // an answer to something else
  assert.deepEqual(state(), shown(true));
  await figure.update(heatmap(), answer(figure));
  assert.deepEqual(state(), shown(false));
  assert.equal(kind("CSV").lastChild.textContent, "data table, for any program");
  assert.equal(figure.told.length, 1);
  await figure.update(heatmap(), OFFERS); // a run for something else
  assert.deepEqual(state(), shown(false));
  opener.click();
  assert.ok(!isOpen());
  assert.equal(opener.getAttribute("aria-expanded"), "false");
  figure.leave();
});

test("only what the server offers is offered; without it everything that is made here is there at once", async () => {
  const figure = await drawn(show, heatmap());
  const { kinds, opener } = partsOf(figure);
  const offered = () => kinds().filter(({ hidden }) => !hidden).map((it) => it.firstChild.textContent);
  opener.click();
  assert.deepEqual(offered(), ["SVG", "PNG", "HTML", "ZIP"]);
  assert.ok(kinds().every(({ disabled }) => !disabled));
  assert.deepEqual(figure.told, []);
  await figure.update(heatmap({ title: { text: "new" } }), { offers: ["csv"] });
  assert.deepEqual(offered(), ["SVG", "PNG", "CSV", "HTML", "ZIP"]);
  figure.leave();
});

test("while it is open another figure has its numbers asked for anew, and they are not those of the one before", async () => {
  const figure = await drawn(show, heatmap(), OFFERS);
  const { kind, opener } = partsOf(figure);
  opener.click();
  await figure.update(heatmap(), answer(figure));
  await settled(); // the next asking has another time
  await figure.update(heatmap({ title: { text: "two" } }), OFFERS);
  assert.equal(figure.told.length, 2);
  assert.notEqual(figure.told[0][1], figure.told[1][1]);
  assert.ok(kind("CSV").disabled);
  await figure.update(heatmap({ title: { text: "two" } }), answer(figure));
  assert.ok(!kind("CSV").disabled);
  opener.click();
  await figure.update(heatmap({ title: { text: "three" } }), OFFERS);
  assert.equal(figure.told.length, 2); // it is closed
  figure.leave();
});

test("it closes by Escape, which nobody else hears then, by a press elsewhere, and when the focus goes", async () => {
  const figure = await drawn(show, heatmap());
  const { opener, isOpen, menu, kind } = partsOf(figure);
  const beside = document.body.appendChild(document.createElement("button"));
  let heard = 0;
  const hear = () => (heard += 1);
  document.addEventListener("keydown", hear);
  opener.click();
  assert.ok(press(kind("PNG"), "Escape").defaultPrevented);
  assert.ok(!isOpen() && document.activeElement === opener && heard === 0);
  assert.ok(!press(opener, "Escape").defaultPrevented); // it is closed
  assert.equal(heard, 1);
  opener.click();
  press(kind("PNG"), "x");
  assert.ok(isOpen() && heard === 2);
  press(beside, "Escape"); // the focus is not in the menu: it closed when it went
  assert.ok(!isOpen() && heard === 3);
  opener.click();
  point(menu, "pointerdown");
  assert.ok(isOpen());
  point(document.body, "pointerdown");
  assert.ok(!isOpen());
  opener.click();
  kind("SVG").focus();
  assert.ok(isOpen());
  kind("SVG").blur(); // to nowhere: the window lost the focus
  assert.ok(isOpen());
  kind("SVG").focus();
  beside.focus();
  assert.ok(!isOpen());
  document.removeEventListener("keydown", hear);
  figure.leave();
  assert.ok(!press(beside, "Escape").defaultPrevented);
  beside.remove();
});

test("the server's files are saved as they are, under the figure's name, and that is said", async () => {
  const figure = await drawn(show, heatmap(), OFFERS);
  const { kind, opener, note } = partsOf(figure);
  opener.click();
  await figure.update(heatmap(), answer(figure));
  for (const [ending, name, type] of [["CSV", "one.csv", "text/csv"], ["NPZ", "one.npz", ""]]) {
    kind(ending).click();
    await settled();
    const [as, blob] = saved.at(-1);
    assert.equal(as, name);
    assert.equal(blob.type, type);
    assert.deepEqual(Buffer.from(await blob.arrayBuffer()).toString("base64"), FILES[name]);
    assert.equal(note.textContent, `Saved ${name}`);
    assert.equal(announced(), `Saved ${name}`);
  }
  opener.click();
  opener.click();
  assert.equal(note.textContent, "");
  figure.leave();
});

test("what cannot be made says why, and the next one can be", async () => {
  const figure = await drawn(show, heatmap(), OFFERS);
  const { kind, opener, note } = partsOf(figure);
  opener.click();
  await figure.update(heatmap(), answer(figure));
  const n = saved.length;
  globalThis.Plotly.newPlot = () => Promise.reject(new Error("no room"));
  kind("SVG").click();
  kind("CSV").click(); // while it is busy
  assert.equal(note.textContent, "…");
  await settled();
  assert.equal(note.textContent, "one.svg could not be created: no room.");
  assert.equal(saved.length, n);
  kind("CSV").click();
  await settled();
  assert.equal(note.textContent, "Saved one.csv");
  delete globalThis.Plotly.newPlot;
  figure.leave();
});

test("one width is chosen, in each figure by itself; at first it is that of the figure", async () => {
  const [one, other] = [await drawn(show, heatmap()), await drawn(show, heatmap())];
  const widths = (figure) => figure.findAll("input[type=radio]");
  const chosen = (figure) => widths(figure).map(({ checked }) => checked).indexOf(true);
  assert.deepEqual(one.findAll(".widths label").map(({ textContent }) => textContent), ["as shown", "88 mm", "120 mm", "180 mm", "1,600 px"]);
  assert.deepEqual([chosen(one), chosen(other)], [0, 0]);
  widths(one)[2].click();
  assert.deepEqual([chosen(one), chosen(other)], [2, 0]);
  one.leave();
  other.leave();
});

test("a figure whose menu is open from the start asks once", async () => {
  const figure = await drawn(show, heatmap(), { ...OFFERS, opens: true });
  const { isOpen, opener } = partsOf(figure);
  assert.ok(isOpen());
  assert.equal(figure.told.length, 1);
  opener.click();
  await figure.update(heatmap({ title: { text: "two" } }), { ...OFFERS, opens: true });
  assert.ok(!isOpen());
  figure.leave();
});
