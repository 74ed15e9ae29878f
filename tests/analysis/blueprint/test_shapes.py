"""Shapes in symbols, against what a real forward captured, and against the published walk-throughs."""

import pytest
import torch

import transformer_core as tc
from tests.model.building import VARIATIONS, each_variation, odd_config, random_inputs, shaken_model, varied_model
from transformer_core.analysis.blueprint.capture import probabilities
from transformer_core.analysis.blueprint.plan import blueprint_of
from transformer_core.analysis.blueprint.shapes import PROBABILITIES, in_numbers, sizes, stages
from transformer_core.instrument.sites import site_names
from transformer_core.model.attention import MultiHeadAttention

LENGTHS = {"encoder": 7, "decoder": 9}


def lengths_of(config: tc.ModelConfig) -> dict[str, int]:
    return LENGTHS if config.architecture == "encoder_decoder" else {"encoder": 7, "decoder": 7}


@each_variation
def test_shapes_are_those_of_a_forward_and_every_hook_point_has_one(variation: str):
    model = varied_model(variation)
    config, plan = model.config, blueprint_of(model.config)
    with torch.inference_mode(), tc.capture(model, "*") as acts:
        model(*random_inputs(model))
    told: set[str] = set()
    for box in plan.boxes.values():
        numbers = sizes(config, box, batch=3, lengths=lengths_of(config))
        for stage in stages(config, box):
            if stage.is_hook_point:
                assert tuple(acts[stage.site].shape) == in_numbers(stage.axes, numbers), stage
                told.add(stage.site)
            else:
                assert all(size > 0 for size in in_numbers(stage.axes, numbers))
    assert told == set(site_names(model))


def published(config: tc.ModelConfig, name: str, **lengths: int) -> dict[str, tuple[int, ...]]:
    """Shapes in numbers, by what they are."""
    box = blueprint_of(config).boxes[name]
    numbers = sizes(config, box, batch=lengths.pop("batch"), lengths=lengths)
    return {stage.what: in_numbers(stage.axes, numbers) for stage in stages(config, box)}


def test_the_published_forward_shape_by_shape():
    """Batch 4, sequence 10, d_model 6, 2 heads, d_ff 12, GPT-2's vocabulary."""
    config = tc.ModelConfig(
        vocab_size=50257, d_model=6, n_heads=2, d_ff=12, n_encoder_layers=1, n_decoder_layers=1, max_seq_len=10
    )
    how = {"batch": 4, "encoder": 10, "decoder": 10}
    assert published(config, "encoder.embed", **how)["tokens"] == (4, 10)
    assert published(config, "encoder.sum", **how)["sum"] == (4, 10, 6)
    for name in ("encoder.0.self_attn", "decoder.0.self_attn"):
        shapes = published(config, name, **how)
        assert shapes["queries, keys and values, concatenated, as one matrix product"] == (4, 10, 18)
        assert shapes["reshape: split into heads"] == (4, 10, 2, 9)
        assert shapes["permute: heads first"] == (4, 2, 10, 9)
        assert shapes["chunk: separate queries, keys and values"] == (4, 2, 10, 3)
        assert shapes["queries"] == shapes["keys"] == shapes["values"] == (4, 2, 10, 3)
        assert shapes["scores, -inf where masked"] == (4, 2, 10, 10)
        assert shapes["attention pattern: each row sums to 1"] == (4, 2, 10, 10)
        assert shapes["weighted sum of the values, z"] == (4, 2, 10, 3)
        assert shapes["z of all heads, concatenated"] == (4, 10, 6)
        assert shapes["sub-layer output, added to the residual stream"] == (4, 10, 6)
    for name in ("encoder.0.ln1", "encoder.0.mlp", "encoder.0.ln2", "decoder.0.cross_attn", "decoder.0.mlp"):
        assert [*published(config, name, **how).values()][-1] == (4, 10, 6)
    assert published(config, "encoder.0.mlp", **how)["hidden units"] == (4, 10, 12)
    assert published(config, "softmax", **how)["probabilities, each row sums to 1"] == (4, 10, 50257)

    model = shaken_model(config)
    tokens = torch.randint(3, 50257, (4, 10))
    with torch.inference_mode(), tc.capture(model, "encoder.blocks.0.self_attn.hook_[qkv]") as acts:
        probs = probabilities(model(tokens, tokens))
    assert torch.cat([*acts.values()], dim=-1).shape == (4, 2, 10, 9)
    assert probs.shape == (4, 10, 50257)
    torch.testing.assert_close(probs.sum(dim=-1), torch.ones(4, 10))


def test_the_second_published_example():
    """Batch 32, source 128, target 64, d_model 512, 8 heads of 64."""
    config = tc.ModelConfig(vocab_size=5000)
    how = {"batch": 32, "encoder": 128, "decoder": 64}
    assert published(config, "unembed", **how)["logits, one per token of the vocabulary"] == (32, 64, 5000)
    shapes = published(config, "decoder.5.cross_attn", **how)
    assert shapes["queries"] == (32, 8, 64, 64)
    assert shapes["keys"] == shapes["values"] == (32, 8, 128, 64)
    assert shapes["attention pattern: each row sums to 1"] == (32, 8, 64, 128)
    assert shapes["input of keys and values: the encoder's output"] == (32, 128, 512)
    assert published(config, "encoder.0.mlp", **how)["hidden units"] == (32, 128, 2048)


