"""The text as it is written: source and output as tokens, where the model looks at this step, and the player."""

from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from pages.explore.decoding import view_fields
from pages.explore.decoding.components.writing import Token, sent_at, writing
from pages.explore.decoding.data import DecodingData

if TYPE_CHECKING:
    from transformer_core.decoding.decoding_step import DecodingStep

KEY = "decoding-writing"
MOST_AT_ONCE = 64  # tokens that are written in one step
N_NEARBY = 4  # steps before and after this one that a step shows at once

_TOKENS: "WeakKeyDictionary[DecodingStep, Token]" = WeakKeyDictionary()
"""The data of a step, which stay the same except for labels and who chose it, are cached."""


def show(data: DecodingData) -> None:
    """Draw the tokens of this branch, the attention, and the player."""
    has_encoder = data.card.config.has_encoder
    writing(
        source=data.source_labels,
        output=_tokens(data),
        n_given=len(data.given),
        at=data.n_written,
        looked={
            n: (data.weights("cross", step) if has_encoder else None, data.weights("decoder", step))
            for n, step in ({data.n_written: data.at} | data.around(N_NEARBY)).items()
        },
        aims=(data.who("cross") if has_encoder else "", data.who("decoder")),
        ended=replace(data, at=data.branch[-1]).ended if data.branch else data.ended,
        key=KEY,
        on_at=_on_at,
    )


def _on_at() -> None:
    """A person, or the player, wants to see another step of this branch, be it written or not."""
    n = sent_at(KEY)
    if n is None:
        return
    if n > len(view_fields.path()):
        view_fields.go_on(min(n - (view_fields.STEP.value or 0), MOST_AT_ONCE))
    else:
        view_fields.go_to(n)


def _tokens(data: DecodingData) -> list[Token]:
    """Return the given tokens, and those of the branch."""
    steps = (*data.given, *data.branch)
    n_known = next((place for place, step in enumerate(steps) if step not in _TOKENS), len(steps))
    fresh = steps[n_known:]
    _TOKENS.update(zip(fresh, data.tokens(fresh), strict=True))
    forced = {len(data.given) + place for place in view_fields.BRANCHES.value[view_fields.BRANCH.value].forced}
    tokens = []
    for place, (step, label) in enumerate(zip(steps, data.output_labels, strict=True)):
        token = _TOKENS[step]
        if token.label != label:  # letters are put together from neighbours, and those after a token may be others
            token = replace(token, label=label)
        tokens.append(replace(token, kind="forced") if place in forced else token)
    return tokens
