"""The controls of the page Heads: what the overview marks, and what is drawn of the chosen head, and how."""

import html
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages.explore.heads import view_fields
from pages.explore.heads.data import HeadsData
from pages.explore.heads.still import save_overview
from pages.shared import prose, state
from pages.shared.fields import Field
from transformer_core.analysis import ATTENTIONS
from transformer_core.analysis.heads.picture import HeadShare
from transformer_core.analysis.heads.text_measures import MEASURES
from transformer_core.errors import mark
from transformer_core.figures.quantities import QUANTITIES
from transformer_core.language import say

WIDTH = 340  # px, of what is folded up
DRAWINGS = {"heatmap": mark("Heatmap"), "lines": mark("Lines")}
QUANTITY_NAMES = {
    "pattern": mark("Pattern"),
    "scores": mark("Scores before softmax"),
    "log": mark("Pattern, log scale"),
    "values": mark("Norm-weighted attention ‖α v‖"),
    "written": mark("Norm-weighted attention ‖α v W_O‖"),
}
ORDERS = {"": mark("layers"), "descending": mark("high first"), "ascending": mark("low first")}
ORDER_ICONS = {"": ":material/sort:", "descending": ":material/arrow_downward:", "ascending": ":material/arrow_upward:"}
ABOUT_WORDS = mark(
    "Words out of tokens: the sum over the keys of a word, the mean over its queries. Scores, which cannot be added "
    "up, stay those of tokens."
)
HIDDEN_NAMES = {"special": mark("special tokens"), "sinks": mark("attention sinks")}
SPANS = {"Queries": mark("Queries from and to"), "Keys": mark("Keys from and to")}
MEANS = {"": mark("the chosen"), "layer": mark("mean of its layer"), "all": mark("mean of all")}
ABOUT_MIX = mark(
    "The mean of several heads of one attention, each as heavy as its weight. Shift-click heads in the overview, or "
    "press P on one, to add them here."
)


def over_overview(data: HeadsData) -> None:
    """Draw what stands above the overview: a measure of every head, their order, and which attentions are shown."""
    with st.container(key="hl-overview-bar", horizontal=True, gap="small", vertical_alignment="center"):
        _choice(
            say("Measure"),
            ["", *MEASURES],
            view_fields.TINT,
            lambda name: say(MEASURES[name].title) if name else say("No measure"),
            help=say("A number for every head on this text: a bar under its picture"),
            width=165,
        )
        _order()
        if len(data.model_run.attention_maps) > 1:
            _segments(say("Attentions"), {"": mark("all"), "one": mark("this one")}, view_fields.ONLY)
        save_overview(data)


def _order() -> None:
    """Draw what leads from one order of the heads to the next; it has its place where no measure is chosen, too."""
    order = view_fields.ORDER.value
    after = [*ORDERS][([*ORDERS].index(order) + 1) % len(ORDERS)]
    st.button(
        say("Order of the heads"),
        key="heads-order-next",
        icon=ORDER_ICONS[order],
        type="tertiary",
        disabled=not view_fields.TINT.value,
        help=prose.plain(
            say("Order of the heads: {order}. A click: {after}", order=say(ORDERS[order]), after=say(ORDERS[after]))
        ),
        on_click=view_fields.ORDER.set,
        args=(after,),
    )


def over_head(data: HeadsData) -> None:
    """Draw what stands above the chosen head."""
    with st.container(key="hl-head-bar", horizontal=True, gap="small", vertical_alignment="center"):
        _segments(say("Drawing"), DRAWINGS, view_fields.DRAWING)
        if view_fields.DRAWING.value == "heatmap":
            _choice(say("Quantity"), [*QUANTITIES], view_fields.QUANTITY, lambda name: say(QUANTITY_NAMES[name]))
        with st.popover(prose.plain(_tokens_label(data)), key="hl-tokens", type="tertiary"), st.container(width=WIDTH):
            _tokens(data)
        with st.popover(prose.plain(_mix_label()), key="hl-mix", type="tertiary"), st.container(width=WIDTH):
            _mix(data)


def _tokens_label(data: HeadsData) -> str:
    """Say how many choices about the text are not the usual ones: in few letters, so that the row keeps its place."""
    n_changed = (view_fields.UNIT.value == "word") + bool(view_fields.HIDDEN.value) + bool(data.spec.window)
    return say("Tokens ({n_changed})", n_changed=n_changed) if n_changed else say("Tokens")


