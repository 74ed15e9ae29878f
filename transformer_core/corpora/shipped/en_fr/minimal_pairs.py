"""Minimal pairs: two sentences that differ in one adjective, so that "it" becomes il in one and elle in the other.

"The animal didn't cross the street because it was too tired." / "... too wide."
"""

from dataclasses import dataclass
from itertools import islice

from transformer_core.corpora.corpus import Pair
from transformer_core.corpora.shipped.items import Values, item_of, read_lines


@dataclass(frozen=True, kw_only=True)
class MinimalPairSentence:
    """One sentence of a minimal pair."""

    pair: Pair  # English, French, and the antecedent of the pronoun
    forced: str  # French with pronoun and adjective in the other gender, otherwise the same
    means_subject: bool  # the pronoun refers to the subject ("tired"), not to the object ("wide")


@dataclass(frozen=True, kw_only=True)
class MinimalPair:
    """Two English sentences that differ in one word; both are held out of the training on en-fr."""

    masculine: MinimalPairSentence  # the pronoun becomes il, or ils
    feminine: MinimalPairSentence  # it becomes elle, or elles

    @property
    def sides(self) -> tuple[MinimalPairSentence, MinimalPairSentence]:
        """The masculine side, then the feminine one."""
        return self.masculine, self.feminine


def minimal_pairs(n: int, *, skip: int = 0, plural: bool = False) -> tuple[MinimalPair, ...]:
    """Return shipped minimal pairs; no English sentence occurs twice.

    Both sentences of a pair hold a combination of words that training on en-fr never shows. The subject is an animal,
    the object a thing, of different genders in French. The two sentences have the same number of words; both say "it
    was too ..." or both "it was ...".

    Args:
        n: how many pairs.
        skip: pairs to skip, so that a measurement can be repeated with the following ones.
        plural: both nouns are plural, and "they" becomes ils or elles; else both are singular.

    Returns:
        n pairs, or fewer if not enough are left: there are 1,310 singular and 149 plural ones.
    """
    lines = (values for values in read_lines("en-fr", "minimal_pairs") if values["plural"] == plural)
    return tuple(
        MinimalPair(masculine=_side(values["masculine"]), feminine=_side(values["feminine"]))
        for values in islice(lines, skip, skip + n)
    )


def _side(values: Values) -> MinimalPairSentence:
    pair = item_of(values)
    assert isinstance(pair, Pair)
    return MinimalPairSentence(pair=pair, forced=values["forced"], means_subject=values["means_subject"])
