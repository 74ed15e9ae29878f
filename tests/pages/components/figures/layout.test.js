// A figure laid out for its place: labels become smaller, turn and give way to numbers; titles break; margins follow.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Canvas } from "../../canvas.js";
import { dropTightTexts, evenHeight, fitLabels, fitTitle, layOut, LAYOUT, legendOf, number, titleForm, turn } from "../../../../pages/components/figures/layout.js";

// Here a letter is half as wide as high, so labels of other sizes have other widths.
Object.getPrototypeOf(new Canvas().getContext()).measureText = function (text) {
  return { width: 0.5 * parseFloat(this.font) * text.length };
};

const axis = (n, letters, more = {}) => ({
  ...{ tickmode: "array", range: [-0.5, n - 0.5], tickvals: [...Array(n).keys()] },
  ...{ ticktext: Array.from({ length: n }, (_, i) => String(i).padStart(letters, "x")), ...more },
});
/** The axis after so many labels of so many letters got so much room. */
function fitted(n, letters, room, more = {}, { name = "xaxis", meta } = {}) {
  const layout = { [name]: axis(n, letters, more), meta };
  const lifted = fitLabels(layout, name, room);
  return { ...layout[name], lifted, layout };
}
const form = ({ tickfont, tickangle }) => [tickfont.size, tickangle];

test("labels of columns become smaller as long as they are legible, then slant, then stand, then small", () => {
  // 10 labels of 4 letters: 2 sizes wide. A label that lies takes that and 4 px; one that slants 1.65 sizes.
  assert.deepEqual(form(fitted(10, 4, 10 * 30)), [13, 0]); // 13 * 2 + 4
  assert.deepEqual(form(fitted(10, 4, 10 * 29.9)), [12, 0]);
  assert.deepEqual(form(fitted(10, 4, 10 * 24)), [10, 0]);
  assert.deepEqual(form(fitted(10, 4, 10 * 23.9)), [13, -45]); // 9 px would not be legible
  assert.deepEqual(form(fitted(10, 4, 10 * 16.6)), [10, -45]);
  assert.deepEqual(form(fitted(10, 4, 10 * 16.4)), [13, -90]);
  assert.deepEqual(form(fitted(10, 4, 10 * 9)), [7, -90]);
  assert.ok(legendOf(fitted(10, 4, 10 * 9)).length === 0);
});

test("labels of rows do not turn", () => {
  assert.deepEqual(form(fitted(10, 40, 10 * 20, {}, { name: "yaxis" })), [13, undefined]);
  assert.deepEqual(form(fitted(10, 40, 10 * 10, {}, { name: "yaxis" })), [8, undefined]);
  assert.equal(fitted(10, 40, 10 * 10, {}, { name: "yaxis" }).lifted, 0);
});

test("labels that nothing helps become numbers, of which a legend tells, and words again with more room", () => {
  const { layout } = fitted(40, 6, 40 * 4, {}, { meta: { tokens: { xaxis: { first: 0, labels: axis(40, 6).ticktext } } } });
  assert.ok(layout.xaxis.tickvals.length < 20 && layout.xaxis.tickvals.every((place, i) => layout.xaxis.ticktext[i] === String(place)));
  assert.equal(legendOf({ layout })[0].labels.length, 40);
  assert.ok(layout.xaxis.tickfont.size >= LAYOUT.legible);
  const gaps = layout.xaxis.tickvals.slice(1).map((place, i) => place - layout.xaxis.tickvals[i]);
  assert.ok(Math.min(...gaps) * 4 >= LAYOUT.upright * layout.xaxis.tickfont.size);
  fitLabels(layout, "xaxis", 40 * 60);
  assert.deepEqual(layout.xaxis.ticktext, axis(40, 6).ticktext);
  assert.deepEqual(layout.xaxis.tickvals, axis(40, 6).tickvals);
});