def _tokens(data: HeadsData) -> None:
    """Draw how the text is shown: in tokens or words, without some, or a part of it."""
    _segments(say("Show"), {"token": mark("tokens"), "word": mark("words")}, view_fields.UNIT, is_labelled=True)
    st.html(f"<p class='hl-small'>{say(ABOUT_WORDS)}</p>")
    box = f"{view_fields.HIDDEN.key}-box"
    st.session_state[box] = [part for part in view_fields.HIDDEN.value.split("+") if part]
    st.multiselect(
        say("Exclude"),
        [*HIDDEN_NAMES],
        key=box,
        format_func=lambda name: say(HIDDEN_NAMES[name]),
        on_change=lambda: view_fields.HIDDEN.set(
            "+".join(part for part in ("special", "sinks") if part in st.session_state[box])
        ),
        placeholder=say("nothing"),
    )
    if view_fields.HIDDEN.value:
        st.session_state["heads-rest-box"] = view_fields.REST.value == "share"
        st.toggle(
            say("Renormalize rows"),
            key="heads-rest-box",
            on_change=lambda: view_fields.REST.set("share" if st.session_state["heads-rest-box"] else ""),
            help=say("Divide what is left of each row by its sum"),
        )
    _spans(data)


def _spans(data: HeadsData) -> None:
    """Draw the ends of the part of the text that is shown; drawing a box into the heatmap does the same."""
    sizes = data.attention_maps.shape[2:]
    window = data.spec.window or tuple((0, n - 1) for n in sizes)
    for name, n, (first, last) in zip(SPANS, sizes, window, strict=True):
        if n > 1:
            key = f"heads-span-{name}"
            st.session_state[key] = (min(first, n - 1), min(last, n - 1))
            st.slider(say(SPANS[name]), 0, n - 1, key=key, on_change=_on_spans, args=(sizes,))
    if data.spec.window:
        st.button(say("The whole text"), key="heads-whole", on_click=view_fields.WINDOW.set, args=(None,))


def _on_spans(sizes: tuple[int, int]) -> None:
    spans = [st.session_state.get(f"heads-span-{name}", (0, n - 1)) for name, n in zip(SPANS, sizes, strict=True)]
    is_whole = all(tuple(span) == (0, n - 1) for span, n in zip(spans, sizes, strict=True))
    view_fields.WINDOW.set(None if is_whole else (tuple(spans[0]), tuple(spans[1])))


def _mix_label() -> str:
    """Say which heads are combined."""
    if view_fields.MEAN.value:
        return {"layer": say("Mean of the layer"), "all": say("Mean of all heads")}[view_fields.MEAN.value]
    n = len(view_fields.MIX.value)
    return say("{n} heads combined", n=n) if n else say("Combine heads")


def _mix(data: HeadsData) -> None:
    """Draw which heads are shown as one, and how heavy each is."""
    _segments(
        say("Show"),
        MEANS,
        view_fields.MEAN,
        is_labelled=True,
    )
    st.html(f"<p class='hl-small'>{html.escape(say(ABOUT_MIX))}</p>")
    n_layers, n_heads = data.attention_maps.shape[:2]
    names = [f"{layer}.{head}" for layer in range(n_layers) for head in range(n_heads)]
    chosen = view_fields.MIX.value or (HeadShare(layer=data.view.layer, head=data.view.head),)
    st.session_state["heads-mix-box"] = [f"{share.layer}.{share.head}" for share in chosen]
    st.multiselect(
        say("Heads of the {attention}, as layer.head", attention=say(ATTENTIONS[data.view.attention].inline)),
        names,
        key="heads-mix-box",
        max_selections=view_fields.MOST_MIXED,
        on_change=_on_mix,
    )
    if len(chosen) > 1:
        for share in chosen:
            name = f"{share.layer}.{share.head}"
            st.session_state[f"heads-weight-{name}"] = share.weight
            st.slider(
                say("Weight of {name}", name=name), 0.0, 1.0, step=0.05, key=f"heads-weight-{name}", on_change=_on_mix
            )


def _on_mix() -> None:
    shares = []
    for name in st.session_state["heads-mix-box"]:
        layer, head = map(int, name.split("."))
        weight = st.session_state.get(f"heads-weight-{name}", 1.0)
        shares.append(HeadShare(layer=layer, head=head, weight=weight))
    view_fields.MEAN.set("")
    if len(shares) == 1:
        state.choose_head(state.current().attention, shares[0].layer, shares[0].head)
    view_fields.MIX.set(tuple(shares) if len(shares) > 1 else ())


def _choice(
    label: str,
    options: Sequence[str],
    field: Field,
    name: Callable[[str], str],
    *,
    help: str | None = None,
    width: int = 190,
) -> None:
    """Draw a choice of one out of several that is folded up."""
    key = f"{field.key}-box"
    st.session_state[key] = field.value
    st.selectbox(
        label,
        options,
        key=key,
        format_func=name,
        on_change=partial(_take, field, key),
        label_visibility="collapsed",
        help=help,
        width=width,
    )


def _segments(label: str, options: dict[str, str], field: Field, *, is_labelled: bool = False) -> None:
    """Draw a choice of one out of a few side by side."""
    key = f"{field.key}-segments"
    st.session_state[key] = field.value
    st.segmented_control(
        prose.plain(label),
        [*options],
        key=key,
        format_func=lambda name: prose.plain(say(options[name])),
        required=True,
        on_change=partial(_take, field, key),
        label_visibility="visible" if is_labelled else "collapsed",
    )


def _take(field: Field, key: str) -> None:
    value: Any = st.session_state[key]
    field.set(field.usual if value is None else value)
