"""The glossary: the terms that the app names, by topic, each defined as the code computes it.

Its texts are in one file per language, such as `en.toml`; the English file also holds what all languages share, and
supplies what another language lacks.

>>> terms()["induction-score"].meaning
>>> definitions("induction-score")  # to its definition, for `prose.look_for` and others
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from headlight.language import ENGLISH, language


class Paper(NamedTuple):
    """A publication: authors and year as it is cited, and its title."""

    cited: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Term:
    """A term of the field as the app uses it."""

    name: str  # in addresses
    title: str
    meaning: str  # one to three sentences
    formula: str = ""  # LaTeX, without words of a language
    paper: Paper | None = None  # where it comes from
    section: str = ""  # of the paper, and its equation in brackets
    page: str  # the address of a page that shows it
    view: Mapping[str, str] = field(default_factory=dict)  # the other parameters of that address, such as a model


class Topic(NamedTuple):
    """The terms of one topic."""

    title: str
    terms: tuple[Term, ...]


def topics(of_language: str = "") -> Mapping[str, Topic]:
    """Return the topics by their names in addresses, in the reader's language or in another one."""
    return _topics(of_language or language())


def terms(of_language: str = "") -> Mapping[str, Term]:
    """Return all terms by their names in addresses, in the reader's language or in another one."""
    return {term.name: term for topic in topics(of_language).values() for term in topic.terms}


def texts_of(of_language: str) -> Mapping[str, Any]:
    """Return the content of the file of a language; empty without one."""
    file = Path(__file__).parent / f"{of_language}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


@cache
def _topics(of_language: str) -> Mapping[str, Topic]:
    english, own = texts_of(ENGLISH), texts_of(of_language).get("topics", {})
    results = {}
    for name, topic in english["topics"].items():
        translated = own.get(name, {})
        of_terms = translated.get("terms", {})
        of_topic = tuple(
            _term(english["papers"], name=term, **(texts | of_terms.get(term, {})))
            for term, texts in topic["terms"].items()
        )
        results[name] = Topic(translated.get("title", topic["title"]), of_topic)
    return results


def _term(papers: Mapping[str, tuple[str, str]], *, meaning: str, paper: str = "", **texts: Any) -> Term:
    """Return a term; line breaks in its definition are spaces."""
    of_paper = Paper(*papers[paper]) if paper else None
    return Term(**texts, meaning=meaning.strip().replace("\n", " "), paper=of_paper)
