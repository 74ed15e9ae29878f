"""The Compare page where an address, a training or a text asks for what there is not: one calm sentence each."""

from pathlib import Path

import pytest

from pages.explore.compare import data
from tests.pages.conftest import OpenApp, words_of
from tests.pages.explore.compare.compare_parts import figures_of, open_compare

WRONG = {
    ("with", "../../etc@1"): "There is no model or training run",
    ("bhead", "cross.9.9"): "B (English to French) has no head cross.9.9; B shows cross-attention L1.H3 instead.",
    ("bchange", "off:cross.7.7"): "B (English to French) has none of the heads to ablate",
    ("cell", "x"): "the format is query.key as positions: 7.12",
    ("view", "sideways"): "it must be one of one, changed, effect, map, layers, texts",
}


@pytest.mark.parametrize(("field", "value"), WRONG)
@pytest.mark.usefixtures("checkpoints")
def test_what_an_address_asks_for_wrongly(open_app: OpenApp, field: str, value: str):
    app = open_compare(open_app, **{field: value})
    assert WRONG[field, value] in words_of(app)
    assert len(figures_of(app)) == 3


@pytest.mark.usefixtures("checkpoints")
def test_without_a_text_nothing_is_compared(open_app: OpenApp):
    app = open_compare(open_app, text="")
    assert not figures_of(app)
    assert [info.value.startswith("Type a text above") for info in app.info] == [True]


@pytest.mark.usefixtures("three_kinds_here")
def test_models_of_other_kinds_are_shown_as_far_as_they_can_be(open_app: OpenApp):
    for view, sentence in {
        "one": "too few to subtract the maps",
        "layers": "tokenize this text differently",
    }.items():
        app = open_compare(open_app, **{"with": "tales"}, view=view)
        words = words_of(app)
        assert sentence in words
        assert "B (Tales) has no head cross.1.0; B shows decoder self-attention L0.H0 instead." in words


@pytest.mark.usefixtures("checkpoints")
def test_long_texts_are_refused_where_all_pairs_are_needed(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(data, "MOST_TOKENS", 8)
    for view in ("one", "changed", "map", "layers"):
        app = open_compare(open_app, view=view)
        assert "Comparisons are limited to texts of 8 tokens, and one of these has 31" in words_of(app)
        assert not figures_of(app)
    assert figures_of(open_compare(open_app, view="texts"))


@pytest.mark.usefixtures("checkpoints", "fresh_caches")
def test_a_corpus_that_was_never_loaded_here_is_loaded(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    app = open_compare(open_app, view="texts", texts="corpus")
    assert "over 40 texts" in words_of(app)
