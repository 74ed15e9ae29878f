"""Corpora: texts to train on, made here from a seed, with what is held out and how an output is judged."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from transformer_core.corpora.corpus import Corpus, Measure, Pair, exact_match
from transformer_core.corpora.en_fr import en_fr
from transformer_core.corpora.tasks import copy, reverse
from transformer_core.errors import CorpusError

__all__ = ["CORPORA", "Corpus", "Measure", "Pair", "exact_match", "load_corpus"]


class CorpusMaker(Protocol):
    """A function that makes a corpus: the same one for the same seed."""

    def __call__(self, *, seed: int = 0) -> Corpus:
        """Make the corpus."""
        ...


CORPORA: Mapping[str, CorpusMaker] = MappingProxyType({"copy": copy, "en-fr": en_fr, "reverse": reverse})


def load_corpus(name: str, *, seed: int = 0) -> Corpus:
    """Return the corpus of that name.

    Args:
        name: one of `CORPORA`.
        seed: which sentences are drawn; what is held out does not depend on it, where combinations decide.

    Raises:
        CorpusError: there is no corpus of that name.
    """
    if name not in CORPORA:
        raise CorpusError(f"there is no corpus {name!r}; known are {', '.join(sorted(CORPORA))}")
    return CORPORA[name](seed=seed)