test("an axis keeps the size and the angle that it was laid out for, if it has room", () => {
  assert.deepEqual(form(fitted(10, 4, 10 * 60, { tickfont: { size: 11, color: "red" } })), [11, 0]);
  assert.equal(fitted(10, 4, 10 * 60, { tickfont: { size: 11, color: "red" } }).tickfont.color, "red");
  assert.deepEqual(form(fitted(10, 4, 10 * 60, { tickangle: -45 })), [13, -45]);
  assert.deepEqual(form(fitted(10, 4, 10 * 17, { tickangle: -90 })), [13, -90]);
  assert.equal(fitted(10, 4, 10 * 60, { tickfont: { size: 5 } }).tickfont.size, LAYOUT.legible);
  assert.equal(fitted(10, 4, 10 * 17.2, { tickfont: { size: 18 } }).tickfont.size, 10); // smaller than its own: slanted
});

test("what is not an axis of labels is left as it is", () => {
  for (const more of [{ tickmode: "auto" }, { range: undefined }, { tickvals: [1], ticktext: ["a"] }, { showticklabels: false }]) {
    const { tickfont, lifted } = fitted(10, 4, 5, more);
    assert.deepEqual([tickfont, lifted], [undefined, 0]);
  }
});

test("labels are fitted to the smallest gap, and to those of the figure beside", () => {
  assert.deepEqual(form(fitted(3, 4, 10 * 30, { tickvals: [0, 8, 9], range: [-0.5, 9.5] })), [13, 0]);
  assert.deepEqual(form(fitted(3, 4, 10 * 30, { tickvals: [0, 8, 8.5], range: [-0.5, 9.5] })), [12, -90]); // 15 px
  assert.deepEqual(form(fitted(10, 4, 10 * 30, { range: [9.5, -0.5] })), [13, 0]);
  assert.deepEqual(form(fitted(10, 4, 10 * 30, {}, { meta: { beside: { xaxis: ["longer label"] } } })), [13, -45]);
});

test("turned labels lift what is above the cells by what they are higher, once; below plotly makes room", () => {
  const lift = (angle, more) => {
    const turned = { tickangle: 0, side: "top", ...more };
    return [turn(turned, angle, 100), turned.tickangle, turned.automargin];
  };
  assert.deepEqual(lift(-90, {}), [100, -90, false]);
  assert.ok(Math.abs(lift(-45, {})[0] - 70.71) < 0.01);
  assert.ok(Math.abs(lift(-90, { tickangle: -45 })[0] - 29.29) < 0.01);
  assert.deepEqual(lift(-90, { side: "bottom" }), [0, -90, true]);
  assert.deepEqual(lift(-90, { automargin: true }), [0, -90, true]);
  assert.deepEqual(lift(0, {}), [0, 0, undefined]);
});

test("a figure has its title and its turned labels within its margin", () => {
  const figure = (letters) => ({
    data: [{ type: "heatmap" }],
    layout: { title: { text: "t" }, xaxis: { ...axis(10, letters), side: "top" }, yaxis: { ...axis(4, 3), range: [3.5, -0.5] }, margin: { t: 40, b: 10 } },
  });
  const [short, long] = [figure(3), figure(30)];
  layOut(short, 600, 400);
  assert.deepEqual([short.layout.width, short.layout.height, short.layout.margin.t], [600, 400, 40]);
  layOut(long, 600, 400);
  assert.deepEqual([long.layout.xaxis.tickangle, long.layout.margin.b], [-45, 10]);
  const { size } = long.layout.xaxis.tickfont;
  assert.ok(Math.abs(long.layout.margin.t - 40 - Math.SQRT1_2 * 15 * size) < 0.01);
});

