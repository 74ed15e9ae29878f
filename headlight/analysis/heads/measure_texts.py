"""The names of the head measures, with the glossary entries that define them."""

from collections.abc import Mapping
from typing import NamedTuple

from transformer_core.errors import mark


class MeasureTexts(NamedTuple):
    """The names of a measure and the glossary entry that defines it."""

    title: str
    inline: str  # within a sentence
    unit: str  # "" for shares
    term: str  # of the glossary
    meaning: str = ""  # the meaning of a high and of a low value


_FIRST = MeasureTexts(
    mark("First-token attention"),
    mark("first-token attention"),
    "",
    "first-token-attention",
    mark("High: the first token is an attention sink for this head; low: it is not."),
)

MEASURE_TEXTS: Mapping[str, MeasureTexts] = {
    "entropy": MeasureTexts(
        mark("Attention entropy"),
        mark("attention entropy"),
        mark("nats"),
        "attention-entropy",
        mark("High: the head spreads its attention over many tokens; low: it focuses on a few."),
    ),
    "distance": MeasureTexts(
        mark("Attention distance"),
        mark("attention distance"),
        mark("tokens"),
        "attention-distance",
        mark("High: the head attends to distant tokens; low: to nearby ones."),
    ),
    "diagonality": MeasureTexts(
        mark("Diagonality"),
        mark("diagonality"),
        "",
        "diagonality",
        mark("1: all attention is on the diagonal; 0: it is no closer to the diagonal than uniform attention."),
    ),
    "first": _FIRST,
    "special": MeasureTexts(
        mark("Special-token attention"),
        mark("special-token attention"),
        "",
        "special-token-attention",
        mark("High: the head attends to special tokens such as <bos> or [SEP]; low: to the text."),
    ),
    "previous": MeasureTexts(
        mark("Previous-token score"),
        mark("previous-token score"),
        "",
        "previous-token-score",
        mark("High: each token attends to the one before it; low: it attends elsewhere."),
    ),
    "induction": MeasureTexts(
        mark("Induction score"),
        mark("induction score"),
        "",
        "induction-score",
        mark("High: at a repeated token, the head attends to the token after an earlier occurrence; low: elsewhere."),
    ),
    "share_on_first": _FIRST,  # the same on many texts, as addresses of Compare name it
    "strongest_weight": MeasureTexts(mark("Maximum weight"), mark("maximum weight"), "", "attention-pattern"),
}
