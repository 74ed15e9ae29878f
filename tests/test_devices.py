"""Devices are called by their names, and free memory is what a process can really take."""

import os

import pytest
import torch

from transformer_core.devices import (
    PRECISIONS,
    available_devices,
    choose_device,
    choose_precision,
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


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(1, "1 KiB"), (2048, "2 KiB"), (5 * MIB, "5 MiB"), (1023 * MIB, "1023 MiB"), (3 << 29, "1.5 GiB")],
)
def test_sizes_in_words(n_bytes: int, words: str):
    assert str(in_words(n_bytes)) == words
