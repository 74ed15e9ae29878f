"""Foreign weights: every key is used once, every parameter filled once, and whatever does not fit is named."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

import transformer_core as tc
from tests.checkpoints import foreign
from transformer_core.checkpoints.convert import convert, family_of
from transformer_core.checkpoints.families import FAMILIES
from transformer_core.checkpoints.family import Family
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError
from transformer_core.model.transformer import assemble

FolderOf = Callable[[str], Path]


class Counting(Mapping[str, Tensor]):
    """Weights that are read from elsewhere at each access, and how often each was."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self.weights, self.n_reads = weights, dict.fromkeys(weights, 0)

    def __getitem__(self, key: str) -> Tensor:
        self.n_reads[key] += 1
        return self.weights[key].clone()

    def __iter__(self) -> Iterator[str]:
        return iter(self.weights)

    def __len__(self) -> int:
        return len(self.weights)


def kinds(weights: Mapping[str, Tensor]) -> list[str]:
    """The keys, of all layers' together the last one's."""
    return list({re.sub(r"\.\d+\.", ".N.", key, count=1): key for key in weights}.values())


def is_ignored(name: str, key: str) -> bool:
    return any(re.fullmatch(ignored.pattern, key) for ignored in FAMILIES[foreign.FAMILY_OF[name]].ignored)


def used_keys(family: Family, config: ModelConfig, weights: Mapping[str, Tensor]) -> list[str]:
    """The keys of a file that its family's table names, with their prefix or without it."""
    keys = [key for entry in family.keys(config) for key in (entry.key, *entry.copies)]
    return [found for key in keys for found in {key, key.removeprefix(family.prefix)} if found in weights]


def test_every_family_has_a_small_model_to_be_compared_with():
    assert set(foreign.LIBRARY) <= set(foreign.SMALL)
    assert all(FAMILIES[name].model_type == name for name in FAMILIES)


@pytest.mark.slow
@pytest.mark.parametrize("name", foreign.SMALL)
def test_the_table_uses_every_key_once_and_fills_every_parameter_once(name: str, folder_of: FolderOf):
    values, weights = foreign.read(folder_of(name))
    family = family_of(values, where=name)
    model = convert(values, weights, where=name)
    entries, used = family.keys(model.config), used_keys(family, model.config, weights)
    ignored = [key for key in weights if key not in used and is_ignored(name, key)]
    assert sorted(used + ignored) == sorted(weights)
    filled = [name for entry in entries for name in entry.names]
    tied = {"none": set(), "target": {"unembed.weight"}, "three_way": {"unembed.weight", "encoder.embed.weight"}}
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    assert sorted(filled) == sorted(parameters - tied[model.config.tie_embeddings])
    assert not any(parameter.is_meta for parameter in model.parameters())
    assert not model.training


@pytest.mark.slow
@pytest.mark.parametrize("name", foreign.SMALL)
def test_tensors_are_read_one_by_one_and_not_more_often_than_needed(name: str, folder_of: FolderOf):
    values, weights = foreign.read(folder_of(name))
    counting = Counting(weights)
    model = convert(values, counting, where=name)
    used = used_keys(family_of(values, where=name), model.config, weights)
    _, *others = weights  # the run-time check of types has looked at the first
    n_reads = {key: counting.n_reads[key] for key in others}
    assert all(1 <= n <= 2 if key in used else n == 0 for key, n in n_reads.items())
    assert sum(n == 2 for n in n_reads.values()) <= 2  # an embedding and a head, to see whether they are tied


@pytest.mark.parametrize("name", foreign.LIBRARY)
def test_a_key_that_is_missing_or_renamed_is_named(name: str, folder_of: FolderOf):
    values, weights = foreign.read(folder_of(name))
    for key in kinds(weights):
        if key == "decoder.bias":  # without it a ModernBERT is one that judges texts: the head before it is alike
            continue
        others = {k: w for k, w in weights.items() if k != key}
        with pytest.raises(CheckpointError, match=f"somewhere.* lacks the weight '{re.escape(key)}'; "):
            convert(values, others, where="somewhere")
        with pytest.raises(
            CheckpointError, match=f"lacks the weight '{re.escape(key)}' and contains '{re.escape(key)}_'"
        ):
            convert(values, {**others, f"{key}_": weights[key]}, where="somewhere")


@pytest.mark.parametrize("name", foreign.LIBRARY)
def test_a_key_too_many_is_named(name: str, folder_of: FolderOf):
    values, weights = foreign.read(folder_of(name))
    with pytest.raises(
        CheckpointError, match=r"somewhere \(saved as \w+\) contains 'layers.9.adapter', .*another version"
    ):
        convert(values, {**weights, "layers.9.adapter": torch.ones(3)}, where="somewhere")


@pytest.mark.slow
@pytest.mark.parametrize("name", foreign.LIBRARY)
def test_a_tensor_of_another_shape_is_named_with_both_shapes(name: str, folder_of: FolderOf):
    values, weights = foreign.read(folder_of(name))
    for i, key in enumerate(kinds(weights)[::4]):
        weight = weights[key]
        other = (torch.cat([weight, weight[:1]]), weight[..., :-1], weight.flatten()[0])[i % 3]
        shape = re.escape(str(tuple(other.shape)))
        with pytest.raises(CheckpointError, match=f"somewhere: '{re.escape(key)}' is {shape}, expected "):
            convert(values, {**weights, key: other}, where="somewhere")


