"""Tensors are read from their files one at a time, on demand, and their shapes without reading them."""

import re
import struct
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from transformer_core.checkpoints.tensor_files import TensorFiles, find_tensor_files
from transformer_core.errors import CheckpointError

FIRST = {"a": torch.arange(12.0).view(3, 4), "b": torch.tensor([1.5, -2.0], dtype=torch.bfloat16)}
SECOND = {"c": torch.tensor([[True], [False]]), "d": torch.tensor(7)}


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    save_file(FIRST, tmp_path / "1.safetensors")
    save_file(SECOND, tmp_path / "2.safetensors")
    return [tmp_path / "1.safetensors", tmp_path / "2.safetensors"]


def test_all_files_are_one_mapping(paths: list[Path]):
    files = TensorFiles(paths)
    expected = FIRST | SECOND
    assert set(files) == set(expected) == set(files.keys())
    assert len(files) == 4
    assert "a" in files
    assert "x" not in files
    for key, tensor in expected.items():
        assert files.shape(key) == tensor.shape
        assert files.dtype(key) == files[key].dtype == tensor.dtype
        assert torch.equal(files[key], tensor)
    assert files.n_bytes == 48 + 4 + 2 + 8
    with pytest.raises(KeyError):
        files["x"]


def test_a_view_is_told_from_a_copy(paths: list[Path]):
    files = TensorFiles(paths)
    tensor = files["a"]
    assert files.is_view(tensor)
    assert files.is_view(tensor.T)
    assert not files.is_view(tensor.clone())
    assert not files.is_view(tensor.double())
    assert not files.is_view(FIRST["a"])


def test_a_file_that_gives_its_name_to_another_is_read_on(paths: list[Path]):
    files = TensorFiles(paths)
    save_file({"a": torch.zeros(3, 4)}, paths[0].with_suffix(".new"))
    paths[0].with_suffix(".new").replace(paths[0])
    assert torch.equal(files["a"], FIRST["a"])


def test_the_one_file_counts_before_its_parts(tmp_path: Path):
    (tmp_path / "model.safetensors.index.json").write_text('{"weight_map": {"a": "1", "b": "2", "c": "1"}}')
    for name in "123":
        (tmp_path / name).touch()
    assert find_tensor_files(tmp_path, where="x") == [tmp_path / "1", tmp_path / "2"]
    (tmp_path / "model.safetensors").touch()
    assert find_tensor_files(tmp_path, where="x") == [tmp_path / "model.safetensors"]


def test_a_key_that_is_there_twice(paths: list[Path], tmp_path: Path):
    save_file(FIRST, tmp_path / "3.safetensors")
    with pytest.raises(CheckpointError, match=r"3\.safetensors contains '[ab]', which is also in 1\.safetensors"):
        TensorFiles([*paths, tmp_path / "3.safetensors"])
    (tmp_path / "folder.safetensors").mkdir()
    for name in ("no.safetensors", "folder.safetensors"):
        with pytest.raises(CheckpointError, match=f"{name} is missing; copy or download"):
            TensorFiles([tmp_path / name])


FLOATS = (torch.float64, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2)


WHOLE = (torch.int32, torch.int16, torch.int8, torch.uint8)


def test_types_of_numbers(tmp_path: Path):
    for dtype in (*FLOATS, *WHOLE):
        save_file({"a": torch.zeros(2).to(dtype)}, tmp_path / "a.safetensors")
        assert TensorFiles([tmp_path / "a.safetensors"]).dtype("a") == dtype
    header = b'{"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}'
    (tmp_path / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"00")
    with pytest.raises(CheckpointError, match=r"a\.safetensors: 'a' has type F4, which is not supported"):
        TensorFiles([tmp_path / "a.safetensors"])


def test_a_header_of_a_hundred_and_fifty_thousand_tensors_is_not_read(tmp_path: Path):
    one = '"{}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'
    header = f"{{{','.join(map(one.format, range(150_000)))}}}".encode()
    path = tmp_path / "many.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(CheckpointError, match=r"^the header of .*many\.safetensors takes .* MiB.* too many tensors"):
        TensorFiles([path])


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_tensors_that_were_read_do_not_stay_in_memory(tmp_path: Path):
    save_file(
        {str(i): torch.full((1 << 21,), float(i)) for i in range(4)}, tmp_path / "large.safetensors"
    )  # 8 MiB each

    def resident() -> int:
        """KiB of mapped files."""
        return int(re.findall(r"RssFile:\s*(\d+)", Path("/proc/self/status").read_text())[0])

    before = resident()
    files = TensorFiles([tmp_path / "large.safetensors"])
    tensors = [files[str(i)] for i in range(4)]
    assert [float(tensor.sum()) for tensor in tensors] == [i * 2.0**21 for i in range(4)]  # pages come back on access
    for i in range(4):
        files[str(i)].sum()
    assert resident() - before < 20 << 10
