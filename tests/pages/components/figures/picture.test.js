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
  const made = await makePicture({ figure: JSON.stringify(figure), template, width: widthOf(words), shown });
  const { figure: drawn, how } = calls.findLast(([name]) => name === "toImage")[1];
  return { made, drawn, how, svg: new DOMParser().parseFromString(made.svg, "image/svg+xml").documentElement };
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

test.afterEach(() => Object.assign(dots, { lines: ["one"], images: [], texts: [] }));

test("a picture is as wide as asked, in mm or px, and its pixels are those that are printed", async () => {
  for (const [words, wide, unit, pixels, dotsPerInch] of [
    ["as shown", 700, "", 2100, null],
    ["88 mm", 88, "mm", (88 / 25.4) * 600, 600],
    ["120 mm", 120, "mm", (120 / 25.4) * 600, 600],
    ["180 mm", 180, "mm", (180 / 25.4) * 600, 600],
    ["1,600 px", 1600, "", 1600, null],
  ]) {
    for (const figure of [heatmap(), lines()]) {
      const { made, svg, drawn, how } = await pictureOf(figure, words);
      const [, , across, down] = svg.getAttribute("viewBox").split(" ").map(Number);
      assert.deepEqual([how.width, how.height, how.format], [across, down, "svg"]);
      assert.deepEqual([drawn.layout.width, drawn.layout.height], [across, down]);
      assert.equal(svg.getAttribute("width"), `${wide}${unit}`);
      assert.ok(Math.abs(parseFloat(svg.getAttribute("height")) - (wide * down) / across) < 0.51);
      assert.ok(svg.getAttribute("height").endsWith(unit) && (unit || /^\d+$/.test(svg.getAttribute("height"))));
      assert.equal(made.width, Math.round(pixels));
      assert.ok(Math.abs(made.height - (pixels * down) / across) <= 0.51);
      assert.equal(made.dotsPerInch, dotsPerInch);
    }
  }
});

test("what is shown is saved as large as it is shown; on more room it is laid out anew", async () => {
  const across = async (figure, words, shown) => (({ layout }) => [layout.width, layout.height])((await pictureOf(figure, words, shown)).drawn);
  assert.deepEqual(await across(lines(), "as shown"), [700, 350]);
  assert.deepEqual(await across(heatmap(), "as shown"), [700, 350]);
  assert.deepEqual(await across(lines(), "1,600 px"), [800, 480]); // in the px of a screen that has two dots for each
  assert.deepEqual(await across(lines(), "1,600 px", { width: 700, height: 600 }), [800, 600]);
  assert.deepEqual(await across(heatmap(), "1,600 px", { width: 400, height: 300 }), [800, 600]);
  assert.deepEqual(await across(heatmap(), "1,600 px", { width: 1600, height: 500 }), [800, 500]);
  const [width, height] = await across(lines(), "88 mm"); // narrower than lines are laid out for
  assert.ok(width > 88 * MM + 50 && height >= 0.6 * width);
  assert.ok(Math.abs((await across(lines(), "180 mm"))[0] - 180 * MM) < 1e-6);
  assert.ok(Math.abs((await across(heatmap(), "88 mm"))[0] - 88 * MM) < 1e-6);
});

test("on paper a cell is about as high as wide, and a long matrix is no more than half as high again as wide", async () => {
  const ratio = async (rows, columns) => {
    const { drawn } = await pictureOf(heatmap({}, { rows, columns }), "120 mm");
    const [width, height] = [drawn.layout.width - 100, drawn.layout.height - 50]; // without the edges of plotly.js here
    return [(height / rows) / (width / columns), height / width];
  };
  const [square] = await ratio(12, 12);
  assert.ok(Math.abs(square - 1) < 0.02, String(square));
  const [flat] = await ratio(8, 12);
  assert.ok(Math.abs(flat - 1) < 0.02, String(flat));
  const [, long] = await ratio(60, 10);
  assert.ok(Math.abs(long - 1.5) < 0.02, String(long));
});

