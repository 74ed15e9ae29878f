"""What defines the view of the Glossary page: the term that is requested, and which terms are listed."""

from collections.abc import Sequence

from headlight.language import say
from pages.shared.glossary import TOPICS
from pages.shared.glossary.term import Term
from pages.shared.view.fields import Field, one_of, text_up_to

PAGE = "glossary"
TERM = Field(PAGE, "term", "", text_up_to(60))  # that stands above all others; "": none
SEARCH = Field(PAGE, "search", "", text_up_to(60))
TOPIC = Field(PAGE, "topic", "", one_of("", *TOPICS))  # "": all
FIELDS: tuple[Field, ...] = (TERM, SEARCH, TOPIC)


def search(words: str) -> None:
    """Something was searched for: the term that was requested before gives way."""
    SEARCH.set(words.strip())
    TERM.set("")


def choose_topic(topic: str) -> None:
    """Another topic was chosen."""
    TOPIC.set(topic)
    TERM.set("")


def found() -> list[tuple[str, Sequence[Term]]]:
    """Return the topics, and of each the terms in which all words are that are searched for; in either language."""
    words = SEARCH.value.casefold().split()
    listed: list[tuple[str, Sequence[Term]]] = []
    for topic, (title, terms) in TOPICS.items():
        if TOPIC.value in ("", topic):
            fitting = [term for term in terms if all(word in _text_of(term) for word in words)]
            listed += [(title, fitting)] if fitting else []
    return listed


def _text_of(term: Term) -> str:
    return " ".join([term.title, say(term.title), say(term.meaning)]).casefold()
