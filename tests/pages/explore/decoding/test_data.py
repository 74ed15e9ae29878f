"""What the Decoding page shows at one time: which step comes first, how far is written, and where writing ends.

Layers, heads and shared heads of the model of these tests differ in number on every side.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.components import figures
from pages.explore.decoding import data as decoding_data
from pages.explore.decoding import view_fields
from pages.explore.decoding.components.writing import N_NEARBY
from pages.explore.decoding.data import AHEAD, FIRST_LENGTH, DecodingData
from tests.pages.conftest import EXAMPLES, TARGETS, url_of, words_of
from tests.pages.explore.decoding import decoding_parts
from tests.pages.explore.decoding.components.test_writing import sent
from tests.pages.explore.decoding.decoding_parts import again, cells, figure, opened, rows_of
from transformer_core.decoding.decoding_step import Aim

N_LAYERS, N_HEADS, N_KV_HEADS, ROOM = 3, 6, 2, 20
PAIR = {"model": "grouped", "text": EXAMPLES[1]}
UNENDED = ".".join("5678" * 5)[:-2]  # as many tokens as there is room for after <bos>


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an encoder-decoder of 1 encoder layer and 3 decoder layers, whose 6 heads share 2 of keys."""
    folder = tmp_path_factory.mktemp("checkpoints")
    tokenizer = tc.train_tokenizer([*EXAMPLES, *TARGETS], kind="word", vocab_size=300)
    config = tc.ModelConfig(
        vocab_size=tokenizer.vocab_size,
        d_model=12,
        d_ff=20,
        n_heads=N_HEADS,
        n_kv_heads=N_KV_HEADS,
        n_encoder_layers=1,
        n_decoder_layers=N_LAYERS,
        max_seq_len=ROOM,
        tie_embeddings="target",
    )
    card = {"name": "grouped", "kind": "encoder-decoder", "title": "Grouped", "examples": [*EXAMPLES]}
    model = tc.build(config, seed=5)
    with torch.no_grad():  # so that it is not equally sure of everything
        for parameter in model.parameters():
            parameter.mul_(1.7)
    tc.save(folder / "grouped", model, tokenizer, card)
    return folder


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(folder))


def loaded(folder: Path) -> tuple[tc.Transformer, Any, torch.Tensor]:
    return decoding_parts.loaded(folder, "grouped", EXAMPLES[1])


@torch.inference_mode()
def entropies(folder: Path) -> list[float]:
    """In nats, of what comes after each number of tokens that the model wrote on its own, by a plain forward."""
    model, _, src = loaded(folder)
    tokens = tc.greedy_decode(model, src, max_new_tokens=ROOM - 1).tokens
    log_probs = model(src, tokens)[0].log_softmax(-1).double()
    return (-(log_probs.exp() * log_probs).sum(-1)).tolist()


def step_of(app: AppTest) -> int:
    return int(sent(app)[0]["at"]["value"])


def test_the_step_shown_first_is_where_the_model_is_least_sure(folder: Path):
    by_hand = entropies(folder)
    steps = {}
    for length in (2, 3, 6, 19):
        app = opened("components.writing", **PAIR, length=length)
        steps[length] = step_of(app)
        assert steps[length] == int(np.argmax(by_hand[: min(length, len(by_hand) - 1)]))
        assert "step" not in url_of(app), "so a bare link shows it too"
        assert step_of(again(app)) == steps[length], "what is written ahead of it changes nothing"
    assert len({*steps.values()}) > 1
    assert step_of(opened("components.writing", **PAIR, limit=3)) == steps[3], (
        "what may not be written counts for nothing"
    )


@pytest.mark.parametrize(
    ("chosen", "n_tokens"),
    [
        ({}, FIRST_LENGTH["decoder_only"]),
        ({"LENGTH": 3}, 3),
        ({"LENGTH": 150}, 150),
        ({"STEP": 5, "LENGTH": 6}, 5 + AHEAD),
        ({"STEP": 40}, 40 + AHEAD),
        ({"STEP": 3, "LENGTH": 2, "LIMIT": 3}, 3),
    ],
)
def test_so_much_is_written_that_a_step_forward_waits_for_nothing(
    monkeypatch: pytest.MonkeyPatch, chosen: dict[str, int], n_tokens: int
):
    monkeypatch.setattr(st, "session_state", {})
    for name, value in chosen.items():
        getattr(view_fields, name).set(value)
    card: Any = SimpleNamespace(config=SimpleNamespace(architecture="decoder_only"))
    assert decoding_data._length(card) == n_tokens


