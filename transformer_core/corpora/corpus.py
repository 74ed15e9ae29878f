"""What a corpus is: pairs to train on, pairs kept back, and the measures that judge an output."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from transformer_core.errors import CorpusError


@dataclass(frozen=True)
class Pair:
    """A text and the text that the model shall turn it into."""

    source: str
    target: str


Measure = Callable[[Pair, str], bool | None]
"""Given a pair and the model's output text: is the output right in this respect? None: the measure does not apply."""


def exact_match(pair: Pair, output: str) -> bool:
    """Whether the output is the target, character for character."""
    return output == pair.target


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Pairs for training and pairs held out, disjoint, with what a page and a measurement need to know of them.

    Raises:
        CorpusError: a source is both in training and held out, or `exact_match` is missing from the measures.
    """

    name: str  # as `load_corpus` knows it
    title: str  # for the screen
    description: str  # one or two sentences for the screen
    train: tuple[Pair, ...]
    held_out: tuple[Pair, ...]
    examples: tuple[str, ...]  # good sources to click on; the first is the best known
    tokenizer_kind: Literal["word", "character"]
    measures: Mapping[str, Measure] = field(default_factory=lambda: {"exact_match": exact_match})

    def __post_init__(self) -> None:
        shared = {pair.source for pair in self.train} & {pair.source for pair in self.held_out}
        if shared:
            raise CorpusError(
                f"{self.name}: {len(shared)} sources are both in training and held out, for example {min(shared)!r}; "
                "each source belongs to one of the two."
            )
        if "exact_match" not in self.measures:
            raise CorpusError(f"{self.name}: measures must include exact_match; got {sorted(self.measures)}.")

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of all pairs in order, as 64 hexadecimal digits: equal corpora have equal fingerprints."""
        digest = hashlib.sha256()
        for part in (self.train, self.held_out):
            for pair in part:
                digest.update(f"{pair.source}\t{pair.target}\n".encode())
            digest.update(b"\f\n")
        return digest.hexdigest()
