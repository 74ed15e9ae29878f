"""Writing, token by token: the source, what was given and written after it, where the model looks, and a player.

What a person asks for comes back as a trigger of the component's key, for one run; `sent_at` checks it like any input.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from jaxtyping import Float, Float32

from headlight.figures import DARK, LIGHT, Theme, isolate, sequential_scale
from headlight.figures.theme import KEY
from pages.components.mounting import component
from pages.components.packing import packed
from pages.shared.view.shared_value import SharedValue

Kind = Literal["given", "written", "forced"]
Weights = Float[np.ndarray, " token"] | None
Looked = tuple[Weights, Weights]
"""The attention of one step: weights over the source and over the output; None: nothing is drawn."""

_KINDS: tuple[Kind, ...] = ("given", "written", "forced")
_SHADES = 33  # grounds of chips, for probabilities from 0 to 1
_BRIGHT = 0.179  # relative luminance; black reads better on a brighter ground, white on a darker: 4.5:1 at least


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token of the output, and how it came to stand there."""

    label: str  # with what cannot be seen made visible
    kind: Kind = "written"  # by the model; "forced": chosen by a person; "given": <bos>, or of the prompt
    log_prob: float | None = None  # nats; None, and the next three, where it was not for the model to say
    rank: int | None = None  # 0: the most probable
    entropy: float | None = None  # nats, of the decision
    alternatives: tuple[tuple[str, float], ...] = ()  # the best of that place: label and probability in [0, 1]


def writing(
    *,
    source: Sequence[str],
    output: Sequence[Token],
    n_given: int,
    at: int,
    looked: Mapping[int, Looked],
    aims: tuple[str, str],
    ended: str | None,
    key: str,
    on_at: Callable[[], None],
) -> None:
    """Two lines of tokens, the source and the output, and the player that steps along the output or continues it.

    Chips are colored by their probability; the last one of this step is outlined, and tokens after it are faint. A bar
    over each token shows how much the next token attends to it.

    Args:
        source: the labels of the encoder's tokens; empty without an encoder.
        output: all tokens of the branch, the given ones first, and those after the selected step last.
        n_given: how many of them are given; one at least.
        at: how many were written at the selected step; 0: none yet.
        looked: the attention by how many tokens were written, in [0, 1], over the given tokens and those written by
            then: at the selected step, and at others that are shown at once when a person steps to them.
        aims: whose weights they are, over the source and over the output: "cross-attention L1.H3".
        ended: why nothing can be written after the last token of `output`, in a sentence; None where it can.
        key: the component's key.
        on_at: called before the run in which `sent_at` gives a step, which may not have been written yet.

    Raises:
        ValueError: counts, labels and weights do not fit together.
    """
    if not 1 <= n_given <= len(output) or not 0 <= at <= len(output) - n_given:
        raise ValueError(
            f"There are {len(output)} tokens, {n_given} of them given and {at} written at this step; "
            "give at least one given token, and no step beyond the last token."
        )
    steps = {at: looked[at], **looked}
    rows = [_sides(sides, len(source), n_given + n) for n, sides in steps.items()]
    labels, table = _table(output)
    header = {
        "labels": [isolate(label) for label in labels],
        "kinds": _KINDS,
        "source": [isolate(label) for label in source],
        "nOutput": len(output),
        "nGiven": n_given,
        "at": _step(key).payload(at),
        "steps": [
            {"n": n, "source": len(of_source), "output": len(of_output)}
            for n, (of_source, of_output) in zip(steps, rows, strict=True)
        ],
        "aims": dict(zip(("source", "output"), aims, strict=True)),
        "ended": ended,
        "shades": {theme.name: _shades(theme) for theme in (LIGHT, DARK)},
        "hue": KEY,
    }
    numbers = np.concatenate([table.ravel(), *(weights for sides in rows for weights in sides)]).astype("<f4")
    component(__file__, "writing", isolated=True)(key=key, data=packed(header, numbers.tobytes()), on_at_change=on_at)


def sent_at(key: str) -> int | None:
    """Return how many tokens were written at the step that a person wants to see; None where nothing was sent."""
    n = _step(key).heard()
    return n if type(n) is int and n >= 0 else None


def _step(key: str) -> SharedValue:
    return SharedValue(key, "at")


def _sides(given: Looked, *n_tokens: int) -> list[np.ndarray]:
    """Return the weights over the source and over the output at one step; none where nothing is drawn.

    Raises:
        ValueError: there is not one weight a token.
    """
    for side, weights, n in zip(("source", "output"), given, n_tokens, strict=True):
        if weights is not None and weights.shape != (n,):
            raise ValueError(
                f"There are {n} tokens of the {side} to look at, but weights of shape {weights.shape}; "
                "give one weight a token."
            )
    return [np.empty(0) if weights is None else weights for weights in given]


def _table(output: Sequence[Token]) -> tuple[list[str], Float32[np.ndarray, "pos column"]]:
    """Return all labels once, and of each token numbers: what is not there is NaN.

    Returns:
        The labels; and label, kind, log-probability, rank and entropy, then the labels of the alternatives, then their
        probabilities. Whole numbers are exact up to 2^24, and no vocabulary is as large.
    """
    n = max((len(token.alternatives) for token in output), default=0)
    places: dict[str, int] = {}
    rows = []
    for token in output:
        lacking = [np.nan] * (n - len(token.alternatives))
        names = [places.setdefault(label, len(places)) for label, _ in token.alternatives]
        label, kind = places.setdefault(token.label, len(places)), _KINDS.index(token.kind)
        facts = (np.nan if number is None else number for number in (token.log_prob, token.rank, token.entropy))
        rows.append([label, kind, *facts, *names, *lacking, *(prob for _, prob in token.alternatives), *lacking])
    return [*places], np.array(rows, dtype=np.float32)


@cache
def _shades(theme: Theme) -> list[tuple[str, str]]:
    """Return the ground of a chip for each of some probabilities from 0 to 1, and what is written on it."""
    values, colors = zip(*sequential_scale(theme), strict=True)
    channels = np.array([[int(color[at : at + 2], 16) for at in (1, 3, 5)] for color in colors])
    probabilities = np.linspace(0, 1, _SHADES)
    grounds = np.stack([np.interp(probabilities, values, channel) for channel in channels.T], axis=1).round()
    encoded = grounds / 255
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    luminance = linear @ np.array([0.2126, 0.7152, 0.0722])  # relative, as WCAG 2.2 defines it
    return [
        ("#{:02X}{:02X}{:02X}".format(*map(int, ground)), "#000000" if bright else "#FFFFFF")
        for ground, bright in zip(grounds, luminance > _BRIGHT, strict=True)
    ]
