"""Corpora in general: names, errors, fingerprints, measures."""

import pytest

from transformer_core.corpora import CORPORA, Corpus, Pair, exact_match, load_corpus
from transformer_core.errors import CorpusError


def corpus(**changes: object) -> Corpus:
    values: dict[str, object] = {
        "name": "small",
        "title": "Small",
        "description": "Two pairs.",
        "train": (Pair("a", "b"),),
        "held_out": (Pair("c", "d"),),
        "examples": ("a",),
        "tokenizer_kind": "word",
    }
    return Corpus(**(values | changes))  # type: ignore[arg-type]


def test_the_known_corpora_bear_the_name_that_they_are_asked_for_by(en_fr: Corpus) -> None:
    assert set(CORPORA) == {"copy", "en-fr", "reverse"}
    assert en_fr.name == "en-fr"
    assert all(load_corpus(name).name == name for name in ("copy", "reverse"))


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(CorpusError, match=r"'en-de'.*copy, en-fr, reverse"):
        load_corpus("en-de")


def test_a_source_cannot_be_both_trained_on_and_held_out() -> None:
    with pytest.raises(CorpusError, match="both in training and held out"):
        corpus(held_out=(Pair("a", "d"),))


def test_exact_match_is_always_there() -> None:
    assert corpus().measures["exact_match"](Pair("a", "b"), "b") is True
    with pytest.raises(CorpusError, match="exact_match"):
        corpus(measures={})


def test_exact_match_is_exact() -> None:
    assert exact_match(Pair("a", "B c."), "B c.")
    assert not exact_match(Pair("a", "B c."), "b c.")
    assert not exact_match(Pair("a", "B c."), "B c")


def test_the_fingerprint_follows_the_pairs_their_order_and_their_part() -> None:
    same = corpus(description="Other words.")
    assert corpus().fingerprint == same.fingerprint
    assert len(same.fingerprint) == 64
    variants = [
        corpus(),
        corpus(train=(Pair("a", "bb"),)),
        corpus(train=(Pair("a", "b"), Pair("c", "d")), held_out=()),
        corpus(train=(Pair("c", "d"), Pair("a", "b")), held_out=()),
    ]
    assert len({variant.fingerprint for variant in variants}) == len(variants)
