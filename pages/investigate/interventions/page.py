"""Interventions: what happens if this head is off, or this cell is changed?"""

import streamlit as st

from headlight.language import say
from pages.investigate.interventions import PAGE, adding, effects, source_run, stack, sweeps, view_fields
from pages.investigate.interventions.data import InterventionsData
from pages.shared import code_expander, prose, ticking
from pages.shared.answer import NO_HEAD
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Print, script
from pages.shared.view import state
from pages.shared.view.fields import Kept
from transformer_core.errors import HeadlightError, mark

LEAD = mark(
    "Change the model while it runs, and see the exact effect: ablate heads and layers, edit single attention "
    "weights, patch activations from another text, swap tokens. The unchanged run is shown next to it."
)
VIEWS = {  # title, and what draws it and returns the lines that print its numbers
    "pattern": (mark("Pattern of the head"), effects.pattern),
    "source": (mark("Source run"), source_run.show),
    "heads": (mark("All heads"), effects.heads),
    "residual": (mark("Residual stream"), effects.residual),
    "numbers": (mark("Numbers"), effects.numbers),
    "sweep": (mark("Sweep"), sweeps.show),
}
OF_OUTPUT = ("numbers", "sweep")  # these need an output token
OF_CHANGE = ("heads", "residual")  # these show nothing without an active intervention
LOOK_FOR = mark(
    "a head with a striking pattern may change nothing when it is ablated, and the effect depends on the method. "
    "Compare resample, mean and zero ablation before you call a head important."
)
NO_OUTPUT = mark("This text has no output token to compare. A masked model needs a blank: type ____ in the text.")
_NOTE = Kept("interventions-pair-note", "")  # why the typed text is not a token


@ticking.fragment
def interventions() -> None:
    """Draw the stack and what it changes; choices on the page redraw only this fragment."""
    card = state.card()
    if not card.config.unembed:
        prose.note(say(NO_HEAD))
        state.publish()
        return
    try:
        data = InterventionsData.current(card)
    except HeadlightError as error:
        prose.warning(prose.sentence(error))
        state.publish()
        return
    if data is None:
        return
    has_output, view = bool(data.result.labels), view_fields.VIEW.value
    lines: list[Print] = []
    is_empty = not has_output and view in OF_OUTPUT
    with st.container(key="hl-interventions"):
        left, right = st.columns([6, 9], gap="medium")
        with right, st.container(gap="xsmall"):  # first, so that changes appear before the browser draws the rest
            with st.container(key="hl-interventions-change", gap="xsmall"):
                above = st.container(gap=None)
                if has_output and data.stack.enabled:
                    effects.tokens(data)
            view_fields.VIEW.segmented(
                say("Effects"), [*VIEWS], name=lambda name: say(VIEWS[name][0]), take=view_fields.look_at
            )
            if is_empty:
                compared_tokens(data)  # says why there is nothing to show
            elif view in OF_CHANGE and not data.stack.enabled:
                prose.small(say(effects.NOTHING))
            else:
                lines = VIEWS[view][1](data)
            with above:  # decoding takes longer than the rest
                if has_output:
                    effects.outputs(data)
                if not is_empty:
                    compared_tokens(data)
        with left:
            stack.show(data)
            adding.show(data)
    prose.look_for(
        say(LOOK_FOR),
        definitions(
            "activation-patching", "resample-ablation", "optimal-ablation", "logit-difference", "kl-divergence"
        ),
    )
    code_expander.code(lambda: script(*effects.code(data), *lines))
    state.publish()


def compared_tokens(data: InterventionsData) -> None:
    """Draw on one line which tokens are compared at which output token, and say why a choice is invalid."""
    labels = data.result.labels
    if not labels:
        prose.small(say(NO_OUTPUT))
        return
    token, other = pair = data.result.pairs[data.index]
    labelled = {"label": labels[data.index], "token": data.label(token), "other": data.label(other)}
    title = say("Logit difference at {index} “{label}”: “{token}” − “{other}”", index=data.index, **labelled)
    with st.popover(prose.plain(title), key="hl-interventions-pair", type="tertiary"):
        view_fields.TOKEN.selectbox(
            say("Output token"),
            range(len(labels)),
            name=lambda i: f"{i} {labels[i]}",
            shown=data.index,
            take=_take_token,
        )
        before_and_after = data.result.candidates[:, data.index].ravel().tolist()
        # A browser may send what it showed on another text as if a person had typed it: each text has its own widgets.
        of = hash((data.view.model, data.view.text, data.view.target, data.index))
        names = {token: data.label(token) for token in (*pair, *before_and_after)}
        for place, (token, name) in enumerate(zip(pair, (say("Token"), say("Other token")), strict=True)):
            view_fields.PAIR.selectbox(
                name,
                [*names],
                part=f"{place}-{of}",
                name=names.get,
                shown=token,
                take=lambda chosen, place=place: _choose(data, place, chosen),
                accept_new_options=True,
            )
        if note := _NOTE.pop():
            prose.warning(note)
        if view_fields.PAIR.value is not None:
            st.button(
                say("Compare the output token and the most probable other one"),
                key="interventions-usual-pair",
                icon=":material/restart_alt:",
                type="tertiary",
                on_click=view_fields.PAIR.set,
                args=(None,),
            )
    if data.pair_error is not None:
        prose.warning(prose.sentence(data.pair_error))


def _take_token(index: int) -> None:
    view_fields.TOKEN.set(index)
    view_fields.PAIR.set(None)  # the two tokens that are usual there


def _choose(data: InterventionsData, place: int, chosen: int | str | None) -> None:
    """Take a token, chosen by its id or typed; if it is already the other one of the pair, swap the two."""
    if chosen is None:
        return
    pair = [*data.result.pairs[data.index]]
    tokenizer = data.output_tokenizer
    try:
        token = tokenizer.token_of(chosen, instead_of=pair[place]) if isinstance(chosen, str) else chosen
    except HeadlightError as error:
        _NOTE.set(prose.sentence(error))
        return
    if token == pair[1 - place]:
        pair[1 - place] = pair[place]
    pair[place] = token
    view_fields.TOKEN.set(data.index)
    view_fields.PAIR.set(tuple(pair))


PAGE.show(LEAD, interventions)
