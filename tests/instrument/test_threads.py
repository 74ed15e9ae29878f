"""One model, several threads and tasks at once: each sees and changes its own forward passes only."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.conftest import run_coroutine
from tests.model.building import random_tokens, shaken_model, small_config

N_THREADS, N_FORWARDS = 8, 10
SITES = ("*.hook_pattern", "decoder.blocks.0.hook_resid_mid_cross", "hook_logits")


@pytest.fixture(scope="module")
def model() -> tc.Transformer:
    return shaken_model(small_config())


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


def texts_of(person: int) -> tuple[Tensor, Tensor]:
    """A source and a target for each thread, with different lengths."""
    src = random_tokens([2 + person], vocab_size=13, seed=person)
    return src, random_tokens([9 - person], vocab_size=13, seed=100 + person)


def activations(model: tc.Transformer, person: int) -> dict[str, Tensor]:
    """What one person sees: persons 1, 4, 7 only capture, 2 and 5 intervene too, and 0, 3, 6 do nothing."""
    with torch.inference_mode():
        if person % 3 == 0:
            return {"hook_logits": model(*texts_of(person))}
        scaled = {"*.hook_z": tc.scale(float(person), heads=[1]), "*.hook_resid_mid": tc.scale(-0.1 * person)}
        with tc.intervene(model, scaled if person % 3 == 2 else {}), tc.capture(model, *SITES) as acts:
            model(*texts_of(person))
        return dict(acts)


def are_equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[site], other[site]) for site in one)


def test_threads_that_run_at_once(model: tc.Transformer):
    expected = [activations(model, person) for person in range(N_THREADS)]
    together = threading.Barrier(N_THREADS)

    def run(person: int) -> int:
        together.wait(timeout=300)
        return sum(are_equal(activations(model, person), expected[person]) for _ in range(N_FORWARDS))

    with ThreadPoolExecutor(N_THREADS) as threads:
        assert list(threads.map(run, range(N_THREADS))) == [N_FORWARDS] * N_THREADS


def test_tasks_that_take_turns(model: tc.Transformer):
    plain = [model(*texts_of(person)) for person in range(5)]

    async def look(person: int) -> bool:
        is_right = True
        for _ in range(10):
            scaled = {"hook_logits": tc.scale(float(person))}
            with torch.inference_mode(), tc.intervene(model, scaled), tc.capture(model, "hook_logits") as acts:
                await asyncio.sleep(0)
                logits = model(*texts_of(person))
                await asyncio.sleep(0)
            is_right &= torch.equal(logits, plain[person] * person) and torch.equal(acts["hook_logits"], logits)
        return is_right

    async def together() -> list[bool]:
        return await asyncio.gather(*map(look, range(5)))

    assert run_coroutine(together()) == [True] * 5


def test_a_worker_thread_of_a_task_keeps_its_context(model: tc.Transformer):
    """`asyncio.to_thread` hands the context on."""

    async def look() -> dict[str, Tensor]:
        with tc.capture(model, *SITES) as acts:
            await asyncio.to_thread(lambda: model(*texts_of(4)))
        return dict(acts)

    assert are_equal(run_coroutine(look()), activations(model, 4))


def test_positions_are_those_of_ones_own_text(model: tc.Transformer):
    """While one thread decodes with a cache, others read from position 0 on."""
    source = random_tokens([6], vocab_size=13, seed=3)
    zeroed = {"decoder.blocks.0.hook_resid_mid": tc.zero(positions=[2])}

    def decode(_: int) -> Tensor:
        with tc.intervene(model, zeroed):
            return tc.greedy_decode(model, source, max_new_tokens=8).log_probs

    def read(_: int) -> Tensor:
        with torch.inference_mode(), tc.intervene(model, zeroed):
            return model(*texts_of(1))

    decoded, logits = decode(0), read(0)
    with ThreadPoolExecutor(4) as threads:
        decodings, readings = threads.map(decode, range(6)), threads.map(read, range(10))
        assert all(torch.equal(log_probs, decoded) for log_probs in decodings)
        assert all(torch.equal(reading, logits) for reading in readings)
