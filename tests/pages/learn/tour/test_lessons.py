"""The lessons of the app: found where they are, and their links open pages on which all they ask for takes effect."""

import html
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from headlight.analysis.blueprint.plan import blueprint_of
from headlight.analysis.trace.model_run import run_text
from pages.learn.tour import lessons
from pages.learn.tour.lesson_engine.lesson import Lesson, Link
from pages.learn.tour.lesson_engine.six_words import train_six_words
from pages.shared.page import pages
from pages.shared.view import state
from tests.pages.conftest import component, words_of
from tests.pages.learn.bare import unpacked
from tests.pages.learn.tour.conftest import MakeLesson
from transformer_core.errors import HeadlightError


def test_each_training_of_the_six_words_is_asked_for_by_all_that_makes_it_and_made_once(make_lesson: MakeLesson):
    usual = {"smoothing": 0.0, "is_shifted": True, "steps": 2, "seed": 0}
    choices: list[dict[str, Any]] = [{}, {"smoothing": 0.1}, {"is_shifted": False}, {"steps": 0}, {"seed": 1}]
    wrong = make_lesson(mistake="targets_not_shifted")
    for chosen in choices:
        arguments: dict[str, Any] = usual | chosen
        lesson = make_lesson() if arguments["is_shifted"] else wrong
        losses: dict[int, float] = {}
        evidence = lessons.evidence_of(lesson, seed=arguments["seed"], on_step=losses.__setitem__)
        actual, by_itself = (
            evidence.six_words(arguments["smoothing"], steps=arguments["steps"]),
            train_six_words(**arguments),
        )
        assert (actual.smoothing, actual.is_shifted) == (arguments["smoothing"], arguments["is_shifted"])
        np.testing.assert_allclose(actual.losses, by_itself.losses, rtol=1e-5)
        assert losses == dict(enumerate(actual.losses, 1))
        again = lessons.evidence_of(lesson, seed=arguments["seed"])
        assert again.six_words(arguments["smoothing"], steps=arguments["steps"]) is actual


def test_a_lesson_is_run_on_its_own_text_and_target_and_on_its_other_text_without_one(make_lesson: MakeLesson):
    texts = {"text": "The cat sleeps.", "other": "The dog sees."}
    evidence = lessons.evidence_of(make_lesson(target="Le chien.", mistake="axes_swapped", **texts))
    model, tokenizer = tc.load(lessons.models.available()["en-fr"].path)
    runs = {"text": evidence.run, "other": evidence.run_of("other")}
    for name, target in (("text", "Le chien."), ("other", None)):
        expected = run_text(model, tokenizer, texts[name], target=target)
        assert runs[name].model_run.inputs == expected.inputs
        site = runs[name].sites["decoder.blocks.1.self_attn.hook_pattern"]
        pattern = np.stack([expected.attention_maps["decoder"].pattern(1, head) for head in range(4)])
        np.testing.assert_allclose(site, pattern.swapaxes(1, 2), atol=1e-5)
    with pytest.raises(HeadlightError, match="no other text"):
        lessons.evidence_of(make_lesson()).run_of("other")


OF_A_WRONG_ADDRESS = ("The address has", "showing the first one", "There is no", "is damaged", "does not have")
LINKS = [
    (lesson, part)
    for lesson in lessons.here()
    if isinstance(lesson, Lesson)
    for part in lesson.parts
    if isinstance(part, Link)
]
KINDS = {(link.page, *link.fields): place for place, (_, link) in enumerate(LINKS)}
"""A link of each kind: to a page, with these of its fields."""


def test_a_link_asks_for_what_its_page_and_its_model_have():
    for lesson, link in LINKS:
        card = lessons.card_of(lesson)
        fields = {field.name: field for field in pages()[link.page].fields}
        for name, value in link.fields.items():
            if name not in lessons._OF_VIEW:
                fields[name].read(value)  # raises where the page would refuse it
        if lesson.attention:
            assert lesson.attention in card.attentions and (lesson.layer or 0) < card.n_layers(lesson.attention)
        assert (lesson.head or 0) < card.config.n_heads
        if "block" in link.fields:
            assert link.fields["block"] in blueprint_of(card.config).boxes


@pytest.mark.parametrize("place", KINDS.values(), ids=map("-".join, KINDS))
def test_a_link_opens_what_it_promises(open_app: Callable[..., AppTest], place: int):
    """The page says nothing of a wrong address, holds what the link asks for, and shows the text's own output."""
    lesson, link = LINKS[place]
    request = lessons.view_of(lesson, link, lessons.card_of(lesson))
    app = open_app("tour")
    for name, value in request.items():
        app.query_params[name] = value
    app.switch_page(pages()[link.page].script).run()
    assert not app.exception
    words = html.unescape(words_of(app))
    assert not [text for text in OF_A_WRONG_ADDRESS if text in words] and not [*app.warning, *app.error, *app.info]
    fields = {field.name: field for field in pages()[link.page].fields}
    for name, value in request.items():
        if name in fields:
            assert app.session_state[fields[name].key] == fields[name].read(value), name
        elif link.page != "train":
            assert str(app.session_state[getattr(state, name.upper()).key]) == value, name
    if link.page == "train":
        while any(button.label == "Cancel" for button in app.button):  # the corpus is analysed for the first time
            time.sleep(0.5)
            app.run()
        assert "Schedule" in {box.label for box in app.selectbox} or "schedule" not in link.label
        return
    if "target" in request:
        assert request["target"] in {box.value for box in app.text_input}
    else:
        assert run_text(*tc.load(lessons.models.available()[request["model"]].path), request["text"]).output in words
    if link.page == "steps":
        at = unpacked(component(app, "steps").bytes)[0]["at"]
        assert {"stage": request["stage"], "query": int(request["query"])}.items() <= at["value"].items()
