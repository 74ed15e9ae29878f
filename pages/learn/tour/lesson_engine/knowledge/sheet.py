"""The twelve questions of one test, drawn from a seed, and the answers as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Literal

from headlight.language import ENGLISH, speaking
from pages.learn.tour.lesson_engine.drawn import csv_of
from pages.learn.tour.lesson_engine.knowledge.ideas import IDEAS
from pages.learn.tour.lesson_engine.knowledge.item import Item

When = Literal["before", "after"]
WHENS: tuple[When, When] = ("before", "after")
VERSION = 1  # of the questions: in another version, the same seed gives other questions
MOST_SEED = 999_999
COLUMNS = ("seed", "question", "when", "given", "right", "correct", "seconds", "version")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer given to a question."""

    given: str | None  # the place of a choice, or a number as it was typed; None: no answer
    seconds: float  # time between question and answer


Answers = Mapping[str, Answer]
"""By the questions' names."""


@lru_cache(maxsize=32)
def questions(seed: int, when: When) -> Mapping[str, Item]:
    """Return the questions of a test by their names, in their order.

    Args:
        seed: of both tests, from 0 to `MOST_SEED`; determines the numbers and the order of the choices.
        when: before or after the Tour; the two tests use different numbers for each idea, from the same list.
    """
    results = {}
    for idea in IDEAS:
        variant = Random(f"{seed} {idea.name}").sample(idea.variants, len(WHENS))[WHENS.index(when)]
        results[idea.name] = idea.make(*variant).shuffled(Random(f"{seed} {idea.name} {when}"))
    return results


def n_right(seed: int, when: When, answers: Answers) -> int:
    """Return how many answers to a test are correct."""
    request = questions(seed, when)
    return sum(request[name].judge(answer.given).is_right for name, answer in answers.items())


def table(seed: int, tests: Sequence[tuple[When, Answers]], *, version: str) -> str:
    """Return all answers as CSV, in English, a line per answer.

    Args:
        seed: of the tests.
        tests: what was answered in each.
        version: of the app.
    """
    rows = []
    with speaking(ENGLISH):
        for when, answers in tests:
            request = questions(seed, when)
            for name, answer in answers.items():
                item, given = request[name], answer.given
                words = "" if given is None else item.words(given)
                right = item.words(str(item.right)) if item.choices else f"{item.right:g}"
                correct = int(item.judge(given).is_right)
                rows.append((seed, name, when, words, right, correct, f"{answer.seconds:.1f}", f"{version}-q{VERSION}"))
    return csv_of(COLUMNS, rows)
