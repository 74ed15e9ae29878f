"""The knowledge test on the Tour page: no feedback before its end, then the table, the gain and the file."""

import re

from streamlit.testing.v1 import AppTest

from pages.learn.tour.knowledge import form
from pages.learn.tour.lesson_engine.knowledge.sheet import When, questions
from tests.pages.conftest import OpenApp, url_of, words_of


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
