// A figure as a picture for papers and slides: laid out again for a width, light, and every cell of a heatmap a shape.

import { brushOf, measureIn } from "../../../headlight/components/kit/canvas.js";
import { thousands } from "../../../headlight/components/kit/numbers.js";
import { say } from "../../../headlight/components/kit/say.js";
import { withResolution } from "./archive.js";
import { axesOf, dropTightTexts, eachFont, evenHeight, fitLabels, LAYOUT, spanOf, widths } from "./layout.js";
import { gridOf, plain, readGrids } from "./numbers.js";
import { axisOf, fullLayout, fullTraces, legendsOf, panelStarts, roomOf } from "./plotly_internals.js";

const MM = 96 / 25.4; // px
const PT = 96 / 72; // px
const PAPER = { label: 4 * PT, smallest: 7 * PT, text: 8 * PT, largest: 9 * PT }; // labels of many tokens are smaller
const LEAST_CELL = 14; // px of the figure for each column, below which its color bar lies below the cells
const PRINTED = 600; // dots per inch
const NARROWEST = 466; // px, that a figure of lines is laid out for; on less paper it is drawn smaller
export const FONT = 'Helvetica, Arial, "Liberation Sans", sans-serif'; // a picture is drawn without the page's own
const MOST_SHAPES = 70000; // of a heatmap; larger ones stay an image
const GAP = 0.5; // px, between two cells where the figure has gaps
/** @type {{words: string, mm?: number, px?: number}[]} */
export const WIDTHS = [
  { words: say("as shown") },
  { words: "88 mm", mm: 88 },
  { words: "120 mm", mm: 120 },
  { words: "180 mm", mm: 180 },
  { words: `${thousands(1600)} px`, px: 1600 },
];

export async function makePicture({ figure, template, width, shown }) {
  // figure: JSON; template: of the light theme; width: one of WIDTHS; shown: {width, height} in px.
  // Returns {svg, width, height, dotsPerInch}: text, the size of its pixels, and what is printed of those on an inch.
  const drawn = JSON.parse(figure);
  readGrids(drawn);
  const grid = gridOf(drawn);
  const requested = width.mm ? width.mm * MM : width.px ? width.px / 2 : shown.width; // px of a screen
  const laid = width.mm && !grid ? Math.max(requested, NARROWEST) : requested;
  const scale = requested / laid;
  const gap = Math.max(0, ...drawn.data.map(({ xgap = 0 }) => xgap)) && GAP;
  if (grid) evenOut(drawn, grid);
  drawn.layout.template = JSON.parse(template);
  drawn.layout.width = laid;
  drawn.layout.height = firstHeight(width, Boolean(grid), laid, shown);
  if (width.mm) setFonts(drawn, scale);
  drawn.layout.font = { ...drawn.layout.font, family: FONT };
  loosen(drawn.layout, Boolean(grid));
  if (!grid || width === WIDTHS[0]) dropTightTexts(drawn, laid);
  const across = laid * spanOf(drawn.layout.xaxis); // px, of a matrix
  if (grid && width.mm && across < LEAST_CELL * (grid.columns.length - 1)) lowerColorBar(drawn.layout);
  if (grid) await fitGrid(drawn, Boolean(width.mm));
  await measured(drawn, (place) => (grid ? [fitNames, fitNumbers] : [fitLines]).forEach((fit) => fit(drawn, place)));
  await measured(drawn, (place) => widen(drawn, place));
  const { layout } = drawn;
  const size = { width: layout.width, height: layout.height };
  const markup = await Plotly.toImage(drawn, { format: "svg", imageDataOnly: true, ...size });
  const picture = new DOMParser().parseFromString(markup, "image/svg+xml").documentElement;
  picture.setAttribute("viewBox", `0 0 ${layout.width} ${layout.height}`);
  const high = (wide) => (wide * layout.height) / layout.width;
  const written = (length) => (width.mm ? `${+length.toFixed(2)}mm` : String(Math.round(length)));
  const wide = width.mm ?? width.px ?? laid;
  picture.setAttribute("width", written(wide));
  picture.setAttribute("height", written(high(wide)));
  const lines = [...picture.querySelectorAll(".gtitle .line")];
  lines.forEach((line, i) => line.setAttribute("dy", `${1 + 1.3 * i}em`)); // plotly puts the first of several outside
  raiseSubtitle(picture, Math.max(lines.length, 1));
  if (grid) await drawCells(picture, grid, gap);
  const pixels = width.mm ? (width.mm / 25.4) * PRINTED : (width.px ?? 3 * laid);
  return {
    svg: new XMLSerializer().serializeToString(picture),
    width: Math.round(pixels),
    height: Math.round(high(pixels)),
    dotsPerInch: width.mm ? PRINTED : null,
  };
}

