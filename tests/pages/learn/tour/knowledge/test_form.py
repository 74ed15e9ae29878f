"""The knowledge test: its answers, in this session and of earlier ones, and its form."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.learn.tour import view_fields
from pages.learn.tour.knowledge import answers, form
from pages.learn.tour.lesson_engine.knowledge.sheet import VERSION, Answer, When, questions
from tests.pages.conftest import OpenApp, url_of, words_of
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


def press(app: AppTest, key: str) -> None:
    app.button(key=key).click().run()
    assert not app.exception


def take(app: AppTest, when: When, n_right: int) -> None:
    """Answer a test: the first this many questions rightly, the others not at all."""
    if any(button.key == "tour-test-start" for button in app.button):
        press(app, "tour-test-start")
    for number, (name, item) in enumerate(questions(7, when).items()):
        assert f"Question {number + 1} of 12" in words_of(app)
        key = f"tour-test-{when}-{name}"
        if number >= n_right:
            press(app, f"{key}-show")
        elif item.choices:
            press(app, f"{key}-choice-{int(item.right)}")
        else:
            app.text_input(key=key).set_value(str(item.right)).run()
        assert "✓" not in words_of(app) or number == 11


def test_two_tests_and_what_was_learned(open_app: OpenApp):
    app = open_app("tour", lesson="test-before", seed="7")
    assert not app.exception and form.NO_FEEDBACK in words_of(app)
    press(app, "tour-test-start")
    app.text_input(key="tour-test-before-scaling").set_value("four").run()
    assert "Please enter a number" in words_of(app) and "Question 1 of 12" in words_of(app)
    take(app, "before", 3)
    words = words_of(app)
    assert form.WAITS in words and "✗" not in words and "right" not in words
    press(app, "tour-test-to-after")
    assert url_of(app) == {"lesson": "test-after", "seed": "7"} and form.NOT_BEFORE not in words_of(app)
    take(app, "after", 12)
    words = words_of(app)
    assert "12 of 12 answers are correct after the Tour, 9 more than before it." in words
    assert len(re.findall("data-right='True'", words)) == 15 and len(re.findall("data-right='False'", words)) == 9
    assert not [button for button in app.button if button.key == "tour-test-again"], "the address says the seed"


def test_the_test_after_the_tour_can_be_taken_alone_and_begun_anew_without_a_seed(open_app: OpenApp):
    app = open_app("tour", lesson="test-after")
    app.session_state["tour-test-seed"] = 7
    app.run()
    assert form.NOT_BEFORE in words_of(app)
    take(app, "after", 2)
    assert "After the Tour, 2 of 12 answers are correct." in words_of(app) and "Before the Tour" not in words_of(app)
    press(app, "tour-test-again")
    assert url_of(app)["lesson"] == "test-before" and form.NO_FEEDBACK in words_of(app)


def test_the_gain_is_a_sentence():
    for after, text in ((9, "4 more than"), (3, "2 fewer than"), (5, "as many as")):
        gain = form._gain({"before": 5, "after": after}, 12)
        assert gain == f"{after} of 12 answers are correct after the Tour, {text} before it."
