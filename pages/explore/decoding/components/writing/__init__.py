"""The text as it is written: source and output tokens, the attention of this step, and the player.

A request is sent as a trigger of the component's key, for one run, and is validated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float, Float32

from headlight.figures import DARK, LIGHT, Theme, isolate, sequential_scale
from headlight.figures.theme import KEY as HUE
from pages.components.mounting import component, packed
from pages.explore.decoding import view_fields
from pages.explore.decoding.data import DecodingData, OutputToken
from pages.shared.view.shared_value import SharedValue

if TYPE_CHECKING:
    from transformer_core.decoding.decoding_step import AttentionKind, DecodingStep

KEY = "decoding-writing"
MOST_AT_ONCE = 64  # tokens written at once
N_NEARBY = 4  # steps on each side of this one that are sent along, to be shown without delay
AT = SharedValue(KEY, "at")  # number of written tokens at the shown step
KINDS = ("given", "written", "forced")
_SHADES = 33  # number of chip backgrounds, for probabilities from 0 to 1
_BRIGHT = 0.179  # relative luminance above which black text has more contrast than white; at least 4.5:1

_TOKENS: "WeakKeyDictionary[DecodingStep, OutputToken]" = WeakKeyDictionary()
"""The data of a step, which stay the same except for labels and who chose it, are cached."""


def show(data: DecodingData) -> None:
    """Draw two lines of tokens, the source and the output, and the player that steps along the output or continues it.

    Chips are colored by their probability; the last one of this step is outlined, and tokens after it are faint. A bar
    over each token shows how much the next token attends to it, at this step and at those nearby, which are shown at
    once when a person steps to them.
    """
    from transformer_core.decoding.decoding_step import attention_weights

    kinds, n = data.kinds(), data.n_written
    nearby = {n: data.prediction} | {place: step.prediction for place, step in data.around(N_NEARBY).items()}
    looked = {
        place: {kind: attention_weights(after, kind, data.aim) for kind in kinds if after is not None}
        for place, after in nearby.items()
    }
    header, numbers = payload(data.source_labels, _tokens(data), looked)
    header |= {
        "nGiven": len(data.given),
        "at": AT.payload(n),
        "aims": {"source": data.who("cross") if "cross" in kinds else "", "output": data.who("decoder")},
        "ended": replace(data, at=data.branch[-1]).ended if data.branch else data.ended,
        "shades": {theme.name: _shades(theme) for theme in (LIGHT, DARK)},
        "hue": HUE,
    }
    component(__file__, "writing", isolated=True)(key=KEY, data=packed(header, numbers), on_at_change=_on_at)


def payload(
    source: Sequence[str],
    output: Sequence[OutputToken],
    looked: "Mapping[int, Mapping[AttentionKind, Float[np.ndarray, ' token']]]",
) -> tuple[dict[str, Any], bytes]:
    """Return tokens and attention in the format of the component.

    Args:
        source: the labels of the encoder's tokens; empty without an encoder.
        output: all tokens of the branch, the given ones first.
        looked: weights over the source and over the output, by number of written tokens, this step first; a missing
            entry is not drawn.

    Returns:
        a header, and its numbers (float32): a row for each token of the output, then the weights.
    """
    rows = [[of.get(kind, np.empty(0)) for kind in ("cross", "decoder")] for of in looked.values()]
    labels, table = _table(output)
    header = {
        "labels": [isolate(label) for label in labels],
        "kinds": KINDS,
        "source": [isolate(label) for label in source],
        "nOutput": len(output),
        "steps": [
            {"n": n, "source": len(of_source), "output": len(of_output)}
            for n, (of_source, of_output) in zip(looked, rows, strict=True)
        ],
    }
    numbers = np.concatenate([table.ravel(), *(weights for sides in rows for weights in sides)])
    return header, numbers.astype("<f4").tobytes()


def _on_at() -> None:
    """Go to the step of this branch that a person or the player requests, and write it if necessary."""
    n = AT.heard()
    if type(n) is not int or n < 0:
        return
    if n > len(view_fields.path()):
        view_fields.go_on(min(n - (view_fields.STEP.value or 0), MOST_AT_ONCE))
    else:
        view_fields.go_to(n)


def _tokens(data: DecodingData) -> list[OutputToken]:
    """Return the given tokens followed by those of the branch."""
    steps = (*data.given, *data.branch)
    n_known = next((place for place, step in enumerate(steps) if step not in _TOKENS), len(steps))
    fresh = steps[n_known:]
    _TOKENS.update(zip(fresh, data.tokens(fresh), strict=True))
    forced = {len(data.given) + place for place in view_fields.BRANCHES.value[view_fields.BRANCH.value].forced}
    tokens = []
    for place, (step, label) in enumerate(zip(steps, data.output_labels, strict=True)):
        token = _TOKENS[step]
        if token.label != label:  # a label depends on the tokens around it, which may have changed
            token = replace(token, label=label)
        tokens.append(replace(token, kind="forced") if place in forced else token)
    return tokens


def _table(output: Sequence[OutputToken]) -> tuple[list[str], Float32[np.ndarray, "pos column"]]:
    """Return the distinct labels, and a row of numbers for each token, with NaN for missing values.

    Returns:
        The labels; and label, kind, log-probability, rank and entropy, then the labels of the alternatives, then their
        probabilities. Float32 is exact for integers up to 2^24, more than any vocabulary size.
    """
    n = max((len(token.alternatives) for token in output), default=0)
    places: dict[str, int] = {}
    rows = []
    for token in output:
        lacking = [np.nan] * (n - len(token.alternatives))
        names = [places.setdefault(label, len(places)) for label, _ in token.alternatives]
        label, kind = places.setdefault(token.label, len(places)), KINDS.index(token.kind)
        facts = (np.nan if number is None else number for number in (token.log_prob, token.rank, token.entropy))
        rows.append([label, kind, *facts, *names, *lacking, *(prob for _, prob in token.alternatives), *lacking])
    return [*places], np.array(rows, dtype=np.float32)


@cache
def _shades(theme: Theme) -> list[tuple[str, str]]:
    """Return background and text colors of chips for `_SHADES` probabilities, evenly spaced from 0 to 1."""
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
