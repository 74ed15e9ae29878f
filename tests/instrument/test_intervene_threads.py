"""One model, several threads, each with interventions of its own: none sees another's."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import random_tokens, shaken_model, small_config

N_THREADS, N_FORWARDS = 6, 5
SRC, TGT = random_tokens([5], vocab_size=13), random_tokens([4], vocab_size=13, seed=1)


@pytest.fixture(scope="module")
def model() -> tc.Transformer:
    return shaken_model(small_config())


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


def meddled_with(model: tc.Transformer, person: int) -> Tensor:
    """The logits where one person scales, who also captures; every fourth does nothing."""
    with torch.inference_mode():
        if person % 4 == 0:
            return model(SRC, TGT)
        interventions = {
            "*.hook_z": tc.scale(float(person), heads=[person % 2]),
            "*.hook_resid_mid": tc.scale(-0.1 * person),
        }
        with tc.intervene(model, interventions), tc.capture(model, lazy=True):
            return model(SRC, TGT)


def test_threads_meddle_at_once(model: tc.Transformer):
    expected = [meddled_with(model, person) for person in range(N_THREADS)]
    assert all(not torch.equal(expected[0], other) for other in expected[1:4])
    together = threading.Barrier(N_THREADS)

    def run(person: int) -> int:
        together.wait(timeout=300)
        return sum(torch.equal(meddled_with(model, person), expected[person]) for _ in range(N_FORWARDS))

    with ThreadPoolExecutor(N_THREADS) as threads:
        assert list(threads.map(run, range(N_THREADS))) == [N_FORWARDS] * N_THREADS


def test_a_forward_in_another_thread_stays_as_it_is(model: tc.Transformer):
    plain = meddled_with(model, 0)
    with tc.intervene(model, {"hook_logits": tc.zero()}), ThreadPoolExecutor(1) as thread:
        assert torch.equal(thread.submit(meddled_with, model, 0).result(), plain)
        assert not model(SRC, TGT).any()
    assert torch.equal(model(SRC, TGT), plain)


def test_tasks_that_take_turns_have_their_own_only(model: tc.Transformer):
    plain = model(SRC, TGT)

    async def meddle(factor: int) -> bool:
        is_right = True
        for _ in range(10):
            with tc.intervene(model, {"hook_logits": tc.scale(float(factor))}):
                await asyncio.sleep(0)
                is_right &= torch.equal(model(SRC, TGT), plain * factor)
                await asyncio.sleep(0)
        return is_right

    async def together() -> list[bool]:
        return await asyncio.gather(*(meddle(factor) for factor in range(5)))

    assert asyncio.run(together()) == [True] * 5


def test_positions_are_those_of_one_s_own_text(model: tc.Transformer):
    """While one thread decodes with a cache, others read from position 0 on."""
    source = random_tokens([6], vocab_size=13, seed=3)
    zeroed = {"decoder.blocks.0.hook_resid_mid": tc.zero(positions=[2])}

    def decode(_: int) -> Tensor:
        with tc.intervene(model, zeroed):
            return tc.greedy_decode(model, source, max_new_tokens=8).log_probs

    def read(_: int) -> Tensor:
        with torch.inference_mode(), tc.intervene(model, zeroed):
            return model(SRC, TGT)

    decoded, logits = decode(0), read(0)
    with ThreadPoolExecutor(4) as threads:
        decodings, readings = threads.map(decode, range(6)), threads.map(read, range(10))
        assert all(torch.equal(log_probs, decoded) for log_probs in decodings)
        assert all(torch.equal(reading, logits) for reading in readings)
