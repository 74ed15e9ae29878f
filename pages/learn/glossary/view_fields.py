"""What defines the view of the Glossary page: the term that is requested, and which terms are listed."""

from headlight.language import ENGLISH
from pages.shared.glossary import Term, Topic, terms, topics
from pages.shared.view.fields import Field, one_of, text_up_to

PAGE = "glossary"
TERM = Field(PAGE, "term", "", text_up_to(60))  # the term shown first; "": none
SEARCH = Field(PAGE, "search", "", text_up_to(60))
TOPIC = Field(PAGE, "topic", "", one_of("", *topics(ENGLISH)))  # "": all
FIELDS: tuple[Field, ...] = (TERM, SEARCH, TOPIC)


def search(words: str) -> None:
    """Set the search, and clear the requested term."""
    SEARCH.set(words.strip())
    TERM.set("")


def choose_topic(topic: str) -> None:
    """Set the topic, and clear the requested term."""
    TOPIC.set(topic)
    TERM.set("")


def matching_topics() -> list[Topic]:
    """Return the topics, each with its terms that contain all words of the search; English titles match too."""
    words = SEARCH.value.casefold().split()
    in_english = terms(ENGLISH)

    def matches(term: Term) -> bool:
        text = " ".join([in_english[term.name].title, term.title, term.meaning]).casefold()
        return all(word in text for word in words)

    chosen = [topic for name, topic in topics().items() if TOPIC.value in ("", name)]
    matching = [Topic(topic.title, tuple(filter(matches, topic.terms))) for topic in chosen]
    return [topic for topic in matching if topic.terms]
