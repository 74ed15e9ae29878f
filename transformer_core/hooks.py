"""Hook points: identity modules at which handlers read or replace activations.

A site is one line in a `forward`, `pattern = self.hook_pattern(pattern)  # [batch, head, query, key]`, and its name is
its module path (`encoder.blocks.0.self_attn.hook_pattern`), as in TransformerLens (Nanda and Bloom 2022).

Active handlers are stored in a context variable, not on the model: each thread or async task sees only its own
handlers, so all sessions of a server can share a model.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, TypeVar

import torch
from torch import nn
from torch.compiler import is_compiling

from transformer_core.arguments import check_kind
from transformer_core.errors import Message

Handler = Callable[[Any], Any]
"""Takes the value at a site, a tensor, and returns the value with which the model continues."""

HookValue = TypeVar("HookValue")


class HookPoint(nn.Module):
    """The identity function, or the active handlers of this site in order of registration."""

    def forward(self, value: HookValue) -> HookValue:
        """Return `value` itself, or the output of the active handlers."""
        active = None if is_compiling() else _active_handlers.get()
        if active is not None:
            for handler in active.get(self, ()):
                value = handler(value)
        return value

    def __call__(self, value: HookValue) -> HookValue:
        """Return `forward(value)`; torch's call machinery runs only if torch hooks are registered."""
        return super().__call__(value) if self.has_torch_hooks else self.forward(value)

    @property
    def has_torch_hooks(self) -> bool:
        """Whether a forward or backward hook of torch is registered here."""
        return bool(self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks)


class LazyPatternPoint(HookPoint):
    """Passes the inputs of a pattern to lazy captures; not a site itself."""


Handlers = Mapping[HookPoint, tuple[Handler, ...]]

_active_handlers: ContextVar[Handlers | None] = ContextVar("active_handlers", default=None)
_position_offset: ContextVar[int] = ContextVar("position_offset", default=0)


def has_hooks(*hook_points: HookPoint) -> bool:
    """Return whether a hook is active at any of these hook points in this context, so its value must be computed."""
    active = (None if is_compiling() else _active_handlers.get()) or {}
    return any(hook_point in active or hook_point.has_torch_hooks for hook_point in hook_points)


def has_any_hooks() -> bool:
    """Return whether any hook is active in this context."""
    return bool(_active_handlers.get())


@contextmanager
def active_hooks(handlers: Mapping[HookPoint, Handler]) -> Iterator[None]:
    """Activate handlers within this context, after those that are already active.

    Compiled models run eagerly meanwhile, so that every hook point is called. Do not yield from a generator inside this
    block: as with `torch.no_grad`, the handlers would stay active for its caller.
    """
    active = dict(_active_handlers.get() or {})
    for hook_point, handler in handlers.items():
        active[hook_point] = (*active.get(hook_point, ()), handler)
    token = _active_handlers.set(active)
    try:
        with _EAGER.running():
            yield
    finally:
        _active_handlers.reset(token)


class _EagerExecution:
    """Runs compiled models eagerly while at least one context needs it; contexts of several threads may overlap."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_contexts = 0
        self._stance: Any = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run compiled models eagerly in the whole process; this costs nothing if none has been compiled yet."""
        if "torch._dynamo" not in sys.modules:
            yield
            return
        with self._lock:
            if self._n_contexts == 0:
                self._stance = torch.compiler.set_stance("force_eager")
            self._n_contexts += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_contexts -= 1
                if self._n_contexts == 0:
                    self._stance.__exit__(None, None, None)


_EAGER = _EagerExecution()


def position_offset() -> int:
    """Return the position in the text of the first token of this forward pass: above 0 after cached tokens."""
    return _position_offset.get()


@contextmanager
def reading_from(position: int) -> Iterator[None]:
    """Set the position offset within this context."""
    token = _position_offset.set(position)
    try:
        yield
    finally:
        _position_offset.reset(token)


def uncompiled(model: nn.Module) -> nn.Module:
    """Return the module that `torch.compile` has wrapped, or `model` itself."""
    return getattr(model, "_orig_mod", model)


def named_hook_points(model: nn.Module) -> dict[str, HookPoint]:
    """Return every site of `model` by name, in the order of its modules.

    Raises:
        ArgumentError: it is not a torch module.
    """
    check_kind("model", model, nn.Module, Message("a model, such as the first value that tc.load returns"))
    return {name: module for name, module in uncompiled(model).named_modules() if type(module) is HookPoint}


def named_lazy_points(model: nn.Module) -> dict[str, LazyPatternPoint]:
    """Return every lazy pattern point of `model`, by name."""
    return {name: module for name, module in uncompiled(model).named_modules() if isinstance(module, LazyPatternPoint)}
