"""Files of torch.save: weights are read, and nothing in them is ever run."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import transformer_core as tc
from tests.checkpoints import foreign
from tests.checkpoints.test_load import add_tokenizer
from transformer_core.checkpoints import archive
from transformer_core.errors import CheckpointError

FolderOf = Callable[[str], Path]


class Hostile:
    """Makes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.mark}",)


def pickled(folder_of: FolderOf, name: str, folder: Path) -> Path:
    """A Hugging Face folder of a time before safetensors."""
    shutil.copytree(folder_of(name), folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    torch.save({"lr": 1.0}, folder / "optimizer.pt")  # of its training, and no weights
    return add_tokenizer(folder)


@pytest.mark.parametrize("name", ["gpt2", "bert-classifier"])
def test_a_folder_with_pytorch_model_bin(name: str, folder_of: FolderOf, tmp_path: Path):
    model, _ = tc.load(pickled(folder_of, name, tmp_path / name))
    same = foreign.ours(folder_of(name))
    assert model.config == same.config
    assert all(map(torch.equal, model.parameters(), same.parameters()))
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, name)
    with (tmp_path / "packed.zip").open("rb") as file:
        archive.unpack(file, tmp_path / "taken")
    assert torch.equal(
        tc.load(tmp_path / "taken")[0].final_states(*foreign.batch(name)), model.final_states(*foreign.batch(name))
    )
    assert {path.suffix for path in (tmp_path / "taken").iterdir()} == {".json", ".safetensors"}


def test_several_parts_and_files_of_before_torch_1_6(folder_of: FolderOf, tmp_path: Path):
    folder = pickled(folder_of, "gpt2", tmp_path / "gpt2")
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True)
    (folder / "pytorch_model.bin").unlink()
    names = sorted(weights)
    parts = {"pytorch_model-1.bin": names[::2], "pytorch_model-2.bin": names[1::2]}
    for part, keys in parts.items():
        torch.save({k: weights[k] for k in keys}, folder / part, _use_new_zipfile_serialization=False)
    index = {"weight_map": {key: part for part, keys in parts.items() for key in keys}}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    tokens = foreign.batch("gpt2")
    assert torch.equal(tc.load(folder)[0](*tokens), foreign.ours(folder_of("gpt2"))(*tokens))


@pytest.mark.parametrize(("way", "is_new"), [("inside", True), ("beside", False), ("plain", True)])
def test_a_hostile_pickle_is_refused_and_never_run(way: str, is_new: bool, folder_of: FolderOf, tmp_path: Path):
    folder, mark = pickled(folder_of, "gpt2", tmp_path / "gpt2"), tmp_path / "it ran".replace(" ", "-")
    path = folder / "pytorch_model.bin"
    weights = torch.load(path, weights_only=True)
    content = {"inside": weights | {"wte": Hostile(mark)}, "beside": {"model": weights, "args": Hostile(mark)}}
    if way == "plain":
        path.write_bytes(pickle.dumps(Hostile(mark)))
    else:
        torch.save(content[way], path, _use_new_zipfile_serialization=is_new)
    with pytest.raises(CheckpointError) as caught:
        tc.load(folder)
    message = str(caught.value)
    expected = "contains objects other than tensors and plain values, which could run code, so it was not opened"
    expected = (
        "does not contain weights that can be read here: it is a pickle that torch.save did not write"
        if way == "plain"
        else expected
    )
    assert f"pytorch_model.bin {expected}" in message and "\n" not in message
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, "gpt2")
    with (tmp_path / "packed.zip").open("rb") as file, pytest.raises(CheckpointError, match=expected):
        archive.unpack(file, tmp_path / "taken")
    assert not mark.exists() and not (tmp_path / "taken").exists()
    torch.load(path, weights_only=False) if way != "plain" else pickle.loads(path.read_bytes())
    assert mark.exists()  # it would have run


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"not a pickle", "is damaged or was not written by torch.save"),
        (slice(None, 5000), "is damaged or was not written by torch.save"),  # cut off
        ([1, 2], "contains list, not a state dict"),
        ({"wte.weight": 3}, "contains 'wte.weight', which is not a tensor"),
        ({"wte.weight": torch.zeros(1).expand(61, 36)}, "'wte.weight' is not a plain tensor"),
    ],
)
def test_other_files_are_refused_calmly(content: Any, message: str, folder_of: FolderOf, tmp_path: Path):
    folder = pickled(folder_of, "gpt2", tmp_path / "gpt2")
    path = folder / "pytorch_model.bin"
    if isinstance(content, slice):
        content = path.read_bytes()[content]
    path.write_bytes(content) if isinstance(content, bytes) else torch.save(content, path)
    with pytest.raises(CheckpointError, match=message):
        tc.load(folder)


def test_several_files_that_may_be_the_weights(folder_of: FolderOf, tmp_path: Path):
    folder = pickled(folder_of, "gpt2", tmp_path / "gpt2")
    (folder / "pytorch_model.bin").rename(folder / "epoch-1.pt")
    shutil.copy(folder / "epoch-1.pt", folder / "epoch-2.pt")
    with pytest.raises(
        CheckpointError, match=r"has several weight files, epoch-1\.pt, epoch-2\.pt; give the path of one"
    ):
        tc.load(folder)
    assert tc.load(folder / "epoch-2.pt")[0].config.architecture == "decoder_only"
