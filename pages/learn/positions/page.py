"""Positions: how does the model know the order of its tokens, and what do other encodings do?"""

import streamlit as st

from headlight.language import say
from pages.learn.positions import PAGE, bias, controls, dials, model, products, table, view_fields
from pages.learn.positions.data import PositionsData, in_words
from pages.learn.positions.drawing import lines_of
from pages.shared import code_expander, models, prose, ticking
from pages.shared.view import state
from transformer_core.errors import HeadlightError, mark

LEAD = mark(
    "Attention alone treats its tokens as an unordered set. A positional encoding supplies their positions: it is "
    "added to the embeddings, rotates queries and keys, or is added to the scores."
)
DRAWN_BY = {
    "table": table.show,
    "waves": table.waves,
    "products": products.show,
    "shift": products.show_shift,
    "dials": dials.show,
    "bias": bias.show,
    "model": model.show,
}
OF_TEXT = ("dials", "model")  # parts that read the text of the bar, which is hidden for the others


@ticking.fragment
def positions() -> None:
    """Draw an encoding; a click reruns only this fragment."""
    card = state.card()
    data = PositionsData.current(card)
    controls.show(data)
    with st.container(key=None if data.part in OF_TEXT else "hl-positions-without-text"):
        has_numbers = _is_drawn(data)
    if data.part != "retrain":
        controls.show_about(data)
    if has_numbers:
        code_expander.code(lambda: lines_of(data))
    state.publish()


def _is_drawn(data: PositionsData) -> bool:
    """Draw the chosen part, and return whether it shows numbers that the code prints, too."""
    try:
        if data.part == "retrain":
            from pages.learn.positions import retrain

            retrain.show()
        elif data.lacks_table and data.part in view_fields.PARTS_OF["learned"]:
            _lacks(data)
        else:
            DRAWN_BY[data.part](data)
            return True
    except HeadlightError as error:
        prose.note(prose.sentence(error))
    return False


def _lacks(data: PositionsData) -> None:
    """Say that the model has no learned positions, and link to one that has."""
    prose.note(
        say(
            "Learned positions are model weights, and {model} has none: it uses another encoding ({encoding}).",
            model=data.card.title,
            encoding=in_words(data.card.config.positions),
        )
    )
    for name, card in models.available().items():
        if card.config.positions != "learned":
            continue
        if st.button(prose.plain(say("Open {model}", model=card.title)), key=f"positions-open-{name}", type="primary"):
            state.NEXT_MODEL.set(name)
            st.rerun()


PAGE.show(LEAD, positions)