def test_where_writing_ends_the_reason_is_given_and_not_a_step_before(folder: Path):
    eos = loaded(folder)[0].config.eos_id
    for branches, step, limit, reason in (
        (f"!{eos}", 1, 200, "ended the text at once"),
        (f"5.!{eos}", 2, 200, "ended the text here"),
        (f"5.!{eos}", 1, 200, None),
        (UNENDED, 19, 200, f"All {ROOM} positions"),
        (UNENDED, 18, 200, None),
        ("5.6.7.8", 4, 4, "The limit of 4 tokens"),
        ("5.6.7.8", 3, 4, None),
        (f"5.6.7.!{eos}", 4, 4, "ended the text here"),  # more cannot be allowed
    ):
        text = words_of(opened("components.candidates", **PAIR, branches=branches, step=step, limit=limit))
        for one in ("ended the text at once", "ended the text here", f"All {ROOM} positions", "The limit of 4 tokens"):
            assert (one in text) == (one == reason), (branches, step)


def test_steps_nearby_are_those_on_both_sides_but_none_behind_the_end(folder: Path):
    eos = loaded(folder)[0].config.eos_id
    address = {**PAIR, "branches": f"5.6.7.8.9.10.!{eos}"}
    assert step_of(opened("components.writing", **address, step=9)) == 7, "beyond what is written, the last one"
    for step in (0, 2, 5, 6, 7):
        here, *others = sent(opened("components.writing", **address, step=step))[0]["steps"]
        assert here["output"] == (0 if step == 7 else step + 1)  # the attention is from <bos> and the written tokens
        nearby = [n for n in range(step - N_NEARBY, step + N_NEARBY + 1) if 0 <= n < 7 and n != step]
        assert sorted(moment["output"] for moment in others) == [n + 1 for n in nearby]


def test_of_shared_heads_the_cache_holds_as_many_bytes_as_the_model_s_own(folder: Path):
    """Of 2 heads of 2 numbers, keys and values of 4 bytes in 3 layers: of each token read, and of the source."""
    n_source, n_read = loaded(folder)[2].shape[1], 5
    words = words_of(opened("cache", **PAIR, branches="5.6.7.8", step=4))
    size = 2 * N_KV_HEADS * 2 * N_LAYERS * 4 * (n_source + n_read) / 1024
    assert f"<span>cache size</span>{size:.1f} KiB" in words


def clicked(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest calls no component's callbacks: call the one of the figure in the run that follows."""
    draw = figures.live_figure

    def click(*args: Any, on_cell: Any, **more: Any) -> None:
        draw(*args, on_cell=on_cell, **more)
        if more["key"] == "decoding-rows-cross":
            on_cell()

    with monkeypatch.context() as patch:
        patch.setattr(figures, "live_figure", click)
        again(app)
    del app.session_state["decoding-rows-cross"]
    again(app)


def test_a_click_on_a_row_chooses_a_layer_a_head_or_the_mean(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Of 3 layers the rows are 0 to 2 and the mean of all, 3; of 6 heads 0 to 5 and their mean, 6."""
    app = opened("rows", **PAIR, branches="5.6.7", step=3, layer=0, head=4, mean="all")
    model, _, src = loaded(folder)
    rows = rows_of(model, src, torch.tensor([[model.config.bos_id, 5, 6, 7]]))["cross"][:, :, -1]
    drawn = cells(figure(app, "decoding-rows-cross"))
    np.testing.assert_allclose(drawn, [*rows.mean(axis=1), rows.mean(axis=(0, 1))], atol=1e-5)
    expected = [(3, "0", "4", "all"), (2, "2", "4", "layer"), (7, "2", "4", "layer"), (5, "2", "5", "")]
    for row, layer, head, mean in (*expected, (6, "2", "5", "layer"), (None, "2", "5", "layer")):
        cell = None if row is None else {"query": row, "key": 1}  # None: let go
        app.session_state["decoding-rows-cross"] = {"cell": cell}
        clicked(app, monkeypatch)
        state = [str(app.session_state[name]) for name in ("layer", "head", "decoding-mean")]
        assert state == [layer, head, mean]


@pytest.mark.parametrize(
    ("mean", "whose"), [("", " L2.H4"), ("layer", " L2, mean over heads"), ("all", ", mean over all heads")]
)
def test_a_title_names_the_head_or_the_heads_whose_mean_is_shown(mean: Any, whose: str):
    data: Any = SimpleNamespace(aim=Aim(layer=2, head=4, mean=mean))
    assert DecodingData.who(data, "cross") == f"cross-attention{whose}"
    assert DecodingData.who(data, "decoder") == f"decoder self-attention{whose}"
