"""A page with the candidates and nothing else: what comes next is the same at each moment, but for the seed."""

import numpy as np
import streamlit as st

from pages.components import sampling as sampling_settings
from pages.explore.decoding.components import candidates as bars
from tests.e2e.gate import wait_at
from transformer_core.decoding.sampling import draw, next_log_probs
from transformer_core.decoding.settings import Sampling

SIZES = {"small": 60, "large": 50_257, "tiny": 3}


def logits_of(size: str) -> np.ndarray:
    """Random logits, one token of which is never written and two of which are alike."""
    logits = np.random.default_rng(5).normal(0, 3, SIZES[size]).astype(np.float32)
    logits[1] = -np.inf
    logits[2] = logits[0]
    return logits


def label(token: int) -> str:
    """Return what is written for a token; one of them looks like markup."""
    return "<b>bold</b>" if token == 2 else f"t{token}"


def received_token() -> None:
    """Keep which token was chosen."""
    token = bars.sent_token("candidates", version=str(st.session_state.get("moment", 0)))
    if token is not None:
        st.session_state["token"] = token
        st.session_state["moment"] = st.session_state.get("moment", 0) + 1


def received_sampling() -> None:
    """Keep which settings were chosen."""
    state = st.session_state
    if sampling := sampling_settings.sent_sampling("candidates", state.get("sampling", Sampling())):
        state["sampling"] = sampling


def page() -> None:
    """Draw the candidates, and in words what they sent last."""
    import torch

    size, moment = st.query_params.get("size", "small"), st.session_state.get("moment", 0)
    wait_at(st.query_params.get("gate"))
    logits = torch.from_numpy(logits_of(size))
    sampling = st.session_state.get("sampling", Sampling())
    log_probs = logits.log_softmax(dim=-1)
    allowed = log_probs[logits.isfinite()]
    shown = sampling_settings.NextTokenDistribution(
        n_written=moment,
        scores=logits.numpy(),
        log_probs=log_probs.numpy(),
        entropy=float(-(allowed.exp() * allowed).sum()),
        next_token=draw(next_log_probs(logits, (), sampling), seed=3, position=moment),
        version=str(moment),
        name="after “once”",
    )
    bars.candidates(
        shown,
        label=label,
        sampling=sampling,
        key="candidates",
        on_token=received_token,
        on_sampling=received_sampling,
    )
    st.text(f"moment {moment}, token {st.session_state.get('token')}, {sampling}")


page()
