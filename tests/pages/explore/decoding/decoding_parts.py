"""A part of the Decoding page on its own: opened by a link or drawn in a session, and what it drew read back."""

import base64
import io
import json
import runpy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from headlight.figures import Figure
from pages.explore.decoding.data import DecodingData
from pages.shared import models
from pages.shared.models import ROOT
from tests.pages.conftest import EXAMPLES
from tests.pages.explore.parts import shown

VIEW = {"model": "en-fr", "text": EXAMPLES[0], "attention": "cross", "layer": 1, "head": 0, "continues": True}
N_NEW = 4  # tokens that `drawn` has written


def script(part: str) -> None:
    """The part alone, as the page draws it; before that, what a click in a component does."""
    from importlib import import_module

    import streamlit as st

    from pages.explore.decoding import view_fields
    from pages.explore.decoding.data import DecodingData
    from pages.shared import models
    from pages.shared.view import state

    cards = models.available()
    state.seed(cards, view_fields.FIELDS)
    if clicked := st.session_state.pop("clicked", None):
        key, sent, do = clicked
        st.session_state[key] = sent
        do()
    data = DecodingData.current(cards[state.current().model])
    assert data is not None
    import_module(f"pages.explore.decoding.{part}").show(data)
    state.publish()


def opened(part: str, /, **parameters: Any) -> AppTest:
    """Open a part by a link."""
    app = AppTest.from_function(script, default_timeout=300, args=(part,))
    for name, value in parameters.items():
        app.query_params[name] = str(value)
    return again(app)


def drawn(draw: Callable[[DecodingData], object], **session: Any) -> AppTest:
    """Draw something of a text that is being written; the session holds fields by their names."""

    def part() -> None:
        data = DecodingData.current(models.available()[str(session.get("model", VIEW["model"]))])
        assert data is not None
        draw(data)

    values = {name if name in VIEW else f"decoding-{name}": value for name, value in session.items()}
    return shown(part, **VIEW | {"decoding-beams": 2, "decoding-length": N_NEW} | values)


def again(app: AppTest) -> AppTest:
    """Run once more; nothing goes wrong."""
    app.run()
    assert not app.exception
    return app


def sent(app: AppTest, key: str) -> dict[str, Any]:
    """What was sent to the figure of a key."""
    (actual,) = (c.proto.json for c in app.get("bidi_component") if c.proto.id.endswith(f"-{key}"))
    return dict(json.loads(actual))


def figure(app: AppTest, key: str) -> Figure:
    return Figure(json.loads(sent(app, key)["figure"]))


def cells(drawn: Figure) -> np.ndarray:
    """The numbers of the first heatmap."""
    return numbers(next(trace for trace in drawn.data if trace.type == "heatmap").z)


def numbers(sent: Any) -> np.ndarray:
    """Numbers in plotly's JSON: a list, or their bytes."""
    if not isinstance(sent, dict):
        return np.array(sent, dtype=np.float64)
    flat = np.frombuffer(base64.b64decode(sent["bdata"]), dtype=sent["dtype"])
    return flat.reshape([int(n) for n in sent["shape"].split(",")]) if "shape" in sent else flat


def files_of(app: AppTest, key: str) -> dict[str, bytes]:
    """What is taken away with a figure, by the ends of the files' names."""
    app.session_state[key] = {"open": 1}
    return {name.rpartition(".")[2]: base64.b64decode(text) for name, text in sent(again(app), key)["files"].items()}


def arrays_of(files: dict[str, bytes]) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(files["npz"])) as arrays:
        return dict(arrays)


def redrawn(files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the lines of a figure; return the names that they define."""
    path = tmp_path / "redraw.py"
    path.write_bytes(files["py"])
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: 0)  # the page that they write
    return runpy.run_path(str(path))


def check_redrawn(app: AppTest, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The lines of a figure draw the same; return the names that they define."""
    drawn = figure(app, key)
    defined = redrawn(files_of(app, key), tmp_path, monkeypatch)
    assert json.loads(defined["figure"].to_json()) == json.loads(drawn.to_json())
    return defined


_load = cache(tc.load)


def loaded(folder: Path, name: str = "en-fr", text: str = EXAMPLES[0]) -> tuple[tc.Transformer, Any, torch.Tensor]:
    """A model, its tokenizer, and a text as the model reads it."""
    model, tokenizer = _load(folder / name)
    return model, tokenizer, torch.tensor([tokenizer.encode_for(text, model.config.architecture)])


@torch.inference_mode()
def log_probs(folder: Path, written: tuple[int, ...]) -> torch.Tensor:
    """Of all tokens after these, in nats, by a plain forward of "en-fr" on the first example."""
    model, _, src = loaded(folder)
    return model(src, torch.tensor([[model.config.bos_id, *written]]))[0, -1].log_softmax(-1)


@torch.inference_mode()
def rows_of(model: tc.Transformer, *inputs: torch.Tensor) -> dict[str, np.ndarray]:
    """By name of attention, all weights of a plain forward [layer, head, query, key]."""
    with tc.capture(model, "decoder.*.hook_pattern") as acts:
        model(*inputs)
    names = {"decoder": "self_attn", "cross": "cross_attn"}
    n_layers = model.config.n_decoder_layers
    return {
        name: np.stack([acts[f"decoder.blocks.{layer}.{part}.hook_pattern"][0].numpy() for layer in range(n_layers)])
        for name, part in names.items()
        if name == "decoder" or model.encoder is not None
    }
