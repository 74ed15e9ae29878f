"""A page with the writing of a text and nothing else: its address says how much is written, and where it waits."""

import numpy as np
import streamlit as st

from pages.explore.decoding.components.writing import Token, sent_at, writing
from tests.e2e.gate import wait_at

SOURCE = ["The", "animal", "did", "not", "cross", "<eos>"]
WORDS = ["L'", "animal", "n'", "a", "pas", "traversé", "la", "rue", ".", "<eos>"]
PROMPT = ["<bos>", "Once", "upon"]
KEY = "writing"


def token(place: int) -> Token:
    """What the model writes at a place; the third token was chosen by a person."""
    word = WORDS[place % len(WORDS)]
    probability = 1 / (1 + place % 5)
    return Token(
        label=word,
        kind="forced" if place == 2 else "written",
        log_prob=float(np.log(probability)),
        rank=place % 5,
        entropy=0.5,
        alternatives=((word, probability), ("<img src=x onerror=window.stolen=1>", 0.125), ("שלום", 0.01)),
    )


def received() -> None:
    """Go where the component asks for."""
    state, n = st.session_state, sent_at(KEY) or 0
    asked = f"forward {n - state.at}" if n > state.n else f"at {n}"
    state.asked = [*state.get("asked", []), asked]
    state.at = min(n, limit())
    state.n = max(state.at, state.n)


def limit() -> int:
    """To how many tokens this text can be written."""
    return int(st.query_params.get("limit", 10))


@st.fragment
def page() -> None:
    """Draw what is written, and in words what was asked for."""
    state, asked = st.session_state, st.query_params
    state.setdefault("n", int(asked.get("n", 4)))
    state.setdefault("at", state.n)
    wait_at(asked.get("gate"))
    given = PROMPT if "prompt" in asked else PROMPT[:1]
    source = [] if "prompt" in asked else SOURCE * int(asked.get("times", 1))
    weights = np.random.default_rng(state.at)
    has_next = state.at < limit()
    weights_source = weights.dirichlet(np.full(len(source), 0.3)) if source and has_next else None
    writing(
        source=source,
        output=[Token(label=word, kind="given") for word in given] + [token(place) for place in range(state.n)],
        n_given=len(given),
        at=state.at,
        weights_source=weights_source,
        weights_output=weights.dirichlet(np.full(len(given) + state.at, 0.3)) if has_next else None,
        aim_source="cross-attention L1.H3",
        aim_output="decoder self-attention L1.H3",
        ended="The model ended the text here (end-of-sequence token)." if state.n == limit() else None,
        key=KEY,
        on_at=received,
    )
    st.text(f"shown {state.at} of {state.n}; asked: {', '.join(state.get('asked', []))};")
    st.button("Elsewhere")
    if weights_source is not None:
        st.text("weights " + " ".join(f"{weight:.4f}" for weight in weights_source))


page()
