// A plotly figure that stays in its place: new data is drawn into the same node, and the look follows the theme.
//
// data: {figure, templates: {light, dark}} as JSON texts; {name} of what is saved, and {files, answers}, for
// which see save.js; {height} in px or null for that of the stage; {clicks, windows}: whether a cell and a window are
// sent; {cell}: the chosen one or null; {staysWhole}: a box that is drawn does not zoom in; {isWindow}: whether a part
// of the text is shown; {link}: figures of the same are pointed at together, or null; {preview}: see preview.js;
// {about}: see page.js; {opens}: the menu is open at first.

import { element } from "../../../headlight/components/kit/elements.js";
import { leaving, mount } from "../kit/mount.js";
import { say } from "../../../headlight/components/kit/say.js";
import { watchTheme } from "../../../headlight/components/kit/theme.js";
import { FIGURES, makeCells } from "./cells.js";
import { draw, makeLegend } from "./drawing.js";
import { loadPlotly } from "./plotly.js";
import { watchClicks } from "./preview.js";
import { makeSaving, takeFiles } from "./save.js";

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
  takeFiles(view.saving);
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
