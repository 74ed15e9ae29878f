"""What a model costs by the length of a text: multiply-adds and memory, counted by hand, and what is said of them."""

from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from pages.learn.architecture import cost
from pages.learn.architecture.view_fields import TokensShape
from tests.pages.learn.architecture.conftest import Look
from tests.pages.learn.bare import Bare

OF = "architecture-cost-{}".format
D = 128
TEXT = "The cat sleeps."


def curves(bare: Bare, name: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    arrays = bare.figures[OF(name)].arrays
    return arrays["lengths"].astype(float), dict(zip(arrays["names"].tolist(), arrays["costs"].T, strict=True))


def test_a_forward_pass_is_the_sum_of_its_products(bare: Bare, look: Look):
    """Of an encoder with 4 layers: 4 maps, all pairs twice, two maps of the network, and a score for each token."""
    cost.show(look("fill-in", text=TEXT))
    n, of = curves(bare, "reading")
    assert n[0] == 1 and n[-1] == 160
    expected = {
        "projections": 4 * 4 * n * D * D,
        "attention itself": 4 * 2 * n * n * D,
        "feed-forward": 4 * 2 * n * D * 512,
        "last layer": n * D * 1000,
    }
    assert [*of] == ["total", *expected]
    for name, values in expected.items():
        np.testing.assert_array_equal(of[name], values)
    np.testing.assert_array_equal(of["total"], sum(expected.values()))
    assert [*curves(bare, "shares")[1]] == [*expected]
    drawn = bare.figures[OF("reading")]
    assert drawn.rows[0] == "tokens,of,cost" and drawn.rows[1].startswith("1,total,")
    dashed = [trace.name for trace in drawn.figure.data if trace.line.dash not in (None, "solid")]
    assert dashed == ["total"]
    assert OF("writing") not in bare.figures and "When generating" not in bare.words


def test_an_encoder_has_no_cache(bare: Bare, look: Look):
    cost.show(look("fill-in", text=TEXT))
    n, of = curves(bare, "memory")
    model, _ = tc.load("checkpoints/fill-in")
    n_parameters = sum(weights.numel() for weights in model.parameters())
    assert [*of] == ["weights", "all attention patterns"]
    np.testing.assert_array_equal(of["weights"], np.full(len(n), 4 * n_parameters))
    np.testing.assert_array_equal(of["all attention patterns"], 4 * 4 * n * n * 4)


def test_a_decoders_cache_has_keys_and_values_of_all_layers(bare: Bare, look: Look):
    cost.show(look("stories", text="The cat"))
    n, of = curves(bare, "memory")
    np.testing.assert_array_equal(of["KV cache"], 2 * 4 * n * D * 4)
    lengths, writing = curves(bare, "writing")
    assert [*writing] == ["without a cache", "with the cache"]
    per_token = 4 * (4 * D * D + 2 * D * 512) + D * 1000
    for length in (1, 2, 7):
        at = lengths.tolist().index(length)
        cached = length * per_token + sum(4 * 2 * (before + 1) * D for before in range(length))
        assert writing["with the cache"][at] == cached
        assert (writing["without a cache"][at] > cached) == (length > 1)


@pytest.mark.parametrize(("precision", "width"), [("float32", 4), ("bfloat16", 2)])
def test_memory_is_in_the_models_precision(bare: Bare, look: Look, precision: str, width: int):
    data = look("stories", text="The cat")
    object.__setattr__(data.source, "precision", precision)
    cost._memory(data, [1, 2], 2)
    assert curves(bare, "memory")[1]["KV cache"].tolist() == [2 * 4 * n * D * width for n in (1, 2)]
    assert f"bytes_per_number={width}" in cost.code(data)


@pytest.mark.parametrize(
    ("model", "config", "told", "not_told"),
    [
        ("fill-in", {}, ["From 513 tokens on", "at most 160 tokens, so it never"], ["Source and target", "generating"]),
        ("fill-in", {"max_seq_len": 513}, ["From 513 tokens on"], ["so it never gets there"]),
        ("fill-in", {"max_seq_len": 512}, ["From 513 tokens on", "so it never gets there"], []),
        ("en-fr", {}, ["Source and target have the length", "the KV cache saves"], ["All shapes are"]),
        ("induction", {}, ["no feed-forward networks"], ["tokens on, attention", "never costs more"]),
    ],
)
def test_what_is_said_fits_the_model(
    bare: Bare, look: Look, model: str, config: dict[str, Any], told: list[str], not_told: list[str]
):
    """Attention itself costs 2 n² d, the network 2 n d d_ff: more from d_ff + 1 tokens on."""
    cost.show(look(model, config=config))
    assert all(words in bare.words for words in told) and not any(words in bare.words for words in not_told)
    assert "Only matrix products are counted" in bare.words


def test_the_share_that_a_cache_saves_is_of_the_marked_length(bare: Bare, look: Look):
    data = look("stories", text="The cat", tgt=TokensShape(5, 9))
    cost.show(data)
    lengths, writing = curves(bare, "writing")
    at = lengths.tolist().index(9)
    share = 1 - writing["with the cache"][at] / writing["without a cache"][at]
    assert f"When generating 9 tokens, the KV cache saves {share:.0%} of the multiply-adds." in bare.words
    assert "All shapes are for one of the 5 texts in the batch." in bare.words
    for name in ("reading", "writing", "memory", "shares"):
        layout = bare.figures[OF(name)].layout
        assert [note["text"] for note in layout["annotations"] if "as entered" in note["text"]], name
        assert 9 in [line["x0"] for line in layout["shapes"]] or any(
            np.isclose(line["x0"], 9) for line in layout["shapes"]
        )


def test_the_axis_reaches_as_far_as_the_model_or_the_typed_length(bare: Bare, look: Look):
    cost.show(look("induction", tgt=TokensShape(1, 100)))
    assert curves(bare, "reading")[0][-1] == 100
    cost.show(look("induction", tgt=TokensShape(1, 20)))
    assert curves(bare, "reading")[0][-1] == 64
    assert "feed-forward" not in curves(bare, "reading")[1], "it has none"
    cost.show(look("en-fr", text=TEXT, src=TokensShape(1, 70)))
    assert curves(bare, "reading")[0][-1] == 70


def test_where_attention_dominates_is_marked_where_it_is_on_the_axis(bare: Bare, look: Look):
    cost.show(look("fill-in", config={"max_seq_len": 600}, text=TEXT))
    for name in ("reading", "shares"):
        assert "attention dominates" in str(bare.figures[OF(name)].layout)
    assert "attention dominates" not in str(bare.figures[OF("memory")].layout)
    assert "this text" in str(bare.figures[OF("memory")].layout)


@pytest.mark.parametrize(("model", "writes"), [("fill-in", False), ("stories", True)])
def test_the_lines_count_at_the_longest_length(look: Look, model: str, writes: bool):
    data = look(model, text="The cat")
    code = cost.code(data)
    n = max(data.lengths.values())
    assert f"reading_cost(model.config, {n})" in code
    assert ("cached=True" in code) == ("cached=False" in code) == writes
    pair = cost.code(look("en-fr", text=TEXT, src=TokensShape(1, 3), tgt=TokensShape(1, 12)))
    assert "12)" in pair.split("reading_cost")[-1][:40]
