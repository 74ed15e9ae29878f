"""Compact controls to choose the head that a page shows; the options are self-explanatory, without labels."""

from collections.abc import Callable

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.language import say
from pages.shared.models import ModelCard
from pages.shared.view import state


def attention(card: ModelCard, take: Callable[[str], None] | None = None) -> None:
    """Draw the choice of the attention if the model has several; `take`: as for a `Control`."""
    if len(card.attentions) > 1:
        state.ATTENTION.selectbox(
            say("Attention"),
            [*card.attentions],
            name=lambda name: say(ATTENTIONS[name].title),
            label_visibility="collapsed",
            width=205,
            take=take,
        )


def layer(card: ModelCard) -> None:
    """Draw the choice of the layer in the attention that is shown."""
    layers = range(card.n_layers(state.current().attention))
    state.LAYER.selectbox(say("Layer"), layers, name="L{}".format, label_visibility="collapsed", width=74)


def head(card: ModelCard) -> None:
    """Draw the choices of the layer and the head in the attention that is shown."""
    layer(card)
    heads = range(card.config.n_heads)
    state.HEAD.selectbox(say("Head"), heads, name="H{}".format, label_visibility="collapsed", width=74)
