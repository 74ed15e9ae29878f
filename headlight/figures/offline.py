"""Figures in a separate page, which opens in any browser without a network."""

import gzip
import html
import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from headlight.figures.theme import DARK, FONT, LIGHT, template
from headlight.language import language

_MODULE = Path(__file__).with_name("cell_words.js")
FILL_IN_WORDS = _MODULE.read_text(encoding="utf-8").replace("export ", "")
"""Plain JavaScript: `fillInWords(figure)` changes a figure, {data, layout}, before or after it is drawn."""

_DRAWING = """\
<script type="text/plain" id="plotly">{library}</script>
<script type="application/json" id="figures">{figures}</script>
<script type="module">
{fill_in_words}
const read = (id) => document.getElementById(id).textContent;
const bytes = Uint8Array.from(atob(read("plotly")), (letter) => letter.charCodeAt(0));
const library = document.createElement("script");
const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
library.textContent = await new Response(unpacked).text();
document.head.append(library);
const {{ figures, templates }} = JSON.parse(read("figures"));
const isDark = matchMedia("(prefers-color-scheme: dark)");
function draw(id) {{
  const figure = structuredClone(figures[id]);
  fillInWords(figure);
  figure.layout.template = templates[isDark.matches ? "dark" : "light"];
  const options = {{ displaylogo: false, showSendToCloud: false, responsive: true }};
  options.modeBarButtonsToRemove = ["select2d", "lasso2d"]; // a selection has no effect
  return Plotly.react(id, figure.data, figure.layout, options);
}}
const shown = new ResizeObserver((places) => {{
  for (const {{ target, contentRect }} of places) {{
    if (contentRect.width && !target.classList.contains("js-plotly-plot")) draw(target.id);
  }}
}});
for (const id of Object.keys(figures)) shown.observe(document.getElementById(id));
isDark.addEventListener("change", () => document.querySelectorAll(".js-plotly-plot").forEach(({{ id }}) => draw(id)));
</script>
"""
STYLE = f"""\
html {{ color-scheme: light dark; }}
body {{ margin: 0 auto; padding: 24px; max-width: 960px; font: 15px/1.5 {FONT}; }}
body {{ background: light-dark({LIGHT.background}, {DARK.background}); color: light-dark({LIGHT.text}, {DARK.text}); }}
h1 {{ margin: 0 0 4px; font-size: 20px; }}
.about {{ margin: 0 0 20px; color: light-dark({LIGHT.muted}, {DARK.muted}); white-space: pre-line; }}
"""
PAGE = """\
<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def offline_page(figure: go.Figure, *, title: str, about: str) -> str:
    """Return a self-contained HTML page with the figure, light or dark as the reader prefers, about 2 MB.

    Args:
        figure: is not changed.
        title: plain text.
        about: description; plain text, whose line breaks are kept.
    """
    heading = f'<h1 dir="auto">{html.escape(title)}</h1>\n<p class="about" dir="auto">{html.escape(about)}</p>'
    body = f'{heading}\n<div id="figure"></div>\n{drawing({"figure": figure})}'
    return PAGE.format(language=language(), title=html.escape(title), style=STYLE, body=body)


def drawing(figures: Mapping[str, go.Figure]) -> str:
    """Return the HTML that draws figures in the elements of these ids, each as soon as its element is displayed."""
    templates = {theme.name: template(theme).to_plotly_json() for theme in (LIGHT, DARK)}
    drawn = {name: json.loads(figure.to_json()) for name, figure in figures.items()}
    for figure in drawn.values():
        figure["layout"].pop("template", None)
    content = json.dumps({"figures": drawn, "templates": templates}, ensure_ascii=False)
    return _DRAWING.format(library=_library(), figures=content.replace("<", "\\u003c"), fill_in_words=FILL_IN_WORDS)


@cache
def _library() -> str:
    """Return plotly.js, compressed, as base64."""
    return b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()