@pytest.mark.slow
@pytest.mark.parametrize("name", foreign.LIBRARY)
def test_a_copy_of_the_embedding_in_the_file_changes_nothing(name: str, folder_of: FolderOf):
    values, weights = foreign.read(folder_of(name))
    model = convert(values, weights, where=name)
    embedding, *_ = FAMILIES[name].keys(model.config)
    expected = model(*foreign.batch(name))
    for key in embedding.copies:
        with_copy = convert(values, {**weights, key: weights[embedding.key].clone()}, where=name)
        assert with_copy.config == model.config
        moved = {k: w for k, w in weights.items() if k != embedding.key} | {key: weights[embedding.key]}
        assert torch.equal(convert(values, moved, where=name)(*foreign.batch(name)), expected)
    assert (len(embedding.copies) == 0) == (model.config.tie_embeddings == "none")


def test_a_copy_that_differs_is_refused(folder_of: FolderOf):
    values, weights = foreign.read(folder_of("marian"))
    key = "model.encoder.embed_tokens.weight"
    other = weights["model.shared.weight"] + 1e-3
    for copy in (other, other.half(), other[:5]):
        with pytest.raises(CheckpointError, match=f"'{key}' must equal 'model.shared.weight' but does not"):
            convert(values, {**weights, key: copy}, where="somewhere")


def test_a_weight_that_is_there_twice_is_named(folder_of: FolderOf):
    values, weights = foreign.read(folder_of("gpt2"))
    both = {**weights, "wpe.weight": weights["transformer.wpe.weight"]}
    with pytest.raises(CheckpointError, match=r"contains the same weight twice, as '.*wpe.weight' and '.*wpe.weight'"):
        convert(values, both, where="somewhere")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"model_type": "gptj"},
            "has model_type 'gptj', which is not supported; supported are bert, camembert, distilbert, gpt2, ",
        ),
        ({"model_type": ["gpt2"]}, r"has model_type \['gpt2'\], which is not supported"),
        ({}, "somewhere has no model_type; supported are bert, "),
    ],
)
def test_a_family_that_is_not_supported_is_named_with_those_that_are(values: dict[str, object], message: str):
    with pytest.raises(CheckpointError, match=message):
        convert(values, {}, where="somewhere")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("name", ["gpt2", "marian", "qwen3", "t5-v1.1", "bert"])
def test_weights_keep_their_precision(name: str, dtype: torch.dtype, folder_of: FolderOf):
    values, weights = foreign.read(folder_of(name))
    model = convert(values, {key: weight.to(dtype) for key, weight in weights.items()}, where=name)
    assert {parameter.dtype for parameter in model.parameters()} == {dtype}
    tokens = foreign.batch(name)
    with torch.inference_mode():
        logits, exact = model(*tokens), convert(values, weights, where=name)(*tokens)
    real = foreign.is_real(tokens[-1])
    assert logits.dtype == dtype
    assert (logits - exact)[real].abs().mean() < 0.05 * exact[real].std()


def test_a_file_of_several_precisions_is_read_in_that_of_its_embedding(folder_of: FolderOf):
    """Some keep their normalizations, or T5 its last matrices, in float32."""
    values, weights = foreign.read(folder_of("llama"))
    mixed = {key: weight if "norm" in key else weight.bfloat16() for key, weight in weights.items()}
    assert {p.dtype for p in convert(values, mixed, where="mixed").parameters()} == {torch.bfloat16}


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.float8_e4m3fn])
def test_quantized_weights_are_refused(dtype: torch.dtype, folder_of: FolderOf):
    values, weights = foreign.read(folder_of("llama"))
    key = "model.layers.1.mlp.up_proj.weight"
    with pytest.raises(CheckpointError, match=f"'{key}' has dtype {dtype}; choose a version of this model in float32"):
        convert(values, {**weights, key: weights[key].to(dtype)}, where="somewhere")


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


def test_each_parameter_is_placed_once(folder_of: FolderOf):
    values, weights = foreign.read(folder_of("marian"))
    placed: list[str] = []

    def place(name: str, value: Tensor) -> Tensor:
        placed.append(name)
        return value.double()

    model = convert(values, weights, where="marian", place=place)
    assert sorted(placed) == sorted(
        {name for name, _ in model.named_parameters(remove_duplicate=False)}
        - {"unembed.weight", "encoder.embed.weight"}
    )
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float64}
    assert model.unembed.weight is model.get_parameter("encoder.embed.weight")


@pytest.mark.slow
@pytest.mark.parametrize("name", foreign.SMALL)
def test_the_model_can_be_written_as_ours_and_its_configuration_read_again(
    name: str, folder_of: FolderOf, tmp_path: Path
):
    model = foreign.ours(folder_of(name))
    save_file({n: p.detach() for n, p in model.named_parameters()}, tmp_path / "model.safetensors")
    again = assemble(tc.ModelConfig.from_dict(model.config.to_dict()))
    assert [n for n, _ in again.named_parameters()] == [n for n, _ in model.named_parameters()]
