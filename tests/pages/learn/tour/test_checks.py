"""What a chapter claims, and its attention in plain torch: the lines of each shipped model hold when they are run."""

import io
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.tour import checks
from pages.learn.tour.lesson_engine.expression import parse
from pages.learn.tour.lesson_engine.lesson import Asked, Check
from pages.shared import models
from tests.pages.learn.bare import Bare
from tests.pages.learn.tour.conftest import MakeLesson


def run_lines(lines: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()):
        exec(lines, names)
    return names


@pytest.mark.parametrize(
    ("settings", "site", "head"),
    [
        ({"attention": "cross", "layer": 1, "head": 2, "target": "Le chat"}, "decoder.blocks.1.cross_attn", 2),
        ({"attention": "decoder", "layer": 9, "head": 9}, "decoder.blocks.1.self_attn", 3),
        ({"attention": "none", "layer": None, "head": None}, "decoder.blocks.1.cross_attn", 0),
        (
            {"model": "induction", "text": "a b c a b", "attention": "decoder", "layer": 0},
            "decoder.blocks.0.self_attn",
            2,
        ),
        ({"model": "fill-in", "attention": "", "layer": 0, "head": 3}, "encoder.blocks.0.self_attn", 3),
    ],
)
def test_the_lines_compute_the_chapters_head(make_lesson: MakeLesson, settings: dict[str, Any], site: str, head: int):
    """They check themselves against the model, and z is the head's own."""
    names = run_lines(checks.code_of(make_lesson(**settings)))
    inputs = [torch.tensor([ids]) for ids in names["model_run"].inputs]
    with torch.inference_mode(), tc.capture(names["model"], f"{site}.hook_z") as activations:
        names["model"](*inputs)
    np.testing.assert_allclose(names["z"], activations[f"{site}.hook_z"][0, head], atol=1e-4)
    assert names["name"] == site


def test_of_shared_keys_the_lines_take_those_of_the_heads_group(
    make_lesson: MakeLesson, monkeypatch: pytest.MonkeyPatch
):
    card = models.available()["en-fr"]
    for n_kv_heads, head, group in ((2, 1, 0), (2, 2, 1), (1, 3, 0), (4, 3, 3)):
        grouped = replace(card, config=replace(card.config, n_kv_heads=n_kv_heads))
        monkeypatch.setattr(checks.lessons, "card_of", lambda _, grouped=grouped: grouped)
        lines = checks.code_of(make_lesson(head=head))
        assert f'hook_{{what}}"][0, {group}]' in lines and f'hook_q"][0, {head}]' in lines


@pytest.mark.parametrize(
    ("changes", "attention", "scores"),
    [
        ({}, "cross", "scores = q @ k.T / q.shape[-1] ** 0.5\n"),
        ({"scale_scores": False}, "cross", "scores = q @ k.T\n"),
        ({"positions": "alibi"}, "decoder", 'hook_attn_scores"][0, 2]'),
        ({"positions": "alibi"}, "cross", "scores = q @ k.T / q.shape[-1] ** 0.5\n"),
        ({"positions": "relative_buckets"}, "encoder", 'hook_attn_scores"][0, 2]'),
    ],
)
def test_scores_are_as_the_model_has_them(
    make_lesson: MakeLesson, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], attention: str, scores: str
):
    card = models.available()["en-fr"]
    changed = replace(card, config=replace(card.config, **changes))
    monkeypatch.setattr(checks.lessons, "card_of", lambda _: changed)
    assert scores in checks.code_of(make_lesson(attention=attention))


def test_of_a_model_that_is_not_here_there_are_no_lines(make_lesson: MakeLesson):
    assert checks.code_of(make_lesson(model="nowhere")) == ""


def claim(*sources: str, words: str = "") -> Check:
    return Check(claim=words, holds=tuple(Asked(source=one, expression=parse(one), line=3) for one in sources), line=2)


def test_statements_are_counted_and_those_that_fail_are_said(bare: Bare, make_lesson: MakeLesson):
    lesson = make_lesson()
    evidence = checks.lessons.evidence_of(lesson)
    checks.show(lesson, [claim("1 == 1", "2 == 2", words="Twos."), claim("3 == 3")], evidence)
    assert "3 statements of this chapter verified" in bare.words and "hl-note" not in bare.words
    assert "<li><span>Twos.</span><code>1 == 1</code><code>2 == 2</code></li><li><code>3 == 3</code></li>" in bare.words
    assert "This chapter is a text file, lessons/made.md." in bare.words or "code" in " ".join(bare.places + bare.texts)
    bare.clear()
    checks.show(lesson, [claim("1 == 2")], evidence)
    assert "1 statement of this chapter verified" in bare.words and bare.words.count("hl-note") == 1
    bare.clear()
    checks.show(lesson, [], evidence)
    assert "verified" not in bare.words
