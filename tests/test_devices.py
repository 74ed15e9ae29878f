"""Devices are called by their names, and free memory is what a process can really take."""

import os
from pathlib import Path

import pytest
import torch

from transformer_core.devices import (
    PRECISIONS,
    available_devices,
    choose_device,
    choose_precision,
    free_main_memory,
    free_memory,
    in_words,
)
from transformer_core.errors import ConfigError

MIB = 1 << 20


def test_what_is_there():
    names = available_devices()
    assert names[-1] == "cpu"
    assert len(names) == 1 + torch.cuda.device_count() * torch.cuda.is_available() + torch.backends.mps.is_available()
    assert [str(choose_device(name)) for name in names] == names
    for name in names:
        torch.zeros(1, device=choose_device(name))


def test_the_best_there_is():
    assert choose_device("auto") == torch.device(available_devices()[0])


@pytest.mark.parametrize("device", ["cpu", "cpu:0", torch.device("cpu")])
def test_the_cpu(device: str | torch.device):
    assert choose_device(device) == torch.device("cpu")


@pytest.mark.parametrize("device", ["cuda:99", "gpu", "meta", "", "cpu:1", torch.device("cuda:99")])
def test_a_device_that_is_not_there(device: str | torch.device):
    with pytest.raises(ConfigError) as caught:
        choose_device(device)
    assert f"there is no device {str(device)!r}" in str(caught.value)
    assert ", ".join(available_devices()) in str(caught.value)


def test_precisions():
    assert all(choose_precision(name) == choose_precision(dtype) == dtype for name, dtype in PRECISIONS.items())
    assert choose_precision("bf16") == choose_precision("torch.bfloat16") == torch.bfloat16
    assert choose_precision("fp32") == torch.float32
    for other in ("int8", torch.int64, "half", ""):
        with pytest.raises(ConfigError, match="dtype must be one of float32, bfloat16, float16, float64; got"):
            choose_precision(other)


def test_free_memory_is_less_than_all_of_it():
    free = free_memory(torch.device("cpu"))
    if free is not None:
        assert 0 < free <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """A Linux with 900 MiB to be had, as /proc tells it, in control groups of both versions."""
    write(tmp_path / "proc", {"meminfo": f"MemTotal: 4096000 kB\nMemFree: 1 kB\nMemAvailable: {900 << 10} kB\n"})
    write(tmp_path / "proc/self", {"cgroup": "4:memory:/old/group\n2:cpu:/\n0::/outer/inner\n"})
    return tmp_path


def free(system: Path) -> int | None:
    return free_main_memory(system / "proc", system / "groups")


def group(limit: str, used: int, files: int) -> dict[str, str]:
    return {
        "memory.max": f"{limit}\n",
        "memory.current": f"{used}\n",
        "memory.stat": f"anon 5\ninactive_file {files}\n",
    }


def test_without_limits(system: Path):
    assert free(system) == 900 * MIB
    write(system / "groups/outer/inner", group("max", 5, 5))
    assert free(system) == 900 * MIB


def test_the_tightest_control_group_counts(system: Path):
    write(system / "groups/outer", group(str(500 * MIB), 300 * MIB, 100 * MIB))
    assert free(system) == 300 * MIB  # what is files is given back when asked
    write(system / "groups/outer/inner", group(str(400 * MIB), 380 * MIB, 0))
    assert free(system) == 20 * MIB
    write(system / "groups/outer/inner", group(str(400 * MIB), 500 * MIB, 0))
    assert free(system) == 0


def test_control_groups_of_the_first_version(system: Path):
    """Inside a container the path is that of outside, and the limits lie at the root."""
    limits = {"memory.limit_in_bytes": str(64 * MIB), "memory.usage_in_bytes": str(10 * MIB)}
    write(system / "groups/memory", {**limits, "memory.stat": "cache 9\ntotal_inactive_file 4\n"})
    assert free(system) == 54 * MIB + 4


def test_where_the_system_does_not_say(tmp_path: Path):
    assert free(tmp_path) == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(1, "1 KiB"), (2048, "2 KiB"), (5 * MIB, "5 MiB"), (1023 * MIB, "1023 MiB"), (3 << 29, "1.5 GiB")],
)
def test_sizes_in_words(n_bytes: int, words: str):
    assert in_words(n_bytes) == words