function raiseSubtitle(picture, nLines) {
  // To the title: plotly leaves a line between both, and lets it lie on what comes below.
  const [title, subtitle] = [".gtitle", ".gtitle-subtitle"].map((name) => picture.querySelector(name));
  if (subtitle) subtitle.setAttribute("y", Number(title.getAttribute("y")) + 1.4 * nLines * parseFloat(title.style.fontSize));
}

function firstHeight(width, isGrid, laid, shown) {
  // A heatmap for a paper gets the height of its cells later.
  if (isGrid && width.mm) return Math.max(laid, shown.height);
  if (isGrid && width.px) return Math.max((laid * shown.height) / shown.width, shown.height);
  return width.mm || width.px ? Math.max(shown.height, 0.6 * laid) : shown.height;
}

function evenOut(figure, { rows, columns }) {
  // Plotly paints rows of one height and columns of one width, without gaps, as an image of one dot a cell.
  const cells = (starts, axis) => {
    const step = (starts.at(-1) - starts[0]) / (starts.length - 1);
    return { [axis]: undefined, [`${axis}0`]: starts[0] - 0.5 + step / 2, [`d${axis}`]: step, [`${axis}gap`]: 0 };
  };
  if ((rows.length - 1) * (columns.length - 1) > MOST_SHAPES) return;
  const [across, down] = [cells(columns, "x"), cells(rows, "y")];
  for (const trace of figure.data) if (trace.type === "heatmap") Object.assign(trace, across, down);
}

function setFonts(figure, scale) {
  // All that is written is 7 to 9 pt high on the paper.
  const [smallest, text, largest] = [PAPER.smallest, PAPER.text, PAPER.largest].map((px) => px / scale);
  const fit = (font) => font.size && (font.size = Math.min(Math.max(font.size, smallest), largest));
  eachFont(figure.layout, fit);
  for (const trace of figure.data) eachFont({ textfont: trace.textfont ?? {} }, fit);
  figure.layout.font = { size: text };
}

function loosen(layout, isGrid) {
  // Margins grow with what is written in them.
  for (const name of axesOf(layout)) layout[name].automargin = true;
  if (!isGrid) return;
  layout.margin = { l: 4, r: 4, t: 4, b: 4 };
  layout.minreducedheight = LAYOUT.row; // px, that margins may leave to the cells
  for (const name of axesOf(layout, "x")) layout[name].tickangle = 0; // turned where there is no room
  const size = layout.title?.font?.size ?? layout.template.layout.title.font.size;
  if (!layout.title?.text) return;
  const widthOf = measureIn(`${size}px ${FONT}`);
  const lines = [];
  for (const word of layout.title.text.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && widthOf(plain(longer)) <= layout.width - 8) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  Object.assign(layout.title, { text: lines.join("<br>"), automargin: true, pad: { t: 4, b: 4, l: 4 } });
}

async function measured(figure, change) {
  // Draws a figure where nobody sees it, for `change` to measure.
  const place = document.createElement("div");
  place.style.cssText = "position:fixed;left:-10000px;top:0";
  document.body.append(place);
  try {
    const { data, layout } = structuredClone({ data: figure.data, layout: figure.layout });
    await Plotly.newPlot(place, data, layout, { staticPlot: true });
    change(place);
  } finally {
    Plotly.purge(place);
    place.remove();
  }
}

