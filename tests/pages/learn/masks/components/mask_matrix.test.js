// A mask that is edited, as a whole component: what its three pictures show, and what a hand, a key and a newer answer do.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { announced, place, point, press, resize, setTheme, shown } from "../../../dom.js";
import { packed } from "../../../packed.js";
import { between, isNear, random, read } from "../../../canvas.js";
import show from "../../../../../pages/learn/masks/components/masks/mask_matrix.js";

const [ROWS, COLUMNS] = [3, 5];
const N = ROWS * COLUMNS;
const QUERY = ["le", "chat", "[PAD]"];
const KEY = ["the", "cat", "sees", "it", "[PAD]"];
const theme = (allowed, forbidden, low, high) => ({
  ...{ allowed, forbidden, text: "#010203", muted: "#909192", border: "#111111", background: low },
  ...{ sequential: [[0, low], [1, high]], diverging: [[0, "#c00000"], [0.5, low], [1, high]] },
});
const COLORS = { light: theme("#00a000", "#c0c4c8", "#ffffff", "#000040"), dark: theme("#20f020", "#303438", "#000000", "#e0e0ff") };
const HUES = { query: "#1060c0", key: "#c06010", cell: "#aa00aa" };
const PRESET = Uint8Array.from({ length: N }, (_, cell) => Number(cell % COLUMNS <= Math.floor(cell / COLUMNS) + 1));
const next = random(3);
const SCORES = Float32Array.from({ length: N }, () => 5 * (next() - 0.5));
const BEFORE = Float32Array.from({ length: N }, (_, cell) => cell / 100);
const ROW = (more) => ({ place: 1, word: "noir", before: 0.25, now: 0.5, previous: "noir", says: "noir", ...more });
const CELLS = Array.from({ length: N }, (_, cell) => cell);

/** The softmax of the scores that a mask leaves, row by row. */
function softmax(allowed, scores = SCORES) {
  return Float32Array.from(CELLS, (cell) => {
    const start = COLUMNS * Math.floor(cell / COLUMNS);
    const open = CELLS.slice(start, start + COLUMNS).filter((other) => allowed[other]);
    return allowed[cell] ? Math.exp(scores[cell]) / open.reduce((sum, other) => sum + Math.exp(scores[other]), 0) : 0;
  });
}

const headerOf = ({ turned = [], revision = 0, ...more }) => ({
  ...{ query: QUERY, key: KEY, real: { query: 2, key: 4 }, border: { query: null, key: null }, turned: { revision, value: turned }, hint: "Click a cell.", of: "causal" },
  captions: { mask: { title: "Mask", what: "m" }, scores: { title: "Scores", what: "s" }, pattern: { title: "Pattern", what: "p" } },
  outputs: { rows: [ROW()], words: [], counted: "1 of 2", areQueries: true },
  ...{ colors: COLORS, hues: HUES, ...more },
});
const data = ({ ran = PRESET, base = PRESET, ...more } = {}) => packed(headerOf(more), SCORES, softmax(ran), BEFORE, base, ran);

/** A mask of another text, open but for what `base` masks. */
function smaller(query, key, { base = new Uint8Array(query.length * key.length).fill(1), ...more } = {}) {
  const [n, header] = [base.length, headerOf({ query, key, of: "small", ...more })];
  return packed(header, SCORES.slice(0, n), BEFORE.slice(0, n), Float32Array.from(base, (_, cell) => (cell + 6) / 100), base, base);
}

const [LEFT, TOP] = [100, 60];

function made(more, { width = 400 } = {}) {
  const matrix = shown(show, "mask_matrix", data(more));
  for (const name of ["mask", "scores", "pattern"]) place(matrix.find(`figure.${name}`), { width });
  resize(matrix.root, 1000);
  const canvases = Object.fromEntries(["mask", "scores", "pattern"].map((name) => [name, matrix.find(`.${name} canvas`)]));
  for (const canvas of Object.values(canvases)) place(canvas, { left: LEFT, top: TOP, width: width, height: 300 });
  const texts = (name) => canvases[name].getContext("2d").texts;
  /** Where a cell is painted: below its key, beside its query. */
  const middle = (cell, name = "mask") => {
    const row = texts(name).find(({ text, align }) => align === "right" && text === QUERY[Math.floor(cell / COLUMNS)]);
    const column = texts(name).find(({ text, align }) => align === "left" && text === KEY[cell % COLUMNS]);
    return [column.x, row.y];
  };
  const at = (x, y) => ({ clientX: LEFT + x, clientY: TOP + y, pointerId: 1 });
  const hand = (type, cell, how = {}) => point(canvases.mask, `pointer${type}`, { ...at(...middle(cell)), ...how });
  const colorOf = (name, cell) => canvases[name].pixel(...middle(cell, name).map(Math.floor));
  const click = (cell) => (hand("down", cell), hand("up", cell));
  const frames = (name) => canvases[name].getContext("2d").frames.map(({ color }) => color);
  const key = (...given) => press(canvases.mask, ...given);
  const tell = (ms = 0) => mock.timers.tick(ms);
  const turned = () => CELLS.filter((cell) => isNear(colorOf("mask", cell), read(COLORS.light.allowed)) !== Boolean(PRESET[cell]));
  return { ...matrix, canvases, texts, middle, at, hand, colorOf, click, frames, key, tell, turned, says: () => matrix.find(".says").textContent };
}

