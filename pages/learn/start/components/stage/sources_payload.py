"""Which tokens a prediction comes from, as the stage draws it: the largest sources of each token, and lines to them."""

from typing import Any

from headlight.analysis.flow.token_sources import AttentionShares, Line, fed_by, follow
from headlight.analysis.stage.panels import StageText, side_of

N_SOURCES = 3  # tokens that are named
STACKS = ("encoder", "decoder")


def sources_payload(steps: tuple[AttentionShares, ...], text: StageText) -> dict[str, Any] | None:
    """Return the sources of every token's final state, and what it feeds, by side; None where they are unknown.

    Args:
        steps: all attentions of the model on the text.
        text: the text itself.
    """
    if not steps:
        return None
    sides = {side_of(stack): text.tokens[side_of(stack)] for stack in STACKS if side_of(stack) in text.tokens}
    return {
        "sites": [step.site for step in steps],
        "sides": {side: _of_side(steps, side, len(tokens)) for side, tokens in sides.items()},
    }


def _of_side(steps: tuple[AttentionShares, ...], side: str, n: int) -> dict[str, Any]:
    followed = follow(steps, side, n)
    return {
        "sources": [_largest(followed.tokens, row) for row in range(n)],
        "lines": [[*map(_line, lines)] for lines in followed.lines],
        "feeds": [[*map(_line, lines)] for lines in fed_by(steps, side, n)],
    }


def _largest(tokens: Any, row: int) -> list[list[Any]]:
    """Return the largest sources of a row, each as side, position and share."""
    every = [
        [side, place, round(float(share), 4)] for side, of in tokens.items() for place, share in enumerate(of[row])
    ]
    return sorted(every, key=lambda source: -source[2])[:N_SOURCES]


def _line(line: Line) -> list[float]:
    return [*line[:-1], round(line.share, 3)]
