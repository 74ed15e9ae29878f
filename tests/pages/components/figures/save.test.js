// The menu of what can be saved: what it offers, when it closes, and what is in the files.

import assert from "node:assert/strict";
import { Blob } from "node:buffer";
import { test } from "node:test";
import { inflateRawSync } from "node:zlib";

import { announced, place, point, press, setTheme } from "../../dom.js";
import { calls, drawn, heatmap, SIZE } from "./plotly.js";
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
const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

function partsOf(figure) {
  const kinds = () => figure.findAll(".kind");
  const kind = (ending) => kinds().find((it) => it.firstChild.textContent === ending);
  const opener = figure.findAll(".tool").find(({ textContent }) => textContent === "Save");
  const menu = figure.find(".menu");
  return { kinds, kind, opener, menu, note: figure.find(".note"), isOpen: () => !menu.hidden };
}
const answer = (figure) => ({ files: FILES, answers: figure.told.at(-1)[1] });

test("the menu opens by its button, asks for the numbers once, and offers what is there meanwhile", async () => {
  const figure = await drawn(show, heatmap());
  const { kinds, opener, isOpen } = partsOf(figure);
  assert.ok(!isOpen());
  opener.click();
  assert.ok(isOpen());
  assert.equal(document.activeElement, figure.find("input[type=radio]:checked"));
  assert.deepEqual(figure.told.map(([name]) => name), ["open"]);
  const state = () => kinds().map((it) => [it.firstChild.textContent, it.disabled]);
  const shown = (isWaiting) => [["SVG", false], ["PNG", false], ["CSV", isWaiting], ["NPZ", isWaiting], ["HTML", false], ["ZIP", isWaiting]];
  assert.deepEqual(state(), shown(true));
  await figure.update(heatmap(), { ...answer(figure), answers: figure.told[0][1] - 1 }); // an answer to something else
  assert.deepEqual(state(), shown(true));
  await figure.update(heatmap(), answer(figure));
  assert.deepEqual(state(), shown(false));
  assert.equal(figure.told.length, 1);
  await figure.update(heatmap()); // a run for something else
  assert.deepEqual(state(), shown(false));
});

test("while it is open another figure has its numbers requested again, and they are not those of the one before", async () => {
  const figure = await drawn(show, heatmap());
  const { kind, opener } = partsOf(figure);
  opener.click();
  await figure.update(heatmap(), answer(figure));
  await settled(); // the next asking has another time
  await figure.update(heatmap({ title: { text: "two" } }));
  assert.equal(figure.told.length, 2);
  assert.notEqual(figure.told[0][1], figure.told[1][1]);
  assert.ok(kind("CSV").disabled);
  await figure.update(heatmap({ title: { text: "two" } }), answer(figure));
  assert.ok(!kind("CSV").disabled);
  opener.click();
  await figure.update(heatmap({ title: { text: "three" } }));
  assert.equal(figure.told.length, 2); // it is closed
});

test("files are of the figure that they came with, though the menu opened over the one before", async () => {
  const figure = await drawn(show, heatmap());
  const { kind, opener } = partsOf(figure);
  opener.click();
  const two = heatmap({ title: { text: "two" } });
  await figure.update(two, { ...answer(figure), name: "two" });
  assert.ok(!kind("CSV").disabled);
  await settled();
  await figure.update(heatmap()); // Back
  assert.ok(kind("CSV").disabled);
  await figure.update(heatmap(), answer(figure));
  assert.ok(!kind("CSV").disabled);
  place(figure.plot, { ...SIZE, width: 0 }); // not seen, so not drawn
  await figure.update(two, { name: "two" });
  assert.ok(kind("CSV").disabled);
  await figure.update(two, { ...answer(figure), name: "two" });
  await figure.update(two, { name: "two" }); // a run for something else
  assert.ok(!kind("CSV").disabled);
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
  opener.click();
  point(menu, "pointerdown");
  assert.ok(isOpen());
  point(document.body, "pointerdown");
  assert.ok(!isOpen());
  opener.click();
  kind("SVG").focus();
  kind("SVG").blur(); // to nowhere: the window lost the focus
  assert.ok(isOpen());
  kind("SVG").focus();
  beside.focus();
  assert.ok(!isOpen());
  document.removeEventListener("keydown", hear);
  beside.remove();
});

