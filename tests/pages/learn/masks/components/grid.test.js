// A mask as it is drawn: each cell, label, number, corner and frame where its query and key are, and the part at a point.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Canvas, isNear, random, read } from "../../../canvas.js";
import { arrange, drawCells, drawLabels, hasRoom, placeAt } from "../../../../../pages/learn/masks/components/masks/grid.js";
import { paintMiniature, prepare } from "../../../../../pages/learn/masks/components/masks/paint.js";

const HUES = { query: "#112233", key: "#445566", cell: "#aa0000" };
const COLORS = { text: "#000001", muted: "#000002", allowed: "#00ff00", forbidden: "#808080" };
const labelsOf = (name, n) => Array.from({ length: n }, (_, i) => `${name}${i}`);

function made({ rows, columns, room = 400, most = 30 }) {
  const labels = { query: labelsOf("q", rows), key: labelsOf("k", columns) };
  const grid = arrange({ rows, columns, labels, room, most, space: 80 });
  const canvas = new Canvas();
  const context = prepare(canvas, grid.width, grid.height);
  return { labels, grid, canvas, context };
}

/** The middle of a cell, in px. */
const middle = ({ left, top, pitch }, row, column) => [left + (column + 0.5) * pitch, top + (row + 0.5) * pitch];

function eachCell({ rows, columns }, check) {
  for (let row = 0; row < rows; row++) for (let column = 0; column < columns; column++) check(row, column, row * columns + column);
}

const SIZES = [{ rows: 4, columns: 7 }, { rows: 40, columns: 64 }];

test("each cell has its own color and its own words", () => {
  for (const size of SIZES) {
    const { grid, canvas, context } = made(size);
    const colorOf = (cell) => `rgb(${cell % 256},${(cell * 7) % 256},${(cell * 31) % 256})`;
    drawCells(context, grid, colorOf, (cell) => (cell % 3 ? { text: `c${cell}`, color: COLORS.text } : null));
    eachCell(size, (row, column, cell) => {
      const [x, y] = middle(grid, row, column).map(Math.floor);
      assert.deepEqual(canvas.pixel(x, y).slice(0, 3), read(colorOf(cell)).slice(0, 3));
    });
    const { texts } = context;
    const hasWords = grid.pitch >= 15;
    assert.equal(texts.length, hasWords ? size.rows * size.columns - Math.ceil((size.rows * size.columns) / 3) : 0);
    for (const { text, x, y } of texts) {
      const cell = Number(text.slice(1));
      assert.deepEqual(placeAt(grid, x, y), { row: Math.floor(cell / size.columns), column: cell % size.columns });
    }
  }
});

test("the part under a point is the cell, the query or the key that is drawn there", () => {
  for (const size of SIZES) {
    const { grid } = made(size);
    const { left, top, pitch } = grid;
    eachCell(size, (row, column) => {
      for (const [across, down] of [[0.05, 0.05], [0.95, 0.95], [0.5, 0.5], [0.05, 0.95]]) {
        const [x, y] = [left + (column + across) * pitch, top + (row + down) * pitch];
        assert.deepEqual(placeAt(grid, x, y), { row, column });
      }
      assert.deepEqual(placeAt(grid, left - 3, top + (row + 0.9) * pitch), { row, column: null });
      for (const high of [1, 20]) { // labels of keys rise to the right
        assert.deepEqual(placeAt(grid, left + (column + 0.9) * pitch + high, top - high), { row: null, column });
      }
    });
    assert.equal(placeAt(grid, left + size.columns * pitch + 1, top + 1), null);
    assert.equal(placeAt(grid, left + 1, top + size.rows * pitch + 1), null);
  }
});

test("labels stand beside their rows and above their columns, and the one that is pointed at says its token", () => {
  for (const size of SIZES) {
    for (const pointed of [null, { row: 2, column: 1 }]) {
      const { grid, context, labels } = made(size);
      const words = { query: labels.query.map((text) => `${text}!`), key: labels.key.map((text) => `${text}!`) };
      const isFaint = (side, index) => index >= (side === "query" ? 3 : 2);
      drawLabels(context, grid, { labels, words, hues: HUES, colors: COLORS, pointed, isFaint });
      for (const { text, x, y, color, align } of context.texts) {
        const [, side, index] = text.match(/^([qk])(\d+)/);
        const isRow = side === "q";
        const isPointed = pointed?.[isRow ? "row" : "column"] === Number(index);
        assert.equal(text.endsWith("!"), isPointed);
        const [across, down] = middle(grid, Number(index), Number(index));
        assert.equal(align, isRow ? "right" : "left");
        assert.ok(Math.abs(isRow ? y - down : x - across) < 0.01, text);
        assert.ok(isRow ? x < grid.left : y < grid.top);
        const plain = isFaint(isRow ? "query" : "key", Number(index)) ? COLORS.muted : COLORS.text;
        assert.equal(color, isPointed ? HUES[isRow ? "query" : "key"] : plain, text);
      }
      const drawn = context.texts.map(({ text }) => text.replace("!", ""));
      assert.equal(new Set(drawn).size, drawn.length);
      if (hasRoom(grid)) assert.deepEqual(drawn, [...labels.query, ...labels.key]);
      else assert.ok(drawn.length > 6 && drawn.length < size.rows + size.columns);
      if (pointed) assert.ok(drawn.includes("q2") && drawn.includes("k1"));
    }
  }
});

test("no label of a key touches the next one, and a point on it is its own, at any size where words have room", () => {
  for (let most = 8; most <= 30; most++) {
    const { grid, context, labels } = made({ rows: 9, columns: 9, most });
    if (!hasRoom(grid)) continue;
    drawLabels(context, grid, { labels, words: labels, hues: HUES, colors: COLORS, pointed: null, isFaint: () => false });
    const [one, next] = context.texts.filter(({ text }) => text.startsWith("k"));
    const apart = (next.x - one.x) * (grid.isUpright ? 1 : Math.SQRT1_2); // from line to line
    assert.ok(apart >= parseFloat(one.font), `${apart} px for ${one.font}`);
    const rise = grid.isUpright ? 0 : 15;
    assert.deepEqual(placeAt(grid, next.x + rise, grid.top - 15), { row: null, column: 1 });
  }
});

test("a miniature shows its mask, rows as rows, at any size", () => {
  for (const [rows, columns, side] of [[3, 5, 60], [5, 2, 60], [40, 40, 96], [7, 1, 50]]) {
    const next = random(rows);
    const cells = Uint8Array.from({ length: rows * columns }, () => Number(next() < 0.5));
    const canvas = new Canvas();
    paintMiniature(canvas, { rows, columns, cells }, COLORS, side);
    assert.ok(Math.max(canvas.width, canvas.height) <= side);
    eachCell({ rows, columns }, (row, column, cell) => {
      const at = [((column + 0.4) * canvas.width) / columns, ((row + 0.4) * canvas.height) / rows].map(Math.floor);
      const color = cells[cell] ? COLORS.allowed : COLORS.forbidden;
      assert.ok(isNear(canvas.pixel(...at), read(color)), `row ${row}, column ${column} of ${rows} x ${columns}`);
    });
  }
});
