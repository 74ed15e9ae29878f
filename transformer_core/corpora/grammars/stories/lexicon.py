"""Every word and phrase of the tales in one place, and what is always true of those that they name."""

from functools import cache

from transformer_core.corpora.grammars.stories import people, places, things
from transformer_core.corpora.grammars.stories.tables import Fact, Forms, merged

FORMS: Forms = merged(people.FORMS, things.FORMS, places.FORMS)  # form: who or what: how it is said
PRONOUN: dict[str, str] = {**people.PEOPLE, **things.PRONOUN}  # he, she, it or they
ALWAYS: frozenset[Fact] = people.FACTS | things.FACTS | places.FACTS  # what is true in every tale


@cache
def always(predicate: str) -> tuple[Fact, ...]:
    """All facts of one kind that are always true, in order."""
    return tuple(sorted(fact for fact in ALWAYS if fact[0] == predicate))


@cache
def all_with(*feature: str) -> tuple[str, ...]:
    """All of whom a fact with this beginning is always true: `all_with("eats", "cat")` is fish and milk."""
    n = len(feature)
    return tuple(sorted(fact[n] for fact in ALWAYS if len(fact) == n + 1 and fact[:n] == feature))
