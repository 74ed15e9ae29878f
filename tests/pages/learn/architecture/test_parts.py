"""The parts of the page, drawn bare: a block, an activation, parameters, costs and the residual stream, by hand."""

import re
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.architecture import activation, block, cost, parameters, view_fields
from pages.learn.architecture.view_fields import TokensShape
from pages.shared.view import state
from tests.pages.learn.architecture.conftest import Look
from tests.pages.learn.bare import Bare

TEXT = "The cat sleeps."


def rows_of(bare: Bare, kind: str) -> list[list[str]]:
    table = bare.words.split(kind)[1]
    return [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table) if "<td>" in row]


def test_weights_are_those_of_the_module_with_their_total(bare: Bare, look: Look):
    block.show(look("en-fr", text=TEXT, block="decoder.0.cross_attn", show="weights"))
    model, _ = tc.load("checkpoints/en-fr")
    expected = {name: [*w.shape] for name, w in model.get_submodule("decoder.blocks.0.cross_attn").named_parameters()}
    *rows, total = rows_of(bare, "hl-arch-weights")
    shown = {
        re.sub("</?code>", "", name): [int(size.replace(",", "")) for size in shape.split(" × ")]
        for name, _, shape, _ in rows
    }
    assert shown == expected
    n = sum(w.numel() for w in model.get_submodule("decoder.blocks.0.cross_attn").parameters())
    assert total == ["<b>total</b>", "", "", f"<b>{n:,}</b>"]


def test_shared_weights_name_what_they_are_shared_with_and_count_once(bare: Bare, look: Look):
    block.show(look("en-fr", text=TEXT, block="unembed", show="weights"))
    *rows, total = rows_of(bare, "hl-arch-weights")
    assert rows[0][3].startswith("shared with ") and total[3] == "<b>0</b>"
    bare.clear()
    block.show(look("en-fr", text=TEXT, block="softmax", show="weights"))
    assert "This block has no trainable weights" in bare.words


def test_the_code_is_that_of_the_module(bare: Bare, look: Look):
    block.show(look("fill-in", text=TEXT, block="encoder.0.mlp", show="code"))
    assert "class FeedForward(nn.Module)" in bare.words and "model/feed_forward.py" in bare.words


FIGURE = "architecture-activation"


def captured(model_name: str, site: str, *inputs: tuple[int, ...]) -> np.ndarray:
    model, _ = tc.load(f"checkpoints/{model_name}")
    with torch.inference_mode(), tc.capture(model, site) as activations:
        model(*(torch.tensor([ids]) for ids in inputs))
    return np.asarray(activations[site][0].numpy())


def facts(bare: Bare) -> dict[str, str]:
    return dict(re.findall(r"<div><span>([^<]+)</span>([^<]+)</div>", bare.words))


def test_a_cross_attentions_pattern_has_queries_of_the_target_and_keys_of_the_source(bare: Bare, look: Look):
    site = "decoder.blocks.1.cross_attn.hook_pattern"
    data = look("en-fr", text=TEXT, target="Le chat", block="decoder.1.cross_attn", site=site, head=2)
    activation.show(data)
    drawn = bare.figures[FIGURE]
    source, target = data.model_run.inputs
    expected = captured("en-fr", site, source, target)[2]
    np.testing.assert_allclose(drawn.arrays["values"], expected, atol=1e-5)
    assert drawn.rows[-1].startswith(f"{len(target) - 1} {data.model_run.target[-1]},{len(source) - 1},")
    text = facts(bare)
    assert text["elements"] == str(expected.size) and float(text["mean"]) == pytest.approx(expected.mean(), rel=1e-3)
    assert float(text["standard deviation"]) == pytest.approx(expected.std(), rel=1e-3)


