"""Lazy capture and overviews in memory that grows with the length of the text, not with its square."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import transformer_core as tc
from tests.model.building import random_tokens, shaken_model
from transformer_core.instrument import lazy


class PeakOfMemory(TorchDispatchMode):
    """The most bytes that tensors made in this context held at one time."""

    def __init__(self) -> None:
        super().__init__()
        self.alive: dict[int, tuple[StorageWeakRef, int]] = {}
        self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.alive = {key: entry for key, entry in self.alive.items() if not entry[0].expired()}
        given = {x.untyped_storage()._cdata for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)}
        for x in tree_leaves(result):
            if isinstance(x, torch.Tensor) and x.untyped_storage()._cdata not in given:
                storage = x.untyped_storage()
                self.alive[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        self.peak = max(self.peak, sum(n_bytes for _, n_bytes in self.alive.values()))
        return result


def peak(run: Callable[[], object]) -> int:
    with torch.no_grad(), PeakOfMemory() as memory:
        run()
    return memory.peak


def model_with(positions: Any) -> tc.Transformer:
    config = tc.ModelConfig(
        architecture="decoder_only",
        vocab_size=500,
        d_model=32,
        d_ff=0,
        n_heads=4,
        n_encoder_layers=0,
        n_decoder_layers=1,
        max_seq_len=600,
        positions=positions,
        tie_embeddings="target",
    )
    return shaken_model(config)


@pytest.fixture(scope="module")
def model() -> tc.Transformer:
    return model_with("learned")


def test_twice_the_length_takes_twice_the_memory(model: tc.Transformer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lazy, "_CHUNK_BYTES", 1 << 16)

    def overviews(n_tokens: int) -> None:
        with tc.capture(model, lazy=True) as acts:
            model.final_states(random_tokens([n_tokens], vocab_size=500))
        for pattern in acts.patterns.values():
            pattern.pooled((16, 16))
            pattern.pooled((15, 17), "mean")
            pattern.window(1, slice(100, 140), slice(0, 30))

    def written_out(n_tokens: int) -> None:
        with tc.capture(model, "*.hook_pattern"):
            model.final_states(random_tokens([n_tokens], vocab_size=500))

    lazily = peak(lambda: overviews(600))
    assert lazily < 2.2 * peak(lambda: overviews(300))
    assert lazily < 4 * 600 * 600 * 4 / 4  # a quarter of one layer's patterns
    assert peak(lambda: written_out(600)) > 3 * peak(lambda: written_out(300))


def test_what_is_kept_grows_with_the_length():
    model = model_with("alibi")

    def kept(n_tokens: int) -> int:
        with torch.no_grad(), tc.capture(model, lazy=True) as acts:
            model.final_states(random_tokens([n_tokens, n_tokens // 2], vocab_size=500))
        return sum(pattern.n_bytes for pattern in acts.patterns.values())

    q_and_k, padding, bias_by_distance = 2 * 2 * 32 * 4 * 300, 2 * 300, 4 * 4 * (2 * 300 - 1)
    assert kept(300) == q_and_k + padding + bias_by_distance
