// One head as a heatmap: queries are rows, keys are columns, the darker the more attention. What is pointed at, or chosen
// with the arrow keys, is named with its weight.

import { announce } from "../kit/announce.js";
import { brushOf, isolated } from "../kit/canvas.js";
import { channels, mixed } from "../kit/colors.js";
import { element } from "../kit/elements.js";
import { fixed } from "../kit/numbers.js";
import { inRows } from "../kit/roving.js";
import { say } from "../kit/say.js";
import { leastText, legible, watchTheme } from "../kit/theme.js";
import { layOut, placesOfLabels, shortened } from "./layout.js";

const N_COLORS = 256;
const WITH_NUMBERS = 2.18; // sizes of a number, the side of a cell from which its weight is written in it
const WITH_GAPS = 9; // px, the side from which there is a gap between cells
const FAINT = 0.05; // smaller weights are not written, as in the figures
const DEEP = 0.4; // the weight from which numbers are written in the color of the ground, as in the figures

/**
 * @typedef {object} Scale - the colors of a theme
 * @property {[number, string][]} sequential - for weights from 0 to 1
 * @property {string} forbidden
 * @property {string} notFinite
 * @property {string} text
 * @property {string} muted
 * @property {string} ground
 */

/**
 * @typedef {object} Heatmap - what is drawn
 * @property {string} name - of the head
 * @property {string[]} queries - labels
 * @property {string[]} keys
 * @property {Float32Array} weights - in [0, 1], row by row; NaN: not finite; -1: the mask does not allow the cell
 * @property {number} decimals - of a weight in words
 * @property {number | null} step - the query of a decoding step: it is framed, and later ones are faint; null: none
 * @property {{query: string, key: string}} titles
 * @property {{query: string, key: string}} colors - of the titles
 * @property {Record<"light" | "dark", Scale>} scales
 */

/** @param {HTMLElement} root */
export function makeHeatmap(root) {
  /** @type {Record<string, any>} */
  const view = { root, cell: null, data: null };
  view.box = element("div", "cells");
  view.box.tabIndex = 0;
  view.box.setAttribute("role", "application");
  view.canvas = element("canvas", "");
  view.canvas.setAttribute("aria-hidden", "true");
  view.frame = element("div", "frame");
  view.tip = element("div", "tip");
  view.tip.setAttribute("aria-hidden", "true"); // it is announced
  view.frame.hidden = view.tip.hidden = true;
  view.box.append(view.canvas, view.frame);
  root.append(view.box, view.tip);
  view.theme = watchTheme(root, () => paint(view));
  new ResizeObserver(() => paint(view)).observe(root);
  view.box.addEventListener("pointermove", (event) => point(view, cellAt(view, event)));
  view.box.addEventListener("pointerleave", () => point(view, null));
  view.box.addEventListener("keydown", (event) => walk(view, event));
  view.box.addEventListener("blur", () => point(view, null));
  return view;
}

/**
 * @param {Record<string, any>} view
 * @param {Heatmap} data
 */
export function updateHeatmap(view, data) {
  const { queries, keys, name } = data;
  const isInside = view.cell && view.cell.row < queries.length && view.cell.column < keys.length;
  Object.assign(view, { data, cell: isInside ? view.cell : null, pixels: null });
  view.box.setAttribute(
    "aria-label",
    say("Attention weights of {name}: {queries} queries by {keys} keys. Use the arrow keys to read them.", {
      name,
      queries: queries.length,
      keys: keys.length,
    }),
  );
  paint(view);
}

function cellAt(/** @type {Record<string, any>} */ { data, places, canvas }, { clientX, clientY }) {
  if (!places) return null;
  const box = canvas.getBoundingClientRect();
  const column = Math.floor((clientX - box.left - places.left) / places.pitch);
  const row = Math.floor((clientY - box.top - places.top) / places.pitch);
  const isInside = row >= 0 && column >= 0 && row < data.queries.length && column < data.keys.length;
  return isInside ? { row, column } : null;
}

