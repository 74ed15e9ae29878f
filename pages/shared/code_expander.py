"""Lines of code that give what a page shows, folded until a person asks for them.

The syntax highlighter is larger than the rest of a page's frame, and a browser loads it with the first code it shows.
No figure has to wait for that. The code is not a separate fragment, since a page is one: when the outer of two
fragments reruns, Streamlit drops its unsent messages but sends the inner one's, which a browser may fail to place.
"""

from collections.abc import Callable

import streamlit as st

from headlight.language import say
from pages.shared import prose
from transformer_core.errors import HeadlightError

CODE, COMMAND = "show-code", "show-command"  # keys; a page has one of each


def code(lines: Callable[[], str], note: str = "") -> None:
    """Offer lines of Python, to be run at the project's root; `note` stands below them."""
    _fold(CODE, say("Show the code"), ":material/code:", "python", lines, below=note)


def command(title: str, line: Callable[[], str], note: str = "") -> None:
    """Offer a line of a shell; `note` stands above it."""
    _fold(COMMAND, title, ":material/terminal:", "bash", line, above=note)


def _fold(
    key: str, title: str, icon: str, language: str, lines: Callable[[], str], *, above: str = "", below: str = ""
) -> None:
    with st.expander(prose.plain(title), icon=icon, key=key, on_change="rerun") as folded:
        if not folded.open:
            return
        if above:
            prose.small(above)
        try:
            if result := lines():
                st.code(result, language=language)
        except HeadlightError as error:
            prose.note(prose.sentence(error))
        if below:
            prose.small(below)