/** Whether the three pictures show what this mask leaves, in this theme, with signs in the cells that are masked. */
function check(matrix, allowed, theme = "light") {
  const colors = COLORS[theme];
  const pattern = softmax(allowed);
  const most = Math.max(...SCORES.map(Math.abs));
  for (const cell of CELLS) {
    const wanted = allowed[cell]
      ? { mask: read(colors.allowed), scores: between(colors.diverging, 0.5 + SCORES[cell] / most / 2), pattern: between(colors.sequential, pattern[cell]) }
      : { mask: read(colors.forbidden), scores: read(colors.forbidden), pattern: read(colors.forbidden) };
    for (const [name, color] of Object.entries(wanted)) assert.ok(isNear(matrix.colorOf(name, cell), color), `${name}, cell ${cell}`);
  }
  const masked = CELLS.filter((cell) => !allowed[cell]).length;
  for (const [name, sign] of [["scores", "−∞"], ["pattern", "0"]]) {
    const signs = matrix.texts(name).filter(({ text }) => text === sign);
    assert.deepEqual(signs.map(({ color }) => color), Array(masked).fill(colors.muted));
  }
}

const edited = (...cells) => PRESET.map((value, cell) => (cells.includes(cell) ? 1 - value : value));

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  setTheme("light");
});

test("mask, scores and pattern are painted cell by cell, again in the other theme, with padding faint", () => {
  const matrix = made();
  check(matrix, PRESET);
  setTheme("dark");
  check(matrix, PRESET, "dark");
  const faint = matrix.texts("mask").filter(({ color }) => color === COLORS.dark.muted).map(({ text, align }) => [text, align]);
  assert.deepEqual(faint, [["[PAD]", "right"], ["[PAD]", "left"]]);
  assert.match(matrix.canvases.mask.getAttribute("aria-label"), /^Mask of 3 queries by 5 keys\. /);
});

test("a click on a cell is seen at once, waits for the model, and is sent once; the answer ends the waiting", () => {
  const matrix = made();
  matrix.hand("down", 3);
  check(matrix, edited(3));
  assert.ok(!matrix.root.classList.contains("waiting"));
  matrix.hand("up", 3);
  matrix.hand("up", 3);
  assert.ok(matrix.root.classList.contains("waiting"));
  matrix.tell();
  const [[name, { revision, value }]] = matrix.told;
  assert.deepEqual([name, value, matrix.told.length], ["turned", [3], 1]);
  matrix.update(data({ turned: [], revision: revision - 1 })); // an old answer
  assert.ok(matrix.root.classList.contains("waiting"));
  check(matrix, edited(3));
  matrix.update(data({ turned: [3], revision, ran: edited(3) }));
  assert.ok(!matrix.root.classList.contains("waiting"));
  check(matrix, edited(3));
});

test("a hand draws what it began with, to the edges and no further, and gives up by Escape or where it is taken away", () => {
  const matrix = made();
  matrix.hand("down", 6); // row 1, column 1: allowed, so it masks
  matrix.hand("move", 9);
  check(matrix, edited(6, 7));
  point(matrix.canvases.mask, "pointermove", matrix.at(9999, -9999)); // the last column, the first row
  point(matrix.canvases.mask, "pointermove", matrix.at(-9999, 9999)); // the first column, the last row: a diagonal back
  point(matrix.canvases.mask, "pointerup", matrix.at(0, 0));
  matrix.tell();
  const drawn = matrix.told[0][1].value;
  assert.ok([6, 7, 10].every((cell) => drawn.includes(cell)));
  assert.ok(drawn.every((cell) => PRESET[cell]), "cells that were masked already stay so");
  for (const giveUp of [() => matrix.key("Escape"), () => matrix.hand("cancel", 5)]) {
    const before = matrix.turned();
    matrix.hand("down", 4);
    matrix.hand("move", 14);
    assert.notDeepEqual(matrix.turned(), before);
    giveUp();
    assert.deepEqual(matrix.turned(), before);
  }
  matrix.tell();
  assert.deepEqual(matrix.told.at(-1)[1].value, drawn);
});

