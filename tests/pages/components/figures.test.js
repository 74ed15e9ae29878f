// Figures: the numbers in their cells, words without markup, labels that fit, files for download.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { crc32 } from "node:zlib";

import { withResolution, zip } from "../../../pages/components/figures/archive.js";
import { dropTightTexts, LAYOUT, legendOf, number, titleForm } from "../../../pages/components/figures/layout.js";
import { gridOf, plain, readGrids } from "../../../pages/components/figures/numbers.js";
import { fillInWords, rowsOf } from "../../../transformer_core/figures/cell_words.js";

const base64 = (array) => Buffer.from(array.buffer).toString("base64");

test("arrays as plotly.py writes them become rows of numbers", () => {
  for (const [dtype, Kind] of [["f4", Float32Array], ["f8", Float64Array], ["i2", Int16Array], ["u1", Uint8Array]]) {
    const numbers = Kind.from([1, 2, 3, 4, 5, 6]);
    const figure = { data: [{ type: "heatmap", z: { dtype, bdata: base64(numbers), shape: "2, 3" } }, { type: "bar" }] };
    readGrids(figure);
    assert.deepEqual(figure.data[0].z.map((row) => [...row]), [[1, 2, 3], [4, 5, 6]]);
  }
});

test("a grid says where its rows and columns begin, in the whole text", () => {
  const z = [[1, 2, 3], [4, 5, 6]];
  const part = { data: [{ type: "heatmap", z, y0: 7, x: [2, 3, 4] }], layout: {} };
  assert.deepEqual(gridOf(part), { rows: [7, 8, 9], columns: [2, 3, 4, 5] });
  const blocks = { data: [{ type: "heatmap", z }], layout: { meta: { blocks: { queries: [0, 4, 9], keys: [0, 4, 8, 12] } } } };
  assert.deepEqual(gridOf(blocks), { rows: [0, 4, 9], columns: [0, 4, 8, 12] });
  assert.equal(gridOf({ data: [{ type: "bar" }], layout: {} }), null);
});

test("plotly's markup is read as the text that it shows", () => {
  assert.equal(plain("a<br>b <b>c</b> &lt;x&gt; &amp;amp;"), "a, b c <x> &amp;");
});

test("words of cells: sign, rounding to nothing, powers, what is forbidden", () => {
  const cells = (z, words) => {
    const layout = { meta: { words: { queries: ["a"], keys: ["b", "c"], before: "", forbidden: "no", ...words } } };
    const figure = { data: [{ meta: "words", z }], layout };
    fillInWords(figure);
    return figure.data[0].customdata;
  };
  const signed = { format: "+.2f" };
  assert.deepEqual(cells([[1.234, -1.235]], signed), [["a → b: +1.23", "a → c: −1.24"]]);
  assert.deepEqual(cells([[-0.001, NaN]], signed), [["a → b: +0.00", ""]]);
  assert.deepEqual(cells([[-7, -1]], { format: ".2f", power: true, below: "< 1e-6" }), [["a → b: < 1e-6", "a → c: 0.1"]]);
  assert.deepEqual(rowsOf({ bdata: base64(Float32Array.from([1, 2, 3, 4])), shape: "2, 2" }).map((row) => [...row]), [[1, 2], [3, 4]]);
});

test("a long title becomes smaller, then two lines; markup is never broken", () => {
  assert.deepEqual(titleForm({ text: "Short" }, 600), { lines: ["Short"], size: LAYOUT.title });
  const text = "Attention pattern: decoder cross-attention L11.H10, of a very long title";
  const { lines, size } = titleForm({ text }, 320);
  assert.equal(lines.length, 2);
  assert.equal(lines.join(" "), text);
  assert.ok(size <= LAYOUT.title);
  assert.ok(LAYOUT.letter * size * Math.max(...lines.map((line) => line.length)) <= 320 + size);
  assert.equal(titleForm({ text: `${text} <b>x</b>` }, 320).lines.length, 1);
});

test("the files of a zip have the date and the time, in every month, and an even second", () => {
  for (const [now, date, time] of [[[2026, 0, 31, 23, 59, 58], [46, 1, 31], [23, 59, 29]], [[1980, 11, 1, 0, 5, 7], [0, 12, 1], [0, 5, 3]]]) {
    mock.timers.enable({ apis: ["Date"], now: new Date(...now) });
    const bytes = Buffer.from(zip([["a", Buffer.from("b")]]));
    mock.timers.reset();
    const directory = bytes.readUInt32LE(bytes.length - 6);
    for (const at of [10, directory + 12]) {
      const [clock, day] = [bytes.readUInt16LE(at), bytes.readUInt16LE(at + 2)];
      assert.deepEqual([day >> 9, (day >> 5) & 15, day & 31], date); // years from 1980 on
      assert.deepEqual([clock >> 11, (clock >> 5) & 63, clock & 31], time);
    }
  }
});

