"""Word alignment: which source words each target word was made from, and how well a head's attention shows it.

A link is a place in the target and a place in the source. The links of a head are read off its weights; the true ones
are known for the pairs of a corpus that was made here, and the alignment error rate compares the two.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, takewhile

import numpy as np
from jaxtyping import Float

from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.text.interface import Tokenizer
from transformer_core.text.words import places_of_words, text_places

Links = frozenset[tuple[int, int]]
"""Pairs of a place in the target and a place in the source."""

Units = Sequence[Sequence[int]]
"""For each unit, a word or a token, the places of its tokens."""


@dataclass(frozen=True, kw_only=True)
class AlignmentScore:
    """The agreement of links with the true ones; nan where a denominator is 0."""

    error_rate: float  # in [0, 1]; 0: they agree
    precision: float  # the share of the links that are possible
    recall: float  # the share of the sure links that were found


@dataclass(frozen=True, kw_only=True)
class FoundPair:
    """A pair of a corpus, and the part that it belongs to."""

    pair: Pair
    is_held_out: bool  # False: the model was trained on it


@dataclass(frozen=True, kw_only=True)
class KnownAlignment:
    """The true alignment of a source with the part of the target that has been written.

    A unit is a word or a character, whichever the corpus knows the alignment of. Units without a source are not judged.
    """

    links: Links  # between units that were written; at least one for each unit in `judged`
    targets: tuple[tuple[int, ...], ...]  # for each unit of the true target, the places of its tokens among the written
    sources: tuple[tuple[int, ...], ...]  # for each unit of the source, the places of its tokens
    n_agreed: int  # leading tokens of the output that agree with the true target
    n_written: int  # tokens, without special ones after them

    @property
    def judged(self) -> tuple[int, ...]:
        """The units of the target that were written and depend on something, ascending."""
        return tuple(sorted({target for target, _ in self.links}))

    @property
    def is_parted(self) -> bool:
        """Whether the output departs from the true target; nothing is known of it from there on."""
        return self.n_agreed < self.n_written

    def cells(self, links: Links) -> Links:
        """Return links between units as links between all of their tokens."""
        return frozenset(
            (place, key) for target, source in links for place in self.targets[target] for key in self.sources[source]
        )

    @property
    def least_error_rate(self) -> float:
        """The error rate with exactly one, correct link for each judged unit; nan where no unit is judged."""
        n = len(self.judged)
        return 1 - 2 * n / (n + len(self.links)) if n else math.nan

    def links_of(self, weights: Float[np.ndarray, "tgt src"]) -> Links:
        """Return the links of a head between the judged units and those of the source.

        Args:
            weights: the attention for each generated token; further rows are ignored.
        """
        judged = self.judged
        links = hard_alignment(weights, targets=[self.targets[unit] for unit in judged], sources=self.sources)
        return frozenset((judged[row], source) for row, source in links)

    def score(self, weights: Float[np.ndarray, "tgt src"]) -> AlignmentScore:
        """Return how well a head's links agree with the true alignment; arguments as for `links_of`."""
        return alignment_error_rate(self.links_of(weights), self.links)


class KnownPairs:
    """The pairs of a corpus, indexed by source."""

    def __init__(self, corpus: Corpus) -> None:
        """Index all pairs by source; a corpus of texts has none."""
        self._held_out, self._train = (corpus.held_out, corpus.train) if corpus.is_pairs else ((), ())
        items = chain(self._train, self._held_out)  # held-out pairs last, so that they take precedence
        self._places = {item.source: place for place, item in enumerate(items)}

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self._places)

    @property
    def n_bytes(self) -> int:
        """Memory that the index takes, in bytes, without the pairs, which belong to the corpus."""
        return sys.getsizeof(self._places) + sum(map(sys.getsizeof, self._places))

    def find(self, source: str) -> FoundPair | None:
        """Return the pair of exactly this source, spaces around it left out; None where the corpus has none."""
        place = self._places.get(source.strip())
        if place is None:
            return None
        n = len(self._train)
        pair = self._train[place] if place < n else self._held_out[place - n]
        return FoundPair(pair=pair, is_held_out=place >= n)


