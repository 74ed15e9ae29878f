// Draws a component's figure into its place, with the look of the page and what goes with the figure: legend, cells, menu.

import { fillInWords } from "../../../headlight/figures/cell_words.js";
import { element } from "../../../headlight/components/kit/elements.js";
import { say } from "../../../headlight/components/kit/say.js";
import { leastText } from "../../../headlight/components/kit/theme.js";
import { listen, rangesOf, updateCells } from "./cells.js";
import { eachFont, layOut, legendOf } from "./layout.js";
import { plain, readGrids } from "./numbers.js";
import { CONFIG } from "./plotly.js";
import { open, updateSaving } from "./save.js";

export function draw(view) {
  const { clientWidth: width, clientHeight: height } = view.plot;
  if (!width || !height) return; // it is not seen; it is drawn when it gets its room
  const least = leastText(view.root);
  const drawn = [view.data.figure, width, height, view.theme(), least];
  if (!drawn.every((part, i) => part === view.drawn?.[i])) {
    view.drawn = drawn;
    const figure = JSON.parse(view.data.figure);
    readGrids(figure);
    fillInWords(figure);
    figure.layout.template = JSON.parse(view.data.templates[view.theme()]);
    fit(view, figure, least);
    const isFirst = !view.figure;
    view.figure = figure;
    view.ranges = rangesOf(figure);
    if (isFirst) view.plot.textContent = ""; // it may have said that the library is missing
    Plotly.react(view.plot, figure.data, figure.layout, CONFIG);
    fillLegend(view.legend, figure);
    if (isFirst) listen(view);
    if (isFirst && view.data.opens) open(view.saving);
  }
  updateCells(view);
  updateSaving(view.saving);
}

export function fit({ plot, data, saving, legend: { whole } }, figure, least) {
  figure.layout.meta = { ...figure.layout.meta, leastText: least };
  const { hidden } = whole;
  whole.hidden = false;
  const taken = data.height === null ? [0, 0] : [saving.opener, whole].map(({ offsetWidth }) => offsetWidth);
  whole.hidden = hidden;
  layOut(figure, plot.clientWidth, plot.clientHeight, ...taken);
  enlarge(figure, least);
}

function enlarge({ data, layout }, least) {
  const larger = (size) => (Array.isArray(size) ? size.map(larger) : Math.max(size, least));
  const raise = (font) => font.size && (font.size = larger(font.size));
  eachFont(layout, raise);
  for (const trace of data) {
    eachFont({ textfont: trace.textfont ?? {} }, raise);
    if (least && trace.type === "bar") trace.constraintext = "none"; // plotly would make it smaller again
  }
  for (const note of layout.annotations ?? []) {
    note.text = note.text?.replace(/font-size: ?(\d+)px/g, (_, size) => `font-size:${larger(Number(size))}px`);
  }
}

export function makeLegend() {
  // Where tokens have no room along an axis, it has numbers, and this opens to what they stand for.
  const [whole, list] = [element("details", "legend"), element("div", "list")];
  list.tabIndex = 0;
  whole.append(element("summary", "tool", say("Legend")), list);
  return { whole, list };
}

function fillLegend({ whole, list }, figure) {
  const axes = legendOf(figure);
  whole.hidden = !axes.length;
  list.replaceChildren(
    ...axes.map(({ name, labels }) => {
      const part = element("p", "");
      part.append(element("b", "", plain(name)), ` ${labels.map(plain).join(" · ")}`);
      return part;
    }),
  );
}