test("a zip holds its files as they are, each with its checksum", () => {
  const files = [["a.txt", Buffer.from("hello")], ["ü.csv", Buffer.from("1,2\n".repeat(100))]];
  const bytes = Buffer.from(zip(files));
  assert.equal(bytes.readUInt32LE(0), 0x04034b50);
  const end = bytes.length - 22;
  assert.equal(bytes.readUInt32LE(end), 0x06054b50);
  let entry = bytes.readUInt32LE(end + 16);
  assert.equal(bytes.readUInt16LE(end + 10), files.length);
  for (const [name, content] of files) {
    assert.equal(bytes.readUInt32LE(entry), 0x02014b50);
    assert.equal(bytes.readUInt32LE(entry + 16), crc32(content));
    assert.equal(bytes.readUInt32LE(entry + 24), content.length);
    const [length, at] = [bytes.readUInt16LE(entry + 28), bytes.readUInt32LE(entry + 42)];
    assert.equal(bytes.subarray(entry + 46, entry + 46 + length).toString(), name);
    const start = at + 30 + bytes.readUInt16LE(at + 26);
    assert.deepEqual(bytes.subarray(start, start + content.length), content);
    entry += 46 + length;
  }
  assert.equal(entry, end);
});

test("a PNG says how large it is printed", () => {
  const png = Uint8Array.from({ length: 60 }, (_, i) => i);
  const bytes = Buffer.from(withResolution(png, 600));
  assert.deepEqual([...bytes.subarray(0, 33)], [...png.subarray(0, 33)]);
  assert.deepEqual([...bytes.subarray(54)], [...png.subarray(33)]);
  assert.equal(bytes.subarray(37, 41).toString(), "pHYs");
  assert.equal(bytes.readUInt32BE(41), 23622); // 600 / 0.0254
  assert.equal(bytes.readUInt32BE(50), crc32(bytes.subarray(37, 50)));
});

test("texts in a figure are dropped where they would overlap, and only there", () => {
  const figure = (meta) => ({ data: [{ mode: "text" }, { mode: "lines" }], layout: { meta } });
  const left = (meta, width) => {
    const drawn = figure(meta);
    dropTightTexts(drawn, width);
    return drawn.data.map(({ mode }) => mode);
  };
  assert.deepEqual(left({ textFromWidth: 500 }, 499), ["lines"]);
  assert.deepEqual(left({ textFromWidth: 500 }, 500), ["text", "lines"]);
  assert.deepEqual(left(undefined, 10), ["text", "lines"]);
});

test("tokens without room along an axis are numbered, a chosen one is named, and a legend has all of them", () => {
  const axis = () => ({ tickvals: [3, 4, 5, 6, 7, 8, 9, 10, 11, 12], ticktext: [..."abcdefghij"], title: { text: "key" } });
  const figure = { layout: { xaxis: axis(), meta: { chosen: { xaxis: 11 } } } };
  number(figure.layout, "xaxis", 5, 8); // labels of 8 px are 2 places of 5 px apart
  assert.deepEqual(figure.layout.xaxis.tickvals, [5, 11]); // 10 is too close to the chosen one
  assert.deepEqual(figure.layout.xaxis.ticktext, ["5", "11 i"]);
  const labels = ["3 a", "4 b", "5 c", "6 d", "7 e", "8 f", "9 g", "10 h", "11 i", "12 j"];
  assert.deepEqual(legendOf(figure), [{ name: "key", labels }]);
  const numbers = { layout: { yaxis: { tickvals: [0, 1, 2, 3], ticktext: ["0", "1", "2", "3"] } } };
  number(numbers.layout, "yaxis", 10, 8);
  assert.deepEqual(numbers.layout.yaxis.ticktext, ["0", "2"]);
  assert.deepEqual(legendOf(numbers), []);
  const ids = { layout: { xaxis: { tickvals: [0, 1, 2, 3], ticktext: ["464", "3290", "318", "11"] }, meta: { tokens: { xaxis: {} } } } };
  number(ids.layout, "xaxis", 10, 8); // tokens that are numbers are no places
  assert.deepEqual(ids.layout.xaxis.ticktext, ["0", "2"]);
  assert.deepEqual(legendOf(ids)[0].labels, ["0 464", "1 3290", "2 318", "3 11"]);
});
