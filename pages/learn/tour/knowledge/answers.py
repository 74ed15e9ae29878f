"""The answers to the knowledge test from this session and earlier ones in this browser, and the test's seed."""

import re
import secrets
import time
from collections.abc import Mapping

from pages.components import browser_storage
from pages.learn.tour import view_fields
from pages.learn.tour.lesson_engine.knowledge.item import Item
from pages.learn.tour.lesson_engine.knowledge.sheet import Answer, Answers, When, questions
from pages.learn.tour.question import MOST_TYPED
from pages.shared.view.fields import Kept

NAMES: Mapping[When, str] = {"before": "test-before", "after": "test-after"}  # in addresses, beside the lessons
STORE, SEED = "headlight-knowledge-test-1", "seed"  # the store's name ends with the questions' version
N_SEEDS = 1_000_000
MOST_TESTS, MOST_SECONDS = 200, 1e6  # limits on what is read from a browser
_SEED: Kept = Kept("tour-test-seed")  # the drawn seed
_GIVEN = Kept("tour-test-answers")  # (seed, when) -> answers by question name
_STARTED = Kept("tour-test-started", frozenset())  # tests that were begun
_SHOWN = Kept("tour-test-shown")  # the current question, and the time in seconds at which it appeared
_TEST = re.compile(r"(\d{1,6}) (before|after)")


def asked() -> When | None:
    """Return which test is open; None: a lesson is."""
    return next((when for when, name in NAMES.items() if view_fields.LESSON.value == name), None)


def seed() -> int:
    """Return the seed of both tests: the one in the address, or else one drawn at first use and kept."""
    if view_fields.TEST_SEED.value is not None:
        return int(view_fields.TEST_SEED.value)
    if _SEED.value is None:
        draw_seed()
    return int(_SEED.value)


def draw_seed() -> None:
    """Draw a new random seed for the questions."""
    _SEED.set(secrets.randbelow(N_SEEDS))


def begin_anew() -> None:
    """Open the test before the Tour with other questions."""
    draw_seed()
    view_fields.go_to(NAMES["before"])


def of(when: When) -> Answers:
    """Return the answers to a test, in the order in which they were given."""
    result: Answers = (_GIVEN.value or {}).get((seed(), when), {})
    return result


def give(when: When, name: str, given: str | None) -> None:
    """Record the answer to a question, of which only the first counts; None: the person does not know."""
    shown, since = _SHOWN.value or (None, time.monotonic())
    seconds = time.monotonic() - since if shown == (seed(), when, name) else 0.0
    _add(seed(), when, {name: Answer(given=given, seconds=round(seconds, 1))})


def show(when: When, name: str) -> None:
    """Note that a question is shown."""
    shown = (seed(), when, name)
    if _SHOWN.value is None or _SHOWN.value[0] != shown:
        _SHOWN.set((shown, time.monotonic()))


def is_started(when: When) -> bool:
    """Return whether a test was begun."""
    return (seed(), when) in _STARTED.value or bool(of(when))


def start(when: When) -> None:
    """Begin a test."""
    _STARTED.set(_STARTED.value | {(seed(), when)})


def next_question(when: When) -> str | None:
    """Return the next unanswered question; None if all are answered."""
    return next((name for name in questions(seed(), when) if name not in of(when)), None)


def is_done(when: When) -> bool:
    """Return whether all questions of a test are answered."""
    return bool(of(when)) and next_question(when) is None


def keep() -> None:
    """Store all answers and the seed in the browser."""
    parts: dict[str, object] = {
        f"{of_seed} {when}": {name: [answer.given, answer.seconds] for name, answer in answers.items()}
        for (of_seed, when), answers in (_GIVEN.value or {}).items()
    }
    if parts and _SEED.value is not None:
        parts[SEED] = _SEED.value
    browser_storage.keep(STORE, parts, restore)


def restore(kept: object) -> None:
    """Restore what the browser stored in earlier sessions, once validated; answers of this session take precedence."""
    items = [*kept.items()][:MOST_TESTS] if isinstance(kept, dict) else []
    own = (_SEED.value, "before") in (_GIVEN.value or {}) or (_SEED.value, "after") in (_GIVEN.value or {})
    for name, value in items:
        if name == SEED and not own and type(value) is int and 0 <= value < N_SEEDS:
            _SEED.set(value)
        elif (match := _TEST.fullmatch(name)) and isinstance(value, dict):
            of_seed: int = int(match[1])
            when: When = "before" if match[2] == "before" else "after"
            request = questions(of_seed, when)
            answers = {one: _answer(value[one], item) for one, item in request.items() if one in value}
            _add(of_seed, when, {one: answer for one, answer in answers.items() if answer is not None})


def _answer(kept: object, item: Item) -> Answer | None:
    """Return a stored answer to a question; None if it is not valid."""
    match kept:
        case [None | str() as given, int() | float() as seconds] if 0 <= seconds <= MOST_SECONDS:
            is_answer = given is None or (len(given) <= MOST_TYPED and item.is_answer(given))
            return Answer(given=given, seconds=float(seconds)) if is_answer else None
    return None


def _add(of_seed: int, when: When, answers: Answers) -> None:
    """Add answers without overwriting existing ones."""
    before = _GIVEN.value or {}
    known = before.get((of_seed, when), {})
    _GIVEN.set(before | {(of_seed, when): {**known, **{name: a for name, a in answers.items() if name not in known}}})
