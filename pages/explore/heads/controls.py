"""The controls of the chosen head: what is drawn, and how."""

from collections.abc import Mapping, Sequence

import streamlit as st

from headlight.analysis.heads.picture import HeadShare
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.language import say
from pages.explore.heads import view_fields
from pages.explore.heads.data import HeadsData
from pages.shared import prose
from pages.shared.view import state
from pages.shared.view.fields import Span
from transformer_core.errors import mark

WIDTH = 340  # px, of a popover
DRAWINGS = {"heatmap": mark("Heatmap"), "lines": mark("Lines")}
QUANTITY_NAMES = {
    "pattern": mark("Pattern"),
    "scores": mark("Scores before softmax"),
    "log": mark("Pattern (log scale)"),
    "values": mark("Value-weighted ‖α v‖"),
    "written": mark("Norm-weighted ‖α v W_O‖"),
}
ABOUT_WORDS = mark(
    "Tokens are merged into words: weights are summed over a word’s keys and averaged over its queries. Scores "
    "cannot be summed and stay per token."
)
HIDDEN_NAMES = {"special": mark("special tokens"), "sinks": mark("attention sinks")}
UNITS = {"token": mark("tokens"), "word": mark("words")}
SPANS = {"Queries": mark("Query range"), "Keys": mark("Key range")}
MEANS = {"": mark("selected heads"), "layer": mark("layer mean"), "all": mark("mean of all")}
ABOUT_MIX = mark(
    "The weighted mean of several heads of one attention. Shift-click heads in the overview, or press P on one, to "
    "add them."
)


def over_head(data: HeadsData) -> None:
    """Draw the controls above the chosen head."""
    with st.container(key="hl-head-bar", horizontal=True, gap="small", vertical_alignment="center"):
        view_fields.DRAWING.segmented(say("Drawing"), [*DRAWINGS], name=lambda name: say(DRAWINGS[name]))
        if view_fields.DRAWING.value == "heatmap":
            view_fields.QUANTITY.selectbox(
                say("Quantity"),
                data.quantities,
                name=lambda name: say(QUANTITY_NAMES[name]),
                label_visibility="collapsed",
                width=190,
            )
        n_changed = (view_fields.UNIT.value == "word") + bool(view_fields.HIDDEN.value) + bool(data.spec.window)
        label = say("Tokens ({n_changed})", n_changed=n_changed) if n_changed else say("Tokens")
        with st.popover(prose.plain(label), key="hl-tokens", type="tertiary"), st.container(width=WIDTH):
            _tokens(data)
        with st.popover(prose.plain(_mix_label()), key="hl-mix", type="tertiary"), st.container(width=WIDTH):
            _mix(data)


def _tokens(data: HeadsData) -> None:
    """Draw the choices of tokens or words, of excluded tokens, and of a part of the text."""
    view_fields.UNIT.segmented(say("Show"), [*UNITS], name=lambda name: say(UNITS[name]), label_visibility="visible")
    prose.small(say(ABOUT_WORDS))
    view_fields.HIDDEN.multiselect(
        say("Exclude"),
        [*HIDDEN_NAMES],
        name=lambda name: say(HIDDEN_NAMES[name]),
        shown=[part for part in view_fields.HIDDEN.value.split("+") if part],
        take=lambda parts: view_fields.HIDDEN.set("+".join(part for part in HIDDEN_NAMES if part in parts)),
        placeholder=say("nothing"),
    )
    if view_fields.HIDDEN.value:
        view_fields.REST.toggle(
            say("Renormalize rows"),
            shown=view_fields.REST.value == "share",
            take=lambda is_on: view_fields.REST.set("share" if is_on else ""),
            help=say("Divide each row by the sum of its remaining weights"),
        )
    _spans(data)


def _spans(data: HeadsData) -> None:
    """Draw range sliders for the part of the text that is shown; dragging a box in the heatmap does the same."""
    sizes = data.attention_maps.shape[2:]
    window = data.spec.window or tuple((0, n - 1) for n in sizes)
    for side, (name, n) in enumerate(zip(SPANS, sizes, strict=True)):
        if n > 1:
            first, last = window[side]
            view_fields.WINDOW.slider(
                say(SPANS[name]),
                0,
                n - 1,
                shown=(min(first, n - 1), min(last, n - 1)),
                take=lambda span, side=side: _choose_span(sizes, window, side, span),
                part=name,
            )
    if data.spec.window:
        st.button(say("Show the whole text"), key="heads-whole", on_click=view_fields.WINDOW.set, args=(None,))


def _choose_span(sizes: Sequence[int], window: Sequence[Span], side: int, span: Span) -> None:
    """Store the chosen range of the queries or of the keys."""
    spans = [*window]
    spans[side] = span[0], span[1]
    is_whole = all(one == (0, n - 1) for one, n in zip(spans, sizes, strict=True))
    view_fields.WINDOW.set(None if is_whole else tuple(spans))


def _mix_label() -> str:
    if view_fields.MEAN.value:
        return {"layer": say("Layer mean"), "all": say("Mean of all heads")}[view_fields.MEAN.value]
    n = len(view_fields.MIX.value)
    return say("{n} heads combined", n=n) if n else say("Combine heads")


def _head_name(name: str) -> str:
    """Return the display name of a head, such as "L0.H1", from its name in links, "0.1"."""
    return "L{}.H{}".format(*name.split("."))


def _mix(data: HeadsData) -> None:
    """Draw the choice of heads that are combined, and their weights."""
    view_fields.MEAN.segmented(say("Show"), [*MEANS], name=lambda name: say(MEANS[name]), label_visibility="visible")
    prose.small(say(ABOUT_MIX))
    n_layers, n_heads = data.attention_maps.shape[:2]
    names = [f"{layer}.{head}" for layer in range(n_layers) for head in range(n_heads)]
    chosen = view_fields.MIX.value or (HeadShare(layer=data.view.layer, head=data.view.head),)
    weights = {f"{share.layer}.{share.head}": share.weight for share in chosen}
    view_fields.MIX.multiselect(
        say("Heads of the {attention}", attention=say(ATTENTIONS[data.view.attention].inline)),
        names,
        name=_head_name,
        shown=[*weights],
        take=lambda heads: _choose_mix({name: weights.get(name, 1.0) for name in heads}),
        max_selections=view_fields.MOST_MIXED,
    )
    if len(chosen) > 1:
        for name, weight in weights.items():
            view_fields.MIX.slider(
                say("Weight of {name}", name=_head_name(name)),
                0.0,
                1.0,
                step=0.05,
                shown=weight,
                take=lambda weight, name=name: _choose_mix(weights | {name: weight}),
                part=f"weight-{name}",
            )


def _choose_mix(weights: Mapping[str, float]) -> None:
    """Store the chosen heads and weights."""
    shares = []
    for name, weight in weights.items():
        layer, head = map(int, name.split("."))
        shares.append(HeadShare(layer=layer, head=head, weight=weight))
    view_fields.MEAN.set("")
    if len(shares) == 1:
        state.SHOWN_HEAD.set(state.current().attention, shares[0].layer, shares[0].head)
    view_fields.MIX.set(tuple(shares) if len(shares) > 1 else ())