test("a mask of another text ends what a hand draws, which belongs to the former one", () => {
  const matrix = made();
  matrix.hand("down", 14);
  matrix.update(smaller(["a", "b"], ["c", "d"]));
  point(matrix.canvases.mask, "pointermove", matrix.at(200, 200));
  matrix.key("Escape");
  point(matrix.canvases.mask, "pointerup", matrix.at(200, 200));
  matrix.tell();
  assert.deepEqual(matrix.told, []);
  assert.ok(matrix.findAll(".tool").every(({ disabled }) => disabled));
});

test("another finger does not draw along, and leaves the way back of the first as it is", () => {
  const matrix = made();
  matrix.hand("down", 3);
  const other = { pointerId: 2, isPrimary: false };
  matrix.hand("down", 8, other);
  matrix.hand("move", 9, other);
  assert.deepEqual(matrix.turned(), [3]);
  matrix.hand("up", 9, other);
  matrix.hand("move", 4);
  assert.deepEqual(matrix.turned(), [3, 4]);
});

test("only the main button draws; a click on a label turns its whole row or column, beside all nothing", () => {
  const matrix = made();
  matrix.hand("down", 3, { button: 2 });
  matrix.hand("move", 4);
  for (const nowhere of [[399, 299], [2, 2]]) point(matrix.canvases.mask, "pointerdown", matrix.at(...nowhere));
  assert.deepEqual(matrix.turned(), []);
  const [x, y] = matrix.middle(7); // query 1, key 2
  const label = (...place) => {
    point(matrix.canvases.mask, "pointerdown", matrix.at(...place));
    point(matrix.canvases.mask, "pointerup", matrix.at(...place));
  };
  label(2, y);
  assert.deepEqual(matrix.turned(), [8, 9]);
  const { y: foot } = matrix.texts("mask").find(({ text }) => text === "sees");
  label(x + 6, foot - 6); // labels rise to the right
  assert.deepEqual(matrix.turned(), [2, 8, 9]);
});

test("keys go from cell to cell and turn them, and several within a moment are sent at once", () => {
  const matrix = made();
  const says = (row, column) => assert.match(matrix.says(), new RegExp(`^query ${row} “.+” → key ${column} “`));
  assert.ok(matrix.key("ArrowDown").defaultPrevented);
  matrix.key("End");
  says(1, 4);
  matrix.key(" ");
  assert.deepEqual(matrix.turned(), [9]);
  assert.match(announced(), /^query 1 “chat” → key 4 “\[PAD\]”: may attend/);
  matrix.key("ArrowLeft");
  matrix.key("R");
  assert.deepEqual(matrix.turned(), [8, 9]);
  matrix.tell(349);
  assert.equal(matrix.told.length, 0);
  matrix.tell(1);
  assert.deepEqual(matrix.told.map(([, { value }]) => value), [[8, 9]]);
  matrix.key("c");
  assert.deepEqual(matrix.turned(), [3, 8, 9]);
  assert.ok(!matrix.key("r", { ctrlKey: true }).defaultPrevented);
  matrix.key("Home");
  matrix.key("ArrowRight", { shiftKey: true }); // draws on with what the cell has
  assert.deepEqual(matrix.turned(), [3, 8, 9]);
  matrix.key("Enter");
  matrix.key("ArrowDown", { shiftKey: true });
  assert.deepEqual(matrix.turned(), [3, 6, 8, 9, 11]);
});

test("undo, redo and reset, by buttons and keys, go the same way, and are possible only where there is one", () => {
  const matrix = made();
  const [undo, redo, reset] = matrix.findAll(".tool");
  const state = () => [matrix.turned(), [undo, redo, reset].map(({ disabled }) => !disabled)];
  assert.deepEqual(state(), [[], [false, false, false]]);
  matrix.click(3);
  matrix.click(9);
  assert.deepEqual(state(), [[3, 9], [true, false, true]]);
  undo.click();
  assert.deepEqual(state(), [[3], [true, true, true]]);
  assert.ok(matrix.key("z", { ctrlKey: true }).defaultPrevented);
  assert.deepEqual(state(), [[], [false, true, false]]);
  matrix.key("Z", { ctrlKey: true, shiftKey: true });
  assert.deepEqual(state(), [[3], [true, true, true]]);
  redo.click();
  reset.click();
  assert.deepEqual(state(), [[], [true, false, false]]);
  undo.click();
  assert.deepEqual(state(), [[3, 9], [true, true, true]]);
  matrix.click(7);
  assert.deepEqual(state(), [[3, 7, 9], [true, false, true]]); // a new edit ends the way forth
});

