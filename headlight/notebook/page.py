"""A view as a separate page: one file, which loads nothing and runs only its own script."""

import html
from base64 import b64encode
from hashlib import sha256

from headlight.figures.theme import DARK, FONT, LIGHT
from headlight.language import language
from headlight.notebook.bundle import page_script

_STYLE = f"""
:root {{ color-scheme: light dark; }}
body {{ margin: 0; padding: 20px; background: {LIGHT.background}; color: {LIGHT.text}; font-family: {FONT}; }}
.headlight-view {{ margin: 0 auto; max-width: 1180px; }}
@media (prefers-color-scheme: dark) {{ body {{ background: {DARK.background}; color: {DARK.text}; }} }}
"""
_PAGE = """\
<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{part}</main>
<script>{script}</script>
</body>
</html>
"""


def whole_page(part: str, *, title: str) -> str:
    """Return a page.

    Its content security policy allows its own script, by its hash, and no connection.

    Args:
        part: the view, as HTML.
        title: plain text.
    """
    script = "\n" + page_script(language())
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    return _PAGE.format(
        language=language(), policy=policy, title=html.escape(title), style=_STYLE, part=part, script=script
    )
