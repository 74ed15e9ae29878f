"""What the glossary knows of a term."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pages.shared.glossary.papers import Paper


@dataclass(frozen=True, kw_only=True)
class Term:
    """A term of the field as the app uses it: a definition says what the code computes."""

    name: str  # in addresses
    title: str  # marked
    meaning: str  # marked; one to three sentences
    formula: str = ""  # LaTeX, without words of a language
    paper: Paper | None = None  # where it comes from
    section: str = ""  # of the paper, and its equation in brackets
    page: str  # the address of a page that shows it
    view: Mapping[str, str] = field(default_factory=dict)  # what the address says besides, such as a model
