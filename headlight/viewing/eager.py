"""Run a model of the `transformers` library with its own eager attention, and restore everything afterwards.

Only eager attention returns its patterns: since version 5 the default, sdpa, returns an empty tuple.
"""

import re
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from transformer_core.errors import ArgumentError
from transformer_core.reasons import reason

_LAYER = re.compile(r"(?:^|\.)(\d+)(?:\.|$)")
_HOOKED = "_output_capturing_hooks_installed"  # set by transformers, together with hooks that stay

_locks: weakref.WeakKeyDictionary[nn.Module, threading.Lock] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Layer:
    """A layer of a model, one of a list of modules."""

    stack: str  # module path of the list
    number: int  # in the list


@dataclass
class Watched:
    """What a forward pass computed within a model.

    Attributes:
        outputs: the output of each part that is a model itself, by module path; the innermost parts first.
    """

    outputs: dict[str, Any] = field(default_factory=dict)
    _sources: list[tuple[weakref.ref[Tensor], str]] = field(default_factory=list)

    def layer_of(self, pattern: Tensor) -> Layer | None:
        """Return the layer that computed a tensor; None if it was computed outside of a list of modules."""
        path = next((path for source, path in self._sources if source() is pattern), "")
        match = _LAYER.search(path)
        return Layer(path[: match.start()], int(match[1])) if match else None


@contextmanager
def eager_attention(model: nn.Module) -> Iterator[Watched]:
    """Switch a model and its parts to eager attention and evaluation mode, and record what it computes.

    Attention, configurations, training mode, hooks and the random numbers are restored, also after an error. Of several
    threads, one at a time uses a model.

    Args:
        model: of the `transformers` library.

    Raises:
        ArgumentError: the model cannot be switched.
    """
    with alone(model):
        yield from _switched(model)


@contextmanager
def alone(model: nn.Module) -> Iterator[None]:
    """Wait until no other thread uses a model within this context: what it computes would be recorded for both."""
    with _locks.setdefault(model, threading.Lock()):
        yield


def _switched(model: nn.Module) -> Iterator[Watched]:
    from transformers import PreTrainedModel
    from transformers.utils import logging

    configs = _configs(model)
    settings = [(config, config._attn_implementation_internal, config._output_attentions) for config in configs]
    modules = dict(model.named_modules())
    training = {path: module.training for path, module in modules.items()}
    hooks = {path: set(module._forward_hooks) for path, module in modules.items()}
    hooked = [module for module in modules.values() if getattr(module, _HOOKED, False)]
    watched, handles, verbosity = Watched(), [], logging.get_verbosity()
    devices = sorted({p.device.index or 0 for p in model.parameters() if p.device.type == "cuda"})
    try:
        logging.set_verbosity_error()
        try:
            model.set_attn_implementation("eager")  # type: ignore[operator]
            for config in configs:
                config._attn_implementation_internal, config._output_attentions = "eager", True
        except (ImportError, ValueError) as error:
            raise ArgumentError(
                "{model} cannot be switched to eager attention, which alone returns its patterns ({error})",
                model=type(model).__name__,
                error=reason(error),
            ) from error
        for path, module in modules.items():
            is_part = isinstance(module, PreTrainedModel)
            handles.append(module.register_forward_hook(_recorder(watched, path, is_part=is_part)))
        model.eval()
        with torch.random.fork_rng(devices), torch.no_grad():
            yield watched
    finally:
        logging.set_verbosity(verbosity)
        for handle in handles:
            handle.remove()
        for path, module in modules.items():
            module.training = training[path]
            for key in set(module._forward_hooks) - hooks[path]:  # those of transformers
                del module._forward_hooks[key]
            if hasattr(module, _HOOKED) and module not in hooked:
                delattr(module, _HOOKED)
        for config, implementation, returns_attentions in settings:
            config._attn_implementation_internal, config._output_attentions = implementation, returns_attentions


def _configs(model: nn.Module) -> list[Any]:
    """Return all configurations of a model and its parts, each once."""
    from transformers import PreTrainedModel

    to_visit = [module.config for module in model.modules() if isinstance(module, PreTrainedModel)]
    results: dict[int, Any] = {}
    while to_visit:
        config = to_visit.pop()
        if id(config) not in results:
            results[id(config)] = config
            parts = [getattr(config, name, None) for name in config.sub_configs]
            to_visit += [part for part in parts if part is not None]
    return [*results.values()]


def _recorder(watched: Watched, path: str, *, is_part: bool) -> Any:
    """Return a forward hook that records the output of a part, and the module of each tensor that may be patterns."""

    def record(module: nn.Module, inputs: Any, output: Any) -> None:
        if is_part and hasattr(output, "items"):
            watched.outputs[path] = output
        tensors = output if isinstance(output, tuple | list) else (output,)
        watched._sources.extend(
            (weakref.ref(tensor), path) for tensor in tensors if isinstance(tensor, Tensor) and tensor.ndim == 4
        )

    return record
