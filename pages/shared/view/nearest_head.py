"""The head that a link names, or the nearest one that the model has."""

from headlight.analysis.heads.measures import HeadName
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.language import say, say_number
from pages.shared.models import ModelCard


def nearest_head(
    card: ModelCard, usual: HeadName, attention: str | None, layer: str | None, head: str | None
) -> tuple[HeadName, list[str]]:
    """Return the head that a link names, and a sentence for each part of its name that the model does not have.

    Args:
        card: of the model.
        usual: the head that is meant where the link names none.
        attention: as the link says it; None: it does not. Likewise for:
        layer: its number.
        head: its number.
    """
    chosen, attention_notes = _attention(usual.attention if attention is None else attention, card)
    n_layers = card.n_layers(chosen)
    if chosen != usual.attention:
        usual = HeadName(chosen, n_layers - 1, 0)
    at_layer, layer_notes = _index(layer, n_layers, default=usual.layer, what="layer")
    at_head, head_notes = _index(head, card.config.n_heads, default=usual.head, what="head")
    return HeadName(chosen, at_layer, at_head), [*attention_notes, *layer_notes, *head_notes]


def _attention(wanted: str, card: ModelCard) -> tuple[str, list[str]]:
    """Return the wanted attention, or the last one, and a note where the model has no such."""
    names = [*card.attentions]
    if wanted in names:
        return wanted, []
    if wanted in ATTENTIONS:
        missing, shown = (say(ATTENTIONS[name].inline) for name in (wanted, names[-1]))
        return names[-1], [
            say(
                "This model is {kind} and has no {missing}; its {shown} is shown.",
                kind=say(card.kind),
                missing=missing,
                shown=shown,
            )
        ]
    return names[-1], [
        say_number(
            len(names),
            "There is no attention “{wanted}”; there is {names}.",
            "There is no attention “{wanted}”; there are {names}.",
            wanted=wanted[:60],
            names=", ".join(names),
        )
    ]


def _index(wanted: str | None, size: int, *, default: int, what: str) -> tuple[int, list[str]]:
    """Return the wanted index clamped to what the model has, and a note where that is another one."""
    if wanted is None:
        return default, []
    try:
        index = int(wanted)
    except ValueError:
        index = -1
    if 0 <= index < size:
        return index, []
    nearest = min(max(index, 0), size - 1)
    values = {"wanted": wanted[:20], "last": size - 1, "nearest": nearest}
    if what == "layer":
        note = say("This model has no layer “{wanted}”, only 0 to {last}; layer {nearest} is shown instead.", **values)
    else:
        note = say("This model has no head “{wanted}”, only 0 to {last}; head {nearest} is shown instead.", **values)
    return nearest, [note]
