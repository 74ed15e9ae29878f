"""Compare two sides: heads, layers, texts, checkpoints, snapshots of a training, models, interventions."""

from collections.abc import Mapping
from contextlib import suppress

import streamlit as st

from headlight.analysis.heads.measures import HeadName
from headlight.language import say
from pages.explore.compare import PAGE, controls, effect, layers, map, texts, view_fields
from pages.explore.compare import changed as compare_changed
from pages.explore.compare import head as compare_head
from pages.explore.compare.data import MOST_TOKENS, ComparisonData
from pages.explore.compare.sides import Side, resolve, short_title
from pages.shared import code_expander, models, prose
from pages.shared.models import ModelCard
from pages.shared.predictions import answers, box, calibration
from pages.shared.recipe import script
from pages.shared.view import state
from transformer_core.errors import HeadlightError, mark

LEAD = mark(
    "Compare two sides, A and B: two inputs, heads, models or training snapshots, or a model with and without some "
    "of its heads."
)
PROMPTS_ONLY = mark(
    "For decoder-only models, only the prompt is compared: the continuations differ, and no prompt token attends to "
    "them."
)
MOST_AT_ONCE = 128  # tokens; on longer texts, the changed heads are computed only in their own view
N_OFFERED = 3  # most changed heads offered next to the switch
VIEWS = {
    "one": (mark("One head"), compare_head),
    "changed": (mark("Changed heads"), compare_changed),
    "effect": (mark("Effect on the output"), effect),
    "map": (mark("Head map"), map),
    "layers": (mark("Layers"), layers),
    "texts": (mark("Many texts"), texts),
}
OF_PATTERNS = ("one", "changed", "map")  # views of models that transformers computes


@st.fragment
def compare() -> None:
    """Draw the choices and the view; a choice reruns only this fragment."""
    if view_fields.NEW_TEXT.pop():
        st.rerun()
    cards, card = models.available(), state.card()
    state.fit(card)
    last = [*card.attentions][-1]
    is_new = view_fields.is_first_visit(HeadName(last, card.n_layers(last) - 1, 0))
    if view_fields.NEW_CHANGE.pop() or is_new:
        _begin(cards)
    a, b, notes = resolve(cards)
    controls.choose(a, b, cards)
    if notes:
        prose.note(" ".join(notes))
    data = _read(a, b)
    if data is not None:
        _view(data)
    answers.keep()
    state.publish()


def _begin(cards: Mapping[str, ModelCard]) -> None:
    """Choose the head that changed most, so that there is something to see at once."""
    a, b, _ = resolve(cards)
    with suppress(HeadlightError), st.spinner(say("Running the models …"), show_time=True):
        data = ComparisonData.of(a, b)
        if data.n_tokens <= MOST_AT_ONCE and (changed := compare_changed.most_changed(data)):
            view_fields.choose_head_a(changed[0][0])


def _read(a: Side, b: Side) -> ComparisonData | None:
    """Read both sides; return None, and show why, if one of them cannot be read."""
    try:
        with st.spinner(say("Running the models …"), show_time=True):
            return ComparisonData.of(a, b)
    except HeadlightError as error:
        prose.warning(
            say(
                "{a} ({a_name}) and {b} ({b_name}) cannot be compared: {error}.",
                a=a.letter,
                a_name=a.name,
                b=b.letter,
                b_name=b.name,
                error=error,
            )
        )
        return None


def _view(data: ComparisonData) -> None:
    names = [*(OF_PATTERNS if data.is_viewed else VIEWS)]
    name = view_fields.VIEW.value if view_fields.VIEW.value in names else names[0]
    view_fields.VIEW.segmented(say("View"), names, name=lambda name: say(VIEWS[name][0]), shown=name)
    view = VIEWS[name][1]
    if name != "texts" and data.n_tokens > MOST_TOKENS:
        prose.note(
            say(
                "Comparisons are limited to texts of {most} tokens, and one of these has {n:,}. Shorten the text.",
                most=MOST_TOKENS,
                n=data.n_tokens,
            )
        )
        return
    try:
        with st.container(key=f"hl-compare-view-{name}"):
            is_seen = box.ask(effect.edit(data))
            if is_seen or view is not effect:
                view.show(data)
            if is_seen:
                controls.tell(data)
                effect.summarise(data)
            if name == "one" and data.n_tokens <= MOST_AT_ONCE:
                _most_changed(data)
            is_both = name != "texts" and (name != "map" or view_fields.ON_MAP.value == "both")
            if is_both and any(data.n_compared(side) for side in data.sides):
                prose.small(say(PROMPTS_ONLY))
            calibration.show()
            code_expander.code(lambda: script(*view.code(data)))
    except HeadlightError as error:
        prose.warning(say("This cannot be compared: {error}.", error=error))


def _most_changed(data: ComparisonData) -> None:
    changed = compare_changed.most_changed(data)[:N_OFFERED]
    if not changed:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="hl-compare-offered"):
        prose.label(say("Most changed"))
        for head, change in changed:
            st.button(
                prose.plain(say("{head}: {change:.2f}", head=short_title(head), change=change)),
                key=f"compare-offered-{view_fields.written_head(head)}",
                type="tertiary",
                on_click=view_fields.open_both,
                args=(head,),
            )


PAGE.show(LEAD, compare)
