"""The texts that a head is measured on: a model's examples, held-out texts of its corpus, or a pasted list."""

from pathlib import Path

from pages.explore.compare import corpus_texts, view_fields
from pages.explore.compare.sides import Weights
from pages.shared import runs
from transformer_core.corpora.reading import CorpusReading
from transformer_core.errors import CorpusError, Message
from transformer_core.text.interface import Given, read_line

MOST_LINES = 200  # of a pasted list


def texts_of(weights: Weights, kind: str) -> tuple[Given, ...]:
    """Return the texts of a kind; of those that were typed for a model that reads pairs, ‖ parts two that are one.

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


def _sampled(weights: Weights) -> tuple[str, ...]:
    """Return held-out texts of what a model was trained on.

    Raises:
        CorpusError: it is not known, or is not here.
    """
    if not weights.corpus:
        raise CorpusError(
            "the training corpus of {name} is unknown; paste texts, or use its examples", name=weights.name
        )
    return corpus_texts.held_out(weights.corpus, *_drawn(weights), weights.config.architecture)


def _drawn(weights: Weights) -> tuple[int, CorpusReading]:
    """Return the seed of the corpus and how it was read, which determine the held-out texts."""
    if not weights.run:
        return corpus_texts.of_checkpoint(weights.source.path)
    run = runs.find(weights.run)
    request = (run.request if run else None) or {}
    return corpus_texts.drawn({"seed": request.get("corpus_seed", 0), "reading": request.get("reading", {})})
