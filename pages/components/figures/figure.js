// A plotly figure that stays in its place: new data is drawn into the same node, and the look follows the theme.
//
// data: {figure, templates: {light, dark}} as JSON texts; {name} of what is saved, and {offers, files, answers}, for
// which see save.js; {height} in px or null for that of the stage; {clicks, windows}: whether a cell and a window are
// sent; {cell}: the chosen one or null; {staysWhole}: a box that is drawn does not zoom in; {isWindow}: whether a part
// of the text is shown; {link}: figures of the same are pointed at together, or null; {preview}: see preview.js;
// {about}: see page.js; {opens}: the menu is open at first.
//
// `fillInWords` comes from transformer_core/figures/offline.py.

import { element } from "../kit/elements.js";
import { fillInWords } from "../../../transformer_core/figures/cell_words.js";
import { leaving, mount } from "../kit/mount.js";
import { say } from "../kit/say.js";
import { watchTheme } from "../kit/theme.js";
import { FIGURES, listen, makeCells, rangesOf, updateCells } from "./cells.js";
import { layOut, legendOf } from "./layout.js";
import { plain, readGrids } from "./numbers.js";
import { watchClicks } from "./preview.js";
import { makeSaving, open, updateSaving } from "./save.js";

/** @typedef {HTMLElement & {_fullLayout: any, on: any}} Plot - an element that plotly.js has drawn into */

export const PLOTLY = "/vendor/plotly.min.js";
export const CONFIG = { displayModeBar: false, doubleClick: false, showTips: false };
const UNLOADED = say("The chart library did not load. Please reload the page.");

export default await mount(import.meta.url, {
  styles: ["./figure.css"],
  make: makeView,
  update,
});

function update(view, data, send) {
  const { root } = view;
  view.send = send;
  view.data = data;
  root.classList.toggle("low", data.height !== null);
  root.style.height = data.height === null ? "" : `${data.height}px`;
  if (window.Plotly) draw(view); // now: a promise would wait until React has drawn the rest of the page
  else
    loadPlotly().then(
      () => draw(view),
      () => (view.plot.textContent = UNLOADED),
    );
}

function makeView(root) {
  const view = { root };
  view.plot = element("div", "plot");
  view.saving = makeSaving(view);
  view.legend = makeLegend();
  view.saving.bar.prepend(view.legend.whole);
  root.append(view.saving.bar, view.plot);
  makeCells(view);
  watchClicks(view);
  const redraw = () => window.Plotly && view.data && draw(view);
  view.theme = watchTheme(root, redraw);
  new ResizeObserver(redraw).observe(view.plot);
  FIGURES.add(view);
  leaving(root).addEventListener("abort", () => {
    FIGURES.delete(view);
    window.Plotly?.purge(view.plot);
  });
  return view;
}

function makeLegend() {
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

function loadPlotly() {
  // The server's page asks for it from the start; where the page is somebody else's, the first figure does.
  return new Promise((resolve, reject) => {
    let script = /** @type {HTMLScriptElement} */ (document.querySelector(`script[src="${PLOTLY}"]`));
    if (!script) {
      script = document.createElement("script");
      script.src = PLOTLY;
      document.head.append(script);
    }
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => {
      script.remove(); // the next figure asks again: of this one it would hear nothing
      reject();
    });
  });
}

export function draw(view) {
  const { clientWidth: width, clientHeight: height } = view.plot;
  if (!width || !height) return; // it is not seen; it is drawn when it gets its room
  const drawn = [view.data.figure, width, height, view.theme()];
  if (!drawn.every((part, i) => part === view.drawn?.[i])) {
    view.drawn = drawn;
    const figure = JSON.parse(view.data.figure);
    readGrids(figure);
    fillInWords(figure);
    layOut(figure, width, height, view.data.height === null ? 0 : view.saving.opener.offsetWidth);
    figure.layout.template = JSON.parse(view.data.templates[view.theme()]);
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
