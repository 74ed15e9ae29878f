"""Some held-out texts of a corpus, from all of its parts: of pairs, the sources."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from headlight.language import say
from pages.shared import analyses, cache, models, prose
from transformer_core.config import Architecture
from transformer_core.corpora.reading import AS_MADE, CorpusReading
from transformer_core.errors import HeadlightError, mark

N_SAMPLED = 40


def held_out(corpus: str, seed: int, reading: CorpusReading, architecture: Architecture) -> tuple[str, ...]:
    """Return `N_SAMPLED` held-out texts, or all where there are fewer.

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
        place = analyses.place_of(corpus)
        key = (seed, *made_from(place, reading, architecture))
        return cache.get(mark("samples of corpora"), key, lambda: _sample(place, seed, reading))


def of_checkpoint(path: str) -> tuple[int, CorpusReading]:
    """Return with what seed the corpus of a model was drawn, and how it was read: both tell what is held out."""
    from transformer_core.checkpoints.checkpoint import read_card

    try:
        return drawn(read_card(models.place_of(path))["corpus"])
    except (AttributeError, HeadlightError, KeyError, TypeError):  # a card that somebody else wrote
        return 0, AS_MADE


def drawn(corpus: Mapping[str, Any]) -> tuple[int, CorpusReading]:
    """Return the seed and the reading that a card or a run notes; the usual ones where they make no sense."""
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
