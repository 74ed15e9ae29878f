"""Links to definitions: a measure that a page names is one click away from its definition."""

from urllib.parse import urlencode

from pages.shared.glossary import terms
from pages.shared.prose import TermLink
from pages.shared.view import locale

PAGE = "glossary"


def definitions(*names: str) -> tuple[TermLink, ...]:
    """Return links to the definitions of terms, in their own tab, so that the page is left unchanged.

    Raises:
        KeyError: the glossary has no such term.
    """
    there = terms()
    return tuple(
        TermLink(
            label=there[name].title,
            address=f"{PAGE}?{urlencode({'term': name} | locale.published())}",
            about=there[name].meaning,
        )
        for name in names
    )
