// Heads for the tests of the overview: of two attentions, with other numbers of layers, heads, queries and keys each.

import { between, isNear, random, read } from "../../canvas.js";
import { place, resize, shown } from "../../dom.js";
import { packed } from "../../packed.js";
import show from "../../../../pages/components/overview/overview.js";

export const FORBIDDEN = 255;
export const SCALES = {
  light: { sequential: [[0, "#ffffff"], [0.5, "#8040c0"], [1, "#101020"]], forbidden: "#c8ccd0", notFinite: "#d01080" },
  dark: { sequential: [[0, "#000000"], [0.5, "#206020"], [1, "#f0f0d0"]], forbidden: "#404448", notFinite: "#d01080" },
};

const strongestOf = (attention, layers, heads) =>
  Array.from({ length: layers }, (_, layer) => Array.from({ length: heads }, (_, head) => `“${attention}” → “${layer}-${head}” 0.5`));

export const group = (attention, layers, heads, queries, keys) => ({
  ...{ attention, title: `${attention} attention`, layers, heads, queries, keys },
  strongest: strongestOf(attention, layers, heads),
});
export const GROUPS = [group("encoder", 2, 3, 4, 4), group("cross", 3, 4, 5, 3)];

export const MEASURE = {
  ...{ name: "entropy", title: "How widely a head looks", unit: "nats" },
  values: { encoder: [[0.5, 2, 1], [0.1, null, 3]], cross: [[1, 2, 0, 1.5], [1, 2, 0, 1.25], [4, 5, null, -1]] },
  ends: [0, 4],
};

/** What comes before the bytes. */
export const headerOf = (more = {}) => ({
  ...{ groups: GROUPS, chosen: { revision: 1, value: { attention: "encoder", layer: 0, head: 1 } }, version: "1" },
  ...{ scales: SCALES, measure: null, order: "", pinned: [], canPin: false, only: null, divided: null, ...more },
});

const nHeads = (groups) => groups.reduce((sum, { layers, heads }) => sum + layers * heads, 0);
const nCells = (groups) => groups.reduce((sum, { layers, heads, queries, keys }) => sum + layers * heads * queries * keys, 0);

/** A byte a cell that looks random. */
export function bytesOf(groups, seed = 3) {
  const next = random(seed);
  return Uint8Array.from({ length: nCells(groups) }, () => (next() < 0.2 ? FORBIDDEN : Math.floor(next() * 255)));
}

/** The bytes of each head of some pictures, in the order of `headsOf`. */
export function patternsOf(groups, bytes) {
  let offset = 0;
  return groups.flatMap(({ layers, heads, queries, keys }) =>
    Array.from({ length: layers * heads }, () => bytes.subarray(offset, (offset += queries * keys))),
  );
}

/** Attention, layer, head, rows and columns of each head, layer by layer. */
export const headsOf = (groups) =>
  groups.flatMap(({ attention, layers, heads, queries: rows, keys: columns }) =>
    Array.from({ length: layers * heads }, (_, i) => ({ attention, layer: Math.floor(i / heads), head: i % heads, rows, columns })),
  );

export const dataOf = (more = {}, seed = 3) => {
  const header = headerOf(more);
  return packed(header, bytesOf(header.groups, seed));
};

/** An overview on the page, with what its tests ask for. */
export function overviewOf(more = {}, { size = [800, 400], seed = 3 } = {}) {
  const overview = shown(show, "overview", dataOf(more, seed), { size });
  const button = (attention, layer, head) =>
    overview.findAll("button.head").find((it) => it.getAttribute("aria-label").startsWith(`${attention} attention L${layer}.H${head}.`));
  const buttons = () => overview.findAll("button.head");
  const names = () => buttons().map((it) => it.getAttribute("aria-label").match(/^(\w+) attention L(\d+)\.H(\d+)\./).slice(1).join(" "));
  return { ...overview, button, buttons, names };
}

const CELL = 4; // px

/** Places the buttons side by side, with this many px a cell, and lets the overview paint. */
export function lay(overview, groups = GROUPS) {
  const heads = headsOf(groups);
  const drawn = overview.buttons();
  drawn.forEach((button, i) => {
    const { rows, columns } = heads.find(({ attention, layer, head }) => overview.button(attention, layer, head) === button);
    place(button, { left: 7 + 30 * i, top: 11 + 3 * i, width: CELL * columns, height: CELL * rows });
  });
  resize(overview.find(".field"), 30 * nHeads(groups) + 20, 100);
}

/** Whether the picture under a button is painted as these bytes say. */
export function isPainted(overview, { attention, layer, head, rows, columns }, bytes, theme = "light") {
  const { left, top } = overview.button(attention, layer, head).getBoundingClientRect();
  const { sequential, forbidden, notFinite } = SCALES[theme];
  const canvas = overview.find("canvas.pixels");
  return [...bytes].length === rows * columns && [...bytes].every((level, cell) => {
    const color =
      level === FORBIDDEN ? read(forbidden) : level === 254 ? read(notFinite) : between(sequential, level / 253);
    return isNear(canvas.pixel(left + CELL * (cell % columns) + CELL / 2, top + CELL * Math.floor(cell / columns) + CELL / 2), color);
  });
}
