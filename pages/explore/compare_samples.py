"""The texts that a head is looked at on: a model's examples, held-out texts of its corpus, or a pasted list."""

from pathlib import Path

import streamlit as st

from pages.explore.compare_sides import Weights
from pages.shared import compare_state, models, runs
from pages.shared.corpora import MADE_HERE, Choice, place_of, portrait_of
from transformer_core.config import Architecture
from transformer_core.errors import CorpusError, HeadlightError
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
        nothing = say("{name} comes without example texts; paste some, or take texts of its corpus", name=weights.name)
    elif kind == "corpus":
        texts = _sampled(weights)
        nothing = say("the corpus {corpus} has no texts that are held out", corpus=weights.corpus)
    else:
        texts = tuple(compare_state.listed().splitlines())
        nothing = say("the list is empty; paste texts, one a line")
    texts = tuple(dict.fromkeys(filter(None, map(compare_state.short, texts))))
    if not texts:
        raise CorpusError(nothing)
    return texts[:MOST_LINES]


def n_pasted() -> int:
    """Return how many texts were pasted."""
    return len(dict.fromkeys(filter(None, map(compare_state.short, compare_state.listed().splitlines()))))


def _sampled(weights: Weights) -> tuple[str, ...]:
    """Return held-out texts of what a model was trained on.

    Raises:
        CorpusError: it is not known, or is not here.
    """
    if not weights.corpus:
        raise CorpusError(
            say("it is not known what {name} was trained on; paste texts, or take its examples", name=weights.name)
        )
    seed = _seed(weights)
    return _held_out(weights.corpus, seed, weights.config.architecture)


def _seed(weights: Weights) -> int:
    """Return what the corpus was drawn from."""
    if weights.run:
        run = runs.find(weights.run)
        return int((run.request or {}).get("corpus_seed", 0)) if run else 0
    from transformer_core.weights.checkpoint import read_card

    try:
        return int(read_card(models.ROOT / Path(weights.source.path))["corpus"].get("seed", 0))
    except (HeadlightError, LookupError, TypeError, ValueError):
        return 0


def _held_out(corpus: str, seed: int, architecture: Architecture) -> tuple[str, ...]:
    """Return some held-out texts from all parts of a corpus: of pairs, the sources."""
    if corpus in MADE_HERE and seed == 0:  # drawn by a process of its own, where it was not drawn before
        portrait_of(Choice(name=corpus, corpus=corpus, is_pairs=MADE_HERE[corpus][1], run_name=corpus), architecture)
    with st.spinner(say("Reading the corpus {corpus} …", corpus=corpus), show_time=True):
        return _sample(corpus, seed)


@st.cache_data(max_entries=16, show_spinner=False)
def _sample(corpus: str, seed: int) -> tuple[str, ...]:
    from transformer_core.corpora import load_corpus

    held_out = load_corpus(place_of(corpus), seed=seed).held_out
    n = len(held_out)
    items = [held_out[i * n // N_SAMPLED] for i in range(N_SAMPLED)] if n > N_SAMPLED else list(held_out)
    return tuple(item.source if hasattr(item, "source") else item.text for item in items)
