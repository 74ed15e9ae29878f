// A figure as a page of its own: one file, which opens without a network, light or dark as its reader has it.

async function makePage({ figure, templates, height }) {
  // figure and templates: JSON; height: px, or null for that of the window.
  const library = await (await fetch(PLOTLY)).text();
  const { layout } = JSON.parse(figure);
  const ground = (theme) => JSON.parse(templates[theme]).layout.paper_bgcolor;
  const inScript = (json) => json.replaceAll("<", "\\u003c");
  const title = plain(layout.title?.text ?? "Headlight").replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const script = [
    `const FIGURE = ${inScript(figure)};`,
    `const TEMPLATES = { light: ${inScript(templates.light)}, dark: ${inScript(templates.dark)} };`,
    `const LAYOUT = ${JSON.stringify(LAYOUT)};`,
    `const HEIGHT = ${height};`,
    ...[readGrids, rowsOf, fillInWords, layOut, fitTitle, dropTightTexts, thinOutColumns, fitLying, thinOut, drawPage].map(String),
    "drawPage();",
  ].join("\n");
  return [
    `<!doctype html>\n<html lang="${LANGUAGE}">\n<meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${title}</title>`,
    "<style>",
    `html { color-scheme: light dark; background: light-dark(${ground("light")}, ${ground("dark")}); }`,
    "body { margin: 16px; }",
    "</style>",
    '<div id="figure"></div>',
    `<script>${library}</script>`,
    `<script>\n${script}\n</script>\n</html>\n`,
  ].join("\n");
}

function drawPage() {
  const place = document.getElementById("figure");
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const draw = () => {
    const figure = structuredClone(FIGURE);
    readGrids(figure);
    fillInWords(figure);
    layOut(figure, place.clientWidth, HEIGHT ?? innerHeight - 32);
    figure.layout.template = TEMPLATES[isDark.matches ? "dark" : "light"];
    Plotly.react(place, figure.data, figure.layout, { displayModeBar: false, showTips: false });
  };
  addEventListener("resize", draw);
  isDark.addEventListener("change", draw);
  draw();
}
