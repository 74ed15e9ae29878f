"""The controls of the Positions page: the part, the encoding with its well-known tables, and its sizes."""

import streamlit as st

from headlight.language import say
from pages.learn.positions import view_fields
from pages.learn.positions.data import NAMES, PositionsData, in_words
from pages.shared import prose
from pages.shared.models import ModelCard
from transformer_core.errors import mark

PART_NAMES = {
    "table": mark("Table"),
    "waves": mark("Wavelengths"),
    "products": mark("Dot products"),
    "shift": mark("Shift"),
    "dials": mark("Rotary angles"),
    "bias": mark("Bias"),
    "model": mark("In this model"),
    "retrain": mark("Ablation"),
}
FORMULAS = {
    "sinusoidal_halves": mark(
        "Added to the embeddings: sin(pos / 10000^(2i/d)) for all pairs i on the left, cos(pos / 10000^(2i/d)) on the "
        "right. Nothing is learned."
    ),
    "sinusoidal_interleaved": mark(
        "Added to the embeddings: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d)), "
        "as in the paper. Nothing is learned."
    ),
    "learned": mark("Added to the embeddings: a learned vector for each position up to the maximum length."),
    "rotary_halves": mark(
        "Nothing is added: in each query and key, pair i (dimensions i and i + d/2 of the head) is rotated by the "
        "angle pos · base^(−2i/d)."
    ),
    "rotary_interleaved": mark(
        "Nothing is added: in each query and key, pair i (dimensions 2i and 2i+1 of the head) is rotated by the angle "
        "pos · base^(−2i/d)."
    ),
    "alibi": mark("Added to each score: minus the head’s slope times the distance between query and key."),
    "relative_buckets": mark("Added to each score: a bias that the head learned for the distance’s bucket."),
    "none": mark(
        "No positional information. With a causal mask a model can still infer the order, because each token sees a "
        "different number of keys; without one, it cannot."
    ),
}


def show(data: PositionsData) -> None:
    """Draw the choices of the part, the encoding and its sizes."""
    view_fields.PART.segmented(
        say("Show"), view_fields.parts(data.encoding), name=lambda part: say(PART_NAMES[part]), shown=data.part
    )
    if data.part in view_fields.OF_THE_MODEL:  # the encoding of a model is fixed
        return
    with st.container(key="hl-positions-choices", horizontal=True, gap="small", vertical_alignment="center"):
        view_fields.ENCODING.selectbox(
            say("Encoding"),
            view_fields.ENCODINGS,
            name=lambda encoding: _name(encoding, data.card),
            width=240,
            label_visibility="collapsed",
            shown=data.encoding,
            take=lambda encoding: view_fields.choose_encoding(encoding or data.encoding),
        )
        if not data.lacks_table:
            _sizes(data)


def show_about(data: PositionsData) -> None:
    """Describe the encoding, and offer well-known tables of it."""
    about, config = say(FORMULAS[data.encoding]), data.card.config
    if data.part in view_fields.OF_THE_MODEL:
        about = say("{model} uses: {encoding}.", model=data.card.title, encoding=in_words(config.positions))
    elif data.is_own and config.rotary_scaling != "none":
        longer = say("This model lowers these frequencies for long texts ({scaling}).", scaling=config.rotary_scaling)
        about = f"{about} {longer}"
    prose.small(about)
    _tables(data)


def _name(encoding: str, card: ModelCard) -> str:
    """Return the name of an encoding, marked if the model uses it."""
    name = say(NAMES[encoding])
    return say("{encoding} (this model’s)", encoding=name) if card.config.positions == encoding else name


def _tables(data: PositionsData) -> None:
    """Draw buttons for well-known tables and for the model's table."""
    config = data.card.config
    is_sinusoidal = config.positions.startswith("sinusoidal")
    n = min(config.max_seq_len, view_fields.MOST_POSITIONS) if is_sinusoidal else None
    width = min(config.d_model, view_fields.MOST_WIDTH) if is_sinusoidal else None
    own = say("{model}: {encoding}", model=data.card.title, encoding=in_words(config.positions))
    with st.container(key="hl-positions-tables", horizontal=True, gap="small", vertical_alignment="center"):
        prose.label(say("Try"))
        for key, label, text in (
            ("known", say("The classic 20 × 512 plot"), ("sinusoidal_halves", 20, 512)),
            ("published", say("A published table, 10 × 6"), ("sinusoidal_interleaved", 10, 6)),
            ("own", own, (config.positions, n, width)),
        ):
            st.button(
                prose.plain(label),
                key=f"positions-{key}",
                type="tertiary",
                on_click=view_fields.open_table,
                args=text,
            )


def _sizes(data: PositionsData) -> None:
    most = view_fields.MOST_POSITIONS
    if data.encoding == "learned":
        most = min(most, data.card.config.max_seq_len)
    least = min(2, most) if data.part == "shift" else 1
    folded = {"label_visibility": "collapsed", "width": 116}
    prose.label(say("Positions"))
    view_fields.N.number(
        say("Positions, {least} to {most}", least=least, most=most),
        step=1,
        shown=data.n,
        take=lambda n: view_fields.N.set(None if n is None else min(max(n, least), most)),
        **folded,
    )
    if data.part == "bias" or data.encoding == "learned":
        return
    width = "d_head" if data.is_rotary else "d_model"
    prose.label(width)
    view_fields.WIDTH.number(
        say("{width}, 2 to {most}", width=width, most=view_fields.MOST_WIDTH),
        step=2,
        shown=data.width,
        take=lambda n: view_fields.WIDTH.set(None if n is None else _even(n)),
        **folded,
    )


def _even(width: int) -> int:
    """Return the nearest valid width; odd widths are rounded up, as dimensions come in pairs."""
    within = min(max(width, 2), view_fields.MOST_WIDTH)
    return within + within % 2
