"""Corpora as the grammars draw them: samples of some thousand items, and whole where tests are full."""

from dataclasses import replace

import pytest

from grammars import en_fr as en_fr_grammar
from transformer_core.corpora import CORPORA, Corpus


@pytest.fixture(scope="session", params=["sample", pytest.param("whole", marks=pytest.mark.full)])
def en_fr(request: pytest.FixtureRequest) -> Corpus:
    """The English-French corpus, or 6,000 pairs of it for training and 500 held out."""
    whole = (en_fr_grammar.N_TRAIN, en_fr_grammar.N_HELD_OUT)
    train, held_out = en_fr_grammar.draw(0, *(whole if request.param == "whole" else (6_000, 500)))
    return replace(CORPORA["en-fr"].about, train=tuple(train), held_out=tuple(held_out))
