// A plotly figure that stays in its place: new data is drawn into the same node, and the look follows the theme.
//
// data: {figure, templates: {light, dark}} as JSON texts, {name, csv} for what can be taken away, {height} in px or null
// for that of the stage.

const PLOTLY = "/vendor/plotly.min.js";
const CONFIG = { displayModeBar: false };
const BESIDE = 190; // px, that labels, color bar and margins take from a figure's width
const LABEL = 14; // px, from one label of the columns to the next
const TITLE = 15; // px, the size of a title where it fits
const LETTER = 0.47; // the width of a letter, on the average, in sizes
const UNLOADED = "The drawing library did not load. Please reload the page.";

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".figure");
  const view = (root.view ??= makeView(root));
  view.data = data;
  root.classList.toggle("low", data.height !== null);
  root.style.height = data.height === null ? "" : `${data.height}px`;
  loadPlotly().then(
    () => draw(view),
    () => (view.plot.textContent = UNLOADED),
  );
}

function makeView(root) {
  const view = { root };
  view.plot = element("div", "plot");
  view.files = element("div", "files");
  const picture = (format) => () => {
    const { width, height } = view.plot.getBoundingClientRect();
    window.Plotly.downloadImage(view.plot, { format, width, height, scale: format === "png" ? 3 : 1, filename: view.data.name });
  };
  addFile(view, "SVG", "the picture, for papers and slides", picture("svg"));
  addFile(view, "PNG", "the picture, as pixels", picture("png"));
  addFile(view, "CSV", "the numbers", () => saveText(view.data.csv, `${view.data.name}.csv`));
  root.append(view.files, view.plot);
  const redraw = () => window.Plotly && view.data && draw(view);
  view.theme = watchTheme(root, redraw);
  new ResizeObserver(redraw).observe(view.plot);
  return view;
}

function addFile(view, label, what, save) {
  const button = element("button", "file", label);
  button.type = "button";
  button.title = `Save ${what}`;
  button.setAttribute("aria-label", `Save ${what} (${label})`);
  button.addEventListener("click", save);
  view.files.append(button);
}

function saveText(text, name) {
  const link = element("a", "");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function loadPlotly() {
  // The server's page asks for it from the start; where the page is somebody else's, the first figure does.
  if (window.Plotly) return Promise.resolve();
  return new Promise((resolve, reject) => {
    let script = document.querySelector(`script[src="${PLOTLY}"]`);
    if (!script) {
      script = element("script", "");
      script.src = PLOTLY;
      document.head.append(script);
    }
    script.addEventListener("load", resolve);
    script.addEventListener("error", reject);
  });
}

function draw(view) {
  const { clientWidth: width, clientHeight: height } = view.plot;
  if (!width || !height) return; // it is not seen; it is drawn when it gets its room
  const drawn = JSON.stringify([view.data.figure, width, height, view.theme()]);
  if (drawn === view.drawn) return;
  view.drawn = drawn;
  const figure = JSON.parse(view.data.figure);
  Object.assign(figure.layout, { width, height });
  const { textFromWidth = 0 } = figure.layout.meta ?? {}; // px: on less, texts in the figure would overlap
  if (width < textFromWidth) figure.data = figure.data.filter((trace) => trace.mode !== "text");
  thinOut(figure.layout.xaxis, width - BESIDE);
  const size = Math.floor(width / (LETTER * (figure.layout.title?.text?.length || 1)));
  if (size < TITLE && figure.layout.title) figure.layout.title.font = { size: Math.max(size, TITLE / 2) };
  figure.layout.template = JSON.parse(view.data.templates[view.theme()]);
  window.Plotly.react(view.plot, figure.data, figure.layout, CONFIG);
}

function thinOut(axis, room) {
  // Leaves as many labels as there is room for; the figure was laid out for a width of its own.
  if (axis?.tickmode !== "array") return;
  const [first, last] = axis.range;
  const spacing = Math.abs(axis.tickvals[1] - axis.tickvals[0]) * (room / Math.abs(last - first));
  const step = Math.ceil(LABEL / spacing);
  if (!(step > 1)) return;
  axis.tickvals = axis.tickvals.filter((_, i) => i % step === 0);
  axis.ticktext = axis.ticktext.filter((_, i) => i % step === 0);
}