async function fitGrid({ data, layout }, isPaper) {
  // Fits the labels, and, on paper, makes cells about as high as wide. Labels take room from cells, and more of it the
  // larger they are: fitted to the room beside those of the round before, they fit in every third round.
  const labels = axesOf(layout).map((name) => [name, { ...layout[name] }]);
  const sizes = Array.from({ length: 4 * (PAPER.text - PAPER.label) }, (_, i) => PAPER.text - i / 4);
  for (let round = 0; round < 4; round += 1) {
    await measured({ data, layout }, (place) => {
      const { h } = roomOf(place);
      const [across, down] = ["xaxis", "yaxis"].map((name) => axisOf(place, name).length);
      const high = isPaper ? (evenHeight(across, fullLayout(place), PAPER.label) * h) / down : h;
      layout.height = Math.round(layout.height - h + high);
      lowerFurther(layout, high, place);
      if (round === 3) return;
      for (const [name, { tickvals, ticktext, tickfont, tickangle }] of labels) {
        Object.assign(layout[name], { tickvals, ticktext, tickfont, tickangle });
        const room = axisOf(place, name).length * (name.startsWith("y") ? high / h : 1);
        fitLabels(layout, name, room, isPaper ? sizes : LAYOUT.labels);
      }
    });
  }
}

function fitNames({ layout }, place) {
  // What is written above or below a matrix ends before what is written beside it, and an axis's name with the axis.
  const full = fullLayout(place);
  const sized = (font, text, usual, room) => {
    const [wide] = widths([text], full.font.family); // in sizes, of letters that are not bold
    return { ...font, size: Math.max(PAPER.label, Math.min(usual, room / (1.15 * wide))) };
  };
  const notes = (layout.annotations ?? []).filter(({ xref }) => xref === "paper");
  for (const note of notes) {
    const beside = notes.filter((other) => other !== note && other.y === note.y).map(({ x }) => Math.abs(x - note.x));
    const room = Math.min(1, ...beside) * roomOf(place).w;
    note.font = sized(note.font, note.text, note.font?.size ?? full.font.size, room);
  }
  for (const name of axesOf(layout)) {
    const { title } = layout[name];
    if (title?.text) title.font = sized(title.font, title.text, full[name].title.font.size, axisOf(place, name).length);
  }
}

function fitNumbers(figure, place) {
  // Numbers in cells become smaller; those that could not be read on paper are left out.
  const font = fullLayout(place).font.family;
  const sizes = fullTraces(place).map(({ mode, text, textfont, xaxis, yaxis }) => {
    if (mode !== "text" || !text.length) return null;
    const [wide, high] = [xaxis, yaxis].map((name) => {
      const { length, range } = axisOf(place, name);
      return length / Math.abs(range[1] - range[0]); // px, of a cell
    });
    return Math.min(textfont.size, (0.85 * wide) / Math.max(...widths(text, font)), high / LAYOUT.upright);
  });
  const size = Math.min(...sizes.filter((size) => size !== null));
  for (const trace of figure.data) if (trace.mode === "text") trace.textfont = { ...trace.textfont, size };
  if (size < PAPER.label) figure.data = figure.data.filter(({ mode }) => mode !== "text");
}

function lowerColorBar(layout) {
  // Below the cells it takes no room from their width.
  const below = { orientation: "h", x: 0, xanchor: "left", y: 0, yanchor: "top", len: 0.6 };
  for (const { colorbar } of colorAxesOf(layout)) Object.assign(colorbar, below);
}

function colorAxesOf(layout) {
  return Object.keys(layout).filter((name) => /^coloraxis/.test(name) && layout[name].colorbar).map((name) => layout[name]);
}

function lowerFurther(layout, high, place) {
  // Below what is written under the cells, which become `high`.
  const { t, h } = roomOf(place);
  const edge = place.getBoundingClientRect().top + t + h;
  const texts = [...place.querySelectorAll("text")].filter((text) => !text.closest('[class^="cb"], .scatterlayer'));
  const px = Math.max(0, ...texts.map((text) => text.getBoundingClientRect().bottom - edge));
  for (const { colorbar } of colorAxesOf(layout)) {
    if (colorbar.orientation !== "h") continue;
    layout.height += Math.round(px + colorbar.y * h);
    colorbar.y = -px / high;
  }
}

