"""An instrument has its effect or raises: compiled models, copies, threads, torch's hooks, generators."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import transformer_core as tc
from tests.instrument.compiled_models import PATTERN, TOKENS, Z, small_decoder
from transformer_core.errors import SiteError

WITHOUT_HEADS = {Z: tc.zero_heads([0, 1])}


@pytest.fixture
def model() -> Iterator[tc.Transformer]:
    with torch.no_grad():
        yield small_decoder()


def test_compiled_models_are_captured_and_changed_as_plain_ones():
    command = [sys.executable, "-m", "tests.instrument.compiled_models"]
    ended = subprocess.run(command, capture_output=True, check=False, text=True)
    assert ended.stdout == "alright\n", ended.stderr


@pytest.mark.parametrize("instrument", ["capture", "intervene"])
def test_a_site_that_no_forward_pass_reached_is_an_error_on_leaving(model: tc.Transformer, instrument: str):
    def enter(model: tc.Transformer) -> AbstractContextManager[Any]:
        return tc.capture(model, Z) if instrument == "capture" else tc.intervene(model, WITHOUT_HEADS)

    twin = deepcopy(model)

    def in_a_thread() -> None:
        with ThreadPoolExecutor(1) as threads:
            threads.submit(model, TOKENS).result()

    for run in (lambda: None, lambda: twin(TOKENS), in_a_thread):
        with pytest.raises(SiteError, match=f"no forward pass reached {Z}"), enter(model):
            run()
    with pytest.raises(ZeroDivisionError), enter(model):
        raise ZeroDivisionError  # which matters more


def test_of_a_glob_one_site_is_enough_and_each_name_needs_its_own():
    model = tc.build(tc.presets.tiny(20)).eval()
    src = torch.tensor([[4, 5, 1]])
    with torch.inference_mode(), tc.capture(model, "*.hook_pattern") as acts:
        model.encode(src)
    assert all(name.startswith("encoder.") for name in acts) and len(acts) == 2
    missing = tc.site("pattern", layer=1, attention="cross")
    with torch.inference_mode(), pytest.raises(SiteError, match=missing), tc.capture(model, "*.hook_z", missing):
        model.encode(src)


def test_hooks_that_torch_registers_fire_and_can_change_the_value(model: tc.Transformer):
    before, seen = model(TOKENS), []
    point = model.get_submodule(PATTERN)

    def halve(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor:
        seen.append(output)
        return output / 2

    handle = point.register_forward_hook(halve)
    halved = model(TOKENS)
    assert seen[0].shape == (1, 2, 5, 5)
    torch.testing.assert_close(seen[0].sum(-1), torch.ones(1, 2, 5))
    with tc.intervene(model, {PATTERN: tc.scale(0.5)}):
        handle.remove()
        torch.testing.assert_close(model(TOKENS), halved)
    with point.register_forward_pre_hook(lambda module, inputs: inputs[0] / 2):
        torch.testing.assert_close(model(TOKENS), halved)
    assert torch.equal(model(TOKENS), before)


def test_a_generator_shares_its_caller_s_context(model: tc.Transformer):
    """As with torch.no_grad: what is active where it yields is active for its caller, until it leaves the block."""

    def logits_without_heads() -> Iterator[Tensor]:
        with tc.intervene(model, WITHOUT_HEADS):
            yield model(TOKENS)

    before = model(TOKENS)
    steps = logits_without_heads()
    inside = next(steps)
    assert (inside - before).abs().max() > 0.1 and torch.equal(model(TOKENS), inside)
    assert next(steps, None) is None
    assert torch.equal(model(TOKENS), before)
