"""The axis of the steps of a training, and where a step lies on it."""

import math
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from transformer_core.figures.hues import FAINT
from transformer_core.language import say

_ZERO = 0.4  # where step 0 lies on a logarithmic axis: before step 1, and its label says 0
STEP = "%{x:,d}"  # in a hover text


def places(steps: Int[np.ndarray, " point"], *, log: bool) -> Float[np.ndarray, " point"]:
    """Return where steps lie on the axis, in the axis's own numbers."""
    return np.where(steps > 0, steps, _ZERO if log else 0).astype(np.float64)


def step_axis(first: int, last: int, *, log: bool) -> dict[str, Any]:
    """Return the layout of the axis, for all panels of a figure.

    Args:
        first: the first step that is seen.
        last: the last one.
        log: logarithmic, to see the early steps; step 0 is to the left of step 1.
    """
    axis: dict[str, Any] = {
        "title": {"text": say("step"), "standoff": 4, "font": {"size": 13}},
        "showspikes": True,
        "spikemode": "across",
        "spikesnap": "data",
        "spikethickness": 1,
        "spikedash": "solid",
        "spikecolor": FAINT,
        "unifiedhovertitle": {"text": f"<b>{say('step {step}', step=STEP)}</b>"},
        "ticks": "outside",
        "ticklen": 4,
    }
    if not log:
        margin = 0.02 * max(last - first, 1)
        return axis | {"range": [first - margin, last + margin], "nticks": 8, "tickformat": ",d"}
    low, high = float(max(first, 1)), float(max(last, 1))
    ticks = log_ticks(low, high, n_most=7)
    texts = [say("{n:,.0f}", n=value) for value in ticks]
    begin = low if first else _ZERO
    margin = 0.02 * max(math.log10(high / begin), 0.1)
    return axis | {
        "type": "log",
        "range": [math.log10(begin) - margin, math.log10(high) + margin],
        "tickmode": "array",
        "tickvals": ticks if first else [_ZERO, *ticks],
        "ticktext": texts if first else ["0", *texts],
    }


def log_ticks(low: float, high: float, *, n_most: int) -> list[float]:
    """Return round numbers between two positive ones, as even as may be on a logarithmic axis.

    Args:
        low: the lowest number that is seen.
        high: the highest.
        n_most: at most so many are returned; where there is none so round, `low`.
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3), (1,)):
        ticks = [digit * 10.0**decade for decade in decades for digit in digits]
        ticks = [value for value in ticks if low <= value * (1 + 1e-9) and value <= high * (1 + 1e-9)]
        if ticks and len(ticks) <= n_most:
            return ticks
    return ticks[:: math.ceil(len(ticks) / n_most)] if ticks else [low]
