"""Hook points: nothing where nobody looks, handlers in order, and each context for itself."""

import asyncio
import threading

import pytest
import torch
from torch import Tensor, nn

from tests.conftest import run_coroutine
from transformer_core.hooks import (
    HookPoint,
    LazyPatternPoint,
    active_hooks,
    has_any_hooks,
    has_hooks,
    named_hook_points,
    named_lazy_points,
    position_offset,
    reading_from,
)


def add(amount: float):
    return lambda value: value + amount


def times(factor: float):
    return lambda value: value * factor


def test_unwatched_the_same_object_comes_back():
    value = torch.randn(3)
    assert HookPoint()(value) is value
    with active_hooks({HookPoint(): add(1)}):  # another point's handler
        assert HookPoint()(value) is value


def test_a_handler_s_value_is_what_the_model_goes_on_with():
    point, value = HookPoint(), torch.tensor([1.0, 2.0])
    with active_hooks({point: add(10)}):
        assert point(value).tolist() == [11.0, 12.0]
    assert point(value) is value


def test_handlers_act_in_the_order_of_arrival():
    point, value = HookPoint(), torch.tensor([1.0])
    with active_hooks({point: add(1)}), active_hooks({point: times(10)}):
        assert point(value).item() == 20.0


def test_leaving_an_inner_context_brings_back_the_outer():
    one, other, value = HookPoint(), HookPoint(), torch.tensor([1.0])
    with active_hooks({one: add(1)}):
        with active_hooks({one: add(10), other: add(100)}):
            assert (one(value).item(), other(value).item()) == (12.0, 101.0)
        assert (one(value).item(), other(value).item()) == (2.0, 1.0)
    assert one(value) is value


def test_nothing_is_left_after_an_exception_of_the_block_or_of_a_handler():
    point, value = HookPoint(), torch.tensor([1.0])

    def fails(value: Tensor) -> Tensor:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), active_hooks({point: add(1)}):
        raise ZeroDivisionError
    assert point(value) is value and not has_hooks(point)
    with pytest.raises(ZeroDivisionError), active_hooks({point: fails}):
        point(value)
    assert point(value) is value and not has_hooks(point)


def test_has_hooks():
    one, other = HookPoint(), HookPoint()
    assert not has_hooks(one) and not has_hooks()
    with active_hooks({one: add(1)}):
        assert has_hooks(one) and has_hooks(other, one)
        assert not has_hooks(other) and not has_hooks()
    assert not has_hooks(one)


def test_what_is_handled_is_decided_on_entering():
    """A mapping that is changed later changes nothing."""
    point, other = HookPoint(), HookPoint()
    handlers = {point: add(1)}
    with active_hooks(handlers):
        handlers[other] = add(1)
        handlers[point] = add(100)
        assert not has_hooks(other) and point(torch.tensor([1.0])).item() == 2.0


def test_tasks_that_take_turns_see_their_own_only():
    point, zero = HookPoint(), torch.tensor(0.0)

    async def task(number: int) -> list[float]:
        with active_hooks({point: add(number)}):
            values = []
            for _ in range(20):
                await asyncio.sleep(0)
                values.append(point(zero).item())
            return values

    async def unwatched() -> bool:
        for _ in range(10):
            await asyncio.sleep(0)
            assert point(zero) is zero
        return True

    async def together():
        return await asyncio.gather(*(task(number) for number in range(5)), unwatched())

    assert run_coroutine(together()) == [*([float(number)] * 20 for number in range(5)), True]


def test_points_are_named_by_their_place_in_the_order_of_building():
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.hook_b = HookPoint()
            self.linear = nn.Linear(1, 1)
            self.hook_a = HookPoint()

    model = nn.ModuleDict({"first": Part(), "second": nn.ModuleList([Part()])})
    points = named_hook_points(model)
    assert list(points) == ["first.hook_b", "first.hook_a", "second.0.hook_b", "second.0.hook_a"]
    assert all(model.get_submodule(name) is point for name, point in points.items())


def test_a_source_point_is_no_site_and_can_be_watched():
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.hook_a, self.source = HookPoint(), LazyPatternPoint()

    model = nn.ModuleDict({"part": Part()})
    source = model.get_submodule("part.source")
    assert list(named_hook_points(model)) == ["part.hook_a"]
    assert named_lazy_points(model) == {"part.source": source} and isinstance(source, LazyPatternPoint)
    seen: list[object] = []
    with active_hooks({source: lambda value: seen.append(value) or value}):
        assert has_hooks(source) and source("ingredients") == "ingredients"
    assert seen == ["ingredients"] and not has_hooks(source)


def test_has_any_hooks():
    assert not has_any_hooks()
    with active_hooks({}):
        assert not has_any_hooks()
    with active_hooks({HookPoint(): add(1)}):
        assert has_any_hooks()
    assert not has_any_hooks()


def test_where_the_positions_begin_that_are_read():
    """Each context has its own; 0 where nobody said anything."""
    seen: list[int] = []
    with reading_from(5):
        with pytest.raises(ZeroDivisionError), reading_from(7):
            assert position_offset() == 7
            raise ZeroDivisionError
        assert position_offset() == 5
        thread = threading.Thread(target=lambda: seen.append(position_offset()))
        thread.start()
        thread.join()
    assert seen == [0] and position_offset() == 0
