"""Run a model with a stack of interventions: records become hooks, and source runs are captured.

>>> base = run_text(model, tokenizer, "The animal didn't cross the street because it was too tired.")
>>> with prepare(model, tokenizer, stack, run=base).active():
...     changed = run_text(model, tokenizer, "The animal didn't cross the street because it was too tired.")
"""

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from threading import local
from typing import Any

import torch
from torch import Tensor, nn

from headlight.analysis.interventions.records import (
    Ablation,
    CellEdit,
    Component,
    InterventionStack,
    Patch,
    StackEntry,
    TokenSwap,
)
from headlight.analysis.interventions.source_runs import SourceRuns, pair_positions, site_of
from headlight.analysis.interventions.stacks import check_stack, head_count, side_of
from headlight.analysis.trace.model_run import ModelRun, run_text
from transformer_core.errors import InterventionError
from transformer_core.hooks import HookPoint, position_offset
from transformer_core.instrument.intervene import Intervention, apply_interventions, intervene
from transformer_core.instrument.interventions import (
    average,
    knock_out,
    patch,
    replace,
    resample,
    scale,
    set_cells,
    zero,
)
from transformer_core.instrument.selection import Cell, Edit
from transformer_core.instrument.sites import Site, site
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Given, Tokenizer

Hooks = dict[str, Intervention]
"""The hooks at each site."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Applied:
    """A stack that is ready to act on a model, with the values of its source runs.

    Attributes:
        hooks: the hooks at each site, in the order of the stack.
        pairings: for entries that take values from one other text, the positions that they take them from.
    """

    model: Transformer
    hooks: Mapping[str, Sequence[Intervention]]
    pairings: tuple[Mapping[int, int], ...]

    def active(self, *, is_checked: bool = True) -> AbstractContextManager[None]:
        """Run the model with the stack while the context lasts, in this thread alone; see `intervene`.

        While decoding, positions count from the start of the whole text, even with a cache. Token swaps act on the
        embeddings, so pass the text's own tokens to the model.
        """
        return intervene(self.model, self.hooks, is_checked=is_checked)


def prepare(
    model: Transformer,
    tokenizer: Tokenizer,
    stack: InterventionStack,
    *,
    run: ModelRun | None = None,
    sources: SourceRuns | None = None,
) -> Applied:
    """Return a stack that is ready to act: its source runs are captured, without the stack.

    (An outer `intervene` does act in source runs that `sources` does not hold yet.)

    Args:
        model: in evaluation mode.
        tokenizer: the model's own.
        stack: what is changed; disabled entries do nothing, and with none enabled not a bit changes.
        run: the run of the text without the stack: its tokens are paired with those of source runs.
        sources: keeps source runs from one call to the next; None: they are computed here, with the default limits of
            `run_text`. For other limits, give sources.

    Raises:
        ConfigError: an entry that the model has no place for.
        InterventionError: an entry takes values from another text, and `run` is missing; or a pattern of another shape.
        TextError: a source text that the model cannot read.
    """
    check_stack(model.config, stack)
    sources = sources or SourceRuns(tokenizer)
    hooks: dict[str, list[Intervention]] = {}
    pairings: list[Mapping[int, int]] = []
    for entry in stack.enabled:
        for name, intervention in _hooks_of(model, entry, run, sources, pairings).items():
            hooks.setdefault(name, []).append(intervention)
    return Applied(model=model, hooks=hooks, pairings=tuple(pairings))


def _hooks_of(
    model: Transformer, entry: StackEntry, run: ModelRun | None, sources: SourceRuns, pairings: list[Mapping[int, int]]
) -> Hooks:
    """Return the edits of one entry by site, and add the positions of another text that it uses to `pairings`."""
    if isinstance(entry, TokenSwap):
        return _swapping(model, entry)
    if isinstance(entry, CellEdit):
        return _editing_cells(entry)
    component, name = entry.component, site_of(entry.component)
    where: dict[str, Any] = {"heads": component.heads, "positions": component.positions}
    match entry:
        case Ablation(method="zero"):
            return {name: zero(**where)}
        case Ablation() if entry.constant:
            return {name: replace(constant_value(model, component, torch.tensor(entry.constant)), **where)}
        case Ablation(method="mean"):
            acts = [sources.activations(model, sources.run(model, text), [name])[name] for text in entry.texts]
            return {name: average({name: torch.cat(acts, dim=-2)}, **where)}
    text, continuation = (entry.text, entry.continuation) if isinstance(entry, Patch) else (entry.texts[0], "own")
    if run is None:
        raise InterventionError(
            "an intervention that takes values from another text needs the run that receives them, to pair "
            "the positions of both; give run"
        )
    there = sources.run(model, text, continuation, here=run)
    pairing = pair_positions(run, there, side_of(component))
    pairings.append(pairing)
    acts_there = sources.activations(model, there, [name])
    if component.kind == "pattern":
        _check_shapes(acts_there[name], run, component.attention)
        return {name: patch(acts_there, **where)}
    return {name: resample(acts_there, seed=entry.seed, aligned=pairing, **where)}


def constant_value(model: Transformer, component: Component, constant: Tensor) -> Tensor:
    """Return a constant in a shape that broadcasts to the activation that it replaces.

    Args:
        model: the model with the component.
        component: the component to replace.
        constant: one vector for each named head, concatenated; or one for a whole sub-layer.

    Returns:
        [head, 1, d_head], 0 for the other heads; or [1, d_model].
    """
    if component.kind not in ("head", "query", "key", "value"):
        return constant[None]
    n_heads = head_count(model.config, component)
    heads = torch.tensor(component.heads or range(n_heads), device=constant.device)
    values = constant.new_zeros(n_heads, model.config.d_head)
    return values.index_copy(0, heads, constant.view(len(heads), -1))[:, None]


def _check_shapes(there: Tensor, run: ModelRun, attention: str) -> None:
    here = tuple(map(len, run.labels(attention)))
    if there.shape[-2:] != here:
        raise InterventionError(
            "the other text has {queries_there} queries and {keys_there} keys where this one has {queries} and {keys}; "
            "a pattern can only be patched between texts of the same length",
            queries_there=there.shape[-2],
            keys_there=there.shape[-1],
            queries=here[0],
            keys=here[1],
        )


@torch.no_grad()
def _swapping(model: Transformer, entry: TokenSwap) -> Hooks:
    """Swap input tokens by replacing the embeddings that were looked up."""
    name = "encoder" if entry.side == "source" else "decoder"
    embed = model.get_submodule(f"{name}.embed")
    device = next(embed.parameters()).device
    rows = embed(torch.tensor([entry.tokens], device=device))[0]  # [swapped, d_model]
    values = rows.new_zeros(max(entry.positions) + 1, rows.shape[-1])
    values[[*entry.positions]] = rows
    return {f"{name}.hook_embed": replace(values, positions=entry.positions)}


def _editing_cells(entry: CellEdit) -> Hooks:
    """Edit the scores, or the pattern after the softmax."""
    cells = [(head, *cell) for head in entry.heads or (None,) for cell in entry.cells or ((None, None),)]
    pattern, scores = (site(stem, layer=entry.layer, attention=entry.attention) for stem in ("pattern", "attn_scores"))
    match entry.operation:
        case "knock_out":
            return {scores: knock_out(cells)}
        case "uniform":
            return {scores: replace(0.0, heads=entry.heads)}
        case "scale":
            return {pattern: scale(float(entry.number or 0), cells=cells, renormalize=entry.renormalize)}
    return _setting(scores, pattern, cells, entry)


def _setting(scores: str, pattern: str, cells: Sequence[Cell], entry: CellEdit) -> Hooks:
    """Set cells that the mask allows: a pattern alone does not tell a forbidden cell from a weight of 0."""
    filled = set_cells(dict.fromkeys(cells, float(entry.number or 0)), renormalize=entry.renormalize)
    of_forward = local()  # a forward pass stays in its thread

    def note_allowed(value: Tensor, _: Site) -> Tensor:
        of_forward.is_allowed = value > -torch.inf
        return value

    def set_allowed(value: Tensor, at: Site) -> Tensor:
        return torch.where(of_forward.is_allowed, filled.new_value(value, at), value)

    return {scores: note_allowed, pattern: Edit(filled.selection, set_allowed, entry.renormalize)}


def with_interventions(
    model: Transformer,
    tokenizer: Tokenizer,
    stack: InterventionStack,
    text: Given = "",
    *,
    target: str | None = None,
    max_tokens: int = 64,
    max_new_tokens: int = 24,
) -> Transformer:
    """Return a model that shares the parameters of `model`, and in which the stack acts in every forward pass.

    Captures see the changed values, decoding with a cache is changed too, and `model` itself is unchanged.

    Args:
        model: in evaluation mode.
        tokenizer: the model's own.
        stack: what is changed.
        text: the text that the model will run on; its tokens are paired with those of the stack's other texts, if any.
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
    ready = prepare(model, tokenizer, stack, run=run, sources=SourceRuns(tokenizer, **room))
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    changed = deepcopy(model, shared)
    for name, chain in ready.hooks.items():
        point = changed.get_submodule(name)
        assert isinstance(point, HookPoint)
        n_heads = getattr(changed.get_submodule(name.rpartition(".")[0]), "n_heads", None)
        point.register_forward_pre_hook(partial(_act, Site(name=name, n_heads=n_heads), chain))
    return changed


def _act(site: Site, chain: Sequence[Intervention], _: nn.Module, values: tuple[Tensor]) -> tuple[Tensor]:
    """Change the value at a hook point, before any handler receives it."""
    first = 0 if site.is_of_memory else position_offset()
    return (apply_interventions(values[0], dataclasses.replace(site, first=first), chain),)
