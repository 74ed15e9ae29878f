"""Corpora: made here from a seed or read from files, with what is held out and how an output is judged."""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Protocol

from transformer_core.corpora.addition import addition
from transformer_core.corpora.brackets import brackets
from transformer_core.corpora.corpus import (
    Alignment,
    Corpus,
    Measure,
    Pair,
    Text,
    TextMeasure,
    exact_match,
    first_half,
)
from transformer_core.corpora.dates import dates
from transformer_core.corpora.en_fr import en_fr
from transformer_core.corpora.induction import induction
from transformer_core.corpora.tasks import copy, reverse, sort
from transformer_core.errors import CorpusError

__all__ = [
    "CORPORA",
    "Alignment",
    "Corpus",
    "Measure",
    "Pair",
    "Text",
    "TextMeasure",
    "exact_match",
    "first_half",
    "load_corpus",
]


class CorpusMaker(Protocol):
    """A function that makes a corpus: the same one for the same seed."""

    def __call__(self, *, seed: int = 0) -> Corpus:
        """Make the corpus."""
        ...


def _stories(*, seed: int = 0) -> Corpus:
    from transformer_core.corpora.stories import stories

    return stories(seed=seed)


CORPORA: Mapping[str, CorpusMaker] = MappingProxyType(
    {
        "copy": copy,
        "reverse": reverse,
        "sort": sort,
        "addition": addition,
        "dates": dates,
        "brackets": brackets,
        "en-fr": en_fr,
        "induction": induction,
        "stories": _stories,
    }
)


def load_corpus(name: str, *, seed: int = 0) -> Corpus:
    """Return the corpus of that name, or the one that a file or a folder holds.

    Args:
        name: one of `CORPORA`, or the path of a text file, of a .tsv file of pairs, or of a folder of such files; with
            a file that bears the name of a generated corpus, "./copy" is the file.
        seed: of a generated corpus: which sentences are drawn; what is held out does not depend on it, where
            combinations decide.

    Raises:
        CorpusError: there is neither a corpus nor a file of that name, or the file cannot be read as a corpus.
    """
    if name in CORPORA:
        return CORPORA[name](seed=seed)
    if name and os.path.exists(name):
        from transformer_core.corpora.files import open_corpus

        return open_corpus(name)
    nearest = get_close_matches(name, CORPORA, n=2, cutoff=0.5)
    meant = f"did you mean {' or '.join(map(repr, nearest))}? " if nearest else ""
    raise CorpusError(
        f"there is no corpus {name!r}, and no file or folder of that name; {meant}known are {', '.join(CORPORA)}"
    )
