"""The lessons of the app: found where they are, and their links open what the pages understand."""

from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from headlight.analysis.trace.model_run import run_text
from pages.learn.tour import lessons
from pages.learn.tour.lesson_engine.six_words import train_six_words
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