test("another preset forgets the way back, and a smaller mask the place of the keys", () => {
  const matrix = made();
  matrix.click(3);
  for (const key of ["PageDown", "End"]) matrix.key(key);
  matrix.update(data({ of: "none", base: PRESET.map(() => 1), ran: PRESET.map(() => 1) }));
  check(matrix, PRESET.map(() => 1));
  assert.ok(matrix.findAll(".tool").every(({ disabled }) => disabled));
  assert.equal(matrix.says(), "Click a cell.");
  matrix.update(smaller(["a", "b"], ["c", "d", "e"], { base: Uint8Array.of(1, 1, 1, 1, 0, 1), turned: [4] }));
  assert.equal(matrix.frames("mask").length, 0);
  matrix.key("ArrowRight");
  assert.match(matrix.says(), /^query 0 “a” → key 1 “d”: may attend; score .*, weight 0\.010 \(with the model’s own masks 0\.070\)$/);
});

test("what is pointed at in one picture is framed in all and said with its numbers, until it is left", () => {
  const matrix = made();
  const at = (name, cell) => point(matrix.canvases[name], "pointermove", matrix.at(...matrix.middle(cell, name)));
  assert.equal(matrix.says(), "Click a cell.");
  at("pattern", 7);
  for (const name of ["mask", "scores", "pattern"]) assert.deepEqual(matrix.frames(name), [HUES.query, HUES.key, HUES.cell]);
  const [score, weight] = [SCORES[7].toFixed(2).replace("-", "−"), softmax(PRESET)[7].toFixed(3)];
  assert.equal(matrix.says(), `query 1 “chat” → key 2 “sees”: may attend; score ${score}, weight ${weight} (with the model’s own masks 0.070)`);
  at("scores", 4);
  assert.equal(matrix.says(), `query 0 “le” → key 4 “[PAD]”: masked; score −∞ instead of ${SCORES[4].toFixed(2).replace("-", "−")}, weight 0 (with the model’s own masks 0.040)`);
  point(matrix.canvases.scores, "pointerleave");
  assert.deepEqual([matrix.says(), matrix.frames("mask")], ["Click a cell.", []]);
});

test("the answer to an edit leaves what is pointed at, with its numbers as they are by then", () => {
  const matrix = made();
  matrix.click(5);
  matrix.hand("move", 6);
  matrix.tell();
  const [[, { revision }]] = matrix.told;
  matrix.update(data({ turned: [5], revision, ran: edited(5) }));
  assert.deepEqual(matrix.frames("scores"), [HUES.query, HUES.key, HUES.cell]);
  assert.match(matrix.says(), new RegExp(`^query 1 “chat” → key 1 “cat”: may attend; .* weight ${softmax(edited(5))[6].toFixed(3)} `));
});

test("a drag that draws is not diverted by the cells under it elsewhere", () => {
  const matrix = made();
  matrix.hand("down", 3);
  point(matrix.canvases.scores, "pointermove", matrix.at(...matrix.middle(7, "scores")));
  point(matrix.canvases.mask, "pointerleave");
  matrix.hand("move", 4);
  assert.match(matrix.says(), /^query 0 “le” → key 4 “\[PAD\]”: may attend/);
  point(matrix.canvases.mask, "pointerleave");
  assert.match(matrix.says(), /^query 0 /);
});

test("the chips say what the model says at each place, marked where that is another token, and light up with their row", () => {
  const rows = [ROW({ place: 0, now: 0.004, says: "blanc" }), ROW({ before: 1, now: 0.25 })];
  const outputs = { rows, words: [], counted: "pass: 1 of 2", areQueries: true };
  const matrix = made({ outputs });
  const chips = matrix.findAll(".chip");
  assert.deepEqual(chips.map((chip) => chip.classList.contains("changed")), [true, false]);
  assert.deepEqual(chips.map((chip) => chip.querySelector(".says")?.textContent), ["blanc", undefined]);
  assert.deepEqual(chips.map((chip) => chip.querySelector(".numbers").textContent), [".25 → <.01", "1.00 → .25"]);
  assert.equal(chips[0].title, "position 0: “noir” <.01, before .25; prediction “blanc”, before “noir”");
  const lit = () => matrix.findAll(".chip").map((chip) => chip.classList.contains("lit"));
  point(chips[1].firstElementChild, "mouseover");
  assert.deepEqual([lit(), matrix.frames("scores")], [[false, true], [HUES.query]]);
  point(matrix.find(".chips"), "mouseleave");
  assert.deepEqual([lit(), matrix.frames("scores")], [[false, false], []]);
  matrix.update(data({ outputs: { ...outputs, areQueries: false } }));
  point(matrix.find(".chip"), "mouseover");
  matrix.key("ArrowDown");
  assert.deepEqual(lit(), [false, false]);
  matrix.update(data({ outputs: { ...outputs, rows: [ROW({ now: null })] } })); // without an outcome: what was before, alone
  const [chip] = matrix.findAll(".chip");
  assert.deepEqual([chip.querySelector(".numbers").textContent, chip.querySelectorAll(".bars i").length, chip.title, chip.matches(".changed")], [".25", 1, "", false]);
});
