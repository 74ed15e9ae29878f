"""The texts that a head is looked at on: a model's examples, held-out texts of its corpus, or a pasted list."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from pages.explore.compare import view_fields
from pages.explore.compare.sides import Weights
from pages.shared import analyses, cache, models, prose, runs
from pages.shared.corpora import MADE_HERE
from transformer_core.config import Architecture
from transformer_core.corpora.reading import AS_MADE, CorpusReading
from transformer_core.errors import CorpusError, HeadlightError, Message, mark
from transformer_core.language import say

MOST_LINES = 200  # of a pasted list
N_SAMPLED = 40  # of a corpus


def texts_of(weights: Weights, kind: str) -> tuple[str, ...]:
    """Return the texts of a kind, each on one line.

    Args:
        weights: of side A.
        kind: "examples", "corpus" or "list".

    Raises:
        HeadlightError: there are none, or the corpus cannot be read.
    """
    if kind == "examples":
        texts = weights.examples
        nothing = Message("{name} has no example texts; paste some, or use texts from its corpus", name=weights.name)
    elif kind == "corpus":
        texts = _sampled(weights)
        nothing = Message("the corpus {corpus} has no held-out texts", corpus=Path(weights.corpus).name)
    else:
        texts = tuple(view_fields.listed().splitlines())
        nothing = Message("the list is empty; paste texts, one per line")
    texts = tuple(dict.fromkeys(filter(None, map(view_fields.short, texts))))
    if not texts:
        raise CorpusError(nothing)
    return texts[:MOST_LINES]


def n_pasted() -> int:
    """Return how many texts were pasted."""
    return len(dict.fromkeys(filter(None, map(view_fields.short, view_fields.listed().splitlines()))))


def _sampled(weights: Weights) -> tuple[str, ...]:
    """Return held-out texts of what a model was trained on.

    Raises:
        CorpusError: it is not known, or is not here.
    """
    if not weights.corpus:
        raise CorpusError(
            "the training corpus of {name} is unknown; paste texts, or use its examples", name=weights.name
        )
    return _held_out(weights.corpus, *_drawn(weights), weights.config.architecture)


def _drawn(weights: Weights) -> tuple[int, CorpusReading]:
    """Return what the corpus was drawn from, and how it was read: both tell what is held out."""
    from transformer_core.checkpoints.checkpoint import read_card

    try:
        if weights.run:
            run = runs.find(weights.run)
            request = (run.request if run else None) or {}
            corpus: Mapping[str, Any] = {"seed": request.get("corpus_seed", 0), "reading": request.get("reading", {})}
        else:
            corpus = read_card(models.place_of(weights.source.path))["corpus"]
        return int(corpus.get("seed", 0)), CorpusReading(**corpus.get("reading", {}))
    except (AttributeError, HeadlightError, KeyError, TypeError, ValueError):  # a card that somebody else wrote
        return 0, AS_MADE


def _held_out(corpus: str, seed: int, reading: CorpusReading, architecture: Architecture) -> tuple[str, ...]:
    """Return some held-out texts from all parts of a corpus: of pairs, the sources."""
    if corpus in MADE_HERE and seed == 0:
        analyses.draw(corpus, architecture)
    from transformer_core.corpora.corpus_stats import made_from

    with st.spinner(prose.plain(say("Loading the corpus {corpus} …", corpus=Path(corpus).name)), show_time=True):
        place = analyses.place_of(corpus)
        key = (seed, *made_from(place, reading, architecture))
        return cache.get(mark("samples of corpora"), key, lambda: _sample(place, seed, reading))


def _sample(place: str, seed: int, reading: CorpusReading) -> tuple[str, ...]:
    from transformer_core.corpora import load_corpus

    held_out = load_corpus(place, seed=seed, reading=reading).held_out
    n = len(held_out)
    items = [held_out[i * n // N_SAMPLED] for i in range(N_SAMPLED)] if n > N_SAMPLED else list(held_out)
    return tuple(item.source if hasattr(item, "source") else item.text for item in items)
