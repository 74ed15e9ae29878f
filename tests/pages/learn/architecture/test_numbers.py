"""What the page Architecture counts itself: what a model costs, where its parameters are, and how sentences say it.

Each is counted again by hand, of a model whose sizes all differ: grouped heads, wider than their share of d_model.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.model.building import DECODER
from tests.pages.conftest import EXAMPLES, PROMPTS, shown_code, words_of
from tests.pages.explore.decoding.decoding_parts import arrays_of, files_of, sent
from transformer_core.model.presets import transformer_base, transformer_big

pytestmark = pytest.mark.slow
OpenApp = Callable[..., AppTest]
SIZES: dict[str, Any] = {"d_model": 20, "d_ff": 30, "n_heads": 4, "n_kv_heads": 2, "d_head": 6}
N_LAYERS = 3
CROSSING = 26  # 2 · n² · (4 · 6) multiply-adds exceed 2 · n · 20 · 30 as soon as n exceeds 25


@pytest.fixture
def open_model(open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Opens a part of the page of a model with these settings, which has a shape of its own."""

    def open_at(part: str, *, precision: str = "float32", address: Any = (), **changes: Any) -> AppTest:
        kind = changes.get("architecture", "decoder_only")
        tokenizer = tc.train_tokenizer([*EXAMPLES, *PROMPTS], kind="word", vocab_size=90, mask=kind == "encoder_only")
        usual = SIZES | DECODER | {"n_decoder_layers": N_LAYERS, "vocab_size": tokenizer.vocab_size, "max_seq_len": 32}
        config = tc.ModelConfig(**usual | changes)
        tc.save(tmp_path / "odd", tc.build(config, seed=1), tokenizer, {"title": "Odd", "examples": [EXAMPLES[2]]})
        monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
        app = open_app("architecture", model="odd", text=EXAMPLES[2], part=part, **dict(address))
        if precision != "float32":
            app.session_state["precision"] = precision
            app.run()
        assert not app.exception
        return app

    return open_at


