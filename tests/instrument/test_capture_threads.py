"""One model, many lookers at once: each sees its own activations, and who does not look gets the same bits."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import random_tokens, shaken_model, small_config

N_THREADS, N_FORWARDS = 8, 25
SITES = ("*.hook_pattern", "decoder.blocks.0.hook_resid_mid_cross", "hook_logits")


@pytest.fixture(scope="module")
def model() -> tc.Transformer:
    return shaken_model(small_config())


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


def texts_of(looker: int) -> tuple[Tensor, Tensor]:
    """A source and a target that no other looker has, of lengths of their own."""
    src = random_tokens([2 + looker], vocab_size=13, seed=looker)
    return src, random_tokens([9 - looker], vocab_size=13, seed=100 + looker)


def looked_at(model: tc.Transformer, looker: int) -> dict[str, Tensor]:
    with torch.inference_mode(), tc.capture(model, *SITES) as acts:
        model(*texts_of(looker))
    return dict(acts)


def are_equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[site], other[site]) for site in one)


def test_threads_with_and_without_capture_at_once(model: tc.Transformer):
    """Even threads look and odd ones do not, all on one model, started together."""
    activations = [looked_at(model, looker) for looker in range(N_THREADS)]
    logits = [model(*texts_of(looker)) for looker in range(N_THREADS)]
    together = threading.Barrier(N_THREADS)

    def run(looker: int) -> int:
        n_right = 0
        together.wait(timeout=300)
        for _ in range(N_FORWARDS):
            if looker % 2:
                with torch.inference_mode():
                    n_right += torch.equal(model(*texts_of(looker)), logits[looker])
            else:
                n_right += are_equal(looked_at(model, looker), activations[looker])
        return n_right

    with ThreadPoolExecutor(N_THREADS) as threads:
        assert list(threads.map(run, range(N_THREADS))) == [N_FORWARDS] * N_THREADS


def test_a_forward_in_another_thread_is_not_seen(model: tc.Transformer):
    """And it has the same bits as a run that nobody watches, while a capture lasts in this one."""
    unwatched = model(*texts_of(0))

    def forward() -> Tensor:
        with torch.inference_mode():
            return model(*texts_of(0))

    with tc.capture(model, "*") as acts, ThreadPoolExecutor(1) as thread:
        assert torch.equal(thread.submit(forward).result(), unwatched)
        assert not acts
        model(*texts_of(0))
    assert set(acts) == set(tc.site_names(model))


def test_tasks_that_take_turns_see_their_own_only(model: tc.Transformer):
    async def look(looker: int) -> bool:
        for _ in range(10):
            with tc.capture(model, *SITES) as acts:
                await asyncio.sleep(0)
                model(*texts_of(looker))
                await asyncio.sleep(0)
            if not are_equal(dict(acts), expected[looker]):
                return False
        return True

    async def together() -> list[bool]:
        return await asyncio.gather(*(look(looker) for looker in range(5)))

    expected = [looked_at(model, looker) for looker in range(5)]
    assert asyncio.run(together()) == [True] * 5


def test_a_task_in_a_worker_thread_keeps_its_context(model: tc.Transformer):
    """`asyncio.to_thread` hands the context on: who looks there, looks."""

    async def look() -> dict[str, Tensor]:
        with tc.capture(model, *SITES) as acts:
            await asyncio.to_thread(lambda: model(*texts_of(3)))
        return dict(acts)

    with torch.inference_mode(False), torch.no_grad():
        assert are_equal(asyncio.run(look()), looked_at(model, 3))
