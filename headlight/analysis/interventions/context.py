"""The one context in which a model runs with a stack of interventions: records become hooks, source runs are captured.

>>> base = run_text(model, tokenizer, "The animal didn't cross the street because it was too tired.")
>>> with applied(model, tokenizer, stack, run=base):
...     changed = run_text(model, tokenizer, "The animal didn't cross the street because it was too tired.")
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import local

import torch
from torch import Tensor

from headlight.analysis.interventions.checking import check_stack, head_count, side_of
from headlight.analysis.interventions.records import (
    STEMS,
    Ablation,
    CellEdit,
    Component,
    Entry,
    Patch,
    Stack,
    TokenSwap,
)
from headlight.analysis.interventions.source_runs import Pairing, SourceRun, SourceRuns, pair_positions
from headlight.analysis.trace.model_run import ModelRun
from transformer_core.errors import InterventionError
from transformer_core.instrument.edit import Edit
from transformer_core.instrument.intervene import Intervention, intervene
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
from transformer_core.instrument.selection import Cell
from transformer_core.instrument.sites import Site, site
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Given, Tokenizer

Hooks = dict[str, Intervention]
"""What acts at each site."""


@dataclass(frozen=True, kw_only=True)
class SourceUse:
    """Which positions of another text an entry takes its values from, for a page to show."""

    entry: int  # among the entries of the stack
    text: Given
    pairing: Pairing


@dataclass(frozen=True, kw_only=True, eq=False)
class Applied:
    """A stack that is ready to act on a model, with the values of its source runs.

    Attributes:
        hooks: by site, what acts there, in the order of the stack.
        source_uses: of the entries that take values from one other text.
        swaps: the enabled entries that replace input tokens.
    """

    model: Transformer
    hooks: Mapping[str, Sequence[Intervention]]
    source_uses: tuple[SourceUse, ...]
    swaps: tuple[TokenSwap, ...]

    @contextmanager
    def active(self, *, is_checked: bool = True) -> Iterator[None]:
        """Run the model with the stack while the context lasts.

        Args:
            is_checked: as for `intervene`.

        Raises:
            InterventionError: on leaving after a single forward pass: an entry names a position that the text has not.
        """
        with intervene(self.model, self.hooks, is_checked=is_checked):
            yield

    def inputs(self, inputs: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        """Return the tokens of a text, and of the decoder's input, with those that are swapped.

        Within the context the model reads the swapped tokens whichever of both it is given.
        """
        sides = [[*ids] for ids in inputs]
        for swap in self.swaps:
            ids = sides[0 if swap.side == "source" else -1]
            for position, token in zip(swap.positions, swap.tokens, strict=True):
                if position < len(ids):
                    ids[position] = token
        return tuple(map(tuple, sides))


@contextmanager
def applied(
    model: Transformer,
    tokenizer: Tokenizer,
    stack: Stack,
    *,
    run: ModelRun | None = None,
    sources: SourceRuns | None = None,
) -> Iterator[Applied]:
    """Run a model with a stack of interventions while the context lasts; other threads see nothing of it.

    Source runs are captured once, on entering, and without the stack: what an earlier entry changes is not changed in
    them. (An outer `intervene` or `applied` does act in those that `sources` does not know yet.) While decoding, edits
    go by the positions of the whole text, with a cache and without.

    Args:
        model: in evaluation mode.
        tokenizer: the model's own.
        stack: what is changed; disabled entries do nothing, and with none enabled not a bit changes.
        run: the text that the model runs on, without the stack: its tokens are paired with those of source runs.
        sources: keeps source runs from one call to the next; None: they are made anew, with as much room for tokens as
            `run_text` takes by itself. With other room, give sources with that.

    Yields:
        The stack as it acts: `source_uses` says which positions were paired, and how.

    Raises:
        ConfigError: an entry that the model has no place for.
        InterventionError: an entry takes values from another text, and `run` is missing; or a pattern of another shape.
        TextError: a source text that the model cannot read.
    """
    ready = prepare(model, tokenizer, stack, run=run, sources=sources)
    with ready.active():
        yield ready


def prepare(
    model: Transformer,
    tokenizer: Tokenizer,
    stack: Stack,
    *,
    run: ModelRun | None = None,
    sources: SourceRuns | None = None,
) -> Applied:
    """Return a stack that is ready to act, its source runs captured; arguments and errors are those of `applied`."""
    check_stack(model.config, stack)
    sources = sources or SourceRuns(model, tokenizer)
    hooks: dict[str, list[Intervention]] = {}
    uses: list[SourceUse] = []
    for index, entry in enumerate(stack.entries):
        if entry.enabled:
            for name, intervention in _hooks_of(model, entry, run, sources, uses, index).items():
                hooks.setdefault(name, []).append(intervention)
    swaps = tuple(entry for entry in stack.enabled if isinstance(entry, TokenSwap))
    return Applied(model=model, hooks=hooks, source_uses=tuple(uses), swaps=swaps)


def _hooks_of(
    model: Transformer, entry: Entry, run: ModelRun | None, sources: SourceRuns, uses: list[SourceUse], index: int
) -> Hooks:
    """Return what one entry does, and note what it takes from another text."""
    match entry:
        case TokenSwap():
            return _swapping(model, entry)
        case CellEdit():
            return _editing_cells(entry)
        case Ablation(component=component, method="zero"):
            name = site(STEMS[component.kind], layer=component.layer, attention=component.attention)
            return {name: zero(heads=component.heads, positions=component.positions)}
        case Ablation(component=component) if entry.constant:
            name = site(STEMS[component.kind], layer=component.layer, attention=component.attention)
            value = constant_value(model, component, torch.tensor(entry.constant))
            return {name: replace(value, heads=component.heads, positions=component.positions)}
        case Ablation(component=component, method="mean", texts=texts):
            name = site(STEMS[component.kind], layer=component.layer, attention=component.attention)
            acts = [sources.activations(sources.run(text), [name])[name] for text in texts]
            means = average({name: torch.cat(acts, dim=-2)}, heads=component.heads, positions=component.positions)
            return {name: means}
        case Ablation(component=component, texts=(text,)) | Patch(component=component, text=text):
            name = site(STEMS[component.kind], layer=component.layer, attention=component.attention)
            if run is None:
                raise InterventionError(
                    "an intervention that takes values from another text needs the run that they are put into, to pair "
                    "the positions of both; give run"
                )
            there = sources.run(text, entry.continuation if isinstance(entry, Patch) else "own", here=run)
            pairing = pair_positions(SourceRun.of(run), there, side_of(component))
            acts_there = sources.activations(there, [name])
            uses.append(SourceUse(entry=index, text=text, pairing=pairing))
            if component.kind == "pattern":
                _check_shapes(acts_there[name], run, component.attention)
                return {name: patch(acts_there, heads=component.heads, positions=component.positions)}
            return {
                name: resample(
                    acts_there,
                    seed=entry.seed,
                    aligned=pairing.positions,
                    heads=component.heads,
                    positions=component.positions,
                )
            }
    raise AssertionError("a stack checks the kinds of its entries")


def constant_value(model: Transformer, component: Component, constant: Tensor) -> Tensor:
    """Return the numbers of a constant as they broadcast to the activation that they replace.

    Args:
        model: whose activation it is.
        component: that is replaced.
        constant: one vector for each head that is named, one after the other; or one for a whole sub-layer.

    Returns:
        [head, 1, d_head], 0 for heads that are not named; or [1, d_model].
    """
    if component.kind not in ("head", "query", "key", "value"):
        return constant[None]
    n_heads = head_count(model.config, component)
    heads = torch.tensor(component.heads or range(n_heads), device=constant.device)
    values = constant.new_zeros(n_heads, model.config.d_head)
    return values.index_copy(0, heads, constant.view(len(heads), -1))[:, None]


def _check_shapes(there: Tensor, run: ModelRun, attention: str) -> None:
    """Check that a pattern of another run has as many queries and keys."""
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
    """Let a stack read other tokens: replace the embeddings that were looked up."""
    name = "encoder" if entry.side == "source" else "decoder"
    embed = model.get_submodule(f"{name}.embed")
    device = next(embed.parameters()).device
    rows = embed(torch.tensor([entry.tokens], device=device))[0]  # [swapped, d_model]
    values = rows.new_zeros(max(entry.positions) + 1, rows.shape[-1])
    values[[*entry.positions]] = rows
    return {f"{name}.hook_embed": replace(values, positions=entry.positions)}


def _editing_cells(entry: CellEdit) -> Hooks:
    """Edit scores, or the pattern that they give."""
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
    """Set cells where the mask allows them: a pattern alone does not say whether a 0 is forbidden."""
    filled = set_cells(dict.fromkeys(cells, float(entry.number or 0)), renormalize=entry.renormalize)
    of_forward = local()  # a forward pass stays in its thread

    def note_allowed(value: Tensor, _: Site) -> Tensor:
        of_forward.is_allowed = value > -torch.inf
        return value

    def set_allowed(value: Tensor, at: Site) -> Tensor:
        return torch.where(of_forward.is_allowed, filled.new_value(value, at), value)

    return {scores: note_allowed, pattern: Edit(filled.selection, set_allowed, entry.renormalize)}
