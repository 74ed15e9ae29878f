"""A figure as a separate page, which opens in any browser without a network."""

import html
from pathlib import Path

import plotly.graph_objects as go

from headlight.figures.theme import FONT, LIGHT, template
from headlight.language import language

_MODULE = Path(__file__).with_name("cell_words.js")
FILL_IN_WORDS = _MODULE.read_text(encoding="utf-8").replace("export ", "")
"""Plain JavaScript: `fillInWords(figure)` changes a figure, {data, layout}, before or after it is drawn."""

_AFTER = (
    FILL_IN_WORDS
    + """
const plot = document.getElementById("{plot_id}");
fillInWords(plot);
Plotly.redraw(plot);
"""
)
_STYLE = f"""\
html {{ color-scheme: light; }}
body {{ margin: 0 auto; padding: 24px; max-width: 960px; font: 15px/1.5 {FONT}; }}
body {{ background: {LIGHT.background}; color: {LIGHT.text}; }}
h1 {{ margin: 0 0 4px; font-size: 20px; }}
p {{ margin: 0 0 20px; color: {LIGHT.muted}; white-space: pre-line; }}
"""
_PAGE = """\
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
<h1 dir="auto">{title}</h1>
<p dir="auto">{about}</p>
{figure}
</body>
</html>
"""


def offline_page(figure: go.Figure, *, title: str, about: str) -> str:
    """Return a self-contained HTML page with the figure in the light theme, about 5 MB.

    Args:
        figure: is not changed.
        title: plain text.
        about: description; plain text, whose line breaks are kept.
    """
    light = go.Figure(figure).update_layout(template=template(LIGHT))
    drawn = light.to_html(
        full_html=False,
        include_plotlyjs=True,
        post_script=_AFTER,
        config={"showSendToCloud": False, "displaylogo": False, "responsive": True},
    )
    return _PAGE.format(
        language=language(), title=html.escape(title), about=html.escape(about), style=_STYLE, figure=drawn
    )
