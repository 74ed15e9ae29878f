"""The matrix products of a training step and nothing else: what the machine would need if all the rest were free."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.benchmarks.interleaved import Row, speed_up

PRODUCTS_ALONE = "the matrix products alone"

_PRODUCTS = {
    torch.ops.aten.mm.default: 0,
    torch.ops.aten.addmm.default: 1,
    torch.ops.aten.bmm.default: 0,
    torch.ops.aten.baddbmm.default: 1,
}  # operations that are one product, and which of their arguments is its first factor
_ATTENTION = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_ATTENTION_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default


class Product(NamedTuple):
    """Two factors, as they lie in memory."""

    shapes: tuple[torch.Size, torch.Size]
    strides: tuple[tuple[int, ...], tuple[int, ...]]


class _Recorder(TorchDispatchMode):
    """Writes down the products of all operations, those inside the attention kernel too."""

    def __init__(self) -> None:
        super().__init__()
        self.products: list[Product] = []

    def __torch_dispatch__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in _PRODUCTS:
            first = _PRODUCTS[func]
            self._add(args[first], args[first + 1])
        elif func is _ATTENTION:
            q, k, v = (x.detach().flatten(0, 1).contiguous() for x in args[:3])  # [batch * head, pos, d_head]
            pattern = q.new_empty(q.shape[0], q.shape[1], k.shape[1])
            self._add(q, k.transpose(1, 2))
            self._add(pattern, v)
        elif func is _ATTENTION_BACKWARD:
            grad, q, k, v = (x.detach().flatten(0, 1).contiguous() for x in args[:4])
            pattern = q.new_empty(q.shape[0], q.shape[1], k.shape[1])
            self._add(grad, v.transpose(1, 2))  # of the pattern
            self._add(pattern.transpose(1, 2), grad)  # of v
            self._add(pattern, k)  # of q
            self._add(pattern.transpose(1, 2), q)  # of k
        return func(*args, **(kwargs or {}))

    def _add(self, a: Tensor, b: Tensor) -> None:
        self.products.append(Product((a.shape, b.shape), (a.stride(), b.stride())))


def products_of(step: Callable[[], object]) -> Callable[[], None]:
    """Run a step once, and return a function that takes its matrix products alone, forward and backward.

    Each has factors and a result of its own, as it has them in the step.
    """
    with _Recorder() as recorder:
        step()
    products = []
    for shapes, strides in recorder.products:
        a, b = (torch.empty_strided(*layout).normal_() for layout in zip(shapes, strides, strict=True))
        multiply = torch.mm if a.dim() == 2 else torch.bmm
        products.append((multiply, a, b, multiply(a, b)))

    def take_products() -> None:
        for multiply, a, b, result in products:
            multiply(a, b, out=result)

    return take_products


def beside_products(lines: list[Row], times: Mapping[str, list[float]]) -> list[Row]:
    """Return the rows, with a note at the products alone: how many times as long each contestant takes."""
    ratios = {name: speed_up(values, times[PRODUCTS_ALONE]) for name, values in times.items() if name != PRODUCTS_ALONE}
    note = "; ".join(f"{name}: {ratio:.2f} times as long" for name, ratio in ratios.items())
    return [replace(row, note=note) if row.name == PRODUCTS_ALONE else row for row in lines]
