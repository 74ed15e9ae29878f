// A figure laid out for its place: labels become smaller, turn and give way to numbers; titles break; margins follow.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Canvas } from "../../canvas.js";
import { dropTightTexts, fitLabels, fitTitle, layOut, LAYOUT, legendOf, number, titleForm } from "../../../../pages/components/figures/layout.js";

// Here a letter is half as wide as high, so labels of other sizes have other widths.
Object.getPrototypeOf(new Canvas().getContext()).measureText = function (text) {
  return { width: 0.5 * parseFloat(this.font) * text.length };
};

const axis = (n, letters, more = {}) => ({
  ...{ tickmode: "array", range: [-0.5, n - 0.5], tickvals: [...Array(n).keys()] },
  ...{ ticktext: Array.from({ length: n }, (_, i) => String(i).padStart(letters, "x")), ...more },
});
/** The axis after this many labels of this many letters got so much room. */
function fitted(n, letters, room, more = {}, { name = "xaxis", meta } = {}) {
  const layout = { [name]: axis(n, letters, more), meta };
  const lifted = fitLabels(layout, name, room);
  return { ...layout[name], lifted, layout };
}
const form = ({ tickfont, tickangle }) => [tickfont.size, tickangle];

test("labels of columns become smaller as long as they are legible, then slant, then stand, then small", () => {
  // 10 labels of 4 letters: 2 sizes wide. A label that lies takes that and 4 px; one that slants 1.65 sizes.
  assert.deepEqual(form(fitted(10, 4, 10 * 30)), [13, 0]); // 13 * 2 + 4
  assert.deepEqual(form(fitted(10, 4, 10 * 23.9)), [13, -45]); // 9 px would not be legible
  assert.deepEqual(form(fitted(10, 4, 10 * 16.4)), [13, -90]);
  assert.deepEqual(form(fitted(10, 4, 10 * 9)), [7, -90]);
});

test("where no text may be small, labels turn, and give way to numbers of that size, rather than become smaller", () => {
  const meta = { leastText: 14 };
  assert.deepEqual(form(fitted(10, 4, 10 * 32, {}, { meta })), [14, 0]);
  assert.deepEqual(form(fitted(10, 4, 10 * 23.9, {}, { meta })), [14, -45]);
  const { tickfont, ticktext } = fitted(10, 4, 10 * 9, {}, { meta });
  assert.ok(tickfont.size === 14 && ticktext.length < 10);
  assert.deepEqual(titleForm({ text: "a title in two lines" }, 110, 14), { lines: ["a title in", "two lines"], size: 14 });
  const figure = { data: [{ mode: "text" }], layout: { meta: { ...meta, textFromWidth: 100 } } };
  dropTightTexts(figure, 110);
  assert.equal(figure.data.length, 0);
});

test("labels of rows do not turn", () => {
  assert.deepEqual(form(fitted(10, 40, 10 * 10, {}, { name: "yaxis" })), [8, undefined]);
});

test("labels that nothing helps become numbers, of which a legend tells, and words again with more room", () => {
  const { layout } = fitted(40, 6, 40 * 4, {}, { meta: { tokens: { xaxis: { first: 0, labels: axis(40, 6).ticktext } } } });
  assert.ok(layout.xaxis.tickvals.length < 20 && layout.xaxis.tickvals.every((place, i) => layout.xaxis.ticktext[i] === String(place)));
  assert.equal(legendOf({ layout })[0].labels.length, 40);
  assert.ok(layout.xaxis.tickfont.size >= LAYOUT.legible);
  fitLabels(layout, "xaxis", 40 * 60);
  assert.deepEqual(layout.xaxis.ticktext, axis(40, 6).ticktext);
});

test("a figure has its title and its turned labels within its margin", () => {
  const figure = (letters) => ({
    data: [{ type: "heatmap" }],
    layout: { title: { text: "t" }, xaxis: { ...axis(10, letters), side: "top" }, yaxis: { ...axis(4, 3), range: [3.5, -0.5] }, margin: { t: 40, b: 10 } },
  });
  const long = figure(30);
  layOut(long, 600, 400);
  assert.deepEqual([long.layout.xaxis.tickangle, long.layout.margin.b], [-45, 10]);
  const { size } = long.layout.xaxis.tickfont;
  assert.ok(Math.abs(long.layout.margin.t - 40 - Math.SQRT1_2 * 15 * size) < 0.01);
});

