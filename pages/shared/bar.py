"""The bar on top of every page: model and text are chosen here, and the model's answer stands beside the text."""

import html
import math
from collections.abc import Mapping, Sequence

import streamlit as st

from pages.shared import models, readings, state, style
from pages.shared.models import ModelCard
from transformer_core.analysis import Reading
from transformer_core.errors import HeadlightError
from transformer_core.figures import isolate

CLAIM = "See what every attention head does, step by step, in a model that you can train yourself."
SHOWN_EXAMPLES = 2  # beside the text; narrow screens show one; all are one click away


def no_models() -> None:
    """Say how to get a model where there is none."""
    st.title("Headlight")
    st.info("There is no trained model here yet. This command trains one in about five minutes:")
    st.code(models.TRAIN_COMMAND, language="bash")
    st.caption(
        f"Models are looked for in the folder {models.at_root(models.folder())}. Reload this page when it has ended."
    )


def sidebar(card: ModelCard) -> None:
    """Draw what stands beside every page."""
    with st.sidebar:
        st.html(f"<div class='hl-brand'>{style.icon()}Headlight</div><p class='hl-small'>{html.escape(CLAIM)}</p>")
        st.html(
            f"<div class='hl-model'>{html.escape(card.title)}</div><p class='hl-small'>{html.escape(card.claim())}.</p>"
        )


def model_and_text(cards: Mapping[str, ModelCard], notes: Sequence[str]) -> bool:
    """Draw the text, the model's answer, the choice of the model, the examples, and what there is to say about them.

    Returns:
        Whether the model can be used; a page has nothing to show where it cannot.
    """
    with st.container(key="hl-bar"):
        text_column, answer_column, model_column = st.columns([6, 7, 3])
        text_column.text_input(
            "Text",
            key=state.TEXT,
            on_change=state.on_text,
            persist_state="session",
            placeholder="Type a sentence, then press Enter",
            autocomplete="off",
        )
        model_column.selectbox(
            "Model",
            list(cards),
            key=state.MODEL,
            format_func=lambda name: cards[name].title,
            on_change=state.on_model,
            args=(cards,),
            persist_state="session",
        )
        card = cards[state.current().model]
        _examples(card)
        try:
            reading = readings.current(card)
        except HeadlightError as error:
            st.warning(f"This model cannot be used: {error}")
            return False
        with answer_column:
            _answer(reading)
        remarks = [*notes, *_remarks(reading, state.current().text)]
        if remarks:
            st.html(f"<p class='hl-note'>{html.escape(' '.join(remarks))}</p>")
    return True


def _examples(card: ModelCard) -> None:
    with st.container(horizontal=True, gap="small", key="hl-examples", vertical_alignment="center"):
        st.html("<span class='hl-try'>Try</span>", width="content")
        for index, example in enumerate(card.examples[:SHOWN_EXAMPLES]):
            _example(example, f"example-{index}")
        if len(card.examples) > SHOWN_EXAMPLES:
            with (
                st.popover("all examples", type="tertiary", key=state.EXAMPLES, on_change="rerun"),
                st.container(gap=None),
            ):
                for index, example in enumerate(card.examples):
                    _example(example, f"example-{index}-of-all")


def _example(example: str, key: str) -> None:
    st.button(example, key=key, type="tertiary", on_click=state.on_example, args=(example,))


def _answer(reading: Reading | None) -> None:
    """Draw what the model says to the text."""
    if reading is None:
        output, remark = "", ""
    else:
        output, remark = reading.output, f"probability a token {math.exp(float(reading.log_probs.mean())):.2f}"
    st.html(
        f"<div class='hl-label'>The model says<span>{remark}</span></div>"
        f"<div class='hl-answer' dir='auto'>{html.escape(output)}</div>"
    )


def _remarks(reading: Reading | None, text: str) -> list[str]:
    """Return what a person should know before trusting the view."""
    if reading is None:
        return [] if text else ["Type a sentence above, or choose an example, and every head shows where it looks."]
    remarks: list[str] = []
    if reading.unknown:
        shown = ", ".join(f"“{isolate(word[:30])}”" for word in reading.unknown[:5])
        more = f" and {len(reading.unknown) - 5} more" if len(reading.unknown) > 5 else ""
        remarks.append(
            f"The model has never seen {shown}{more} and reads <unk>, the unknown word, instead; "
            "what it writes there is a guess."
        )
    if reading.n_left_out:
        n_read = len(reading.source) - 1
        remarks.append(f"This text is long: its first {n_read} tokens were read, the rest was left out.")
    elif len(text) == state.MAX_CHARACTERS:
        remarks.append(f"A text has at most {state.MAX_CHARACTERS:,} characters here; the rest was left out.")
    if not reading.is_complete:
        remarks.append("The model found no end; its output is cut here.")
    return remarks