@pytest.mark.parametrize(("variation", "name"), [("the paper's", "tgt"), ("decoder", "pos"), ("encoder", "pos")])
def test_positions_have_the_name_of_their_text(variation: str, name: str):
    config = odd_config(**VARIATIONS[variation])
    last = stages(config, blueprint_of(config).boxes["softmax"])[-1]
    assert last.site == PROBABILITIES
    assert last.axes == ("batch", name, "vocab")


@torch.no_grad()
@pytest.mark.parametrize("name", ["encoder.0.self_attn", "decoder.0.self_attn", "decoder.0.cross_attn"])
def test_one_product_reshaped_permuted_and_chunked_gives_queries_keys_and_values(name: str):
    """Each stage of a fused projection, computed from the model's weights, has the shape that is told of it."""
    config = odd_config(n_heads=2, d_model=10)
    model, box = shaken_model(config), blueprint_of(config).boxes[name]
    src, tgt = random_inputs(model)
    with tc.capture(model, "*") as acts:
        model(src, tgt)
    attention, block = model.get_submodule(box.module), box.module.rpartition(".")[0]
    assert isinstance(attention, MultiHeadAttention)
    is_cross = box.part == "cross_attn"
    x = acts[f"{block}.ln1.hook_normalized"] if is_cross else acts[f"{block}.hook_resid_pre"]
    memory = acts["encoder.blocks.0.hook_resid_post"]
    parts = [(x, [attention.q, attention.k, attention.v], "qkv")]
    if is_cross:
        memory = acts[[site for site in acts if site.startswith("encoder.") and "hook_normalized" in site][-1]]
        parts = [(x, [attention.q], "q"), (memory, [attention.k, attention.v], "kv")]
    told = [stage for stage in stages(config, box) if not stage.site]
    seen = []
    for source, linears, names in parts:
        n, n_heads, d_head = len(linears), config.n_heads, config.d_head
        weight = torch.stack([one.weight.view(n_heads, d_head, -1) for one in linears], dim=1).flatten(0, 2)
        bias = torch.stack([one.bias.view(n_heads, d_head) for one in linears], dim=1).flatten()
        together = torch.nn.functional.linear(source, weight, bias)
        reshaped = together.reshape(*source.shape[:2], n_heads, n * d_head)
        permuted = reshaped.permute(0, 2, 1, 3)
        chunks = permuted.chunk(n, dim=-1)
        for chunk, letter in zip(chunks, names, strict=True):
            torch.testing.assert_close(chunk, acts[f"{box.module}.hook_{letter}"])
        seen += [together.shape, reshaped.shape, permuted.shape, *([chunks[0].shape] if n > 1 else [])]
    numbers = sizes(config, box, batch=3, lengths=LENGTHS)
    shapes = [in_numbers(stage.axes, numbers) for stage in told if any("head" in axis for axis in stage.axes)][:-1]
    assert shapes == [tuple(shape) for shape in seen]


@torch.no_grad()
@pytest.mark.parametrize("name", ["encoder.0.self_attn", "decoder.0.cross_attn"])
def test_one_product_of_grouped_queries_is_split_by_heads(name: str):
    config = odd_config(n_heads=4, n_kv_heads=1, d_model=12)
    model, box = shaken_model(config), blueprint_of(config).boxes[name]
    with tc.capture(model, "*") as acts:
        model(*random_inputs(model))
    attention, n_kv, d_head = model.get_submodule(box.module), 1, config.d_head
    assert isinstance(attention, MultiHeadAttention)
    numbers = sizes(config, box, batch=3, lengths=LENGTHS)
    found = [in_numbers(stage.axes, numbers) for stage in stages(config, box) if not stage.site]
    if box.part == "cross_attn":
        memory = acts[[site for site in acts if site.startswith("encoder.") and "hook_normalized" in site][-1]]
        weights = [one.weight.view(n_kv, d_head, -1) for one in (attention.k, attention.v)]
        biases = [one.bias.view(n_kv, d_head) for one in (attention.k, attention.v)]
        together = torch.nn.functional.linear(
            memory, torch.stack(weights, dim=1).flatten(0, 2), torch.stack(biases, dim=1).flatten()
        )
        reshaped = together.reshape(*memory.shape[:2], n_kv, 2 * d_head)
        parts = reshaped.permute(0, 2, 1, 3).chunk(2, dim=-1)
        shapes = [together.shape, reshaped.shape, reshaped.permute(0, 2, 1, 3).shape, parts[0].shape]
        computed = dict(zip("kv", parts, strict=True))
    else:
        x, linears = acts["encoder.blocks.0.hook_resid_pre"], (attention.q, attention.k, attention.v)
        together = torch.nn.functional.linear(
            x, torch.cat([one.weight for one in linears]), torch.cat([one.bias for one in linears])
        )
        reshaped = together.reshape(*x.shape[:2], 4 + 2 * n_kv, d_head)
        permuted = reshaped.permute(0, 2, 1, 3)
        parts = permuted.split([4, n_kv, n_kv], dim=1)
        shapes = [together.shape, reshaped.shape, permuted.shape, parts[0].shape, parts[1].shape]
        computed = dict(zip("qkv", parts, strict=True))
    for letter, values in computed.items():
        torch.testing.assert_close(values, acts[f"{box.module}.hook_{letter}"])
    first = found.index(tuple(together.shape))
    assert found[first : first + len(shapes)] == [tuple(shape) for shape in shapes]