test("what cannot be made says why, and the next one can be", async () => {
  const figure = await drawn(show, heatmap());
  const { kind, opener, note } = partsOf(figure);
  opener.click();
  await figure.update(heatmap(), answer(figure));
  const n = saved.length;
  const { newPlot } = globalThis.Plotly;
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
  assert.equal(announced(), "Saved one.csv");
  const [name, blob] = saved.at(-1);
  assert.deepEqual([name, Buffer.from(await blob.arrayBuffer()).toString("base64")], ["one.csv", FILES["one.csv"]]);
  Object.assign(globalThis.Plotly, { newPlot });
});

/** The files in a zip, of which some are packed. */
function unzip(bytes) {
  const files = {};
  for (let at = 0; bytes.readUInt32LE(at) === 0x04034b50; ) {
    const [size, length] = [bytes.readUInt32LE(at + 18), bytes.readUInt16LE(at + 26)];
    const content = bytes.subarray(at + 30 + length, at + 30 + length + size);
    files[bytes.toString("utf8", at + 30, at + 30 + length)] = bytes.readUInt16LE(at + 8) ? inflateRawSync(content) : content;
    at += 30 + length + size;
  }
  return files;
}

test("pictures and the page are of what is shown now, in the chosen width, and one file has everything", async () => {
  const { fetch } = globalThis;
  globalThis.fetch = async () => ({ text: async () => "the library" });
  globalThis.Image = class {
    width = 1;
    height = 1;
    pixel = () => [0, 0, 0, 0];
    addEventListener(name, hear) {
      if (name === "load") queueMicrotask(hear);
    }
  };
  globalThis.HTMLCanvasElement.prototype.toBlob = (take) => take(new Blob([Uint8Array.from({ length: 60 }, (_, i) => i)]));
  const figure = await drawn(show, heatmap());
  const { kind, opener } = partsOf(figure);
  opener.click();
  const newer = heatmap({ title: { text: "newer" } });
  await figure.update(newer);
  await figure.update(newer, { ...answer(figure), name: "two" });
  const download = async (ending) => {
    const n = saved.length;
    kind(ending).click();
    while (saved.length === n) await settled();
    const [name, blob] = saved.at(-1);
    return [name, Buffer.from(await blob.arrayBuffer()), blob.type];
  };
  setTheme("dark"); // paper stays light
  const [name, , type] = await download("SVG");
  assert.deepEqual([name, type], ["two.svg", "image/svg+xml"]);
  const [, { figure: pictured }] = calls.findLast(([it]) => it === "toImage");
  assert.equal(pictured.layout.title.text, "newer");
  assert.equal(pictured.layout.template.layout.paper_bgcolor, "#ffffff");
  setTheme("light");
  figure.findAll("input[type=radio]")[1].click();
  assert.match((await download("SVG"))[1].toString(), / width="88mm"/);
  assert.equal((await download("PNG"))[1].length, 60 + 21); // with its resolution
  const [, html] = await download("HTML");
  assert.match(html.toString(), /<title>newer<\/title>[^]*of a text[^]*the library/);
  const [, bytes] = await download("ZIP");
  const files = unzip(bytes);
  assert.deepEqual(Object.keys(files), ["two.svg", "two.png", "two.html", "one.csv", "one.npz", "README.txt"]);
  for (const [file, content] of Object.entries(FILES)) assert.equal(files[file].toString("base64"), content);
  globalThis.fetch = fetch;
});