function fitLines({ layout }, place) {
  // A panel's legend that takes more lines than it was given lifts what is written above it.
  const above = (y) => (layout.annotations ?? []).filter((note) => note.yref === "paper" && note.y === y);
  const { h } = roomOf(place);
  let growth = 0;
  for (const { y, height } of legendsOf(place)) {
    const titles = above(y).filter(({ xanchor }) => xanchor === "left");
    const lines = height - Math.max(0, ...titles.map(({ yshift }) => yshift ?? 0));
    if (lines <= 0) continue;
    for (const note of above(y)) note.yshift = (note.yshift ?? 0) + lines;
    const gap = Math.min(...panelStarts(place).filter((start) => start > y).map((start) => start - y)) * h;
    if (Number.isFinite(gap)) growth = Math.max(growth, lines / gap);
    else layout.margin.t += lines;
  }
  layout.height += growth * h + Math.max(0, layout.margin.t - fullLayout(place).margin.t);
}

function widen({ layout }, place) {
  // What is written beyond an edge gets room there.
  const edges = place.getBoundingClientRect();
  const size = roomOf(place);
  const beyond = { l: 0, r: 0, t: 0, b: 0 }; // px
  for (const text of place.querySelectorAll("text:not(.gtitle)")) {
    const { left, right, top, bottom, width } = text.getBoundingClientRect();
    const px = { l: edges.left - left, r: right - edges.right, t: edges.top - top, b: bottom - edges.bottom };
    if (width) for (const side of Object.keys(beyond)) beyond[side] = Math.max(beyond[side], Math.ceil(px[side]));
  }
  for (const [side, px] of Object.entries(beyond)) if (px > 0) layout.margin[side] = size[side] + px + 2;
  layout.height += beyond.t + beyond.b;
}

async function drawCells(picture, grid, gap) {
  // In place of each heatmap's image of one dot a cell, a shape a cell: sharp at any size, and each where it belongs.
  for (const image of picture.querySelectorAll(".hm image")) {
    const dots = await loadImage(image.getAttribute("xlink:href") ?? image.getAttribute("href"));
    const { naturalWidth: columns, naturalHeight: rows } = dots;
    if (columns !== grid.columns.length - 1 || rows !== grid.rows.length - 1) continue;
    const canvas = Object.assign(document.createElement("canvas"), { width: columns, height: rows });
    const brush = brushOf(canvas);
    brush.drawImage(dots, 0, 0);
    const colors = brush.getImageData(0, 0, columns, rows).data;
    const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(image.getAttribute(name)));
    const edges = (starts, from, length) =>
      starts.map((start) => from + (length * (start - starts[0])) / (starts.at(-1) - starts[0]));
    const [across, down] = [edges(grid.columns, x, width), edges(grid.rows, y, height)];
    const shapes = new Map(); // by color
    for (let cell = 0; cell < rows * columns; cell += 1) {
      const [red, green, blue, alpha] = colors.subarray(4 * cell, 4 * cell + 4);
      if (!alpha) continue;
      const [row, column] = [Math.floor(cell / columns), cell % columns];
      const ends = (starts, i) => [starts[i] + gap / 2, starts[i + 1] - gap / 2].map((px) => px.toFixed(2));
      const [[left, right], [top, bottom]] = [ends(across, column), ends(down, row)];
      const onWhite = [red, green, blue].map((level) => Math.round(255 + ((level - 255) * alpha) / 255));
      const color = `rgb(${onWhite})`;
      shapes.set(color, `${shapes.get(color) ?? ""}M${left} ${top}H${right}V${bottom}H${left}z`);
    }
    const group = picture.ownerDocument.createElementNS(picture.namespaceURI, "g");
    group.setAttribute("shape-rendering", "crispEdges"); // else a seam of the ground shows between two cells
    for (const [color, path] of shapes) {
      const shape = picture.ownerDocument.createElementNS(picture.namespaceURI, "path");
      shape.setAttribute("fill", color);
      shape.setAttribute("d", path);
      group.append(shape);
    }
    image.replaceWith(group);
  }
}

function loadImage(address) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.addEventListener("load", () => resolve(image));
    image.addEventListener("error", () => reject(new Error(say("the image could not be read"))));
    image.src = address;
  });
}

export async function toPng({ svg, width, height, dotsPerInch }) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    brushOf(canvas).drawImage(await loadImage(address), 0, 0, width, height);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    const png = new Uint8Array(await blob.arrayBuffer());
    return dotsPerInch ? withResolution(png, dotsPerInch) : png;
  } finally {
    URL.revokeObjectURL(address);
  }
}