function point(view, cell) {
  if (cell?.row === view.cell?.row && cell?.column === view.cell?.column) return;
  view.cell = cell;
  paint(view);
}

function walk(view, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !view.data) return;
  const { queries, keys } = view.data;
  const from = view.cell ?? { row: 0, column: -1 };
  const next = event.key === "Escape" ? null : inRows(event.key, from, queries.map(() => keys.length));
  if (next === undefined) return;
  event.preventDefault();
  point(view, next);
  if (next) announce(wordsOf(view, next).join(" "));
}

function wordsOf({ data }, { row, column }) {
  const weight = data.weights[row * data.keys.length + column];
  const cell = say("“{query}” → “{key}”", { query: data.queries[row], key: data.keys[column] });
  if (weight < 0) return [cell, say("masked")];
  return [cell, Number.isNaN(weight) ? say("not finite") : fixed(weight, data.decimals)];
}

/**
 * The heatmap as it is drawn, without the cell that is pointed at.
 *
 * @param {Record<string, any>} view
 * @param {number} ratio - pixels of the picture for one of the page
 * @returns {HTMLCanvasElement}
 */
export function pictureOf(view, ratio) {
  const canvas = element("canvas", "");
  paintOn({ ...view, cell: null }, canvas, ratio);
  return canvas;
}

function paint(view) {
  const { root, canvas, data } = view;
  if (!data || !root.clientWidth || !root.clientHeight) return;
  canvas.style.width = `${root.clientWidth}px`;
  canvas.style.height = `${root.clientHeight}px`;
  paintOn(view, canvas, window.devicePixelRatio || 1);
  showCell(view);
}

function paintOn(view, canvas, ratio) {
  const { root, data } = view;
  const inks = data.scales[view.theme()];
  canvas.width = Math.round(root.clientWidth * ratio);
  canvas.height = Math.round(root.clientHeight * ratio);
  const brush = brushOf(canvas);
  brush.scale(ratio, ratio);
  brush.fillStyle = inks.ground;
  brush.fillRect(0, 0, root.clientWidth, root.clientHeight);
  view.places = layOut(brush, getComputedStyle(root).fontFamily, data, root.clientWidth, root.clientHeight, leastText(root));
  paintCells(view, brush, inks, ratio);
  paintStep(view, brush, inks);
  paintLabels(view, brush, inks);
}

function paintCells(view, brush, inks, ratio) {
  const { data, places } = view;
  const { left, top, pitch } = places;
  const [rows, columns] = [data.queries.length, data.keys.length];
  brush.imageSmoothingEnabled = false;
  brush.drawImage(picture(view, rows, columns), left, top, columns * pitch, rows * pitch);
  if (pitch < WITH_GAPS) return;
  brush.fillStyle = inks.ground;
  const gap = 1 / ratio;
  for (let row = 1; row < rows; row++) brush.fillRect(left, top + row * pitch, columns * pitch, gap);
  for (let column = 1; column < columns; column++) brush.fillRect(left + column * pitch, top, gap, rows * pitch);
  const size = legible(view.root, 11);
  if (pitch < WITH_NUMBERS * size) return;
  brush.font = `${size}px ${places.family}`;
  brush.textAlign = "center";
  brush.textBaseline = "middle";
  data.weights.forEach((weight, cell) => {
    if (!(weight >= FAINT)) return; // masked, not finite, or close to 0
    brush.fillStyle = weight > DEEP ? inks.ground : inks.text;
    const [row, column] = [Math.floor(cell / columns), cell % columns];
    brush.fillText(fixed(weight, 2).replace(/^0/u, ""), left + (column + 0.5) * pitch, top + (row + 0.5) * pitch);
  });
}

