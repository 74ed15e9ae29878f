"""Foreign weights: every key is used once, every parameter filled once, and whatever does not fit is named."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.checkpoints import foreign
from transformer_core.checkpoints.convert import convert, family_of
from transformer_core.checkpoints.entries import Entry, scaled
from transformer_core.checkpoints.families import FAMILIES
from transformer_core.checkpoints.family import EVERYWHERE, Family
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError
from transformer_core.model.transformer import assemble

FolderOf = Callable[[str], Path]


def kinds(weights: Mapping[str, Tensor]) -> list[str]:
    """The keys, of all layers' together the last one's."""
    return list({re.sub(r"\.\d+\.", ".N.", key, count=1): key for key in weights}.values())


def is_ignored(name: str, key: str) -> bool:
    rules = (*FAMILIES[foreign.FAMILY_OF[name]].ignored, *EVERYWHERE)
    return any(re.fullmatch(ignored.pattern, key) for ignored in rules)


def used_keys(family: Family, config: ModelConfig, weights: Mapping[str, Tensor]) -> list[str]:
    """The keys of a file that its family's table names, with their prefix or without it."""
    keys = {key for of in family.keys(config) for key in (of.key, *of.copies, *of.others, *of.instead)}
    return [candidate for key in keys for candidate in {key, key.removeprefix(family.prefix)} if candidate in weights]


def test_every_family_has_a_small_model_to_be_compared_with():
    assert set(foreign.LIBRARY) <= set(foreign.SMALL)
    assert all(FAMILIES[name].model_type == name for name in FAMILIES)


@pytest.mark.parametrize("name", foreign.SMALL)
def test_the_table_uses_every_key_once_and_fills_every_parameter_once(name: str, folder_of: FolderOf):
    values, weights = foreign.read(folder_of(name))
    family = family_of(values, where=name).of_file(values, where=name)
    model = convert(values, weights, where=name)
    entries, used = family.keys(model.config), used_keys(family, model.config, weights)
    ignored = [key for key in weights if key not in used and is_ignored(name, key)]
    assert sorted(used + ignored) == sorted(weights)
    filled = [name for entry in entries for name in entry.names]
    tied = {"none": set(), "target": {"unembed.weight"}, "three_way": {"unembed.weight", "encoder.embed.weight"}}
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    assert sorted(filled) == sorted(parameters - tied[model.config.tie_embeddings])
    stored = [parameter.untyped_storage().data_ptr() for parameter in model.parameters()]
    assert len({*stored}) == len(stored)  # so it can be saved
    again = assemble(tc.ModelConfig.from_dict(model.config.to_dict()))  # as a checkpoint of ours has it
    assert [n for n, _ in again.named_parameters()] == [n for n, _ in model.named_parameters()]


def test_a_product_with_a_weight_of_16_bits_is_not_rounded_to_them():
    (entry,) = scaled([Entry("theirs", ("ours",))], {"ours": 1 / 3})
    torch.testing.assert_close(entry.cut(torch.ones(2, dtype=torch.bfloat16))[0], torch.full((2,), 1 / 3))


def test_a_sum_of_weights_of_16_bits_is_not_rounded_to_them(folder_of: FolderOf):
    values, weights = foreign.read(folder_of("encoder-decoder"))
    half = {key: weight.bfloat16() for key, weight in weights.items()}
    model = convert(values, half, where="half", place=lambda _, value: value.float())
    positions, segments = (half[f"encoder.embeddings.{name}_embeddings.weight"] for name in ("position", "token_type"))
    torch.testing.assert_close(model.get_parameter("encoder.pos_embed.table"), positions.float() + segments[0].float())


def test_the_output_layer_of_a_file_takes_precedence_over_narrow_embeddings(folder_of: FolderOf):
    values, weights = foreign.read(folder_of("opt-350m-own-head"))
    models = [convert({**values, "tie_word_embeddings": is_tied}, weights, where="opt") for is_tied in (True, False)]
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("encoder-decoder", "encoder.embeddings.token_type_embeddings.weight"),
        ("opt-350m", "model.decoder.project_in.weight"),
        ("stablelm-12b", "model.layers.0.self_attn.q_layernorm.norms.1.weight"),
    ],
)
def test_tensors_that_cannot_be_joined(name: str, key: str, folder_of: FolderOf):
    values, weights = foreign.read(folder_of(name))
    for wrong, message in ((torch.ones(()), "cannot be computed from"), (weights[key].to(torch.int8), "has dtype")):
        with pytest.raises(CheckpointError, match=message):
            convert(values, {**weights, key: wrong}, where="somewhere")


