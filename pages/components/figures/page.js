// A figure as its own page: one file, which opens without a network, light or dark as its reader has it.

import { fillInWords, rowsOf } from "../../../headlight/figures/cell_words.js";
import { brushOf, measureIn } from "../../../headlight/components/kit/canvas.js";
import { LANGUAGE } from "../../../headlight/components/kit/language.js";
import { roundStep } from "../../../headlight/components/kit/numbers.js";
import {
  axesOf,
  besideOf,
  dropTightTexts,
  evenHeight,
  fitColumns,
  fitLabels,
  fitPanelNames,
  fitRows,
  fitTitle,
  LAYOUT,
  layOut,
  leastOf,
  legendOf,
  number,
  spanOf,
  titleForm,
  turn,
  widths,
} from "./layout.js";
import { plain, readGrids } from "./numbers.js";
import { FONT } from "./picture.js";
import { PLOTLY } from "./plotly.js";
import { fullLayout, roomOf } from "./plotly_internals.js";

const WIDEST = 960; // px, of a matrix, whose cells are about as high as wide

export async function makePage({ figure, templates, height, about }) {
  // figure and templates: JSON; height: px, or null for that of the window; about: plain text, what the figure is of.
  const library = await (await fetch(PLOTLY)).text();
  const { layout } = JSON.parse(figure);
  const ground = (theme) => JSON.parse(templates[theme]).layout.paper_bgcolor;
  const inScript = (json) => json.replaceAll("<", "\\u003c");
  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const title = escaped(plain(layout.title?.text ?? "Headlight"));
  const script = [
    `const LAYOUT = ${JSON.stringify(LAYOUT)};`,
    `const WIDEST = ${WIDEST};`,
    ...[readGrids, rowsOf, fillInWords, layOut, leastOf, fitTitle, titleForm, dropTightTexts, fitPanelNames].map(String),
    ...[fitColumns, besideOf, fitRows, axesOf, spanOf, evenHeight, fitLabels, brushOf, measureIn, widths, plain, turn, number, roundStep, legendOf, fullLayout, roomOf, drawPage].map(String),
    `const templates = { light: ${inScript(templates.light)}, dark: ${inScript(templates.dark)} };`,
    `drawPage(${inScript(figure)}, templates, ${height});`,
  ].join("\n");
  return [
    `<!doctype html>\n<html lang="${LANGUAGE}">\n<meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${title}</title>`,
    "<style>",
    `html { color-scheme: light dark; background: light-dark(${ground("light")}, ${ground("dark")}); }`,
    `body { margin: 16px; font: 15px/1.5 ${FONT}; }`,
    "p { margin: 12px 0 0; white-space: pre-line; }",
    "</style>",
    '<div id="figure"></div>',
    '<div id="legend"></div>',
    `<p dir="auto">${escaped(about)}</p>`,
    `<script>${library}</script>`,
    `<script>\n${script}\n</script>\n</html>\n`,
  ].join("\n");
}

function drawPage(whole, templates, height) {
  const place = /** @type {import("./plotly.js").Plot} */ (document.getElementById("figure"));
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const { xaxis } = whole.layout;
  const isGrid = height === null && whole.data.some(({ type }) => type === "heatmap") && xaxis?.range && !xaxis.domain;
  const drawn = (width, high) => {
    const figure = structuredClone(whole);
    readGrids(figure);
    fillInWords(figure);
    layOut(figure, width, high);
    figure.layout.template = templates[isDark.matches ? "dark" : "light"];
    const lines = legendOf(figure).map(({ name, labels }) => {
      const line = document.createElement("p");
      line.textContent = `${name ? `${plain(name)}: ` : ""}${labels.map(plain).join(" · ")}`;
      return line;
    });
    document.getElementById("legend")?.replaceChildren(...lines);
    return Plotly.react(place, figure.data, figure.layout, { displayModeBar: false, showTips: false });
  };
  const draw = async () => {
    if (!isGrid) return drawn(place.clientWidth, height ?? innerHeight - 32);
    const width = Math.min(place.clientWidth, WIDEST);
    await drawn(width, width);
    const { w, h } = roomOf(place);
    return drawn(width, width - h + evenHeight(w, fullLayout(place)));
  };
  addEventListener("resize", draw);
  isDark.addEventListener("change", draw);
  draw();
}
