// Draws a matrix of queries and keys: cells, the labels around them, and what is pointed at.

import { isolated, measureIn } from "../../../../../headlight/components/kit/canvas.js";
import { roundStep } from "../../../../../headlight/components/kit/numbers.js";

const SLANT = Math.SQRT1_2;
const FAMILY = '"Source Sans", "Source Sans 3", "Helvetica Neue", Arial, sans-serif';
const LARGEST = 12; // px, of a label

export function arrange({ rows, columns, labels, room, most, space, least = 0 }) {
  // Where the cells lie, in CSS pixels, in a place that is `room` wide; labels take up to `space` of it.
  // least: px, that no label is smaller than.
  const widest = (text) => widthOf(text) * Math.max(LARGEST, least);
  const longest = (texts) => Math.min(space, Math.max(0, ...texts.map(widest)) + 10);
  const left = Math.ceil(longest(labels.query));
  const last = Math.min(space, widest(labels.key.at(-1) ?? "") + 10);
  const pitchBefore = (beyond) => {
    const fitting = Math.min((room - left - beyond) / columns, most);
    return fitting >= 7 ? Math.floor(fitting) : Math.max(fitting, 2);
  };
  const slanted = pitchBefore(Math.ceil(last * SLANT));
  const isUpright = hasRoom({ pitch: slanted, least }) && slanted * SLANT < 1.08 * sizeAt({ pitch: slanted, least }); // slanted ones would touch
  const pitch = isUpright ? pitchBefore(0) : slanted;
  const top = Math.ceil(longest(labels.key) * (isUpright ? 1 : SLANT)) + 12;
  return { left, top, pitch, isUpright, width: room, height: top + rows * pitch + 2, rows, columns, space, least };
}

const widthOfHundred = measureIn(`100px ${FAMILY}`);
const widthOf = (text) => widthOfHundred(text) / 100; // in sizes

function shortened(text, most) {
  // To a width in sizes.
  if (widthOf(text) <= most) return text;
  const letters = [...text];
  while (letters.length > 1 && widthOf(`${letters.join("")}…`) > most) letters.pop();
  return `${letters.join("")}…`;
}

export function placeAt({ left, top, pitch, isUpright, rows, columns }, x, y) {
  // What lies under a point: a cell, a query (its label), or a key (its label, slanted or upright).
  const row = Math.floor((y - top) / pitch);
  if (x < left) return row >= 0 && row < rows ? { row, column: null } : null;
  if (y < top) {
    const column = Math.floor((x - (isUpright ? 0 : top - y) - left) / pitch);
    return column >= 0 && column < columns ? { row: null, column } : null;
  }
  const column = Math.floor((x - left) / pitch);
  return row >= 0 && row < rows && column < columns ? { row, column } : null;
}

export function drawCells(context, grid, paintCell, word) {
  // paintCell: of a cell its color; word: of a cell what is written into it, with its color, or null.
  const { left, top, pitch, rows, columns } = grid;
  const gap = pitch >= 6 ? 1 : 0;
  for (let row = 0, cell = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, cell++) {
      context.fillStyle = paintCell(cell);
      context.fillRect(left + column * pitch, top + row * pitch, pitch - gap, pitch - gap);
    }
  }
  if (pitch < 15) return;
  context.font = fontOf(Math.max(Math.min(LARGEST, Math.floor(pitch * 0.56)), grid.least));
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let cell = 0; cell < rows * columns; cell++) {
    const label = word(cell, pitch);
    if (!label) continue;
    context.fillStyle = label.color;
    const [row, column] = [Math.floor(cell / columns), cell % columns];
    context.fillText(label.text, left + (column + 0.5) * pitch - gap / 2, top + (row + 0.5) * pitch);
  }
}

export function drawTurned(context, { left, top, pitch, columns }, cells, color) {
  // A corner in each cell that is not as the preset has it.
  context.fillStyle = color;
  const size = Math.max(2.5, Math.min(8, pitch * 0.42));
  for (const cell of cells) {
    const [x, y] = [left + (cell % columns) * pitch, top + Math.floor(cell / columns) * pitch];
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + size, y);
    context.lineTo(x, y + size);
    context.fill();
  }
}

export function drawBorder(context, { left, top, pitch, rows, columns }, border, color) {
  // Lines between two texts: before the row and the column of the second one.
  context.strokeStyle = color;
  context.lineWidth = 1.5;
  context.beginPath();
  if (border.query) {
    context.moveTo(left, top + border.query * pitch - 0.5);
    context.lineTo(left + columns * pitch, top + border.query * pitch - 0.5);
  }
  if (border.key) {
    context.moveTo(left + border.key * pitch - 0.5, top);
    context.lineTo(left + border.key * pitch - 0.5, top + rows * pitch);
  }
  context.stroke();
}

function fontOf(size) {
  return `${size}px ${FAMILY}`;
}

function sizeAt({ pitch, least }) {
  return Math.max(Math.min(LARGEST, Math.max(7, Math.floor(0.93 * pitch))), least); // px, of a label
}

export function hasRoom(grid) {
  // Whether every row and column can be labelled; else numbers are, here and there.
  return 1.08 * sizeAt(grid) <= grid.pitch;
}

export function drawLabels(context, grid, { labels, words, hues, colors, pointed, isFaint }) {
  // labels: a word or a number for each row and column; words: of what is pointed at.
  const { left, top, pitch, isUpright, rows, columns, space } = grid;
  const size = sizeAt(grid);
  const apart = (1.08 * size) / pitch; // cells, from one label to the next
  const step = roundStep(apart);
  const font = fontOf(size);
  context.textBaseline = "middle";
  const shows = (index, chosen) => {
    const isBeside = chosen !== null && Math.abs(index - chosen) < apart; // the chosen one needs the room
    return isBeside ? index === chosen : index % step === 0;
  };
  context.textAlign = "right";
  for (let row = 0; row < rows; row++) {
    if (!shows(row, pointed?.row ?? null)) continue;
    const isPointed = pointed?.row === row;
    context.fillStyle = isPointed ? hues.query : isFaint("query", row) ? colors.muted : colors.text;
    context.font = isPointed ? `600 ${font}` : font;
    const label = isolated(shortened((isPointed ? words : labels).query[row], (space - 12) / size));
    context.fillText(label, left - 6, top + (row + 0.5) * pitch);
  }
  context.textAlign = "left";
  for (let column = 0; column < columns; column++) {
    if (!shows(column, pointed?.column ?? null)) continue;
    const isPointed = pointed?.column === column;
    context.fillStyle = isPointed ? hues.key : isFaint("key", column) ? colors.muted : colors.text;
    context.font = isPointed ? `600 ${font}` : font;
    context.save();
    context.translate(left + (column + 0.5) * pitch, top - 5);
    context.rotate(isUpright ? -Math.PI / 2 : -Math.PI / 4);
    context.fillText(isolated(shortened((isPointed ? words : labels).key[column], (space - 12) / size)), 0, 0);
    context.restore();
  }
}

export function drawFrames(context, { left, top, pitch, rows, columns }, pointed, hues) {
  if (!pointed) return;
  const frame = (column, row, width, height, color, thick) => {
    context.strokeStyle = color;
    context.lineWidth = thick;
    context.strokeRect(left + column * pitch - 0.5, top + row * pitch - 0.5, width * pitch, height * pitch);
  };
  const { row, column } = pointed;
  if (row !== null) frame(0, row, columns, 1, hues.query, 1.5);
  if (column !== null) frame(column, 0, 1, rows, hues.key, 1.5);
  if (row !== null && column !== null) frame(column, row, 1, 1, hues.cell, 2.5);
}