def test_options_of_other_kinds(folder_of: FolderOf):
    values, weights = foreign.read(folder_of("t5"))
    for damaged in ({"architectures": 3}, {"architectures": {"a": 1}}):
        assert convert({**values, **damaged}, weights, where="t5").config.has_decoder


@pytest.mark.parametrize("name", foreign.LIBRARY)
def test_a_weight_that_does_not_fit_is_named(name: str, folder_of: FolderOf):
    values, weights = foreign.read(folder_of(name))

    def refused(given: Mapping[str, Tensor], message: str) -> None:
        with pytest.raises(CheckpointError, match=f"somewhere.* {message}"):
            convert(values, given, where="somewhere")

    refused({**weights, "layers.9.adapter": torch.ones(3)}, r"\(saved as \w+\) contains 'layers.9.adapter', .*another")
    for i, key in enumerate(kinds(weights)):
        weight, named = weights[key], re.escape(key)
        if i % 4 == 0:
            other = (torch.cat([weight, weight[:1]]), weight[..., :-1], weight.flatten()[0])[i // 4 % 3]
            refused({**weights, key: other}, f"'{named}' is {re.escape(str(tuple(other.shape)))}, expected ")
        if key in (FAMILIES[name].head, "decoder.bias", "final_logits_bias") or is_ignored(name, key):
            continue  # without it, it is a model without a head, or the same model
        others = {k: w for k, w in weights.items() if k != key}
        refused(others, f"lacks the weight '{named}'; ")
        refused({**others, f"{key}_": weight}, f"lacks the weight '{named}' and contains '{named}_'")


def test_copies_that_differ_and_families_that_are_not_known(folder_of: FolderOf):
    values, weights = foreign.read(folder_of("marian"))
    key = "model.encoder.embed_tokens.weight"
    other = weights["model.shared.weight"] + 1e-3
    for copy in (other, other.half(), other[:5]):
        with pytest.raises(CheckpointError, match=f"'{key}' must equal 'model.shared.weight' but does not"):
            convert(values, {**weights, key: copy}, where="somewhere")
    values, weights = foreign.read(folder_of("gpt2"))
    both = {**weights, "wpe.weight": weights["transformer.wpe.weight"]}
    with pytest.raises(CheckpointError, match=r"contains the same weight twice, as '.*wpe.weight' and '.*wpe.weight'"):
        convert(values, both, where="somewhere")
    for unknown, message in (
        ({"model_type": "rwkv"}, "has model_type 'rwkv', which is not supported$"),
        ({}, "no model_type; add that of its family"),
    ):
        with pytest.raises(CheckpointError, match=message):
            convert(unknown, {}, where="somewhere")


@pytest.mark.parametrize("name", ["gpt2", "t5-v1.1", "llama"])
def test_whole_tensors_become_the_models_own_without_a_copy(name: str, folder_of: FolderOf):
    values, weights = foreign.read(folder_of(name))
    model = convert(values, weights, where=name)
    given = {weight.data_ptr() for weight in weights.values()}
    for entry in FAMILIES[foreign.FAMILY_OF[name]].keys(model.config):
        is_kept = [model.get_parameter(our).data_ptr() in given for our in entry.names]
        is_cut = len(entry.names) > 1 or (name == "gpt2" and "c_proj.weight" in entry.key) or "c_fc.weight" in entry.key
        assert is_kept == [not is_cut] * len(entry.names), entry.key
    kept = [parameter.untyped_storage().data_ptr() for parameter in model.parameters()]
    assert len(set(kept)) == len(kept)


def test_precisions_that_are_mixed_or_quantized(folder_of: FolderOf):
    """Some keep their norms in float32, or T5 its last matrices: the embedding decides."""
    values, weights = foreign.read(folder_of("llama"))
    mixed = {key: weight if "norm" in key else weight.bfloat16() for key, weight in weights.items()}
    assert {p.dtype for p in convert(values, mixed, where="mixed").parameters()} == {torch.bfloat16}
    key = "model.layers.1.mlp.up_proj.weight"
    for dtype in (torch.int8, torch.float8_e4m3fn):
        with pytest.raises(CheckpointError, match=f"'{key}' has dtype {dtype}; choose a version"):
            convert(values, {**weights, key: weights[key].to(dtype)}, where="somewhere")
