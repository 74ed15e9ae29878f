// A figure laid out for the place that it is drawn in. Saved pages hold these functions too, as text.

import { measureIn } from "../../../headlight/components/kit/canvas.js";
import { roundStep } from "../../../headlight/components/kit/numbers.js";
import { plain } from "./numbers.js";

export const LAYOUT = {
  beside: 190, // px, that labels, color bar and margins take from a matrix's width at most
  around: 104, // px, that color bar, margins and the name of its rows take, without their labels
  least: { grid: 110, plain: 70 }, // px, that they take at least, of a matrix and of bars
  labels: [13, 12, 11, 10, 9, 8, 7], // px, the sizes of labels, of which the first that fits is taken
  legible: 9.3, // px, 7 pt: rather than become smaller, labels turn
  slanted: 1.65, // sizes from one slanted label to the next
  upright: 1.25, // sizes from one label to the next, if they are upright or one below the other
  tight: 1.1, // the same, where labels do not become smaller
  row: 20, // px, the height of a row of few
  title: 15, // px, the size of a title where it fits
  inCells: 11, // px, the size of texts in a figure
  small: 12, // px: the size of a title in two lines, where it would be smaller in one
  letter: 0.47, // the width of a letter, on the average, in sizes
};

export function layOut(figure, width, height, taken = 0, ofLegend = 0) {
  // taken: px of the title's line that something else takes; ofLegend: more of them, where there is a legend.
  Object.assign(figure.layout, { width, height });
  dropTightTexts(figure, width);
  fitColumns(figure, width);
  fitPanelNames(figure.layout, width);
  fitTitle(figure.layout, width - taken - (figure.layout.meta?.legend ? ofLegend : 0));
  fitRows(figure, height);
}

export function fitTitle(layout, room) {
  const { title, margin, meta } = layout;
  if (!title?.text) return;
  const forms = [title.text, ...(meta?.beside?.title ?? [])].map((text) => titleForm({ ...title, text }, room, leastOf(layout)));
  const [{ lines, size }] = forms;
  if (size < LAYOUT.title) title.font = { size };
  if (lines.length > 1) {
    title.text = lines.join("<br>");
    title.pad = { ...title.pad, t: (title.pad?.t ?? 0) + 1.3 * size }; // that of the last line
  }
  const highest = Math.max(0, ...forms.filter(({ lines }) => lines.length > 1).map(({ size }) => 1.5 * size));
  if (margin?.t) layout.margin = { ...margin, t: margin.t + highest };
}

export function titleForm({ text, subtitle }, room, least = 0) {
  // Returns the lines of a title, and their size in px.
  const small = Math.max(LAYOUT.small, least);
  const sizeOf = (line) => Math.min(LAYOUT.title, Math.floor(room / (LAYOUT.letter * line.length)));
  const size = Math.max(sizeOf(text), LAYOUT.title / 2, least);
  const gaps = [...text.matchAll(/ /g)].map(({ index }) => index);
  if (Math.min(size, sizeOf(text)) >= small || !gaps.length || text.includes("<") || subtitle) return { lines: [text], size };
  const away = (gap) => Math.abs(gap - text.length / 2);
  const gap = gaps.reduce((best, other) => (away(other) < away(best) ? other : best));
  const lines = [text.slice(0, gap), text.slice(gap + 1)];
  return { lines, size: Math.min(small, Math.max(size, Math.min(...lines.map(sizeOf)))) };
}

export function dropTightTexts(figure, width) {
  const { textFromWidth = 0 } = figure.layout.meta ?? {}; // px: on less, texts in the figure would overlap
  if (width < textFromWidth * Math.max(1, leastOf(figure.layout) / LAYOUT.inCells)) figure.data = figure.data.filter((trace) => trace.mode !== "text");
}