test("on paper all letters are 7 to 9 pt high, however wide it is; elsewhere they keep their sizes", async () => {
  const fonts = { font: { size: 30 }, title: { text: "t", font: { size: 20 } }, annotations: [{ text: "n", font: { size: 3 } }], legend: { font: { size: 11 } } };
  for (const [words, mm] of [["88 mm", 88], ["180 mm", 180]]) {
    const { drawn } = await pictureOf(lines(fonts), words);
    const scale = (mm * MM) / drawn.layout.width; // px of the paper
    const sizes = [drawn.layout.title.font.size, drawn.layout.annotations[0].font.size, drawn.layout.legend.font.size, drawn.layout.font.size];
    const points = sizes.map((size) => (size * scale) / PT);
    assert.ok(Math.abs(points[0] - 9) < 0.01 && Math.abs(points[1] - 7) < 0.01, String(points));
    assert.ok(points.every((size) => size >= 6.99 && size <= 9.01), String(points));
  }
  const { drawn } = await pictureOf(lines(fonts), "1,600 px");
  assert.deepEqual([drawn.layout.font.size, drawn.layout.title.font.size, drawn.layout.annotations[0].font.size], [30, 20, 3]);
  assert.match(drawn.layout.font.family, /Helvetica/);
});

test("a picture is light, and what it was drawn in meanwhile is gone", async () => {
  const n = document.body.children.length;
  const { drawn } = await pictureOf(heatmap(), "120 mm");
  assert.equal(drawn.layout.template.layout.paper_bgcolor, "#ffffff");
  assert.equal(document.body.children.length, n);
  const made = calls.filter(([name]) => name === "newPlot").map(([, { plot }]) => plot);
  assert.ok(made.length > 0 && made.every((plot) => calls.some(([name, what]) => name === "purge" && what.plot === plot)));
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

test("cells that are apart in the figure are apart in the picture, and cells of several places as large as these", async () => {
  const red = [255, 0, 0, 255];
  paint("apart", [[red, red]], [0, 0, 100, 40]);
  const apart = heatmap({}, { rows: 1, columns: 2 });
  Object.assign(apart.data[0], { xgap: 1, ygap: 1 });
  const { svg, drawn } = await pictureOf(apart, "as shown");
  assert.equal(svg.querySelector(".hm path").getAttribute("d"), "M0.25 0.25H49.75V39.75H0.25zM50.25 0.25H99.75V39.75H50.25z");
  assert.deepEqual([drawn.data[0].xgap, drawn.data[0].ygap], [0, 0]); // plotly paints one dot a cell
  paint("blocks", [[red, red], [red, red]], [0, 0, 100, 90]);
  const blocks = heatmap({ meta: { blocks: { queries: [0, 2, 3], keys: [0, 4, 5] } } }, { rows: 2, columns: 2 });
  Object.assign(blocks.data[0], { x: [1.5, 4], y: [0.5, 2] });
  const made = await pictureOf(blocks, "as shown");
  const path = made.svg.querySelector(".hm path").getAttribute("d").replaceAll(".00", "");
  assert.equal(path, "M0 0H80V60H0zM80 0H100V60H80zM0 60H80V90H0zM80 60H100V90H80z");
  const { x, y, x0, dx, y0, dy } = made.drawn.data[0];
  assert.deepEqual([x, y, dx, dy], [undefined, undefined, 2.5, 1.5]); // even, over the same places
  assert.deepEqual([x0 - dx / 2, x0 + 1.5 * dx, y0 - dy / 2, y0 + 1.5 * dy], [-0.5, 4.5, -0.5, 2.5]);
});

test("an image that is not one dot a cell stays an image, and so does one of very many cells", async () => {
  paint("other", [[[255, 0, 0, 255]]], [0, 0, 10, 10]);
  const { svg } = await pictureOf(heatmap(), "as shown");
  assert.equal(svg.querySelectorAll("image").length, 1);
  const many = heatmap({}, { rows: 1, columns: 2 });
  Object.assign(many.data[0], { z: Array(300).fill(Array(300).fill(1)), xgap: 2, customdata: null });
  const { drawn } = await pictureOf(many, "as shown");
  assert.equal(drawn.data[0].xgap, 2);
  assert.equal(drawn.data[0].dx, undefined);
});

test("a title of several lines keeps them apart, and what stands below it comes after the last", async () => {
  dots.lines = ["one", "two", "three"];
  const { svg } = await pictureOf(lines(), "as shown");
  assert.deepEqual([...svg.querySelectorAll(".line")].map((line) => line.getAttribute("dy")), ["1em", "2.3em", "3.6em"]);
  assert.equal(Number(svg.querySelector(".gtitle-subtitle").getAttribute("y")), 20 + 1.4 * 3 * 10);
});

test("a color bar lies below the cells where there are many, beside few", async () => {
  const bar = async (columns, words) => {
    const coloraxis = { colorbar: { y: 1, len: 0.5 } };
    const { drawn } = await pictureOf(heatmap({ coloraxis }, { rows: 4, columns }), words);
    return drawn.layout.coloraxis.colorbar;
  };
  assert.equal((await bar(60, "88 mm")).orientation, "h");
  assert.ok((await bar(60, "88 mm")).y <= 0);
  assert.equal((await bar(10, "88 mm")).orientation, undefined);
  assert.equal((await bar(60, "as shown")).orientation, undefined);
});

test("a wide title of a heatmap is broken between words where it would not fit", async () => {
  const text = Array.from({ length: 40 }, (_, i) => `word${i}`).join(" ");
  const { drawn } = await pictureOf(heatmap({ title: { text } }), "88 mm");
  const parts = drawn.layout.title.text.split("<br>");
  assert.ok(parts.length > 1);
  assert.equal(parts.join(" "), text);
  assert.ok(parts.every((part) => 6 * part.length <= drawn.layout.width));
  assert.ok(parts.slice(0, -1).every((part, i) => 6 * (part.length + 1 + parts[i + 1].split(" ")[0].length) > drawn.layout.width - 8));
});

test("numbers in cells become smaller on paper, and those that nobody could read are left out", async () => {
  const numbers = (rows, columns) => {
    const figure = heatmap({}, { rows, columns });
    figure.data.push({ type: "scatter", mode: "text", text: [".25", ".5"], textfont: { size: 13 }, x: [2, 3], y: [7, 8] });
    return figure;
  };
  const of = async (figure) => (await pictureOf(figure, "88 mm")).drawn.data.filter(({ mode }) => mode === "text");
  const [few] = await of(numbers(4, 4));
  assert.ok(few.textfont.size >= 7 * PT - 0.01 && few.textfont.size <= 9 * PT + 0.01);
  assert.deepEqual(await of(numbers(90, 4)), []);
});

test("a picture becomes a PNG of its size, which says how large it is printed where it is for paper", async () => {
  const before = URL.createObjectURL;
  const revoked = [];
  Object.assign(URL, { createObjectURL: () => "blob:1", revokeObjectURL: (address) => revoked.push(address) });
  const plain = await toPng({ svg: "<svg/>", width: 40, height: 30, dotsPerInch: null });
  assert.deepEqual([...plain], [...PNG]);
  const [canvas, type] = painted.at(-1);
  assert.deepEqual([canvas.width, canvas.height, type], [40, 30, "image/png"]);
  const printed = Buffer.from(await toPng({ svg: "<svg/>", width: 40, height: 30, dotsPerInch: 600 }));
  assert.equal(printed.subarray(37, 41).toString(), "pHYs");
  assert.equal(printed.length, PNG.length + 21);
  assert.deepEqual(revoked, ["blob:1", "blob:1"]);
  URL.createObjectURL = () => "gone";
  await assert.rejects(toPng({ svg: "<svg/>", width: 1, height: 1, dotsPerInch: null }), /could not be read/);
  assert.equal(revoked.length, 3);
  URL.createObjectURL = before;
});

test("what is written beyond an edge gets room there, and nothing else does", async () => {
  const [left, top] = [{ left: -10, top: 50, width: 30, height: 10 }, { left: 50, top: -7, width: 10, height: 10 }];
  const right = { at: ({ width }) => ({ left: width - 5, top: 50, width: 20, height: 10 }) };
  const below = { at: ({ height }) => ({ left: 50, top: height - 4, width: 10, height: 10 }) };
  const title = { className: "gtitle", left: -300, top: 0, width: 10, height: 10 };
  const empty = { left: -300, top: 0, width: 0, height: 10 };
  const margins = async (...texts) => {
    dots.texts = texts;
    const { drawn } = await pictureOf(lines({ margin: { l: 1, r: 1, t: 1, b: 1 } }), "as shown");
    const { l, r, t, b } = drawn.layout.margin;
    return [l, r, t, b, drawn.layout.height];
  };
  assert.deepEqual(await margins(title, empty), [1, 1, 1, 1, 350]);
  assert.deepEqual(await margins(left), [EDGES.left + 10 + 2, 1, 1, 1, 350]);
  assert.deepEqual(await margins(right, left), [EDGES.left + 12, EDGES.right + 15 + 2, 1, 1, 350]);
  assert.deepEqual(await margins(top, below), [1, 1, EDGES.top + 7 + 2, EDGES.bottom + 6 + 2, 350 + 13]);
});

test("a legend of more lines than it was given lifts what stands above it, and the panels come apart by as much", async () => {
  const note = (y, xanchor, yshift) => ({ xref: "x", yref: "paper", y, xanchor, yshift, text: "t" });
  const _plots = { xy: { yaxis: { domain: [0, 0.4] } }, x2y2: { yaxis: { domain: [0.6, 1] } } };
  const drawnWith = async (more) => (await pictureOf(lines({ _plots, margin: { t: 40 }, ...more }), "as shown")).drawn.layout;
  const lower = await drawnWith({ legend: { y: 0.4, _effHeight: 60 }, annotations: [note(0.4, "left", 20), note(0.4, "right"), note(1, "left", 5)] });
  assert.deepEqual(lower.annotations.map(({ yshift }) => yshift), [60, 40, 5]);
  const room = (height) => 0.2 * (height - EDGES.top - EDGES.bottom); // px, between the panels
  assert.ok(Math.abs(room(lower.height) - room(350) - 40) < 1e-6);
  assert.equal(lower.margin.t, 40);
  const upper = await drawnWith({ legend2: { y: 1, _effHeight: 30 }, annotations: [note(1, "left", 20)] });
  assert.deepEqual([upper.margin.t, upper.height, upper.annotations[0].yshift], [50, 360, 30]);
  const enough = await drawnWith({ legend: { y: 0.4, _effHeight: 20 }, legend2: { y: 1 }, annotations: [note(0.4, "left", 20), note(1, "left", 1)] });
  assert.deepEqual([enough.height, enough.annotations.map(({ yshift }) => yshift)], [350, [20, 1]]);
});

test("a color bar below the cells lies below what is written under them", async () => {
  dots.texts = [{ at: ({ height }) => ({ left: 50, top: height - EDGES.bottom + 15, width: 10, height: 10 }) }]; // 25 px under the cells
  const { drawn } = await pictureOf(heatmap({ coloraxis: { colorbar: {} } }, { rows: 6, columns: 60 }), "88 mm");
  const { layout } = drawn;
  const high = layout.height - EDGES.top - EDGES.bottom;
  assert.ok(layout.coloraxis.colorbar.y < 0);
  assert.ok(Math.abs(layout.coloraxis.colorbar.y * high + 25) < 12, `${layout.coloraxis.colorbar.y * high}`);
});

test("names of axes and notes become smaller where they would be longer than what they name, but never illegible", async () => {
  // A letter is 0.06 sizes wide here, and 1.15 of that where it is bold; the cells are 600 px wide.
  const sizes = async (nLetters) => {
    const text = "a".repeat(nLetters);
    const note = { xref: "paper", x: 0, y: 1, text, font: { size: 12 } };
    const figure = heatmap({ annotations: [note, { ...note, x: 0.5, text: "b" }, { ...note, xref: "x" }] });
    figure.layout.xaxis.title = { text, font: { size: 12 } };
    const { layout } = (await pictureOf(figure, "as shown")).drawn;
    return [...layout.annotations, layout.xaxis.title].map(({ font }) => Number(font.size.toFixed(2)));
  };
  const fill = (px, nLetters) => Number((px / (1.15 * 0.06 * nLetters)).toFixed(2));
  assert.deepEqual(await sizes(300), [12, 12, 12, 12]);
  assert.deepEqual(await sizes(600), [fill(300, 600), 12, 12, 12]); // another note begins in the middle
  assert.deepEqual(await sizes(1200), [5.33, 12, 12, fill(600, 1200)]); // 4 pt
});