def curves_of(app: AppTest, name: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The lengths and the curves of a figure of costs, as they are taken away."""
    arrays = arrays_of(files_of(app, f"architecture-cost-{name}"))
    return arrays["lengths"].astype(float), dict(zip(arrays["names"].tolist(), arrays["costs"].T, strict=True))


def config_of(tmp_path: Path) -> tc.ModelConfig:
    return tc.load(tmp_path / "odd")[0].config


@pytest.mark.parametrize(("precision", "n_bytes"), [("float32", 4), ("bfloat16", 2)])
def test_memory_is_that_of_weights_patterns_and_grouped_keys_and_values(
    open_model: Callable[..., AppTest], tmp_path: Path, precision: str, n_bytes: int
):
    app = open_model("cost", precision=precision)
    lengths, curves = curves_of(app, "memory")
    assert lengths.tolist() == [*range(1, 33)], "up to all that the model reads"
    n_parameters = sum(p.numel() for p in tc.load(tmp_path / "odd")[0].parameters())
    np.testing.assert_allclose(curves["weights"], n_parameters * n_bytes)
    np.testing.assert_allclose(curves["all attention patterns"], N_LAYERS * 4 * lengths**2 * n_bytes)
    np.testing.assert_allclose(curves["KV cache"], N_LAYERS * 2 * (2 * 6) * lengths * n_bytes)
    assert f"bytes_per_number={n_bytes}" in shown_code(app)


def test_costs_are_those_of_the_products_and_each_part_has_its_own_name(
    open_model: Callable[..., AppTest], tmp_path: Path
):
    app = open_model("cost")
    n, reading = curves_of(app, "reading")
    vocab = config_of(tmp_path).vocab_size
    expected = {
        "projections": N_LAYERS * n * 20 * (2 * 4 * 6 + 2 * 2 * 6),
        "attention itself": N_LAYERS * 2 * n**2 * 4 * 6,
        "feed-forward": N_LAYERS * 2 * n * 20 * 30,
        "last layer": n * 20 * vocab,
    }
    for name, costs in expected.items():
        np.testing.assert_allclose(reading[name], costs)
    np.testing.assert_allclose(reading["total"], sum(expected.values()))
    _, shares = curves_of(app, "shares")
    assert shares.keys() == expected.keys()
    _, writing = curves_of(app, "writing")
    grows = reading["total"].cumsum()  # without a cache, each step reads all that is there anew
    np.testing.assert_allclose(writing["without a cache"], grows)
    attention = N_LAYERS * 2 * n.cumsum() * 4 * 6
    np.testing.assert_allclose(writing["with the cache"], reading["total"] - reading["attention itself"] + attention)
    here = int(re.findall(r"When generating (\d+) tokens", words_of(app))[0])
    saved = 1 - writing["with the cache"][here - 1] / grows[here - 1]
    assert f"the KV cache saves {saved:.0%} of the multiply-adds" in words_of(app)
    marks = [note["text"] for note in figure(app, "reading")["layout"]["annotations"]]
    assert any("this text" in mark for mark in marks) and any("attention dominates" in mark for mark in marks)


def figure(app: AppTest, name: str) -> dict[str, Any]:
    """A figure of costs, as plotly's JSON."""
    return dict(json.loads(sent(app, f"architecture-cost-{name}")["figure"]))


@pytest.mark.parametrize(
    ("changes", "told", "not_told"),
    [
        ({"max_seq_len": CROSSING}, ["From 26 tokens on"], ["never gets there", "Source and target", "of the 1 texts"]),
        ({"max_seq_len": CROSSING - 1}, ["From 26 tokens on", "at most 25 tokens, so it never gets there"], []),
        ({"d_ff": 0, "norm_position": "pre"}, ["This model has no feed-forward networks"], ["From", "never costs"]),
        (
            {"architecture": "encoder_only", "n_decoder_layers": 0, "n_encoder_layers": N_LAYERS},
            ["From 26 tokens on"],
            ["KV cache", "Source and target"],
        ),
        (
            {"architecture": "encoder_decoder", "n_encoder_layers": 2},
            ["Source and target have the length on the axis", "KV cache"],
            [],
        ),
    ],
    ids=["reached", "not reached", "no feed-forward", "encoder", "both"],
)
def test_what_is_said_of_costs_fits_the_model(
    open_model: Callable[..., AppTest], changes: dict[str, Any], told: list[str], not_told: list[str]
):
    app = open_model("cost", **changes)
    sentences = re.findall(r"<p[^>]*>(?:From|This model has|Source|Attention itself never).*?</p>", words_of(app), re.S)
    (paragraph,) = sentences or [words_of(app)]
    assert all(words in paragraph for words in told)
    assert not any(words in paragraph for words in not_told)
    notes = [note["text"] for note in figure(app, "reading")["layout"]["annotations"]]
    is_reached = changes.get("max_seq_len", 32) >= CROSSING and changes.get("d_ff") != 0
    assert any("attention dominates" in note for note in notes) == is_reached
    ways = re.findall(r"writing_cost\(.*cached=(\w+)", shown_code(app).replace("),", ")\n"))
    assert sorted(ways) == ([] if "KV cache" in not_told else ["False", "True"])


def test_parameters_are_told_by_layer_and_compared_with_the_papers(open_model: Callable[..., AppTest], tmp_path: Path):
    app = open_model("parameters", d_ff=50)
    words = words_of(app)
    model = tc.load(tmp_path / "odd")[0]
    sizes = Counter[str]()
    for name, weights in model.named_parameters():
        sizes[next((part for part in ("self_attn", "mlp", "embed") if f"{part}." in name), "other")] += weights.numel()
    assert f"has {sizes['mlp'] // N_LAYERS:,} parameters and each attention {sizes['self_attn'] // N_LAYERS:,}" in words
    assert "d_ff is 2.5 · d_model" in words
    total = sum(sizes.values())
    assert f"feed-forward has the largest share here, {sizes['mlp'] / total:.0%}" in words
    assert f"<td>{sizes['mlp'] / total:.1%}</td>" in words and f"<b>{total:,}</b>" in words

    rows = [row.split(",") for row in files_of(app, "architecture-shares")["csv"].decode().splitlines()]
    assert rows[0] == ["model", "part", "parameters"]
    counts = {model: {part: int(n) for name, part, n in rows[1:] if name == model} for model, _, _ in rows[1:]}
    assert [*counts] == ["Odd", "the paper’s base", "the paper’s big"]
    assert counts["Odd"]["feed-forward"] == sizes["mlp"] and sum(counts["Odd"].values()) == total
    for name, preset in (("the paper’s base", transformer_base()), ("the paper’s big", transformer_big())):
        width, n_layers = preset.d_model, preset.n_encoder_layers
        assert counts[name]["token embedding"] == preset.vocab_size * width, "one matrix for source, target and output"
        feed_forward = 2 * n_layers * (2 * width * preset.d_ff + width + preset.d_ff)
        assert counts[name]["feed-forward"] == feed_forward, "of both stacks together"
        assert f"{sum(counts[name].values()):,}" in words


@pytest.mark.parametrize(("own", "other", "change"), [("target", "none", "more"), ("none", "target", "fewer")])
def test_weight_sharing_says_how_many_parameters_come_and_go(
    open_model: Callable[..., AppTest], tmp_path: Path, own: str, other: Any, change: str
):
    app = open_model("parameters", tie_embeddings=own, address={"sharing": other})
    config = config_of(tmp_path)
    total = sum(p.numel() for p in tc.build(replace(config, tie_embeddings=other)).parameters())
    assert f"{total:,} parameters, {20 * config.vocab_size:,} {change} than this model as it is" in words_of(app)
    app = open_model("parameters", tie_embeddings=own)
    assert "parameters, 0 more than this model as it is" in words_of(app)
    assert "the embedding and the last linear layer can be one matrix" in words_of(app)
    app = open_model("parameters", architecture="encoder_decoder", n_encoder_layers=2)
    assert "the source embedding, the target embedding and the last linear layer can be one" in words_of(app)


@pytest.mark.usefixtures("three_kinds_here")
def test_what_belongs_to_no_stack_has_the_positions_of_the_last(open_app: OpenApp, three_kinds: Path):
    """The logits of an encoder-decoder are those of the decoder's input, however long the source is."""
    app = open_app("architecture", model="en-fr", text=EXAMPLES[0], target="Le chat.", block="unembed", show="text")
    assert not app.exception
    table = files_of(app, "architecture-activation")["csv"].decode().splitlines()
    positions = list(dict.fromkeys(row.split(",")[0] for row in table[1:]))
    assert positions == ["0 <bos>", "1 Le", "2 chat", "3 ."]
