"""Texts that run in circles: a piece said again and again, or most groups of words said before."""

from collections.abc import Sequence
from dataclasses import dataclass

from transformer_core.training.diagnosis.evidence import Sample

_LONGEST_READ = 600  # units of a text: a text that runs in circles does so at its end
_LONGEST_PERIOD = 60  # units of the piece that comes again
_ROUNDS = 3  # a piece that comes so often, without a break, is a circle
_FEWEST_UNITS = 8  # a text below this is too short to run in circles
_MOST = 1 / 2  # share of a text, or of texts, from which on it is most of it
_WORD_GROUP, _CHARACTER_GROUP = 3, 10  # units; groups of words are Li et al. 2016's (distinct-n), and three letters
# come again in any text
_CHARACTERS_A_SPACE = 12  # a text with fewer spaces is none of words: Chinese, a date, one long word


@dataclass(frozen=True, kw_only=True)
class Circles:
    """How much of a text was said before in it; shares in [0, 1], 0 for a text that is too short to tell."""

    looped: float  # of the units: in the longest piece that is said three times or more without a break
    repeated: float  # of all groups of three words (ten characters): those that came before; 1 - distinct-n
    piece: str  # what is said again and again; "" where nothing is

    @property
    def is_most(self) -> bool:
        """Whether most of the text is repetition."""
        return max(self.looped, self.repeated) >= _MOST


def circles(text: str) -> Circles:
    """Measure how much of a text is repetition.

    Source: Li et al. 2016 (distinct-n); Holtzman et al. 2020, sec. 2 and fig. 4 (loops of greedy decoding).
    """
    is_words, units = _is_words(text), in_units(text)
    if len(units) < _FEWEST_UNITS:
        return Circles(looped=0.0, repeated=0.0, piece="")
    length, start, period = _longest_loop(units)
    group = _WORD_GROUP if is_words else _CHARACTER_GROUP
    groups = [tuple(units[first : first + group]) for first in range(len(units) - group + 1)]
    return Circles(
        looped=length / len(units),
        repeated=1 - len(set(groups)) / len(groups) if groups else 0.0,
        piece=(" " if is_words else "").join(units[start : start + period]),
    )


def in_units(text: str) -> list[str]:
    """Return the last words of a text, or the last characters of one that is not made of words."""
    return (text.split() if _is_words(text) else list(text.strip()))[-_LONGEST_READ:]


def in_circles(samples: Sequence[Sample]) -> list[tuple[Sample, Circles]]:
    """Return the samples whose output is mostly repetition, though neither reference nor given text is."""
    measured = ((sample, circles(sample.output)) for sample in samples)
    return [
        (sample, found)
        for sample, found in measured
        if found.is_most and not circles(sample.reference or "").is_most and not circles(sample.given).is_most
    ]


def are_mostly_circles(samples: Sequence[Sample]) -> bool:
    """Whether at least half of the outputs that say anything are repetition."""
    saying = [sample for sample in samples if sample.output.strip()]
    return bool(saying) and len(in_circles(saying)) >= _MOST * len(saying)


def _is_words(text: str) -> bool:
    return text.count(" ") * _CHARACTERS_A_SPACE >= len(text)


def _longest_loop(units: Sequence[str]) -> tuple[int, int, int]:
    """Return length, beginning and period of the longest stretch of one piece said three times or more; else zeros."""
    longest = (0, 0, 0)
    for period in range(1, min(_LONGEST_PERIOD, len(units) // _ROUNDS) + 1):
        run = 0  # units in a row that are the same as those one period before
        for place in range(period, len(units)):
            run = run + 1 if units[place] == units[place - period] else 0
            length = run + period
            if run and length >= _ROUNDS * period and length > longest[0]:
                longest = (length, place - length + 1, period)
    return longest
