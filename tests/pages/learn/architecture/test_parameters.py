"""Where the parameters are: counted again on the modules of the model, as drawn, listed, said and taken away."""

import re
from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from pages.learn.architecture import parameters, view_fields
from tests.pages.learn.architecture.conftest import Look
from tests.pages.learn.bare import Bare
from transformer_core.model.presets import transformer_base

BARS, SHARES = "architecture-parameters", "architecture-shares"
TEXT = "The cat sleeps."
D, FF, VOCAB = 128, 256, 936  # of the model English to French, with 2 layers on either side


def attention() -> int:
    """Four maps with biases."""
    return 4 * (D * D + D)


def test_bars_table_and_total_are_those_of_the_models_own_modules(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT)
    parameters.show(data)
    model, _ = tc.load("checkpoints/en-fr")
    total = sum({id(weights): weights.numel() for weights in model.parameters()}.values())
    expected = {
        "token embedding (shared)": VOCAB * D,
        "self-attention (encoder)": 2 * attention(),
        "feed-forward (encoder)": 2 * (2 * D * FF + FF + D),
        "normalization (encoder)": 2 * 2 * 2 * D,
        "self-attention (decoder)": 2 * attention(),
        "cross-attention (decoder)": 2 * attention(),
        "feed-forward (decoder)": 2 * (2 * D * FF + FF + D),
        "normalization (decoder)": 2 * 3 * 2 * D,
    }
    assert sum(expected.values()) == total
    drawn = bare.figures[BARS]
    assert drawn.title == f"{total:,} parameters by part"
    counts = dict(zip(drawn.arrays["parts"].tolist(), drawn.arrays["counts"].tolist(), strict=True))
    assert counts == expected
    assert drawn.rows[0] == "part,of,parameters"
    assert dict(row.split(",model,") for row in drawn.rows[1:]) == {name: str(n) for name, n in expected.items()}
    rows = re.findall(r"<tr>(.*?)</tr>", bare.words.split("hl-arch-counts")[1])
    cells = [re.findall(r"<td>(.*?)</td>", row) for row in rows if "<td>" in row]
    assert cells[:-1] == [[name, f"{n:,}", f"{n / total:.1%}"] for name, n in counts.items()]
    assert cells[-1] == ["<b>total</b>", f"<b>{total:,}</b>", ""]


def test_shares_are_of_the_model_and_the_papers_two_all_stacks_together(bare: Bare, look: Look):
    parameters.show(look("en-fr", text=TEXT))
    rows = [row.rsplit(",", 2) for row in bare.figures[SHARES].rows]
    assert rows[0] == ["model", "part", "parameters"]
    own = {part: int(n) for model, part, n in rows[1:] if model == "English to French"}
    assert own["self-attention"] == 4 * attention() and own["cross-attention"] == 2 * attention()
    base = {part: int(n) for model, part, n in rows[1:] if model == "the paper’s base"}
    assert base["feed-forward"] == 12 * (2 * 512 * 2048 + 2048 + 512)
    big = {part: int(n) for model, part, n in rows[1:] if model == "the paper’s big"}
    assert big["feed-forward"] == 12 * (2 * 1024 * 4096 + 4096 + 1024)
    told = f"exactly {transformer_base().vocab_size:,} tokens have {sum(base.values()):,} and {sum(big.values()):,}"
    assert told in bare.words


@pytest.mark.slow
@pytest.mark.parametrize(("sharing", "more"), [("none", 2 * VOCAB * D), ("target", VOCAB * D), ("", 0)])
def test_another_sharing_says_how_many_more_parameters_it_has(bare: Bare, look: Look, sharing: str, more: int):
    data = look("en-fr", text=TEXT, sharing=sharing)
    parameters.show(data)
    model, _ = tc.load("checkpoints/en-fr")
    own = sum(weights.numel() for weights in model.parameters())
    words = {"none": "None shared", "target": "Target and output shared", "": "All three shared"}[sharing]
    assert f"{words}: {own + more:,} parameters, {more:,} more than this model as it is" in bare.words
    assert bare.figures[BARS].title == f"{own + more:,} parameters by part"
    assert bare.session["architecture-sharing-segments"] == (sharing or "three_way")
    code = parameters.code(data)
    assert (f"tie_embeddings='{sharing}'" in code.replace('"', "'")) == bool(sharing)


def test_sharing_the_last_layer_has_fewer_parameters_than_a_model_without(bare: Bare, look: Look):
    parameters.show(look("induction", sharing="target"))
    assert (
        f"Embedding and output shared: {bare.figures[BARS].title.split()[0]} parameters, {101 * D:,} fewer"
        in bare.words
    )
    assert "Sharing all three" not in bare.words


@pytest.mark.parametrize(("taken", "kept"), [("three_way", ""), ("none", "none"), ("target", "target")])
def test_choosing_the_models_own_sharing_chooses_nothing(bare: Bare, look: Look, taken: str, kept: str):
    parameters.show(look("en-fr", text=TEXT, sharing="none"))
    widget = bare.widgets["architecture-sharing-segments"]
    assert widget.options == ["three_way", "target", "none"]
    bare.session["architecture-sharing-segments"] = taken
    widget.how["on_change"]()
    assert view_fields.TYING.value == kept


def test_a_model_of_one_stack_names_its_parts_alone(bare: Bare, look: Look):
    parameters.show(look("fill-in", text=TEXT))
    assert "self-attention" in bare.figures[BARS].arrays["parts"] and "encoder" not in str(bare.figures[BARS].rows)
    assert bare.widgets["architecture-sharing-segments"].names == ["Embedding and output shared", "None shared"]


def test_without_a_last_layer_nothing_can_be_shared(bare: Bare, look: Look):
    parameters.show(look("fill-in", config={"unembed": False, "tie_embeddings": "none"}, text=TEXT))
    assert not bare.widgets


@pytest.mark.parametrize(
    ("model", "config", "largest", "layer"),
    [
        ("en-fr", {}, "self-attention", (2 * D * FF + FF + D, attention(), 2)),
        ("fill-in", {}, "feed-forward", (2 * D * 512 + 512 + D, attention(), 4)),
        ("induction", {}, "self-attention", None),
    ],
)
def test_the_largest_part_and_a_layers_two_are_told(
    look: Look, model: str, config: dict[str, Any], largest: str, layer: tuple[int, int, int] | None
):
    data = look(model, config=config)
    told = parameters.look(data)
    loaded, _ = tc.load(f"checkpoints/{model}")
    total = sum(weights.numel() for weights in loaded.parameters())
    n_largest = sum(
        weights.numel()
        for name, weights in loaded.named_parameters()
        if {"self-attention": "self_attn", "feed-forward": "mlp"}[largest] in name
    )
    assert told.startswith(f"{largest} has the largest share here, {n_largest / total:.0%}.")
    assert ("Per layer," in told) == (layer is not None)
    if layer:
        assert f"{layer[0]:,} parameters and each attention {layer[1]:,}. Here d_ff is {layer[2]} · d_model" in told
    assert np.isfinite(total)
