"""What defines the view of the Tour page: the chapter; and in the session, what was answered.

The session ends with a reload, so the browser keeps what was answered, too (components/chapter), and a new session
begins with it.
"""

from collections.abc import Sequence

from pages.shared.view.fields import Field, Kept, number, text_up_to

PAGE = "tour"
LESSON = Field(PAGE, "lesson", "", text_up_to(120))  # its name; "": the first
TEST_SEED: Field = Field(PAGE, "seed", None, number)  # of the knowledge test; None: drawn, another one for each person
FIELDS: tuple[Field, ...] = (LESSON, TEST_SEED)

_ANSWERS = Kept("tour-answers")  # of each lesson: the answers to its questions, in their order; None: shown without one
_SEEN = Kept("tour-seen", frozenset())  # lessons that were opened
_RESTORED = Kept("tour-restored", False)  # whether the browser has told what it keeps
_SEEDS = Kept("tour-seeds")  # of each lesson in which the six words were trained: from which first weights
N_SEEDS = 10
MOST_LESSONS, MOST_ANSWERS, MOST_LETTERS = 400, 40, 1000  # that are taken from a browser; letters of an answer


def go_to(name: str) -> None:
    """Open a chapter."""
    LESSON.set(name)


def see(name: str) -> None:
    """Note that a chapter was opened."""
    _SEEN.set(_SEEN.value | {name})


def answers(name: str) -> tuple[str | None, ...]:
    """Return the answers in a chapter."""
    results: tuple[str | None, ...] = (_ANSWERS.value or {}).get(name, ())
    return results


def answer(name: str, number: int, given: str | None) -> None:
    """Take the answer to a chapter's question of this number; None: it is to be shown without one."""
    if len(answers(name)) == number:
        _set_answers(name, (*answers(name), given))


def ask_again(name: str, number: int) -> None:
    """Forget the answers to a chapter's questions, from this one on."""
    _set_answers(name, answers(name)[:number])


def _set_answers(name: str, given: tuple[str | None, ...]) -> None:
    _ANSWERS.set((_ANSWERS.value or {}) | {name: given})


def is_restored() -> bool:
    """Return whether the browser has told what it keeps; before, nothing that it keeps may be written over."""
    return bool(_RESTORED.value)


def restore(kept: object) -> None:
    """Take what the browser kept of earlier sessions, which is checked like any input; what this one has stays.

    Args:
        kept: the answers by the names of chapters that were opened, {"masks": ["28"]}; anything else is left out.
    """
    _RESTORED.set(True)
    chapters = [*kept.items()][:MOST_LESSONS] if isinstance(kept, dict) else []
    for name, given in chapters:
        is_whole = isinstance(given, list) and len(given) <= MOST_ANSWERS
        if is_whole and all(one is None or (isinstance(one, str) and len(one) <= MOST_LETTERS) for one in given):
            see(name)
            if name not in (_ANSWERS.value or {}):
                _set_answers(name, tuple(given))


def is_done(name: str, n_questions: int) -> bool:
    """Return whether a chapter was opened and all its questions are answered."""
    return name in _SEEN.value and len(answers(name)) >= n_questions


def n_done(lessons: Sequence[tuple[str, int]]) -> int:
    """Return how many of some chapters are done, each with how many questions it has."""
    return sum(is_done(name, n_questions) for name, n_questions in lessons)


def seed(name: str) -> int | None:
    """Return from which first weights the six words are trained in a chapter; None: nobody asked for it yet."""
    result: int | None = (_SEEDS.value or {}).get(name)
    return result


def wants_training(name: str) -> bool:
    """Return whether the six words' training was requested in a chapter, by its button or by an answer."""
    return seed(name) is not None or bool(answers(name))


def train(name: str) -> None:
    """The training was requested, or asked for again: then it begins with other random weights."""
    before = seed(name)
    _SEEDS.set((_SEEDS.value or {}) | {name: 0 if before is None else (before + 1) % N_SEEDS})