def test_the_rows_of_keys_are_the_keys_own_tokens_and_masked_cells_are_not_counted(bare: Bare, look: Look):
    site = "decoder.blocks.0.cross_attn.hook_k"
    data = look("en-fr", text=TEXT, target="Le chat", block="decoder.0.cross_attn", site=site, head=1)
    activation.show(data)
    drawn = bare.figures[FIGURE]
    np.testing.assert_allclose(drawn.arrays["values"], captured("en-fr", site, *data.model_run.inputs)[1], atol=1e-5)
    names = [row.split(",")[0] for row in drawn.rows[1::32]]
    assert names == [f"{place} {label}" for place, label in enumerate(data.model_run.source)]
    bare.clear()
    data = look("en-fr", text=TEXT, target="Le chat", block="decoder.0.self_attn")
    activation.show(data)
    n = len(data.model_run.inputs[1])
    assert facts(bare)["elements"] == str(n * (n + 1) // 2)


def test_of_many_tokens_the_most_probable_are_drawn_and_all_are_counted(bare: Bare, look: Look):
    """The logits of an encoder-decoder are those of the decoder's input, however long the source is."""
    data = look("en-fr", text=TEXT, target="Le chat", block="unembed")
    activation.show(data)
    drawn = bare.figures[FIGURE]
    model, _ = tc.load("checkpoints/en-fr")
    with torch.inference_mode():
        logits = model(*(torch.tensor([ids]) for ids in data.model_run.inputs))[0].numpy()
    chosen = drawn.arrays["columns"].tolist()
    assert {*chosen} == {*np.argsort(-logits.max(axis=0), kind="stable")[:32].tolist()}
    np.testing.assert_allclose(drawn.arrays["values"], logits[:, chosen], rtol=1e-4, atol=1e-4)
    assert "shows the 32 of 944 tokens" in bare.words
    text = facts(bare)
    assert text["elements"] == f"{logits.size:,}" and float(text["mean"]) == pytest.approx(logits.mean(), rel=1e-3)


def test_the_chosen_hook_point_is_shown_or_the_one_to_look_at_first(bare: Bare, look: Look):
    layer = "encoder.blocks.1"
    for block_name, site, shown in (
        ("encoder.1.self_attn", None, f"{layer}.self_attn.hook_pattern"),
        ("encoder.1.mlp", f"{layer}.self_attn.hook_pattern", f"{layer}.mlp.hook_post"),
        ("encoder.1.mlp", f"{layer}.mlp.hook_pre", f"{layer}.mlp.hook_pre"),
        ("encoder.embed", None, "encoder.hook_embed"),
    ):
        bare.clear()
        activation.show(look("fill-in", text=TEXT, block=block_name, site=site))
        assert bare.session["architecture-site-box"] == shown
        assert (state.HEAD.key + "-box" in bare.widgets) == ("attn" in block_name)


def test_a_block_that_passes_nothing_on_says_so(bare: Bare, look: Look):
    boxes = look("fill-in", text=TEXT).plan.boxes
    name = next(name for name, box in boxes.items() if box.part == "rotary")
    activation.show(look("fill-in", text=TEXT, block=name))
    assert "This block has no hook point" in bare.words and not bare.figures


def test_of_shared_keys_no_more_heads_can_be_chosen_than_there_are(bare: Bare, look: Look):
    of = {"text": TEXT, "block": "encoder.0.self_attn", "site": "encoder.blocks.0.self_attn.hook_k"}
    for head, n_kv_heads, shown in ((3, 2, 1), (1, 2, 1), (3, 4, 3)):
        data = look("fill-in", head=head, config={"n_kv_heads": n_kv_heads}, **of)
        stage = next(stage for stage in activation.stages(data.card.config, data.box) if stage.site == of["site"])
        activation._choose_head(data, stage)
        assert bare.widgets["head-box"].options == [*range(n_kv_heads)] and bare.session["head-box"] == shown


BARS, SHARES = "architecture-parameters", "architecture-shares"


D, FF, VOCAB = 128, 256, 944  # of the model English to French, with 2 layers on either side


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
    assert dict(zip(drawn.arrays["parts"].tolist(), drawn.arrays["counts"].tolist(), strict=True)) == expected
    assert drawn.title == f"{total:,} parameters by part"
    shares = dict(row.rsplit(",", 1) for row in bare.figures[SHARES].rows)
    assert int(shares["English to French,self-attention"]) == 4 * attention()
    assert int(shares["the paper’s base,feed-forward"]) == 12 * (2 * 512 * 2048 + 2048 + 512)
    assert int(shares["the paper’s big,feed-forward"]) == 12 * (2 * 1024 * 4096 + 4096 + 1024)


@pytest.mark.parametrize(("sharing", "more"), [("none", 2 * VOCAB * D), ("", 0)])
def test_another_sharing_says_how_many_more_parameters_it_has(bare: Bare, look: Look, sharing: str, more: int):
    data = look("en-fr", text=TEXT, sharing=sharing)
    parameters.show(data)
    model, _ = tc.load("checkpoints/en-fr")
    own = sum(weights.numel() for weights in model.parameters())
    assert bare.figures[BARS].title == f"{own + more:,} parameters by part"
    assert bare.session["architecture-sharing-segments"] == (sharing or "three_way")


def test_choosing_the_models_own_sharing_chooses_nothing(bare: Bare, look: Look):
    parameters.show(look("en-fr", text=TEXT, sharing="none"))
    widget = bare.widgets["architecture-sharing-segments"]
    assert widget.options == ["three_way", "target", "none"]
    for taken, kept in (("three_way", ""), ("target", "target")):
        bare.session["architecture-sharing-segments"] = taken
        widget.how["on_change"]()
        assert view_fields.TYING.value == kept


def test_a_model_of_one_stack_names_its_parts_alone_and_shares_what_it_has(bare: Bare, look: Look):
    parameters.show(look("fill-in", text=TEXT))
    assert "self-attention" in bare.figures[BARS].arrays["parts"] and "encoder" not in str(bare.figures[BARS].rows)
    parameters.show(look("fill-in", config={"unembed": False, "tie_embeddings": "none"}, text=TEXT))
    assert not bare.widgets


OF = "architecture-cost-{}".format


def curves(bare: Bare, name: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    arrays = bare.figures[OF(name)].arrays
    return arrays["lengths"].astype(float), dict(zip(arrays["names"].tolist(), arrays["costs"].T, strict=True))


@pytest.mark.parametrize(("precision", "width"), [("float32", 4), ("bfloat16", 2)])
def test_memory_is_in_the_models_precision(bare: Bare, look: Look, precision: str, width: int):
    data = look("stories", text="The cat")
    object.__setattr__(data.source, "precision", precision)
    cost._memory(data, [1, 2], 2)
    assert curves(bare, "memory")[1]["KV cache"].tolist() == [2 * 4 * n * D * width for n in (1, 2)]
    assert f"bytes_per_number={width}" in cost.code(data)


@pytest.mark.parametrize(
    ("model", "config", "text", "not_told"),
    [
        ("fill-in", {"max_seq_len": 513}, ["From 513 tokens on"], ["so this never happens"]),  # the edge
        ("fill-in", {"max_seq_len": 512}, ["From 513 tokens on", "so this never happens"], []),
        ("en-fr", {}, ["Source and target have the length", "the KV cache saves"], []),
        ("induction", {}, ["no feed-forward networks"], ["tokens on, attention", "never costs more"]),
    ],
)
def test_what_is_said_fits_the_model(
    bare: Bare, look: Look, model: str, config: dict[str, Any], text: list[str], not_told: list[str]
):
    """Attention itself costs 2 n² d, the network 2 n d d_ff: more from d_ff + 1 tokens on."""
    cost.show(look(model, config=config))
    assert all(words in bare.words for words in text) and not any(words in bare.words for words in not_told)


def test_the_share_that_a_cache_saves_is_of_the_marked_length(bare: Bare, look: Look):
    data = look("stories", text="The cat", tgt=TokensShape(5, 9))
    cost.show(data)
    lengths, writing = curves(bare, "writing")
    at = lengths.tolist().index(9)
    share = 1 - writing["with the cache"][at] / writing["without a cache"][at]
    assert f"When generating 9 tokens, the KV cache saves {share:.0%} of the multiply-adds." in bare.words
    assert "All shapes are for one of the 5 texts in the batch." in bare.words


def test_the_axis_reaches_as_far_as_the_model_or_the_typed_length(bare: Bare, look: Look):
    cost.show(look("induction", tgt=TokensShape(1, 100)))
    assert curves(bare, "reading")[0][-1] == 100
    cost.show(look("en-fr", text=TEXT, src=TokensShape(1, 70)))
    assert curves(bare, "reading")[0][-1] == 70


STREAM_OF = "architecture-stream-{}".format


def test_each_stack_has_its_own_places_tokens_and_lengths(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, target="Le chat")
    activation.show_stream(data)
    source, target = data.model_run.inputs
    model, _ = tc.load("checkpoints/en-fr")
    with torch.inference_mode(), tc.capture(model, "*.hook_resid_pre", "*.hook_mlp_out") as activations:
        model(torch.tensor([source]), torch.tensor([target]))
    assert [*bare.figures] == [STREAM_OF("encoder"), STREAM_OF("decoder")]
    for stack, ids, labels in (("encoder", source, data.model_run.source), ("decoder", target, data.model_run.target)):
        drawn = bare.figures[STREAM_OF(stack)]
        assert drawn.title == f"Residual stream: {stack}"
        ends = ["self-attention", *(["cross-attention"] if stack == "decoder" else []), "feed-forward"]
        places = ["embedding", *(f"{layer} {end}" for layer in range(2) for end in ends)]
        assert drawn.arrays["places"].tolist() == places
        assert drawn.arrays["sums"].shape == drawn.arrays["read"].shape == (len(places), len(ids))
        assert drawn.arrays["added"].shape == (len(places) - 1, len(ids))
        first = activations[f"{stack}.blocks.0.hook_resid_pre"][0].norm(dim=-1)
        np.testing.assert_allclose(drawn.arrays["sums"][0], first, rtol=1e-4)
        added = activations[f"{stack}.blocks.1.hook_mlp_out"][0].norm(dim=-1)
        np.testing.assert_allclose(drawn.arrays["added"][-1], added, rtol=1e-4)
        assert drawn.rows[-1].startswith(f"{places[-1]},") and f"{len(ids) - 1} {labels[-1]}" in drawn.rows[-1]
    assert "with post-norm, each sum is normalized" in bare.words
    lines = activation.stream_code(data)
    assert "captured.streams()" in lines and "stream.shares" in lines


def test_the_sums_of_pre_norm_are_what_is_read(bare: Bare, look: Look):
    activation.show_stream(look("fill-in", text=TEXT))
    drawn = bare.figures[STREAM_OF("encoder")]
    np.testing.assert_array_equal(drawn.arrays["sums"], drawn.arrays["read"])
    bare.clear()
    activation.show_stream(look("en-fr", text=TEXT))
    post = bare.figures[STREAM_OF("encoder")]
    assert not np.allclose(post.arrays["sums"], post.arrays["read"])


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


def test_the_largest_part_and_a_layers_two_are_told(look: Look):
    large = {"en-fr": ("self-attention", "self_attn", 256), "fill-in": ("feed-forward", "mlp", 512)}
    for model, (largest, part, d_ff) in large.items():
        text = parameters.look(look(model))
        counts = {name: of.numel() for name, of in tc.load(f"checkpoints/{model}")[0].named_parameters()}
        share = sum(n for name, n in counts.items() if part in name) / sum(counts.values())
        assert text.startswith(f"{largest} has the largest share here, {share:.0%}.")
        of_layer = f"{2 * D * d_ff + d_ff + D:,} parameters and each attention {attention():,}. "
        assert f"{of_layer}Here d_ff is {d_ff // D} · d_model" in text
    assert "Per layer," not in parameters.look(look("induction")), "it has no feed-forward networks"


def test_the_network_as_convolutions_gives_the_same_up_to_rounding(bare: Bare, look: Look):
    block.show(look("en-fr", text=TEXT, block="encoder.1.mlp"))
    text = re.search(
        r"with the same weights \[256, 128, 1\] and \[128, 256, 1\].*differ by at most (.*?)\.<", bare.words
    )
    assert text is not None and float(text[1]) < 1e-4
    bare.clear()
    block.show(look("en-fr", text=TEXT, block="encoder.1.self_attn"))
    assert "convolutions" not in bare.words
