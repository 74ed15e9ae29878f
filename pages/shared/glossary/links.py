"""Links to definitions: a measure that a page names is one click away from what it is."""

from urllib.parse import urlencode

from headlight.language import say
from pages.shared.glossary import TERMS
from pages.shared.prose import Link
from pages.shared.view import locale

PAGE = "glossary"


def definitions(*names: str) -> tuple[Link, ...]:
    """Return links to the definitions of terms, in their own tab, so that the page is left unchanged.

    Raises:
        KeyError: the glossary has no such term.
    """
    return tuple(_link(name) for name in names)


def _link(name: str) -> Link:
    term = TERMS[name]
    address = f"{PAGE}?{urlencode({'term': name} | locale.published())}"
    return Link(label=say(term.title), address=address, about=say(term.meaning))
