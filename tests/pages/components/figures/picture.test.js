// A figure as a picture for papers and slides: its sizes, its letters, and a shape for each cell.

import assert from "node:assert/strict";
import { Blob } from "node:buffer";
import { test } from "node:test";

import "../../dom.js";
import { Canvas } from "../../canvas.js";
import { calls, dataOf, dots, EDGES, heatmap } from "./plotly.js";
import { makePicture, toPng, WIDTHS } from "../../../../pages/components/figures/picture.js";

const MM = 96 / 25.4; // px
const PT = 96 / 72; // px
const SHOWN = { width: 700, height: 350 };
const template = dataOf({}).templates.light;
const widthOf = (words) => WIDTHS.find((it) => it.words === words);
const images = new Map(); // by address
const painted = []; // [canvas, type] of each that became a PNG
const PNG = Uint8Array.from({ length: 60 }, (_, i) => i);

globalThis.Blob = Blob;
globalThis.Image = class {
  #hear = {};
  addEventListener(name, hear) {
    this.#hear[name] = hear;
  }
  set src(address) {
    const canvas = images.get(address) ?? (address.startsWith("blob:") ? new Canvas(3, 3) : null);
    if (canvas) Object.assign(this, { naturalWidth: canvas.width, naturalHeight: canvas.height, width: canvas.width, height: canvas.height, pixel: (x, y) => canvas.pixel(x, y) });
    queueMicrotask(() => this.#hear[canvas ? "load" : "error"]());
  }
};
globalThis.HTMLCanvasElement.prototype.toBlob = function (take, type) {
  painted.push([this, type]);
  take(new Blob([PNG]));
};

/** The picture of a figure, as SVG and as plotly got it. */
async function pictureOf(figure, words, shown = SHOWN) {
  const picture = await makePicture({ figure: JSON.stringify(figure), template, width: widthOf(words), shown });
  const { figure: drawn, how } = calls.findLast(([name]) => name === "toImage")[1];
  return { picture, drawn, how, svg: new DOMParser().parseFromString(picture.svg, "image/svg+xml").documentElement };
}

const lines = (more = {}) => ({
  data: [{ type: "scatter", mode: "lines", x: [0, 1], y: [1, 2] }],
  layout: { title: { text: "lines" }, xaxis: { range: [0, 1] }, yaxis: { range: [0, 2] }, margin: { t: 40 }, ...more },
});

/** What plotly paints of these colors, row by row; null: nothing. */
function paint(address, rows, box) {
  const canvas = new Canvas(rows[0].length, rows.length);
  rows.flat().forEach((color, i) => color && canvas.pixels.set(color, 4 * i));
  images.set(address, canvas);
  const [x, y, width, height] = box;
  dots.images = [`<image href="${address}" x="${x}" y="${y}" width="${width}" height="${height}"/>`];
}

test.afterEach(() => Object.assign(dots, { images: [], texts: [] }));

test("a picture is as wide as asked, in mm or px, and its pixels are those that are printed", async () => {
  for (const [words, wide, unit, pixels, dotsPerInch] of [
    ["as shown", 700, "", 2100, null],
    ["120 mm", 120, "mm", (120 / 25.4) * 600, 600],
    ["1,600 px", 1600, "", 1600, null],
  ]) {
    for (const figure of [heatmap(), lines()]) {
      const { picture, svg, how } = await pictureOf(figure, words);
      const [, , across, down] = svg.getAttribute("viewBox").split(" ").map(Number);
      assert.deepEqual([how.width, how.height, how.format], [across, down, "svg"]);
      assert.equal(svg.getAttribute("width"), `${wide}${unit}`);
      assert.ok(Math.abs(parseFloat(svg.getAttribute("height")) - (wide * down) / across) < 0.51);
      assert.equal(picture.width, Math.round(pixels));
      assert.ok(Math.abs(picture.height - (pixels * down) / across) <= 0.51);
      assert.equal(picture.dotsPerInch, dotsPerInch);
    }
  }
});

test("on paper all letters are 7 to 9 pt high, however wide it is; elsewhere they keep their sizes", async () => {
  const fonts = { font: { size: 30 }, title: { text: "t", font: { size: 20 } }, annotations: [{ text: "n", font: { size: 3 } }], legend: { font: { size: 11 } } };
  for (const [words, mm] of [["88 mm", 88], ["180 mm", 180]]) {
    const { drawn } = await pictureOf(lines(fonts), words);
    const scale = (mm * MM) / drawn.layout.width; // px of the paper
    const sizes = [drawn.layout.title.font.size, drawn.layout.annotations[0].font.size, drawn.layout.legend.font.size, drawn.layout.font.size];
    const points = sizes.map((size) => (size * scale) / PT);
    assert.ok(points.every((size) => size >= 6.99 && size <= 9.01), String(points));
  }
  const { drawn } = await pictureOf(lines(fonts), "1,600 px");
  assert.deepEqual([drawn.layout.font.size, drawn.layout.title.font.size, drawn.layout.annotations[0].font.size], [30, 20, 3]);
});

test("each cell is a shape in its color where it belongs, with what is clear on white, and nothing where nothing is", async () => {
  const [red, blue, pale] = [[255, 0, 0, 255], [0, 0, 255, 255], [0, 0, 255, 51]];
  paint("cells", [[red, blue, null], [pale, null, red]], [10, 20, 300, 100]);
  const { svg } = await pictureOf(heatmap({}, { rows: 2, columns: 3 }), "as shown");
  assert.equal(svg.querySelectorAll("image").length, 0);
  const shapes = Object.fromEntries([...svg.querySelectorAll(".hm g path")].map((path) => [path.getAttribute("fill"), path.getAttribute("d")]));
  const at = (left, top) => `M${left} ${top}H${left + 100}V${top + 50}H${left}z`.replace(/\d+/g, "$&.00");
  assert.deepEqual(shapes, { "rgb(255,0,0)": at(10, 20) + at(210, 70), "rgb(0,0,255)": at(110, 20), "rgb(204,204,255)": at(10, 70) });
  assert.equal(svg.querySelector(".hm g").getAttribute("shape-rendering"), "crispEdges");
});

test("cells of several places are as large as these", async () => {
  const red = [255, 0, 0, 255];
  paint("blocks", [[red, red], [red, red]], [0, 0, 100, 90]);
  const blocks = heatmap({ meta: { blocks: { queries: [0, 2, 3], keys: [0, 4, 5] } } }, { rows: 2, columns: 2 });
  Object.assign(blocks.data[0], { x: [1.5, 4], y: [0.5, 2] });
  const picture = await pictureOf(blocks, "as shown");
  const path = picture.svg.querySelector(".hm path").getAttribute("d").replaceAll(".00", "");
  assert.equal(path, "M0 0H80V60H0zM80 0H100V60H80zM0 60H80V90H0zM80 60H100V90H80z");
});

test("a picture becomes a PNG of its size, which says how large it is printed where it is for paper", async () => {
  const before = URL.createObjectURL;
  const revoked = [];
  Object.assign(URL, { createObjectURL: () => "blob:1", revokeObjectURL: (address) => revoked.push(address) });
  await toPng({ svg: "<svg/>", width: 40, height: 30, dotsPerInch: null });
  const [canvas, type] = painted.at(-1);
  assert.deepEqual([canvas.width, canvas.height, type], [40, 30, "image/png"]);
  const printed = Buffer.from(await toPng({ svg: "<svg/>", width: 40, height: 30, dotsPerInch: 600 }));
  assert.equal(printed.subarray(37, 41).toString(), "pHYs");
  assert.equal(printed.length, PNG.length + 21);
  URL.createObjectURL = () => "gone";
  await assert.rejects(toPng({ svg: "<svg/>", width: 1, height: 1, dotsPerInch: null }), /could not be read/);
  assert.equal(revoked.length, 3);
  URL.createObjectURL = before;
});

test("what is written beyond an edge gets room there, and nothing else does", async () => {
  const [left, top] = [{ left: -10, top: 50, width: 30, height: 10 }, { left: 50, top: -7, width: 10, height: 10 }];
  const below = { at: ({ height }) => ({ left: 50, top: height - 4, width: 10, height: 10 }) };
  const margins = async (...texts) => {
    dots.texts = texts;
    const { drawn } = await pictureOf(lines({ margin: { l: 1, r: 1, t: 1, b: 1 } }), "as shown");
    const { l, r, t, b } = drawn.layout.margin;
    return [l, r, t, b, drawn.layout.height];
  };
  assert.deepEqual(await margins(left), [EDGES.left + 10 + 2, 1, 1, 1, 350]);
  assert.deepEqual(await margins(top, below), [1, 1, EDGES.top + 7 + 2, EDGES.bottom + 6 + 2, 350 + 13]);
});