function paintStep({ data, places }, brush, inks) {
  if (data.step === null) return;
  const { left, top, pitch } = places;
  const [width, below] = [data.keys.length * pitch, (data.step + 1) * pitch];
  brush.globalAlpha = 0.82;
  brush.fillStyle = inks.ground;
  brush.fillRect(left, top + below, width, data.queries.length * pitch - below);
  brush.globalAlpha = 1;
  brush.strokeStyle = inks.text;
  brush.lineWidth = 1.5;
  brush.strokeRect(left, top + below - pitch, width, pitch);
}

function picture(view, rows, columns) {
  const { data } = view;
  const theme = view.theme();
  if (view.pixels?.theme === theme) return view.pixels.canvas;
  const { sequential, forbidden, notFinite } = data.scales[theme];
  const stops = sequential.map(([value, color]) => [value, channels(color)]);
  const shades = Array.from({ length: N_COLORS }, (_, i) => mixed(stops, i / (N_COLORS - 1)));
  /** @type {any} */
  const canvas = new OffscreenCanvas(columns, rows);
  const image = new ImageData(columns, rows);
  data.weights.forEach((weight, cell) => {
    const color =
      weight < 0
        ? channels(forbidden)
        : Number.isNaN(weight)
          ? channels(notFinite)
          : shades[Math.round(Math.min(weight, 1) * (N_COLORS - 1))];
    image.data.set([...color, 255], 4 * cell);
  });
  brushOf(canvas).putImageData(image, 0, 0);
  view.pixels = { theme, canvas };
  return canvas;
}

function paintLabels({ root, data, places, cell }, brush, inks) {
  const { left, top, pitch, size, family, angle } = places;
  const labels = { query: data.queries, key: data.keys };
  brush.textBaseline = "middle";
  for (const side of /** @type {const} */ (["query", "key"])) {
    const chosen = cell ? (side === "query" ? cell.row : cell.column) : null;
    for (const place of placesOfLabels(labels[side].length, pitch, size, chosen)) {
      const isChosen = place === chosen;
      brush.font = `${isChosen ? "600 " : ""}${size}px ${family}`;
      brush.fillStyle = isChosen ? inks.text : cell ? inks.muted : inks.text;
      brush.save();
      const middle = (place + 0.5) * pitch;
      if (side === "query") brush.translate(left - 6, top + middle);
      else brush.translate(left + middle, top - 6);
      if (side === "key") brush.rotate((-angle * Math.PI) / 180);
      brush.textAlign = side === "query" ? "right" : angle ? "left" : "center";
      brush.fillText(isolated(shortened(labels[side][place])), 0, side === "key" && !angle ? -size / 2 : 0);
      brush.restore();
    }
  }
  brush.font = `600 ${legible(root, 12)}px ${family}`;
  brush.textAlign = "right";
  brush.fillStyle = data.colors.key;
  brush.fillText(`${data.titles.key} →`, left - 8, Math.max(8, top - 30));
  brush.fillStyle = data.colors.query;
  brush.fillText(`${data.titles.query} ↓`, left - 8, Math.max(24, top - 14));
}

function showCell(view) {
  const { cell, frame, tip, places, root } = view;
  frame.hidden = tip.hidden = !cell;
  if (!cell) return;
  const { left, top, pitch } = places;
  const side = Math.max(pitch, 6);
  const [x, y] = [left + (cell.column + 0.5) * pitch, top + (cell.row + 0.5) * pitch];
  Object.assign(frame.style, { left: `${x - side / 2}px`, top: `${y - side / 2}px`, width: `${side}px`, height: `${side}px` });
  const [name, weight] = wordsOf(view, cell);
  tip.replaceChildren(element("span", "", name), element("span", "weight", weight));
  const below = y + side / 2 + 8;
  const fits = below + tip.offsetHeight < root.clientHeight;
  tip.style.top = `${fits ? below : y - side / 2 - tip.offsetHeight - 8}px`;
  tip.style.left = `${Math.min(Math.max(x - tip.offsetWidth / 2, 0), Math.max(root.clientWidth - tip.offsetWidth, 0))}px`;
}
