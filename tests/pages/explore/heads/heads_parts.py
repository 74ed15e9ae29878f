"""Parts of the Heads page on their own: with a small model, or with a run that holds only what a test asks for."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from headlight.analysis.heads.picture import HeadShare, ViewSpec
from headlight.analysis.trace.attentions import ATTENTIONS
from pages.explore.heads.data import HeadsData
from pages.shared import models
from tests.pages.explore import parts

TEXT = "The cat sees the dog."
TOKENS = ["The", "cat", "sees", "the", "dog", ".", "<eos>"]
VIEW = {
    "model": "en-fr",
    "text": TEXT,
    "target": None,
    "attention": "encoder",
    "layer": 1,
    "head": 2,
    "continues": True,
}


def shown(draw: Callable[[HeadsData], object], **session: Any) -> AppTest:
    """Draw something of a head; fields by their names."""

    def part() -> None:
        data = HeadsData.current(models.available()[str(session.get("model", VIEW["model"]))])
        assert data is not None
        draw(data)

    values = {name if name in VIEW else f"heads-{name}": value for name, value in session.items()}
    return parts.shown(part, **VIEW | values)


def weights(folder: Path, attention: str = "encoder", text: str = TEXT) -> np.ndarray:
    """All weights of an attention on a text, by a plain forward [layer, head, query, key]."""
    model, tokenizer = tc.load(folder / "en-fr")
    src = torch.tensor([tokenizer.encode_for(text, "encoder_decoder")])
    tokens = tc.greedy_decode(model, src, max_new_tokens=31).tokens[:, :-1]
    with torch.inference_mode(), tc.capture(model, "*.hook_pattern") as acts:
        model(src, tokens)
    return np.stack([acts[ATTENTIONS[attention].site(layer, "hook_pattern")][0].numpy() for layer in range(2)])


def heads(**more: Any) -> HeadsData:
    """A head of a run that was not made; what is requested is given."""
    view = SimpleNamespace(model="one", attention=more.pop("attention", "encoder"), layer=1, head=2)
    run = {"architecture": "encoder_decoder", "n_given": 1, "target": ("u", "v")} | more.pop("run", {})
    spec = more.pop("spec", ViewSpec(heads=(HeadShare(layer=1, head=2),)))
    card: Any = more.pop("card", None)
    return HeadsData(card=card, view=view, source=card, model_run=SimpleNamespace(**run), spec=spec)  # type: ignore[arg-type]
