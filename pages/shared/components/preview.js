// A head as soon as it is clicked: its picture in the overview, drawn large until the server's numbers are there.
//
// data.preview of figure.js: {attention, layer, head} of what is drawn, {title} with {layer} and {head} in it, and the
// {name} of the trace that holds the weights; null where what is drawn is no single head's pattern. A picture that
// stands for fewer or more cells is not drawn.

const CLICKED = "headlight-head"; // as overview.js calls it
const TOP = 254; // the level of weight 1; above it the mask does not allow the cell

function watchClicks(view) {
  const onClicked = ({ detail }) => {
    if (view.root.isConnected) preview(view, detail);
    else window.removeEventListener(CLICKED, onClicked);
  };
  window.addEventListener(CLICKED, onClicked);
}

function preview(view, { attention, layer, head, rows, columns, levels }) {
  const { figure, plot, data } = view;
  const shown = data?.preview;
  if (!figure || shown?.attention !== attention || (shown.layer === layer && shown.head === head)) return;
  const weights = figure.data.find(({ name }) => name === shown.name);
  if (weights?.z.length !== rows || weights.z[0].length !== columns) return;
  const weight = (level) => (level > TOP ? NaN : level / TOP);
  const row = (_, i) => Array.from(levels.subarray(i * columns, (i + 1) * columns), weight);
  const z = Array.from({ length: rows }, row);
  const isKept = ({ mode }) => mode !== "text"; // numbers in cells are the server's
  const drawn = figure.data
    .filter(isKept)
    .map((trace) => (trace === weights ? { ...trace, z, customdata: null, hovertemplate: "", hoverinfo: "skip" } : trace));
  const title = { ...figure.layout.title, text: shown.title.replace("{layer}", layer).replace("{head}", head) };
  view.drawn = null; // whatever comes next is drawn
  window.Plotly.react(plot, drawn, { ...figure.layout, title }, CONFIG);
}