test("each of several matrices and bars has its part of the width", () => {
  const size = (layout, type = "heatmap", width = 600) => {
    const figure = { data: [{ type }], layout: { xaxis: axis(10, 4), ...layout } };
    layOut(figure, width, 400);
    return figure.layout.xaxis;
  };
  // A matrix leaves 190 px to what is beside it, bars leave 70.
  assert.deepEqual(form(size({}, "heatmap", 490)), [13, 0]);
  assert.deepEqual(form(size({}, "heatmap", 489)), [12, 0]);
  assert.deepEqual(form(size({}, "bar", 370)), [13, 0]);
  assert.deepEqual(form(size({}, "bar", 369)), [12, 0]);
  assert.deepEqual(form(size({ xaxis: axis(10, 4, { tickangle: 0 }) }, "heatmap", 410)), [13, 0]);
  assert.deepEqual(form(size({ xaxis: axis(10, 4, { tickangle: 0 }) }, "heatmap", 409)), [12, 0]);
  // Row labels of 8 letters of 13 px take 52 px, and what else is beside them 104; long ones are not all waited for.
  const rows = (letters, width) =>
    form(size({ yaxis: { ...axis(3, letters), automargin: true, tickfont: { size: 13 } } }, "heatmap", width));
  assert.deepEqual([rows(8, 456), rows(8, 455)], [[13, 0], [12, 0]]);
  assert.deepEqual([rows(30, 490), rows(30, 489)], [[13, 0], [12, 0]]);
  // Half of what the margins leave.
  const half = (width) => form(size({ xaxis: axis(10, 4, { domain: [0.5, 1] }), margin: { l: 30, r: 20, t: 10 } }, "heatmap", width));
  assert.deepEqual([half(650), half(649)], [[13, 0], [12, 0]]);
  const usual = (width) => form(size({ xaxis: axis(10, 4, { domain: [0, 0.5] }) }, "heatmap", width)); // plotly's margins: 80
  assert.deepEqual([usual(760), usual(759)], [[13, 0], [12, 0]]);
});

test("rows have what the margins leave of the height, in a matrix only", () => {
  const size = (type, height, more = {}) => {
    const figure = { data: [{ type }], layout: { yaxis: axis(10, 4, { range: [9.5, -0.5] }), margin: { t: 40, b: 10 }, ...more } };
    layOut(figure, 600, height);
    return figure.layout.yaxis.tickfont?.size;
  };
  assert.equal(size("heatmap", 50 + 10 * 13 * 1.25), 13);
  assert.equal(size("heatmap", 49 + 10 * 13 * 1.25), 12);
  assert.equal(size("heatmap", 50 + 2 * 10 * 13 * 1.25, { yaxis: axis(10, 4, { domain: [0, 0.5] }) }), 13);
  assert.equal(size("heatmap", 49 + 2 * 10 * 13 * 1.25, { yaxis: axis(10, 4, { domain: [0, 0.5] }) }), 12);
  assert.equal(size("bar", 100), undefined);
});

test("a title that is too long becomes smaller, then two lines in the middle, and what is below makes room", () => {
  const fit = (title, room, more = {}) => {
    const layout = { title, margin: { t: 40, l: 3 }, ...more };
    fitTitle(layout, room);
    return layout;
  };
  assert.deepEqual(fit({ text: "short", pad: { t: 4 } }, 500), { title: { text: "short", pad: { t: 4 } }, margin: { t: 40, l: 3 } });
  const text = "aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii"; // 44 letters, 310 px at 15 px
  const { title: smaller, margin } = fit({ text }, 280);
  assert.deepEqual([smaller.text, smaller.font.size, margin.t], [text, 13, 40]);
  const { title, margin: higher } = fit({ text, pad: { t: 4, l: 2 } }, 200);
  assert.deepEqual([title.text, title.font.size], ["aaaa bbbb cccc dddd eeee<br>ffff gggg hhhh iiii", 12]);
  assert.deepEqual(title.pad, { t: 4 + 1.3 * 12, l: 2 });
  assert.deepEqual(higher, { t: 40 + 1.5 * 12, l: 3 });
  assert.equal(fit({ text: "short" }, 200, { meta: { beside: { title: [text] } } }).margin.t, 40 + 1.5 * 12); // one beside has two lines
  assert.equal(fit({ text }, 200, { margin: undefined }).margin, undefined);
  assert.deepEqual(fit({}, 200).title, {});
  assert.equal(titleForm({ text, subtitle: { text: "s" } }, 200).lines.length, 1);
  for (const whole of ["a".repeat(44), `${text} <b>x</b>`]) assert.equal(titleForm({ text: whole }, 200).lines.length, 1);
  assert.equal(titleForm({ text }, 40).size, LAYOUT.title / 2); // not smaller than half
});

