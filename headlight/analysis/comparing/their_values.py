"""The values inside another program's model: inputs and outputs of its modules, and its attention patterns."""

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode, resolve_name

_SOFTMAXES = ("torch.softmax", "torch.Tensor.softmax", "torch.nn.functional.softmax")


@dataclass(frozen=True, eq=False)
class TheirValues:
    """The values of one forward pass."""

    inputs: dict[str, list[Tensor]] = field(default_factory=dict)  # by module path, one per call
    outputs: dict[str, list[Tensor]] = field(default_factory=dict)
    patterns: list[Tensor] = field(default_factory=list)  # [batch, head, query, key], in order of computation


@contextmanager
def recording(model: nn.Module, modules: Collection[str]) -> Iterator[TheirValues]:
    """Record the values of `model` within a context, in evaluation mode; nothing remains on the model afterwards.

    A pattern is the softmax of a tensor with four axes, or is computed from the inputs of torch's fused attention.

    Args:
        model: any torch module.
        modules: paths of the modules whose inputs and outputs are kept.
    """
    values = TheirValues()
    was_training = {module: module.training for module in model.modules()}
    try:
        model.eval()
        with ExitStack() as stack:
            for name in modules:
                stack.enter_context(_hooked(model, name, values))
            with _Patterns(values.patterns):
                yield values
    finally:
        for module, training in was_training.items():
            module.training = training


def _hooked(model: nn.Module, name: str, values: TheirValues) -> Any:
    """Keep the input and the output of a module; of torch's attention, those of its last linear layer."""
    inputs, outputs = values.inputs.setdefault(name, []), values.outputs.setdefault(name, [])
    parent = model.get_submodule(name.rpartition(".")[0])
    if isinstance(parent, nn.MultiheadAttention):  # it never calls its out_proj
        return parent.register_forward_hook(lambda _, arguments, output: outputs.append(_first_tensor(output)))

    def keep(_: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any], output: Any) -> None:
        inputs.append(_first_tensor((*arguments, *named.values())))
        outputs.append(_first_tensor(output))

    return model.get_submodule(name).register_forward_hook(keep, with_kwargs=True)


def _first_tensor(value: Any) -> Tensor:
    """Return a copy of the first tensor of a value, which may be a tuple; the model may change it in place."""
    parts = value if isinstance(value, tuple | list) else (value,)
    return next((part.detach().clone() for part in parts if isinstance(part, Tensor)), torch.empty(0))


class _Patterns(TorchFunctionMode):
    """Keeps every attention pattern that is computed within its context."""

    def __init__(self, patterns: list[Tensor]) -> None:
        super().__init__()
        self._patterns = patterns

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the function, and keep the pattern if it computes one."""
        kwargs = kwargs or {}
        if func is F.multi_head_attention_forward:
            output, pattern = func(*args, **kwargs | {"need_weights": True, "average_attn_weights": False})
            self._patterns.append(pattern.detach())
            return output, pattern
        if func is F.scaled_dot_product_attention:
            self._patterns.append(_fused_pattern(*args, **kwargs).detach())
        output = func(*args, **kwargs)
        if isinstance(output, Tensor) and output.ndim == 4 and resolve_name(func) in _SOFTMAXES:
            self._patterns.append(output.detach())
        return output


def _fused_pattern(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return the pattern of torch's fused attention: its output with unit vectors as values."""
    units = torch.eye(k.shape[-2], dtype=q.dtype, device=q.device).expand(*k.shape[:-1], -1)
    return F.scaled_dot_product_attention(
        q, k, units, attn_mask=attn_mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
    )
