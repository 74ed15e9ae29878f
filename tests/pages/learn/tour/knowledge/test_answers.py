"""The answers of the knowledge test: in their order, the first one counts, and a browser's are checked."""

from collections.abc import Iterator
from typing import Any

import pytest

from pages.learn.tour import view_fields
from pages.learn.tour.knowledge import answers
from pages.learn.tour.lesson_engine.knowledge.sheet import VERSION, Answer, questions
from tests.pages.learn.bare import Bare, drawn_bare


@pytest.fixture
def bare() -> Iterator[Bare]:
    with drawn_bare() as drawn:
        view_fields.TEST_SEED.set(7)
        yield drawn


def test_questions_are_answered_one_by_one_and_the_first_answer_counts(bare: Bare):
    names = [*questions(7, "before")]
    answers.start("before")
    assert answers.is_started("before") and not answers.is_started("after")
    for n, name in enumerate(names):
        assert answers.next_question("before") == name and len(answers.of("before")) == n
        answers.give("before", name, "2")
        answers.give("before", name, "3")
    assert answers.next_question("before") is None and answers.is_done("before") and not answers.is_done("after")
    assert {answer.given for answer in answers.of("before").values()} == {"2"}


def test_the_time_counts_from_when_a_question_is_shown(bare: Bare, monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr(answers.time, "monotonic", lambda: now[0])
    answers.show("before", "scaling")
    now[0] += 5
    answers.show("before", "scaling")  # the page is drawn again
    now[0] += 2.5
    answers.give("before", "scaling", "1")
    answers.give("before", "softmax", "1")  # never shown
    assert [answer.seconds for answer in answers.of("before").values()] == [7.5, 0.0]


def sent(bare: Bare) -> dict[str, Any]:
    answers.keep()
    return dict(bare.components["browser_storage"]["data"])


def test_a_new_session_begins_with_what_the_browser_kept(bare: Bare):
    view_fields.TEST_SEED.set(None)
    assert sent(bare)["parts"] == {} and answers.STORE.endswith(f"-{VERSION}")
    answers.restore({"seed": 12, "12 before": {"scaling": ["3", 4.5], "softmax": [None, 1]}, "12 after": {}})
    assert answers.seed() == 12
    assert answers.of("before") == {"scaling": Answer(given="3", seconds=4.5), "softmax": Answer(given=None, seconds=1)}
    answers.restore({"12 before": {"scaling": ["9", 1.0], "heads": ["64", 2.0]}})
    assert answers.of("before")["scaling"].given == "3", "what this session has stays"
    kept = {"seed": 12, "12 before": {"scaling": ["3", 4.5], "softmax": [None, 1.0], "heads": ["64", 2.0]}}
    assert kept.items() <= sent(bare)["parts"].items()
    answers.restore({"seed": 13})
    assert answers.seed() == 12, "it has answers"
    view_fields.TEST_SEED.set(7)
    assert answers.seed() == 7, "the address comes first"


@pytest.mark.parametrize(
    "kept",
    [
        *(None, ["7 before"], {"7 before": ["3"]}, {"7 before": {"scaling": "3"}}, {"7 before": {"x": ["3", 1]}}),
        *({"7 before": {"scaling": given}} for given in (["3", -1], ["3" * 99, 1], ["=1+1", 1], ["3", float("nan")])),
        *({"7 before": {"cross-attention": ["9", 1]}}, {"7 now": {"scaling": ["3", 1]}}, {"seed": -1}),
    ],
)
def test_what_is_damaged_is_left_out(bare: Bare, kept: object):
    answers.restore(kept)
    assert not answers.of("before")
    view_fields.TEST_SEED.set(None)
    assert answers.seed() >= 0
