"""A model is the same whatever it was wrapped in, and in whatever file it lies; what is no model is named."""

import argparse
import io
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import transformer_core as tc
from tests.checkpoints import foreign
from tests.text.refusals import refusal
from transformer_core.checkpoints import archive
from transformer_core.checkpoints.bring_in import bring_in
from transformer_core.errors import CheckpointError, Message

FolderOf = Callable[[str], Path]
WRAPPED: dict[str, Callable[[str], str]] = {
    "module.": lambda key: f"module._orig_mod.{key}",
    "model.": lambda key: f"model.{key}",
    "base_model.model.": lambda key: f"base_model.model.{key}",
    "my_own.lm.": lambda key: f"my_own.module.lm.{key}",
    "_orig_mod": lambda key: key.replace("h.1.", "h.1._orig_mod.").replace("layers.1.", "layers.1._orig_mod."),
    "_fsdp_wrapped_module": lambda key: "_fsdp_wrapped_module." + key.replace("mlp.", "_fsdp_wrapped_module.mlp."),
}


@pytest.fixture(scope="module")
def gpt2(folder_of: FolderOf) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Weights of a small GPT-2, and its logits."""
    folder = folder_of("gpt2")
    return load_file(folder / "model.safetensors"), foreign.ours(folder)(*foreign.batch("gpt2"))


def folder_with(folder_of: FolderOf, name: str, folder: Path) -> Path:
    folder.mkdir()
    shutil.copy(folder_of(name) / "config.json", folder)
    return folder


def is_same(source: Path, logits: torch.Tensor) -> bool:
    return torch.equal(tc.load(source)[0](*foreign.batch("gpt2")), logits)


@pytest.mark.parametrize("wrapper", WRAPPED)
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_wrapped_weights_are_the_same_model_in_every_format(
    name: str, wrapper: str, folder_of: FolderOf, tmp_path: Path
):
    same = foreign.ours(folder_of(name))
    weights = {WRAPPED[wrapper](k): v for k, v in load_file(folder_of(name) / "model.safetensors").items()}
    folder = folder_with(folder_of, name, tmp_path / name)
    for is_pickle in (False, True):
        state: Any = {"scale": 1.0} if is_pickle else torch.zeros(1, dtype=torch.uint8)
        extra = {"x._extra_state": state}
        save = torch.save if is_pickle else save_file
        save({**weights, **extra}, folder / ("pytorch_model.bin" if is_pickle else "model.safetensors"))
        notes: list[Message] = []
        model, _ = tc.load(folder, on_note=notes.append)
        assert model.config == same.config and all(map(torch.equal, model.parameters(), same.parameters()))
        assert wrapper.rstrip(".") in " ".join(map(str, notes)) or not any("_orig_mod" in key for key in weights)
        (folder / "model.safetensors").unlink(missing_ok=True)
    assert bring_in(str(folder), tmp_path / "mine").get("notes", []) == [note.as_json() for note in notes]


def test_two_models_adapters_and_masks(folder_of: FolderOf, gpt2: Any, tmp_path: Path):
    weights, logits = gpt2
    folder = folder_with(folder_of, "gpt2", tmp_path / "gpt2")
    ahead = torch.full((24, 24), -torch.inf).triu(1)
    buffers = {
        "transformer.h.0.attn.mask": ahead,
        "position_ids": torch.arange(24),
        "v_head.summary.weight": torch.ones(1, 36),
    }
    save_file(weights | buffers, folder / "model.safetensors")
    assert is_same(folder, logits)
    save_file(weights | {"transformer.h.0.attn.mask": ahead.flip(0)}, folder / "model.safetensors")
    assert "contains 'transformer.h.0.attn.mask', which is not part of a gpt2 model with" in refusal(tc.load, folder)
    both = {f"{side}.{key}": weight.clone() for side in ("student", "teacher") for key, weight in weights.items()}
    save_file(both, folder / "model.safetensors")
    assert "contains several models, under student., teacher.;" in refusal(tc.load, folder)
    lora = {f"base_model.model.{key}": weight for key, weight in weights.items()}
    lora["base_model.model.transformer.h.0.attn.c_attn.lora_A.default.weight"] = torch.ones(2, 36)
    save_file(lora, folder / "model.safetensors")
    assert "merge_and_unload()" in refusal(tc.load, folder)


def test_files_are_known_by_what_they_hold(folder_of: FolderOf, gpt2: Any, tmp_path: Path):
    weights, logits = gpt2
    settings = argparse.Namespace(d_model=36, out=Path("out"), best=np.float64(0.5))
    for name in ("model.chkpt", "checkpoint.pth.tar", "last.model", "weights", "best.ckpt"):
        folder = folder_with(folder_of, "gpt2", tmp_path / name.replace(".", "-"))
        torch.save(
            {"epoch": 3, "settings": settings, "net": weights, "optimizer": {"state": {0: {"m": torch.ones(3)}}}},
            folder / name,
            _use_new_zipfile_serialization="." in name,
        )
        assert is_same(folder, logits) and is_same(folder / name, logits)
        shutil.make_archive(str(tmp_path / "packed"), "zip", folder)
        with (tmp_path / "packed.zip").open("rb") as file:
            archive.unpack(file, tmp_path / "taken" / name)
        assert is_same(tmp_path / "taken" / name, logits)
    save_file(weights, folder / "model.bin")  # and safetensors under an ending of torch.save
    assert is_same(folder / "model.bin", logits)
    for is_zip in (True, False):  # and of torch.save under that of safetensors
        torch.save(weights, folder / "model.safetensors", _use_new_zipfile_serialization=is_zip)
        assert is_same(folder, logits)


def test_what_is_no_file_of_weights_is_called_by_its_name(tmp_path: Path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archived:
        archived.addfile(tarfile.TarInfo("config.json"))
    arrays = io.BytesIO()
    np.savez(arrays, a=np.ones(2))
    for content, message in (
        (b"GGUF\x03\x00\x00\x00" + bytes(40), "a GGUF file"),
        ((20240326).to_bytes(4, "little") + bytes(1020), "a checkpoint of llm.c"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (packed.getvalue(), "an archive; unpack it"),
        (arrays.getvalue(), "NumPy arrays"),
        (b'{\n  "a": 1}', "a JSON file"),
    ):
        for name in ("a.gguf", "model.safetensors", "model.pt", "model"):
            (tmp_path / name).write_bytes(content)
            assert message in refusal(tc.load, tmp_path / name)
        if not content.startswith(b"PK"):
            with pytest.raises(CheckpointError, match=message):
                archive.unpack(io.BytesIO(content), tmp_path / "taken")
    for name in ("model.safetensors", "model.pt", "model"):
        (tmp_path / name).write_bytes(b"")
        assert f"{name} is empty" in refusal(tc.load, tmp_path / name)
    (tmp_path / "model").write_bytes(b"\x01\x02 nothing")
    assert "neither a safetensors file nor one of torch.save" in refusal(tc.load, tmp_path / "model")


def test_parts_without_an_index_and_folders_of_trainings(folder_of: FolderOf, gpt2: Any, tmp_path: Path):
    weights, logits = gpt2
    keys = sorted(weights)
    for ending, save in ((".safetensors", save_file), (".bin", torch.save)):
        folder = folder_with(folder_of, "gpt2", tmp_path / f"parts{ending}")
        for i in range(3):
            save({key: weights[key] for key in keys[i::3]}, folder / f"model-0000{i + 1}-of-00003{ending}")
        assert is_same(folder, logits) and is_same(folder / f"model-00002-of-00003{ending}", logits)
        (folder / f"model-00003-of-00003{ending}").unlink()
        assert f"lacks model-00003-of-00003{ending}, one of 3 weight files" in refusal(tc.load, folder)
    out = tmp_path / "out"
    for step in (500, 1000, 90):
        shutil.copytree(folder_of("gpt2"), out / f"checkpoint-{step}")
    shutil.rmtree(out / "checkpoint-500")
    card = bring_in(str(out), tmp_path / "mine")
    assert is_same(out, logits) and card["title"] == "checkpoint-1000"
    assert any("the newest was read: checkpoint-1000" in str(Message.from_json(note)) for note in card["notes"])
    (out / "checkpoint-1000").rename(out / "last")
    (out / "checkpoint-90").rename(out / "first")
    assert "has no weights itself, but its folder first or last has" in refusal(tc.load, out)
    (out / "last" / "config.json").write_text(json.dumps({"model_type": "llama", **foreign.LLAMA}))
    assert "none of its weights has a name used by llama" in refusal(tc.load, out / "last")
