// A head as soon as it is clicked, or while a film is played: its picture in the overview, drawn large until the
// server's numbers are there.
//
// data.preview of figure.js: {attention, layer, head} of what is drawn, and of a film the {step}; the {name} of the trace
// that holds the weights, that of {forbidden} cells, the color scale of cells that are {notFinite}, and for each attention in {frames} the layout of its heatmaps, with
// {layer}, {head} and {step} in the title; null where what is drawn is no single head's pattern. A picture of fewer cells
// than tokens is not drawn.

import { thousands } from "../../../headlight/components/kit/numbers.js";
import { shownHead } from "../../../headlight/components/kit/channel.js";
import { leastText } from "../../../headlight/components/kit/theme.js";
import { leaving } from "../kit/mount.js";
import { draw, fit } from "./drawing.js";
import { CONFIG } from "./plotly.js";
import { updateSaving } from "./save.js";

const [TOP, NOT_FINITE, FORBIDDEN] = [253, 254, 255]; // levels of weight 1, of NaN, and where the mask allows no cell

export function watchClicks(view) {
  shownHead.listen((head) => preview(view, head), leaving(view.root));
}

function preview(view, { attention, layer, head, rows, columns, levels, step = view.data?.preview?.step }) {
  const shown = view.data?.preview;
  const frame = shown?.frames[attention];
  if (!view.figure || !frame) return;
  const isSameHead = shown.attention === attention && shown.layer === layer && shown.head === head;
  if (isSameHead && shown.step === step) {
    if (!view.drawn) draw(view); // another one was drawn over it
    return;
  }
  const [last, first] = frame.layout.yaxis.range;
  if (last - first !== rows || frame.layout.xaxis.range[1] - frame.layout.xaxis.range[0] !== columns) return;
  const cells = (value) =>
    Array.from({ length: rows }, (_, row) => Array.from(levels.subarray(row * columns, (row + 1) * columns), value));
  /** @type {{data: object[], layout: any}} */
  const figure = { data: [], layout: { ...view.figure.layout, shapes: [], ...structuredClone(frame.layout) } };
  const named = { layer, head, step: step === undefined ? "" : thousands(step) };
  figure.layout.title.text = frame.layout.title.text.replace(/\{(layer|head|step)\}/g, (_, name) => named[name]);
  const silent = { customdata: null, hovertemplate: "", hoverinfo: "skip" };
  for (const trace of view.figure.data) {
    if (trace.mode === "text") figure.data.push({ ...trace, text: trace.text.map(() => " ") }); // numbers in cells are the server's
    if (trace.name !== shown.name) continue;
    const blank = { ...trace, ...silent, name: shown.forbidden, coloraxis: "coloraxis2" };
    const broken = { ...blank, coloraxis: null, colorscale: shown.notFinite, showscale: false };
    for (const [level, look] of /** @type {const} */ ([[NOT_FINITE, broken], [FORBIDDEN, blank]])) {
      if (levels.includes(level)) figure.data.push({ ...look, z: cells((one) => (one === level ? 0 : NaN)) });
    }
    figure.data.push({ ...trace, ...silent, z: cells((level) => (level > TOP ? NaN : level / TOP)) });
  }
  fit(view, figure, leastText(view.root));
  view.drawn = null; // whatever comes next is drawn
  Plotly.react(view.plot, figure.data, figure.layout, CONFIG);
  updateSaving(view.saving);
}
