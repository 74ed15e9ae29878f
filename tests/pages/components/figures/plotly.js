// Stands for plotly.js, which cannot draw without a browser: it keeps what it is given, and says where things would lie
// in a plot whose edges are EDGES from those of the figure. And a figure on the page, to be tested with it.

import { place, resize, shown } from "../../dom.js";

export const EDGES = { left: 40, top: 30, right: 60, bottom: 20 }; // px
/** The calls, [name, arguments] each. */
export const calls = [];

function axisOf(axis, offset, length, isDown) {
  const [from, to] = axis.range ?? [0, 1];
  const [start, end] = isDown ? [to, from] : [from, to]; // places at the left and at the top
  const px = (value) => ((value - start) / (end - start)) * length;
  const value = (px) => start + (px / length) * (end - start);
  return { ...axis, range: [from, to], title: { font: { size: 12 }, ...axis.title }, _offset: offset, _length: length, l2p: px, c2p: px, p2l: value };
}

function drawInto(plot, data, layout) {
  const { width, height } = layout;
  const [across, down] = [width - EDGES.left - EDGES.right, height - EDGES.top - EDGES.bottom];
  const axes = { xaxis: axisOf(layout.xaxis ?? {}, EDGES.left, across, false), yaxis: axisOf(layout.yaxis ?? {}, EDGES.top, down, true) };
  const usual = (trace, index) => ({ xaxis: "x", yaxis: "y", visible: true, mode: "lines", ...trace, index });
  plot._fullData = data.map(usual);
  plot._fullLayout = { ...layout, ...axes, font: { size: 12, family: "sans" }, _size: { w: across, h: down, t: EDGES.top, l: EDGES.left, r: EDGES.right, b: EDGES.bottom } };
  plot.calcdata = data.map(({ x, y }) => (y ?? []).map((value, i) => ({ x: x?.[i] ?? i, y: value, i })));
  plot.heard ??= {};
  plot.on = (name, hear) => (plot.heard[name] ??= []).push(hear);
}

globalThis.Plotly = {
  react(plot, data, layout, config) {
    drawInto(plot, data, layout);
    calls.push(["react", { plot, data, layout, config }]);
  },
  /** It tells of what it was requested as of what a person does. */
  async relayout(plot, change) {
    calls.push(["relayout", { plot, change }]);
    for (const [name, range] of Object.entries(change)) if (name.endsWith("axis.range")) plot._fullLayout[name.split(".")[0]].range = range;
    for (const hear of plot.heard.plotly_relayout ?? []) hear(change);
  },
  purge(plot) {
    calls.push(["purge", { plot }]);
  },
  async newPlot(plot, data, layout) {
    drawInto(plot, data, layout);
    place(plot, { width: layout.width, height: layout.height });
    for (const { className = "", ...box } of dots.texts) {
      const text = plot.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "text"));
      text.setAttribute("class", className);
      place(text, typeof box.at === "function" ? box.at(layout) : box);
    }
    calls.push(["newPlot", { plot, data, layout }]);
  },
  /** A picture with an image of one dot a cell, as plotly makes it of a heatmap; see `dots`. */
  async toImage(figure, how) {
    calls.push(["toImage", { plot: null, figure, how }]);
    const title = `<g class="gtitle" y="20" style="font-size: 10px"><text class="line" dy="0">one</text></g>`;
    return `<svg xmlns="http://www.w3.org/2000/svg">${title}<text class="gtitle-subtitle" y="0">below</text><g class="hm">${dots.images.join("")}</g></svg>`;
  },
  Fx: {
    hover: (plot, at, subplot, isSilent) => calls.push(["hover", { plot, at, subplot, isSilent }]),
    unhover: (plot) => calls.push(["hover", { plot, at: null }]),
  },
};

/** What pictures show: images, as SVG; and texts where they are measured, with their boxes. */
export const dots = { images: [], texts: [] };

export const of = (name, { plot }) => calls.filter(([it, what]) => it === name && what.plot === plot).map(([, what]) => what);

export const FIRST = { query: 7, key: 2 };
/** A matrix of 3 queries and 5 keys of a longer text, whose words say where they are. */
export function heatmap(more = {}, { rows = 3, columns = 5, query = FIRST.query, key = FIRST.key } = {}) {
  const table = (what) => Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (_, column) => what(row, column)));
  const ticks = (first, n, letter) => ({ tickmode: "array", tickvals: [...Array(n).keys()].map((i) => first + i), ticktext: [...Array(n).keys()].map((i) => `${letter}${first + i}`) });
  return {
    data: [{
      ...{ type: "heatmap", name: "attention", x0: key, y0: query, z: table((row, column) => (row + column) / 10) },
      customdata: table((row, column) => `q${query + row} &lt; k${key + column}`),
    }],
    layout: {
      title: { text: "<b>one</b>" },
      xaxis: { range: [key - 0.5, key + columns - 0.5], ...ticks(key, columns, "k"), title: { text: "<b>key</b>" } },
      yaxis: { range: [query + rows - 0.5, query - 0.5], ...ticks(query, rows, "q"), title: { text: "query" } },
      ...{ margin: { t: 40, l: 8, r: 8, b: 8 }, meta: {}, ...more },
    },
  };
}

const template = (ground) => JSON.stringify({ layout: { paper_bgcolor: ground, title: { font: { size: 15 } } } });
export const dataOf = (figure, more = {}) => ({
  ...{ figure: JSON.stringify(figure), templates: { light: template("#ffffff"), dark: template("#101114") } },
  ...{ name: "one", height: null, files: null, answers: null, clicks: true, windows: true, isWindow: false, cell: null },
  ...{ link: null, preview: null, about: "of a text", opens: false, ...more },
});

export const SIZE = { left: 100, top: 50, width: 600, height: 350 };
const settled = () => new Promise((resolve) => setTimeout(resolve));

/** A figure on the page, drawn. Its `update` ends once the newer data is drawn. */
export async function drawn(show, figure, more = {}, size = SIZE) {
  const whole = shown(show, "figure", dataOf(figure, more), { isolated: false });
  const plot = whole.find(".plot");
  place(plot, size);
  if (size.width) resize(plot, size.width, size.height);
  await settled();
  const update = async (newer, otherwise = {}) => {
    whole.update(dataOf(newer, otherwise));
    await settled();
  };
  const last = () => of("react", { plot }).at(-1);
  /** Where the middle of a place in the text lies, in px of the page. */
  const at = (query, key) => {
    const { xaxis, yaxis } = plot._fullLayout;
    const { left, top } = plot.getBoundingClientRect();
    return { clientX: left + xaxis._offset + xaxis.l2p(key), clientY: top + yaxis._offset + yaxis.l2p(query) };
  };
  const tell = (name, event) => plot.heard[name].forEach((hear) => hear(event));
  return { ...whole, plot, update, last, at, tell, hovered: () => of("hover", { plot }).at(-1)?.at };
}
