// The pictures of heads: each cell where it belongs, in the color of its weight; what has no room is the largest of several.

import assert from "node:assert/strict";
import { test } from "node:test";

import { between, boxOf, Canvas, isNear, random, read } from "../canvas.js";
import { FORBIDDEN, SCALES } from "./overview/heads.js";
import { paint } from "../../../headlight/components/overview/thumbnails.js";

const DIVIDER = "#ff0000";

function painted({ rows, columns, width, height, divided = null, seed = 3, ratio = 1 }) {
  const next = random(seed);
  const heads = [[10, 20], [30 + width, 40]].map(([left, top]) => ({
    rows,
    columns,
    levels: Uint8Array.from({ length: rows * columns }, () => (next() < 0.2 ? FORBIDDEN : Math.floor(next() * 255))),
    button: { getBoundingClientRect: () => boxOf(left, top, width, height) },
  }));
  const size = { offsetWidth: 60 + 2 * width, offsetHeight: 60 + height };
  const field = { ...size, getBoundingClientRect: () => boxOf(5, 5, size.offsetWidth, size.offsetHeight) };
  const canvas = new Canvas();
  globalThis.devicePixelRatio = ratio;
  const view = { canvas, field, header: { scales: SCALES, divided }, rows: [heads], theme: () => "light" };
  paint(view);
  globalThis.devicePixelRatio = 1;
  return { canvas, heads };
}

const { forbidden, notFinite, sequential } = SCALES.light;
const colorOf = (level) =>
  level === FORBIDDEN ? read(forbidden) : level === 254 ? read(notFinite) : between(sequential, level / 253);

test("each cell of each head is where it belongs, in the color of its weight", () => {
  for (const [rows, columns, ratio] of [[3, 5, 1], [5, 3, 2]]) {
    const { canvas, heads } = painted({ rows, columns, width: 10 * columns, height: 10 * rows, ratio });
    for (const { levels, button } of heads) {
      const { left, top } = button.getBoundingClientRect();
      levels.forEach((level, cell) => {
        const [row, column] = [Math.floor(cell / columns), cell % columns];
        const at = [left - 5 + 10 * column + 5, top - 5 + 10 * row + 5].map((px) => px * ratio);
        assert.ok(isNear(canvas.pixel(...at), colorOf(level)), `row ${row}, column ${column} of ${rows} x ${columns}`);
      });
    }
  }
});

test("a pixel of many cells has the color of the largest, and what is forbidden counts least", () => {
  const [rows, columns, size] = [35, 50, 20];
  const { canvas, heads } = painted({ rows, columns, width: size, height: size });
  for (const { levels, button } of heads) {
    const { left, top } = button.getBoundingClientRect();
    for (let y = 0; y < size; y++) {
      for (let x = 0; x < size; x++) {
        const cells = [...levels.keys()].filter((cell) => {
          const [row, column] = [Math.floor(cell / columns), cell % columns];
          return Math.floor((row * size) / rows) === y && Math.floor((column * size) / columns) === x;
        });
        const largest = Math.max(...cells.map((cell) => (levels[cell] === FORBIDDEN ? -1 : levels[cell])));
        const color = colorOf(largest < 0 ? FORBIDDEN : largest);
        assert.ok(isNear(canvas.pixel(left - 5 + x, top - 5 + y), color), `pixel ${x}, ${y}`);
      }
    }
  }
});

test("lines part the text from what was written after it, along both axes of each picture", () => {
  const [width, height, share] = [80, 40, 0.25];
  const { canvas, heads } = painted({ rows: 2, columns: 4, width, height, divided: { share, dash: 2, color: DIVIDER } });
  const lines = canvas.brush.paths.filter(({ kind, color }) => kind === "stroke" && color === DIVIDER);
  assert.equal(lines.length, heads.length);
  const { left, top } = heads[0].button.getBoundingClientRect();
  assert.deepEqual(lines[0].points[0], ["M", left - 5 + share * width - 0.5, top - 5]);
});
