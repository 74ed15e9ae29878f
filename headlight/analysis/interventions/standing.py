"""A model in which a stack of interventions always acts: whatever runs it, sees their effects and nothing else."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from torch import Tensor, nn

from headlight.analysis.interventions.context import prepare
from headlight.analysis.interventions.records import Stack
from headlight.analysis.interventions.source_runs import SourceRuns
from headlight.analysis.trace.model_run import run_text
from transformer_core.hooks import HookPoint, position_offset
from transformer_core.instrument.intervene import Intervention, apply_interventions
from transformer_core.instrument.sites import Site
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Given, Tokenizer


def with_interventions(
    model: Transformer,
    tokenizer: Tokenizer,
    stack: Stack,
    text: Given = "",
    *,
    target: str | None = None,
    max_tokens: int = 64,
    max_new_tokens: int = 24,
) -> Transformer:
    """Return a model that shares the parameters of `model`, and in which the stack acts in every forward pass.

    Captures see the changed values, decoding with a cache is changed too, and `model` stays as it is.

    Args:
        model: in evaluation mode.
        tokenizer: the model's own.
        stack: what is changed.
        text: that the model will run on: its tokens are paired with those of the stack's other texts, if it has any.
        target: forced on an encoder-decoder, as in `run_text`.
        max_tokens: as in `run_text`.
        max_new_tokens: as in `run_text`.

    Raises:
        ConfigError: an entry that the model has no place for.
        InterventionError: a pattern of another shape.
        TextError: a text that the model cannot read.
    """
    room: dict[str, Any] = {"max_tokens": max_tokens, "max_new_tokens": max_new_tokens}
    run = run_text(model, tokenizer, text, target=target, **room) if stack.texts else None
    ready = prepare(model, tokenizer, stack, run=run, sources=SourceRuns(model, tokenizer, **room))
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    changed = deepcopy(model, shared)
    for name, chain in ready.hooks.items():
        attention = changed.get_submodule(name.rpartition(".")[0])
        point = changed.get_submodule(name)
        assert isinstance(point, HookPoint)
        point.register_forward_pre_hook(_Acting(name, chain, getattr(attention, "n_heads", None)))
    return changed


class _Acting:
    """Changes what passes a hook point, before anybody sees it."""

    def __init__(self, name: str, chain: Sequence[Intervention], n_heads: int | None) -> None:
        self._site, self._chain = Site(name=name, n_heads=n_heads), chain

    def __call__(self, _: nn.Module, values: tuple[Tensor]) -> tuple[Tensor]:
        first = 0 if self._site.is_of_memory else position_offset()
        site = Site(name=self._site.name, first=first, n_heads=self._site.n_heads)
        return (apply_interventions(values[0], site, self._chain),)
