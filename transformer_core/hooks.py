"""Hook points: the places in a model where a person may look.

A site is one line in a `forward`, `pattern = self.hook_pattern(pattern)  # [batch, head, query, key]`, and its name is
its module path (`encoder.blocks.0.self_attn.hook_pattern`), with the stems of TransformerLens (Nanda and Bloom 2022).

Who looks is not written on the model but in a context variable: a thread, or an async task, sees its own handlers and
nobody else's, and a model can be shared by all sessions of a server.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from torch import nn
from torch.compiler import is_compiling

Handler = Callable[[Any], Any]
"""Takes the value at a site, a tensor, and returns the value that the model goes on with."""

Value = TypeVar("Value")


class HookPoint(nn.Module):
    """The identity, unless somebody is looking: then the value passes through their handlers in order of arrival."""

    def forward(self, value: Value) -> Value:
        """Return `value`, or what the active handlers of this site make of it.

        Args:
            value: any tensor of the forward pass.

        Returns:
            `value` itself (the same object) where nobody is looking.
        """
        active = None if is_compiling() else _active_handlers.get()
        if active is not None:
            for handler in active.get(self, ()):
                value = handler(value)
        return value

    __call__ = forward  # without nn.Module's call machinery: a site that nobody watches costs a tenth of a microsecond


class SourcePoint(HookPoint):
    """A place where the ingredients of a value pass, for who would compute it later; no site by itself."""


Handlers = Mapping[HookPoint, tuple[Handler, ...]]

_active_handlers: ContextVar[Handlers | None] = ContextVar("active_handlers", default=None)
_first_position: ContextVar[int] = ContextVar("first_position", default=0)


def is_watched(*hook_points: HookPoint) -> bool:
    """Return whether anybody in this context is looking at one of these sites, so that it has to be computed."""
    active = None if is_compiling() else _active_handlers.get()
    return active is not None and any(hook_point in active for hook_point in hook_points)


def is_anybody_looking() -> bool:
    """Return whether any site is watched in this context."""
    return bool(_active_handlers.get())


@contextmanager
def handling(handlers: Mapping[HookPoint, Handler]) -> Iterator[None]:
    """Let `handlers` act in this context, after those that are active already; the earlier state returns on leaving.

    Args:
        handlers: one function for each site.
    """
    active = dict(_active_handlers.get() or {})
    for hook_point, handler in handlers.items():
        active[hook_point] = (*active.get(hook_point, ()), handler)
    token = _active_handlers.set(active)
    try:
        yield
    finally:
        _active_handlers.reset(token)


def first_position() -> int:
    """Return where in the whole text the positions begin that are read now: above 0 behind what a cache keeps."""
    return _first_position.get()


@contextmanager
def reading_from(position: int) -> Iterator[None]:
    """Say to who looks where in the text the positions begin that are read in this context.

    Args:
        position: of the first of them, from 0.
    """
    token = _first_position.set(position)
    try:
        yield
    finally:
        _first_position.reset(token)


def named_hook_points(model: nn.Module) -> dict[str, HookPoint]:
    """Return every site of `model` by name, in the order in which the modules were built."""
    return {name: module for name, module in model.named_modules() if type(module) is HookPoint}


def named_source_points(model: nn.Module) -> dict[str, SourcePoint]:
    """Return every place of `model` where ingredients pass, by name."""
    return {name: module for name, module in model.named_modules() if isinstance(module, SourcePoint)}
