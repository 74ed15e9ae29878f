"""What the Heads page shows of a head: where a continuation begins, and which heads the controls ask for."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st

from headlight.analysis.heads.picture import HeadShare, ViewSpec
from pages.explore.heads import data as heads_data
from pages.explore.heads import view_fields
from tests.pages.explore.heads.heads_parts import heads

ONE, OTHER = HeadShare(layer=1, head=2), HeadShare(layer=0, head=3, weight=0.5)


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", kept)
    return kept


@pytest.mark.parametrize(
    ("architecture", "n_given", "expected", "border"),
    [
        ("decoder_only", 3, (3, 0.75), None),
        ("decoder_only", 4, (None, None), None),
        ("encoder_decoder", 3, (None, None), None),
        ("encoder_only", 0, (None, 0.5), 2),
    ],
)
def test_a_divider_stands_before_what_was_written_or_before_the_second_text(
    architecture: str, n_given: int, expected: tuple[Any, Any], border: int | None
):
    run = {"architecture": architecture, "n_given": n_given, "source": "", "target": "uvwx", "border": border}
    data = heads(attention="decoder", run=run)
    assert (data.generated_from, data.share_before_divider) == expected


def test_the_spec_is_what_the_controls_ask_for():
    view: Any = SimpleNamespace(attention="cross", layer=1, head=2)
    run: Any = SimpleNamespace(
        attention_maps={"cross": SimpleNamespace(shape=(2, 3, 9, 8)), "encoder": SimpleNamespace(shape=(5, 5, 9, 9))}
    )
    usual = heads_data._spec(view, run)
    assert usual == ViewSpec(heads=(ONE,))
    of_layer = tuple(HeadShare(layer=1, head=head) for head in range(3))
    first = tuple(HeadShare(layer=0, head=head) for head in range(3))
    for choice, value, changed in (
        (view_fields.QUANTITY, "log", {"quantity": "log"}),
        (view_fields.UNIT, "word", {"in_words": True}),
        (view_fields.HIDDEN, "special+sinks", {"hidden": frozenset({"special", "sinks"})}),
        (view_fields.REST, "share", {"renormalise": True}),
        (view_fields.WINDOW, ((1, 2), (3, 4)), {"window": ((1, 2), (3, 4))}),
        (view_fields.MEAN, "layer", {"heads": of_layer}),
        (view_fields.MEAN, "all", {"heads": first + of_layer}),
        (view_fields.MIX, (OTHER, ONE), {"heads": (OTHER, ONE)}),
    ):
        choice.set(value)
        assert heads_data._spec(view, run) == replace(usual, **changed)
        choice.set(choice.usual)
    view_fields.MIX.set((ONE, OTHER))
    view_fields.MEAN.set("all")
    assert heads_data._spec(view, run).heads == first + of_layer, "a mean goes before a mixture"
