"""The four ways to add an intervention, and the choices for ablating and patching components."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from headlight.analysis.interventions.record import MAX_TEXT_CHARS
from headlight.analysis.interventions.records import OF_HEADS, Ablation, Component, Patch, StackEntry
from headlight.language import say, say_number
from pages.explore.compare import samples
from pages.investigate.interventions import edits, stack, view_fields, words
from pages.investigate.interventions.data import InterventionsData
from pages.learn import head_choice
from pages.shared import devices, forwards, prose
from pages.shared.corpora import MADE_HERE
from pages.shared.models import ModelCard
from pages.shared.view import state
from pages.shared.view.fields import Kept
from transformer_core.corpora.reading import AS_MADE
from transformer_core.errors import HeadlightError, mark
from transformer_core.text.interface import Given, in_one_line, read_line

TYPED = "typed"  # entry among the corpora for the texts that a person types
_CORPUS = Kept("interventions-corpus", "")  # "": the first one that is offered
_TEXTS = Kept("interventions-texts", "")  # one per line; "": the default text
TABS = {
    "ablate": mark("Ablate"),
    "cells": mark("Edit cells"),
    "patch": mark("Patch"),
    "tokens": mark("Swap tokens"),
}
ABOUT_METHOD = {
    "resample": mark(
        "The activation from another text, position by position where both have the same tokens; elsewhere, that of "
        "a random position."
    ),
    "mean": mark("The mean activation over all positions of the texts."),
    "zero": mark("A vector of zeros, which the model may never have seen: effects can be exaggerated."),
    "constant": mark(
        "The constant vector that changes the output of the text least (Li & Janson 2024): a lower bound of the effect."
    ),
}
ABOUT_DIRECTION = {
    "denoising": mark("Clean into corrupted: is the component sufficient? Your text is the corrupted one."),
    "noising": mark("Corrupted into clean: is the component necessary? Your text is the clean one."),
}
SAME_TEXT = mark("Both texts have the same tokens, so this changes nothing on its own. Type another text.")
OF_ATTENTION = (*OF_HEADS, "attention")  # kinds of components of one attention; others are of the encoder or decoder
_KIND, _POSITIONS = Kept("interventions-kind", "head"), Kept("interventions-positions", ())
_METHOD, DIRECTION = Kept("interventions-method", "resample"), Kept("interventions-direction", "denoising")
_OTHER = Kept("interventions-other", "")  # text; "": the usual one
_SECOND = Kept("interventions-other-second")  # second text of a pair; "": none; None: that of the text itself


def show(data: InterventionsData) -> None:
    """Draw the four ways to add an intervention."""
    view_fields.ADD.segmented(say("Add an intervention"), [*TABS], name=lambda name: say(TABS[name]))
    with st.container(key="hl-interventions-add", gap="small"):
        {"ablate": _ablate, "cells": edits.cells, "patch": _patch, "tokens": edits.tokens}[view_fields.ADD.value](data)
    if note := stack.ADD_NOTE.pop():
        prose.warning(note)


def other_text(data: InterventionsData) -> Given:
    """Return the text that values are taken from, cut to the limit of a record; a pair if there is a second one."""
    first = str(_OTHER.value)[:MAX_TEXT_CHARS] or data.usual_other_text
    second = _second(data)[:MAX_TEXT_CHARS]
    return (first, second) if second else first


def _second(data: InterventionsData) -> str:
    """Return the second text of the pair that values are taken from; "": there is none."""
    if not data.card.takes_pairs:
        return ""
    return state.SECOND_TEXT.value if _SECOND.value is None else _SECOND.value


def _ablate(data: InterventionsData) -> None:
    _component(data)
    _METHOD.segmented(say("Method"), [*words.METHODS], name=lambda name: say(words.METHODS[name]))
    prose.small(say(ABOUT_METHOD[_METHOD.value]))
    if _METHOD.value == "mean":
        _choose_mean(data, other_text(data))
    elif _METHOD.value != "zero":
        _other(data)
    if _METHOD.value == "resample":
        _counterparts(data, Ablation(component=_chosen(data), method="resample", texts=(other_text(data),)))
    stack.add_button(lambda: _ablation(data))


def _ablation(data: InterventionsData) -> StackEntry:
    component, method = _chosen(data), _METHOD.value
    if method == "constant":
        from headlight.analysis.interventions.constants import fit_constant

        model, tokenizer = data.source.load()
        return fit_constant(model, tokenizer, component, [other_text(data)]).ablation
    if method == "mean":
        return _mean(data, component, other_text(data))
    return Ablation(component=component, method=method, texts=() if method == "zero" else (other_text(data),))


def _patch(data: InterventionsData) -> None:
    _component(data)
    _other(data)
    _counterparts(data, _patching(data))
    DIRECTION.segmented(say("Direction"), [*words.DIRECTIONS], name=lambda name: say(words.DIRECTIONS[name]))
    prose.small(say(ABOUT_DIRECTION[DIRECTION.value]))
    stack.add_button(lambda: _patching(data))


def _patching(data: InterventionsData) -> Patch:
    return Patch(component=_chosen(data), text=other_text(data), direction=DIRECTION.value)


def _component(data: InterventionsData) -> None:
    """Draw the choice of the component, folded up: its kind, its head or layer, and its positions."""
    chosen = words.component(_chosen(data))
    with st.popover(prose.plain(chosen[0].upper() + chosen[1:]), key="interventions-component", width="stretch"):
        _KIND.selectbox(say("Component"), _kinds(data), name=lambda kind: say(words.KINDS[kind]), shown=kind_of(data))
        with st.container(horizontal=True, gap="small"):
            (head_choice.attention if kind_of(data) in OF_ATTENTION else _stack)(data.card)
            (head_choice.head if kind_of(data) in OF_HEADS else head_choice.layer)(data.card)
        labels = _labels(data)
        _POSITIONS.multiselect(
            say("Positions"),
            range(len(labels)),
            name=lambda i: f"{i} {labels[i]}" if i < len(labels) else str(i),
            shown=[i for i in _POSITIONS.value if i < len(labels)],
            take=lambda chosen: _POSITIONS.set(tuple(chosen)),
            placeholder=say("All positions"),
        )


def kind_of(data: InterventionsData) -> Any:
    """Return the chosen kind of component, or the first kind if this model lacks the chosen one."""
    kinds = _kinds(data)
    return _KIND.value if _KIND.value in kinds else kinds[0]


def _kinds(data: InterventionsData) -> list[str]:
    left_out = set() if data.card.config.d_ff else {"feed_forward"}
    if view_fields.ADD.value != "patch":
        left_out.add("pattern")  # its rows depend on their own queries and keys: cells are edited instead
    return [kind for kind in words.KINDS if kind not in left_out]


def _stack(card: ModelCard) -> None:
    names = {"encoder": say("Encoder"), "decoder": say("Decoder")}
    if {*names} <= {*card.attentions}:
        state.ATTENTION.selectbox(
            say("Part of the model"),
            [*names],
            name=names.get,
            shown=words.STACK_OF[state.ATTENTION.value],
            part="stack",
            label_visibility="collapsed",
            width=140,
        )


def _labels(data: InterventionsData) -> Sequence[str]:
    queries, keys = data.run.labels(data.view.attention)
    return keys if kind_of(data) in ("key", "value") else queries


def _chosen(data: InterventionsData) -> Component:
    view, kind = data.view, kind_of(data)
    attention: Any = view.attention if kind in OF_ATTENTION else words.STACK_OF[view.attention]
    n, config = len(_labels(data)), data.card.config
    positions = tuple(i for i in _POSITIONS.value if i < n) or None
    head = view.head * config.n_kv_heads // config.n_heads if kind in ("key", "value") else view.head
    return Component(
        kind=kind,
        attention=attention,
        layer=view.layer,
        heads=(head,) if kind in OF_HEADS else None,
        positions=positions,
    )


def _other(data: InterventionsData) -> None:
    other = other_text(data)
    _OTHER.text_line(say("Take values from the text"), shown=other if isinstance(other, str) else other[0])
    if data.card.takes_pairs:
        _SECOND.text_line(
            say("Second text"),
            shown=_second(data)[:MAX_TEXT_CHARS],
            placeholder=say("Second text (optional)"),
            label_visibility="collapsed",
        )
    if max(len(_OTHER.value), len(_second(data))) > MAX_TEXT_CHARS:
        prose.small(say("Texts can have up to {n:,} characters; the rest was cut off.", n=MAX_TEXT_CHARS))


def _counterparts(data: InterventionsData, entry: Ablation | Patch) -> None:
    """Say which positions take the values of a random position of the other text, or that both texts are the same."""
    try:
        pairing, is_same = data.source_of(entry)
    except HeadlightError as error:
        prose.warning(prose.sentence(error))
        return
    positions = entry.component.positions or range(len(_labels(data)))
    n = sum(position in pairing for position in positions)
    if is_same:
        prose.small(say(SAME_TEXT))
    elif n == len(positions):
        prose.small(say("Every position takes the activation of its counterpart in the other text."))
    else:
        prose.small(
            say_number(
                n,
                "{n} of {n_positions} positions has a counterpart in the other text; the rest take the activation of "
                "a random position of it.",
                "{n} of {n_positions} positions have a counterpart in the other text; the rest take the activation of "
                "a random position of it.",
                n_positions=len(positions),
            )
        )


def _choose_mean(data: InterventionsData, usual: Given) -> None:
    """Draw the choice of the corpus, or of the texts, which initially are `usual`."""
    corpus = _corpus(data.card)
    _CORPUS.selectbox(say("Mean over"), _corpora(data.card), name=_in_words, shown=corpus, label_visibility="visible")
    if corpus == TYPED:
        _TEXTS.text_area(
            say("Texts, one per line"),
            shown=_TEXTS.value or in_one_line(usual),
            height=100,
            help=say("‖ separates the two texts of a pair") if data.card.takes_pairs else None,
        )


def _mean(data: InterventionsData, component: Component, usual: Given) -> Ablation:
    """Return the mean ablation of a component over the chosen corpus or texts.

    Raises:
        HeadlightError: the corpus is not here, or is being generated; there is no text; or the model cannot read one.
    """
    corpus, card = _corpus(data.card), data.card
    if corpus == TYPED:
        written = str(_TEXTS.value).split("\n") if _TEXTS.value else [in_one_line(usual)]
        lines = filter(data.input_tokenizer("source").encode, written)
        read: Callable[[str], Given] = read_line if data.card.takes_pairs else str
        return Ablation(component=component, method="mean", texts=tuple(map(read, lines)))
    from headlight.analysis.interventions.constants import corpus_mean

    drawn = samples.of_checkpoint(card.path) if corpus == card.corpus else (0, AS_MADE)
    texts = samples.held_out(corpus, *drawn, card.config.architecture)
    model, tokenizer = data.source.load()
    with forwards.one_of_few(), devices.on(data.source.device):
        return corpus_mean(model, tokenizer, component, texts, corpus=Path(corpus).name)


def _corpora(card: ModelCard) -> list[str]:
    """Return the corpus that a model was trained on, typed texts, and other corpora."""
    own = [card.corpus] if card.corpus else []
    return [*own, TYPED, *(corpus for corpus in MADE_HERE if corpus != card.corpus)]


def _corpus(card: ModelCard) -> str:
    """Return the chosen corpus, or the first one if the choice is not offered here."""
    offered = _corpora(card)
    return _CORPUS.value if _CORPUS.value in offered else offered[0]


def _in_words(corpus: str) -> str:
    if corpus == TYPED:
        return say("Typed texts")
    name = say(MADE_HERE[corpus][0]) if corpus in MADE_HERE else Path(corpus).name
    return say("{corpus}, up to {n} held-out texts", n=samples.N_SAMPLED, corpus=name)
