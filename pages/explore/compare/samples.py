"""The texts that a head is measured on: a model's examples, held-out texts of its corpus, or a pasted list."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from headlight.language import say
from pages.explore.compare import view_fields
from pages.explore.compare.sides import SideWeights
from pages.shared import cache, corpora, models, prose, runs
from transformer_core.config import Architecture
from transformer_core.corpora.reading import AS_MADE, CorpusReading
from transformer_core.errors import CorpusError, HeadlightError, Message, mark
from transformer_core.text.interface import Given, read_line

MOST_LINES = 200  # of a pasted list
N_SAMPLED = 40  # texts sampled evenly from a corpus; for pairs, the sources


def texts_of(weights: SideWeights, kind: str) -> tuple[Given, ...]:
    """Return the texts of a kind; in a pasted list for a model that reads pairs, ‖ separates the two texts of a pair.

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
        texts = tuple(view_fields.listed().split("\n"))
        nothing = Message("the list is empty; paste texts, one per line")
    texts = tuple(dict.fromkeys(filter(None, map(view_fields.short, texts))))
    if not texts:
        raise CorpusError(nothing)
    is_typed = kind == "list" and weights.takes_pairs
    return tuple(map(read_line, texts[:MOST_LINES])) if is_typed else texts[:MOST_LINES]


def n_pasted() -> int:
    """Return how many texts were pasted."""
    return len(dict.fromkeys(filter(None, map(view_fields.short, view_fields.listed().split("\n")))))


def _sampled(weights: SideWeights) -> tuple[str, ...]:
    """Return held-out texts from the corpus of a model.

    Raises:
        CorpusError: the corpus is unknown or missing.
    """
    if not weights.corpus:
        raise CorpusError(
            "the training corpus of {name} is unknown; paste texts, or use its examples", name=weights.name
        )
    if weights.run:
        run = runs.find(weights.run)
        request = (run.request if run else None) or {}
        which = drawn({"seed": request.get("corpus_seed", 0), "reading": request.get("reading", {})})
    else:
        which = of_checkpoint(weights.source.path)
    return held_out(weights.corpus, *which, weights.config.architecture)


def held_out(corpus: str, seed: int, reading: CorpusReading, architecture: Architecture) -> tuple[str, ...]:
    """Return `N_SAMPLED` held-out texts, or all if there are fewer.

    Args:
        corpus: as `load_corpus` takes it.
        seed: of a generated corpus.
        reading: how a file is read.
        architecture: of the model that reads the texts.

    Raises:
        HeadlightError: the corpus is missing, or cannot be read.
    """
    from headlight.corpora.corpus_stats import made_from

    with st.spinner(prose.plain(say("Loading the corpus {corpus} …", corpus=Path(corpus).name)), show_time=True):
        place = corpora.place_of(corpus)
        key = (seed, *made_from(place, reading, architecture))
        return cache.get(mark("samples of corpora"), key, lambda: _sample(place, seed, reading))


def of_checkpoint(path: str) -> tuple[int, CorpusReading]:
    """Return the seed of a model's corpus and how it was read; together they determine the held-out split."""
    from transformer_core.checkpoints.checkpoint import read_card

    try:
        return drawn(read_card(models.place_of(path))["corpus"])
    except (AttributeError, HeadlightError, KeyError, TypeError):  # a card not written by Headlight
        return 0, AS_MADE


def drawn(corpus: Mapping[str, Any]) -> tuple[int, CorpusReading]:
    """Return the seed and the reading recorded in a card or run; the defaults if they are invalid."""
    try:
        return int(corpus.get("seed", 0)), CorpusReading(**corpus.get("reading", {}))
    except (HeadlightError, TypeError, ValueError):
        return 0, AS_MADE


def _sample(place: str, seed: int, reading: CorpusReading) -> tuple[str, ...]:
    from transformer_core.corpora import load_corpus

    kept_back = load_corpus(place, seed=seed, reading=reading).held_out
    n = len(kept_back)
    items = [kept_back[i * n // N_SAMPLED] for i in range(N_SAMPLED)] if n > N_SAMPLED else list(kept_back)
    return tuple(item.source if hasattr(item, "source") else item.text for item in items)
