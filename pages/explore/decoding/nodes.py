"""What the trees of the Decoding page are made of: the given tokens, and a number for each place in a tree."""

from collections.abc import Iterable, Sequence
from itertools import accumulate

from pages.explore.decoding.components.branches import Node
from pages.explore.decoding.data import DecodingData
from pages.shared.lines import output_in_a_line
from transformer_core.language import localized, say

_NO_TOKEN = 0  # what the first given token comes after
_N_NUMBERS = 2**53  # that a browser keeps all digits of


def numbers(start: int, tokens: Iterable[int]) -> list[int]:
    """Return a node's number, and those of the nodes that tokens lead to from there; the same in every run."""
    return [*accumulate(tokens, lambda parent, token: hash((parent, token)) % _N_NUMBERS, initial=start)]


def given_nodes(data: DecodingData) -> list[Node]:
    """Return a node for each token that was given."""
    ids = numbers(_NO_TOKEN, [step.token for step in data.given])
    return [
        Node(
            id=ids[place + 1],
            parent=ids[place] if place else None,
            position=step.position,
            label=label,
            kind="given",
            on_path=True,
        )
        for place, (step, label) in enumerate(zip(data.given, data.labels(data.given), strict=True))
    ]


def text_of(data: DecodingData, tokens: Sequence[int]) -> str:
    """Return the text of tokens."""
    return output_in_a_line(data.tokenizer.decode(tokens)) or say("(empty)")


def signed(nats: float) -> str:
    """Return a log-probability for reading; what rounds to nothing has no sign."""
    return localized(round(nats, 2) + 0.0, ".2f").replace("-", "−")
