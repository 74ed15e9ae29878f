"""Heads that flip il to elle and elle to il when only they are patched, and random sets of heads as a control."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb

import numpy as np

from headlight.analysis.heads.measures import HeadName, heads_of
from headlight.analysis.pronouns.patching import FlipRates, PronounRuns, pair_batch, right_on_both_sides
from transformer_core.corpora.shipped.en_fr.minimal_pairs import minimal_pairs
from transformer_core.errors import CorpusError
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer

ENOUGH = 0.9  # share of pronouns that must flip, in both directions
N_RANDOM = 50  # random sets
MOST_SETS = 300  # sets of one size to try exhaustively: with 24 heads, all sets of one and of two


Heads = tuple[HeadName, ...]

Score = Callable[[Heads], tuple[float, float]]
"""Of a set of heads that are patched together: the share that flips, in [0, 1]; among equal shares, more is better."""


@dataclass(frozen=True, kw_only=True)
class SmallestSet:
    """A set of heads that is enough, and whether it is known to be the smallest."""

    heads: Heads
    equally_small: tuple[Heads, ...]  # all sets of that size that are enough, this one too; () if not all were tried


@dataclass(frozen=True, kw_only=True)
class SetEffect:
    """What a set of heads does to the pronoun when it is patched from the other side of each pair."""

    heads: Heads
    rates: FlipRates
    change: float  # of the other pronoun's logit minus this side's, mean over both directions


@dataclass(frozen=True, kw_only=True)
class PronounHeads:
    """The heads that decide between il and elle, found on one half of the pairs and measured on the other half."""

    n_drawn: int  # held-out minimal pairs
    n_right: int  # of these, pairs that the model translates word for word on both sides
    n_measured: int  # pairs in the half that all rates below are measured on
    single: tuple[SetEffect, ...]  # every head alone, in the order of computation
    everything: FlipRates  # all heads together
    smallest: SmallestSet | None  # None: no set was found that flips 90 % in both directions
    equally_small: tuple[SetEffect, ...]  # the sets of that size that were enough on the searched half, the best first
    remaining: FlipRates  # all heads outside these sets, together
    same_size: float  # mean rate of other sets of the size of the smallest, drawn at random from all heads
    remaining_sets: float  # likewise for sets as large as the union of these sets, drawn from the remaining heads

    @property
    def share_right(self) -> float:
        """The share of drawn pairs that the model translates correctly on both sides, in [0, 1]."""
        return self.n_right / self.n_drawn

    @property
    def sufficient(self) -> Heads:
        """All heads that are in one of the smallest sets, in the order of computation."""
        members = {head for effect in self.equally_small for head in effect.heads}
        return tuple(effect.heads[0] for effect in self.single if effect.heads[0] in members)


def pronoun_runs(model: Transformer, tokenizer: Tokenizer, *, n_pairs: int = 100, plural: bool = False) -> PronounRuns:
    """Run a model on the held-out minimal pairs that it translates correctly on both sides.

    Args:
        model: a translation model of en-fr, in evaluation mode.
        tokenizer: the model's own.
        n_pairs: minimal pairs to run.
        plural: "they", ils and elles in place of "it", il and elle.

    Raises:
        CorpusError: it translates fewer than two of them correctly.
        TextError: the pairs do not fit this model or tokenizer.
    """
    batch = pair_batch(model, tokenizer, minimal_pairs(n_pairs, plural=plural))
    right = right_on_both_sides(model, batch)
    if len(right) < 2:
        raise CorpusError(
            "this model translates {n} of {n_pairs} minimal pairs correctly on both sides; choose a model that was "
            "trained on en-fr, such as checkpoints/en-fr",
            n=len(right),
            n_pairs=n_pairs,
        )
    return PronounRuns(model, pair_batch(model, tokenizer, right))


def pronoun_heads(model: Transformer, tokenizer: Tokenizer, *, n_pairs: int = 100) -> PronounHeads:
    """Find the smallest set of heads whose patch turns il into elle and elle into il, and compare it with other sets.

    Args:
        model: as for `pronoun_runs`.
        tokenizer: the model's own.
        n_pairs: minimal pairs to run; with 100 it takes some seconds.

    Raises:
        CorpusError, TextError: as for `pronoun_runs`.
    """
    runs = pronoun_runs(model, tokenizer, n_pairs=n_pairs)
    pairs, half = runs.batch.pairs, runs.batch.n_pairs // 2
    searched, measured = (
        PronounRuns(model, pair_batch(model, tokenizer, part)) for part in (pairs[:half], pairs[half:])
    )
    heads = tuple(  # in the order of computation
        sorted(heads_of(model.config), key=lambda of: (of.attention != "encoder", of.layer, of.attention == "cross"))
    )

    def score(chosen: Heads) -> tuple[float, float]:
        effect = set_effect(searched, chosen)
        return effect.rates.lower, effect.change

    @cache
    def effect(chosen: Heads) -> SetEffect:
        return set_effect(measured, chosen)

    def mean_rate(sets: Sequence[Heads]) -> float:  # of both directions together
        return float(np.mean([np.mean(effect(chosen).rates) for chosen in sets])) if sets else 0.0

    smallest = smallest_set(heads, score, at_least=ENOUGH, most_sets=MOST_SETS)
    enough = () if smallest is None else (smallest.heads, *(s for s in smallest.equally_small if s != smallest.heads))
    remaining = tuple(head for head in heads if not any(head in chosen for chosen in enough))
    size, n_related = len(enough[0]) if enough else 1, max(1, len(heads) - len(remaining))
    same_size = [chosen for chosen in random_sets(heads, size, N_RANDOM) if chosen not in enough[:1]]
    remaining_sets = random_sets(remaining, min(n_related, len(remaining)), N_RANDOM)
    return PronounHeads(
        n_drawn=n_pairs,
        n_right=len(pairs),
        n_measured=measured.batch.n_pairs,
        single=tuple(effect((head,)) for head in heads),
        everything=effect(heads).rates,
        smallest=smallest,
        equally_small=tuple(map(effect, enough)),
        remaining=effect(remaining).rates,
        same_size=mean_rate(same_size),
        remaining_sets=mean_rate(remaining_sets),
    )


def set_effect(runs: PronounRuns, heads: Iterable[HeadName]) -> SetEffect:
    """Return the effect of heads that are patched together, at all positions."""
    chosen = tuple(heads)
    outcome = runs.patched(chosen) if chosen else runs.unpatched
    change = outcome.difference - runs.unpatched.difference
    return SetEffect(heads=chosen, rates=outcome.rates, change=float(change.mean()))


def smallest_set(
    candidates: Sequence[HeadName], score: Score, *, at_least: float, most_sets: int
) -> SmallestSet | None:
    """Return a set of heads whose patch flips enough, as small as could be found.

    All sets of one head are tried, then all of two, and so on while there are at most `most_sets` of a size. If none of
    these is enough, heads are added greedily to the best set so far, each time the one that scores best.

    Args:
        candidates: the heads that may be in it.
        score: of a set.
        at_least: the share that is enough, in (0, 1].
        most_sets: the largest number of sets of one size to try exhaustively.

    Returns:
        None if the greedy search has added all candidates and they are not enough.
    """
    best: Heads = ()
    for size in range(1, len(candidates) + 1):
        if comb(len(candidates), size) > most_sets:
            break
        scores = {heads: score(heads) for heads in combinations(candidates, size)}
        best = max(scores, key=scores.__getitem__)
        if scores[best][0] >= at_least:
            enough = tuple(heads for heads, (share, _) in scores.items() if share >= at_least)
            return SmallestSet(heads=best, equally_small=enough)
    while len(best) < len(candidates):
        larger = {heads: score(heads) for heads in _with_one_more(best, candidates)}
        best = max(larger, key=larger.__getitem__)
        if larger[best][0] >= at_least:
            return SmallestSet(heads=best, equally_small=())
    return None


def random_sets(candidates: Sequence[HeadName], size: int, n: int, *, seed: int = 0) -> tuple[Heads, ...]:
    """Return n different random sets of heads; all sets of that size if there are no more than n.

    Args:
        candidates: the heads to draw from.
        size: of each set.
        n: how many sets.
        seed: of the draw.
    """
    if comb(len(candidates), size) <= n:
        return tuple(combinations(candidates, size))
    rng, drawn = random.Random(seed), dict[Heads, None]()
    while len(drawn) < n:
        places = sorted(rng.sample(range(len(candidates)), size))
        drawn[tuple(candidates[place] for place in places)] = None
    return tuple(drawn)


def _with_one_more(heads: Heads, candidates: Sequence[HeadName]) -> tuple[Heads, ...]:
    """Return each set with one more head, in the order of the candidates."""
    return tuple(
        tuple(head for head in candidates if head in heads or head == added)
        for added in candidates
        if added not in heads
    )