export function fitColumns({ data, layout }, width) {
  // Each matrix of a figure has a part of its width, and its own labels.
  const isGrid = data.some(({ type }) => type === "heatmap");
  const least = LAYOUT.least[isGrid ? "grid" : "plain"];
  const { l = 80, r = 80, t } = layout.margin ?? {};
  const roomOf = ({ domain, tickangle }) => {
    const beside = isGrid && (!domain || layout.yaxis?.automargin) && tickangle !== 0 ? besideOf(layout) : domain ? l + r : least;
    return (width - beside) * spanOf({ domain });
  };
  const more = axesOf(layout, "x").map((name) => fitLabels(layout, name, roomOf(layout[name])));
  if (t) layout.margin = { ...layout.margin, t: t + Math.max(0, ...more) };
}

export function fitPanelNames(layout, width) {
  // Where names of panels beside each other would overlap, numbers take their place: see `legendOf`.
  const names = (layout.annotations ?? []).filter(({ name }) => name === "panel");
  const { l = 80, r = 80 } = layout.margin ?? {};
  const beside = layout.yaxis?.automargin ? besideOf(layout) : l + r;
  const long = widths(
    names.map(({ text }) => plain(text)),
    layout.font?.family,
  );
  const isTight = names.some(({ x, y, font }, i) => {
    const next = names[i + 1];
    return next?.y === y && Math.max(long[i], long[i + 1]) * (font?.size ?? LAYOUT.labels[0]) > (next.x - x) * (width - beside);
  });
  if (!isTight) return;
  layout.meta = { ...layout.meta, legend: { ...layout.meta?.legend, panels: names.map(({ text }, i) => [i + 1, text]) } };
  names.forEach((note, i) => (note.text = `<b>${i + 1}</b>`));
}

export function besideOf({ yaxis, font }) {
  // Returns the px that are beside the cells of a matrix; plotly makes room for the labels of its rows.
  if (!yaxis?.automargin || !yaxis.ticktext) return LAYOUT.beside;
  const labels = Math.max(0, ...widths(yaxis.ticktext, font?.family)) * (yaxis.tickfont?.size ?? LAYOUT.labels[0]);
  return Math.min(LAYOUT.beside, LAYOUT.around + labels);
}

export function fitRows({ data, layout }, height) {
  const { t = 100, b = 80 } = layout.margin ?? {};
  if (!data.some(({ type }) => type === "heatmap")) return;
  for (const name of axesOf(layout, "y")) fitLabels(layout, name, (height - t - b) * spanOf(layout[name]));
}

export function leastOf({ meta }) {
  // px, that no text of the figure is to be smaller than; 0: any.
  return meta?.leastText ?? 0;
}

export function eachFont(part, change) {
  for (const [name, value] of Object.entries(part)) {
    if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) continue;
    if (/font$/.test(name)) change(value);
    eachFont(value, change);
  }
}

export function axesOf(layout, letter = "[xy]") {
  return Object.keys(layout).filter((name) => new RegExp(`^${letter}axis\\d*$`).test(name));
}

export function spanOf({ domain: [from, to] = [0, 1] }) {
  return to - from;
}

export function evenHeight(w, { xaxis, yaxis }, label = 0) {
  // px, of cells about as high as wide, and as their labels, in a plot that is w px wide.
  const [across, down] = [xaxis, yaxis].map(({ range: [first, last] }) => Math.abs(last - first));
  const labels = Math.max(Math.min(0.4 * w, LAYOUT.row * (1 + down)), LAYOUT.upright * label * down);
  return Math.min(Math.max((w * down) / across, labels), 1.5 * w);
}