test("a title that is too long becomes smaller, then two lines in the middle, and what is below makes room", () => {
  const fit = (title, room, more = {}) => {
    const layout = { title, margin: { t: 40, l: 3 }, ...more };
    fitTitle(layout, room);
    return layout;
  };
  assert.deepEqual(fit({ text: "short", pad: { t: 4 } }, 500), { title: { text: "short", pad: { t: 4 } }, margin: { t: 40, l: 3 } });
  const text = "aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii"; // 44 letters, 310 px at 15 px
  const { title } = fit({ text, pad: { t: 4, l: 2 } }, 200);
  assert.deepEqual([title.text, title.font.size], ["aaaa bbbb cccc dddd eeee<br>ffff gggg hhhh iiii", 12]);
  for (const whole of ["a".repeat(44), `${text} <b>x</b>`]) assert.equal(titleForm({ text: whole }, 200).lines.length, 1);
});

test("numbers along an axis are round, far enough apart, and leave room to a chosen one", () => {
  const numbered = (n, pixels, chosen) => {
    const layout = { xaxis: { tickvals: [...Array(n).keys()], ticktext: Array(n).fill("tok") }, meta: { chosen: { xaxis: chosen } } };
    number(layout, "xaxis", pixels, 8); // 10 px apart at least
    return [layout.xaxis.tickvals, layout.xaxis.ticktext];
  };
  assert.deepEqual(numbered(30, 5, undefined)[0], [0, 5, 10, 15, 20, 25]); // twice as far as they must
  assert.deepEqual(numbered(30, 3.9, undefined)[0], [0, 10, 20]);
  assert.deepEqual(numbered(30, 5, 12), [[0, 5, 10, 12, 15, 20, 25], ["0", "5", "10", "12 tok", "15", "20", "25"]]);
});

test("names of panels give way to numbers where they would overlap, and the legend and its room in the title say so", () => {
  const fitted = (width, names) => {
    const note = (text, i) => ({ name: "panel", text: `+ <b>${text}</b>`, x: i / names.length, y: 1, font: { size: 10 } });
    const layout = { title: { text: "a".repeat(40) }, annotations: [{ text: "note", x: 0, y: 1 }, ...names.map(note)], margin: { l: 50, r: 50, t: 30 } };
    layOut({ data: [], layout }, width, 100, 0, 200);
    return { texts: layout.annotations.map(({ text }) => text), size: layout.title.font?.size, legend: legendOf({ layout }) };
  };
  const names = ["position", "content"]; // "+ position" is 50 px wide
  assert.deepEqual(fitted(201, names), { texts: ["note", "+ <b>position</b>", "+ <b>content</b>"], size: 10, legend: [] });
  const tight = fitted(199, names);
  assert.deepEqual(tight.texts, ["note", "<b>1</b>", "<b>2</b>"]);
  assert.deepEqual(tight.legend, [{ name: "", labels: ["1 + <b>position</b>", "2 + <b>content</b>"] }]);
  assert.ok(tight.size < 10);
  assert.deepEqual(fitted(101, ["a single one, however long"]).texts[1], "+ <b>a single one, however long</b>");
});

test("a legend says what numbers stand for, but where the labels are numbers themselves", () => {
  const numbered = (ticktext, meta) => {
    const layout = { xaxis: { tickvals: [3, 4, 5, 6], ticktext, title: { text: "key" } }, meta };
    number(layout, "xaxis", 10, 8);
    return [layout.xaxis.ticktext, legendOf({ layout })];
  };
  assert.deepEqual(numbered([..."abcd"]), [["4", "6"], [{ name: "key", labels: ["3 a", "4 b", "5 c", "6 d"] }]]);
  assert.deepEqual(numbered(["30", "−4", "5.5", "1,000"]), [["−4", "1,000"], []]);
  assert.deepEqual(numbered(["[CLS]", "0, 0", "0, 1", "1, 0"], { tokens: { xaxis: {} } }), [["0, 0", "1, 0"], []]); // patches of an image
  assert.deepEqual(numbered(["464", "3290", "318", "11"], { tokens: { xaxis: {} } })[1][0].labels, ["3 464", "4 3290", "5 318", "6 11"]); // ids of tokens
});

test("texts in a figure are dropped where they would overlap, and only there", () => {
  for (const [meta, width, left] of [[{ textFromWidth: 500 }, 499, 1], [{ textFromWidth: 500 }, 500, 2], [undefined, 10, 2]]) {
    const figure = { data: [{ mode: "text" }, { mode: "lines" }], layout: { meta } };
    dropTightTexts(figure, width);
    assert.deepEqual([figure.data.length, figure.data.at(-1).mode], [left, "lines"]);
  }
});