test("cells are about as high as wide, unless labels need more, and never very high", () => {
  const high = (w, across, down, label) => evenHeight(w, { xaxis: { range: [-0.5, across - 0.5] }, yaxis: { range: [down - 0.5, -0.5] } }, label);
  assert.equal(high(600, 20, 20), 600);
  assert.equal(high(600, 30, 20), 400);
  assert.equal(high(600, 10, 40), 900); // 1.5 times the width
  assert.equal(high(600, 100, 3), 80); // 20 px a row, and one
  assert.equal(high(600, 300, 30), 240); // but no more than 0.4 of the width
  assert.equal(high(600, 300, 30, 10), 375); // 1.25 sizes a label
});

test("numbers along an axis are round, far enough apart, and leave room to a chosen one", () => {
  const numbered = (n, pixels, chosen, first = 0) => {
    const layout = { xaxis: { tickvals: Array.from({ length: n }, (_, i) => first + i), ticktext: Array(n).fill("tok") }, meta: { chosen: { xaxis: chosen } } };
    number(layout, "xaxis", pixels, 8); // 10 px apart at least
    return [layout.xaxis.tickvals, layout.xaxis.ticktext];
  };
  assert.deepEqual(numbered(30, 5, undefined)[0], [0, 5, 10, 15, 20, 25]); // twice as far as they must
  assert.deepEqual(numbered(30, 4, undefined)[0], [0, 5, 10, 15, 20, 25]);
  assert.deepEqual(numbered(30, 3.9, undefined)[0], [0, 10, 20]);
  assert.deepEqual(numbered(30, 5, 12), [[0, 5, 10, 12, 15, 20, 25], ["0", "5", "10", "12 tok", "15", "20", "25"]]);
  assert.deepEqual(numbered(30, 5, 11)[0], [0, 5, 11, 15, 20, 25]);
  assert.deepEqual(numbered(30, 5, 9, 3)[0], [5, 9, 15, 20, 25, 30]);
});

test("a legend says what numbers stand for, but where the labels are numbers themselves", () => {
  const numbered = (ticktext, meta) => {
    const layout = { xaxis: { tickvals: [3, 4, 5, 6], ticktext, title: { text: "key" } }, meta };
    number(layout, "xaxis", 10, 8);
    return [layout.xaxis.ticktext, legendOf({ layout })];
  };
  assert.deepEqual(numbered([..."abcd"]), [["4", "6"], [{ name: "key", labels: ["3 a", "4 b", "5 c", "6 d"] }]]);
  assert.deepEqual(numbered(["30", "−4", "5.5", "1,000"]), [["−4", "1,000"], []]);
  assert.deepEqual(numbered(["464", "3290", "318", "11"], { tokens: { xaxis: {} } })[1][0].labels, ["3 464", "4 3290", "5 318", "6 11"]); // ids of tokens
});

test("texts in a figure are dropped where they would overlap, and only there", () => {
  for (const [meta, width, left] of [[{ textFromWidth: 500 }, 499, 1], [{ textFromWidth: 500 }, 500, 2], [undefined, 10, 2]]) {
    const figure = { data: [{ mode: "text" }, { mode: "lines" }], layout: { meta } };
    dropTightTexts(figure, width);
    assert.deepEqual([figure.data.length, figure.data.at(-1).mode], [left, "lines"]);
  }
});