export function fitLabels(layout, name, room, sizes = LAYOUT.labels) {
  // Labels become smaller, and turn, before numbers take their place; what these stand for is in layout.meta.legend.
  // Returns the px that the labels are higher than the figure was laid out for.
  const axis = layout[name];
  const { first, labels } = layout.meta?.tokens?.[name] ?? {}; // of an axis that has numbers by now
  if (labels) Object.assign(axis, { ticktext: labels, tickvals: labels.map((_, i) => first + i) });
  if (axis?.tickmode !== "array" || !axis.range || axis.tickvals.length < 2 || axis.showticklabels === false) return 0;
  const pixels = room / Math.abs(axis.range[1] - axis.range[0]); // of a place
  const spacing = pixels * Math.min(...axis.tickvals.slice(1).map((place, i) => Math.abs(place - axis.tickvals[i])));
  const texts = [...axis.ticktext, ...(layout.meta?.beside?.[name] ?? [])]; // those beside it get the same room
  const longest = Math.max(...widths(texts, layout.font?.family)); // in sizes
  const isRow = name.startsWith("y");
  const least = leastOf(layout);
  const legible = Math.max(LAYOUT.legible, least);
  const own = Math.max(axis.tickfont?.size ?? sizes[0], legible); // it was laid out for its own size
  const smaller = [own, ...sizes.filter((size) => size < own && size >= least)];
  const angles = isRow ? [null] : [0, -45, -90].slice(Math.max(0, [0, -45, -90].indexOf(axis.tickangle)));
  const apart = (size, angle) =>
    angle === 0 ? longest * size + 4 : (angle === -45 ? LAYOUT.slanted : least ? LAYOUT.tight : LAYOUT.upright) * size;
  const forms = angles.flatMap((angle) => smaller.map((size) => ({ angle, size })));
  const isLegible = ({ angle, size }) => angle === angles.at(-1) || size === own || size >= legible;
  const fits = ({ angle, size }) => apart(size, angle) <= spacing;
  const form = forms.filter(isLegible).find(fits) ?? forms[forms.length - 1];
  axis.tickfont = { ...axis.tickfont, size: form.size };
  if (!fits(form)) number(layout, name, pixels, Math.min(own, legible));
  return isRow ? 0 : turn(axis, form.angle, longest * form.size);
}

export function widths(texts, font = "sans-serif") {
  // Of labels, in sizes.
  const widthOf = measureIn(`100px ${font}`);
  return texts.map((text) => widthOf(plain(String(text))) / 100);
}

export function turn(axis, angle, longest) {
  // Returns the px above the cells that turned labels take more; below them plotly makes room.
  const high = (angle) => Math.abs(Math.sin((angle * Math.PI) / 180)) * longest;
  const more = high(angle) - high(axis.tickangle ?? 0);
  axis.tickangle = angle;
  if (axis.automargin || !(more > 0)) return 0;
  axis.automargin = axis.side !== "top";
  return axis.automargin ? 0 : more;
}

export function number(layout, name, pixels, size) {
  // Leaves round places and says which they are instead of their labels; a chosen one has both.
  // pixels: of a place; size: of the numbers, in px.
  const axis = layout[name];
  const apart = (LAYOUT.upright * size) / pixels;
  axis.tickfont = { ...axis.tickfont, size };
  const chosen = layout.meta?.chosen?.[name];
  const isNumber = (text) => /^[\d\s.,−-]+$/.test(text);
  const arePatches = /^\W*\d+, \d+\W*$/.test(axis.ticktext.at(-1)); // of an image: row and column, after other tokens
  const isNamed = !arePatches && (name in (layout.meta?.tokens ?? {}) || !axis.ticktext.every((text) => isNumber(String(text))));
  const labels = axis.tickvals.map((place, i) => [place, axis.ticktext[i]]);
  if (isNamed) layout.meta = { ...layout.meta, legend: { ...layout.meta?.legend, [name]: labels.filter(([, text]) => text) } };
  const step = roundStep(2 * apart);
  const isFree = (place) => chosen === undefined || Math.abs(place - chosen) >= apart;
  const kept = labels.filter(([place]) => place === chosen || (place % step === 0 && isFree(place)));
  const words = ([place, text]) => (place === chosen ? `${place} ${text}` : String(place));
  axis.tickvals = kept.map(([place]) => place);
  axis.ticktext = kept.map(isNamed ? words : ([, text]) => text);
}

export function legendOf({ layout }) {
  // Returns the meaning of the numbers along each axis: its name, and a text of all positions.
  return Object.entries(layout.meta?.legend ?? {}).map(([name, labels]) => ({
    name: layout[name]?.title?.text ?? "", // panels have none
    labels: labels.map(([place, text]) => `${place} ${text}`),
  }));
}
