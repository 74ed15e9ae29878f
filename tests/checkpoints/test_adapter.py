"""LoRA adapters are merged into the base model that their folder names, and other kinds are refused."""

import json
import math
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

import transformer_core as tc
from tests.checkpoints import foreign
from transformer_core.checkpoints import archive
from transformer_core.errors import CheckpointError, Message

FolderOf = Callable[[str], Path]
SETTINGS = {"peft_type": "LORA", "r": 3, "lora_alpha": 5, "base_model_name_or_path": "owner/base"}
MODULES = {  # of each base model: the modules that an adapter changes
    "llama": [f"model.layers.1.{name}" for name in ("self_attn.k_proj", "self_attn.o_proj", "mlp.down_proj")],
    "gpt2": [f"transformer.h.2.{name}" for name in ("attn.c_attn", "attn.c_proj", "mlp.c_fc")],
    "bert": [f"bert.encoder.layer.0.{name}" for name in ("attention.self.query", "output.dense")],
}


def factors(weights: Mapping[str, Tensor], modules: list[str], *, is_transposed: bool) -> dict[str, Tensor]:
    """The matrices of an adapter as PEFT saves them; the first module has another rank."""
    saved = {}
    for rank, module in enumerate(modules, start=2):
        n_out, n_in = weights[f"{module}.weight"].shape[:: -1 if is_transposed else 1]
        saved[f"base_model.model.{module}.lora_A.weight"] = torch.randn(rank, n_in) * 0.1
        saved[f"base_model.model.{module}.lora_B.weight"] = torch.randn(n_out, rank)
    return saved


def write(folder: Path, matrices: Mapping[str, Tensor], **settings: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps({**SETTINGS, **settings}))
    save_file({key: matrix.contiguous() for key, matrix in matrices.items()}, folder / "adapter_model.safetensors")
    return folder


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("is_stabilized", [False, True])
def test_an_adapter_is_added_to_its_base_model(name: str, is_stabilized: bool, folder_of: FolderOf, tmp_path: Path):
    """As in the library's model with the same matrices added; the base is beside the adapter, which has a new head."""
    shutil.copytree(folder_of(name), tmp_path / "base")
    weights = load_file(tmp_path / "base" / "model.safetensors")
    torch.manual_seed(0)
    matrices = factors(weights, MODULES[name], is_transposed=name == "gpt2")
    norm = next(key for key in weights if "norm" in key.lower() or "ln_" in key)
    whole = {f"base_model.model.{norm}": torch.randn_like(weights[norm])}
    folder = write(
        tmp_path / "adapter",
        matrices | whole,
        fan_in_fan_out=name == "gpt2",
        use_rslora=is_stabilized,
        alpha_pattern={MODULES[name][0]: 7},
        modules_to_save=[norm.rpartition(".")[0]],
    )
    notes: list[Message] = []
    ours, _ = tc.load(folder, on_note=notes.append)
    theirs = foreign.theirs(name, tmp_path / "base")
    with torch.inference_mode():
        for rank, module in enumerate(MODULES[name], start=2):
            a, b = (matrices[f"base_model.model.{module}.lora_{factor}.weight"] for factor in "AB")
            alpha = 7 if rank == 2 else 5
            change = alpha / (math.sqrt(rank) if is_stabilized else rank) * b @ a
            theirs.get_parameter(f"{module}.weight").add_(change.T if name == "gpt2" else change)
        theirs.get_parameter(norm).copy_(whole[f"base_model.model.{norm}"])
        tokens = foreign.batch(name)[0]
        real = foreign.is_real(tokens)
        expected = theirs(tokens, attention_mask=real.long()).logits[real]
        torch.testing.assert_close(ours(tokens)[real], expected, rtol=1e-5, atol=2e-5)
    assert any("merged into its base model, owner/base" in str(note) for note in notes)
    assert "Its base model was read from the folder base next to the adapter." in map(str, notes)


def test_an_adapter_may_resize_the_vocabulary(folder_of: FolderOf, tmp_path: Path):
    """And its base may be named by a path, relative to the adapter's own folder."""
    shutil.copytree(folder_of("llama"), tmp_path / "models" / "base")
    weights = load_file(tmp_path / "models" / "base" / "model.safetensors")
    keys = ("model.embed_tokens.weight", "lm_head.weight")
    larger = {key: torch.cat([weights[key], torch.ones(2, 36)]) for key in keys}
    whole = {f"base_model.model.{key}": weight for key, weight in larger.items()}
    folder = write(tmp_path / "adapter", whole, base_model_name_or_path="models/base")
    model, _ = tc.load(folder)
    assert model.config.vocab_size == foreign.VOCAB_SIZE + 2
    assert torch.equal(model.get_parameter("decoder.embed.weight"), larger[keys[0]])
    assert torch.equal(model.unembed.weight, larger[keys[1]])


def test_what_cannot_be_merged_is_refused(folder_of: FolderOf, tmp_path: Path):
    weights = load_file(folder_of("llama") / "model.safetensors")
    good = factors(weights, MODULES["llama"], is_transposed=False)
    first = next(iter(good))

    def refused(matrices: Mapping[str, Tensor], message: str, **settings: Any) -> None:
        with pytest.raises(CheckpointError, match=f"(?s)adapter.*{message}"):
            tc.load(write(tmp_path / "adapter", matrices, **settings))

    refused(good, "for owner--base, which is not in owner--base or .*base .*; copy the folder", **no_hub())
    shutil.copytree(folder_of("llama"), tmp_path / "base")
    refused(good, "of type IA3; only LoRA", peft_type="IA3")
    refused(good, "of type DoRA; only LoRA", use_dora=True)
    refused(good, "of type pissa_niter_4; only LoRA", init_lora_weights="pissa_niter_4")
    refused(good, "does not name a base model", base_model_name_or_path=None)
    refused(good, r"alpha_pattern = .*\(a\+\)\+.* is not supported", alpha_pattern={"(a+)+$": 3})
    refused(good, "lora_alpha = 'x' is not supported", lora_alpha="x")
    refused(good, "lora_alpha = 10+", lora_alpha=10**400)
    refused({k: w for k, w in good.items() if k != first}, "k_proj' does not have two matrices of one rank")
    refused({**good, first: torch.ones(2, 5)}, r"k_proj.weight' do not have the shape .*\(12, 36\)")
    refused({k.replace("layers.1", "layers.9"): w for k, w in good.items()}, "_proj.weight', which .* does not have")
    refused({"base_model.model.model.embed_tokens.lora_embedding_A": torch.ones(2, 61)}, "only changes of linear")
    shutil.make_archive(str(tmp_path / "packed"), "zip", write(tmp_path / "adapter", good))
    with (
        (tmp_path / "packed.zip").open("rb") as file,
        pytest.raises(CheckpointError, match="import the adapter by its path"),
    ):
        archive.unpack(file, tmp_path / "uploaded")  # reads nothing else on this machine
    (tmp_path / "adapter" / "adapter_model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="has no weights"):
        tc.load(tmp_path / "adapter")


def no_hub() -> dict[str, str]:
    """A name that cannot be an id of the Hub, so that there is no request."""
    return {"base_model_name_or_path": "owner--base"}