def hard_alignment(
    weights: Float[np.ndarray, "tgt src"], *, targets: Units | None = None, sources: Units | None = None
) -> Links:
    """Return one link for each unit of the target: the unit of the source that has most of its attention.

    Args:
        weights: the attention for each target token.
        targets: the units that get a link; the mean over a unit's tokens counts. None: each token on its own.
        sources: the units that may be linked with; the sum over a unit's tokens counts. None: each token on its own.

    Returns:
        Links between the places of units in `targets` and in `sources`; of equal weights the first counts.

    Source: Garg et al. 2019, "Jointly Learning to Align and Translate with Transformer Models", sec. 4.1 (argmax);
    Clark et al. 2019, sec. 4.1, for words out of tokens.
    """
    rows = [(row,) for row in range(weights.shape[0])] if targets is None else targets
    columns = [(column,) for column in range(weights.shape[1])] if sources is None else sources
    if not columns:
        return frozenset()
    by_source = np.stack([weights[:, list(unit)].sum(axis=1) for unit in columns], axis=1)  # [tgt, unit]
    return frozenset((i, int(by_source[list(unit)].mean(axis=0).argmax())) for i, unit in enumerate(rows))


def alignment_error_rate(links: Links, sure: Links, possible: Links = frozenset()) -> AlignmentScore:
    """Return AER = 1 - (|A and S| + |A and P|) / (|A| + |S|), precision |A and P| / |A|, recall |A and S| / |S|.

    Args:
        links: A, those that are judged.
        sure: S, those that must be there.
        possible: P, those that may be there; the sure ones are possible, too.

    Source: Och and Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models", sec. 4.1.
    """
    n_sure, n_possible = len(links & sure), len(links & (sure | possible))
    n_all = len(links) + len(sure)
    return AlignmentScore(
        error_rate=1 - (n_sure + n_possible) / n_all if n_all else math.nan,
        precision=n_possible / len(links) if links else math.nan,
        recall=n_sure / len(sure) if sure else math.nan,
    )


def known_alignment(
    pair: Pair, tokenizer: Tokenizer, source: Sequence[int], written: Sequence[int]
) -> KnownAlignment | None:
    """Return the true alignment of a pair, in terms of the tokens that were read and written.

    Args:
        pair: of a corpus that knows its alignment.
        tokenizer: the model's own; a unit is one of its tokens or, where they are parts of words, one of its words.
        source: the tokens that were read, special ones included.
        written: the tokens that were written so far, without <bos>.

    Returns:
        Links as far as the output agrees with the true target; a unit counts once all of its tokens are written.
        None where the pair has no known alignment, or its units are neither the tokens nor the words.
    """
    if pair.alignment is None:
        return None
    target = tokenizer.target.encode(pair.target)
    sources, targets = _units(tokenizer, source), _units(tokenizer.target, target)
    last_source = max(chain.from_iterable(pair.alignment), default=-1)
    if len(targets) != len(pair.alignment) or last_source >= len(sources):
        return None
    spoken = written[: max(text_places(tokenizer.target, written), default=-1) + 1]
    n_agreed = sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(spoken, target, strict=False)))
    return KnownAlignment(
        links=frozenset(
            (unit, key) for unit, keys in enumerate(pair.alignment) if max(targets[unit]) < n_agreed for key in keys
        ),
        targets=targets,
        sources=sources,
        n_agreed=n_agreed,
        n_written=len(spoken),
    )


def _units(tokenizer: Tokenizer, tokens: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the places of the tokens of each unit, without special tokens; a word may have several tokens."""
    if tokenizer.kind == "character":
        return tuple((place,) for place in text_places(tokenizer, tokens))
    return places_of_words(tokenizer, tokens)
