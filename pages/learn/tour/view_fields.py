"""What defines the view of the Tour page: the chapter; and, in the session, the answers.

A reload ends the session, so the browser also stores the answers (components/chapter), and a new session restores
them.
"""

from collections.abc import Sequence

from pages.shared.view.fields import Field, Kept, number, text_up_to

PAGE = "tour"
LESSON = Field(PAGE, "lesson", "", text_up_to(120))  # its name; "": the first
TEST_SEED: Field = Field(PAGE, "seed", None, number)  # of the knowledge test; None: drawn for each person
FIELDS: tuple[Field, ...] = (LESSON, TEST_SEED)

_ANSWERS = Kept("tour-answers")  # answers by lesson, in order; None: shown without one
_SEEN = Kept("tour-seen", frozenset())  # lessons that were opened
_RESTORED = Kept("tour-restored", False)  # whether the browser's stored answers have arrived
_SEEDS = Kept("tour-seeds")  # seeds of the six words' training by lesson
N_SEEDS = 10
MOST_LESSONS, MOST_ANSWERS, MOST_LETTERS = 400, 40, 1000  # limits on what is read from a browser; letters of an answer


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
    """Record the answer to the question of this number; None: reveal the answer without a guess."""
    if len(answers(name)) == number:
        _set_answers(name, (*answers(name), given))


def ask_again(name: str, number: int) -> None:
    """Forget the answers to a chapter's questions, from this one on."""
    _set_answers(name, answers(name)[:number])


def _set_answers(name: str, given: tuple[str | None, ...]) -> None:
    _ANSWERS.set((_ANSWERS.value or {}) | {name: given})


def is_restored() -> bool:
    """Return whether the browser's stored answers have arrived; until then its storage must not be overwritten."""
    return bool(_RESTORED.value)


def restore(kept: object) -> None:
    """Restore what the browser stored in earlier sessions, once validated; answers of this session take precedence.

    Args:
        kept: the answers by name of each opened chapter, {"masks": ["28"]}; anything else is ignored.
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
    """Return how many chapters are done, given the number of questions of each."""
    return sum(is_done(name, n_questions) for name, n_questions in lessons)


def seed(name: str) -> int | None:
    """Return the seed of the six words' training in a chapter; None until a person requests the training."""
    result: int | None = (_SEEDS.value or {}).get(name)
    return result


def wants_training(name: str) -> bool:
    """Return whether the six words' training was requested in a chapter, by its button or by an answer."""
    return seed(name) is not None or bool(answers(name))


def train(name: str) -> None:
    """Request the six words' training in a chapter; a repeated request uses another seed."""
    before = seed(name)
    _SEEDS.set((_SEEDS.value or {}) | {name: 0 if before is None else (before + 1) % N_SEEDS})
