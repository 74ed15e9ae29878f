"""Two implementations of one model, side by side: where do they first differ?"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from headlight.analysis.comparing.their_values import TheirValues, recording
from headlight.analysis.trace.viewed_model import SHOW
from headlight.analysis.walkthrough.proving import TOLERANCES
from transformer_core.checkpoints.module_pairs import ModulePair, module_pairs
from transformer_core.errors import ArgumentError, CheckpointError, UnsupportedModelError
from transformer_core.hooks import active_hooks, named_hook_points
from transformer_core.model.transformer import Transformer, check_model

Real = Bool[Tensor, "batch pos"]
"""Where a text is not padding."""

_NOT_COMPARED = ("hook_result", "hook_attn_scores", "hook_mask")  # sites without a counterpart


@dataclass(frozen=True, kw_only=True)
class SiteDifference:
    """The largest difference between the two models at one site, at tokens other than padding."""

    site: str  # ours: the name of a hook point, or the path of a module
    theirs: str  # path of their module, or a description
    largest: float  # absolute difference; infinite if one of the values is NaN
    size: float  # largest absolute value of ours
    tolerance: float  # for values of this size

    @property
    def differs(self) -> bool:
        """Whether the difference is larger than the tolerance."""
        return not self.largest <= self.tolerance


@dataclass(frozen=True, kw_only=True)
class ModelComparison:
    """The differences between two models on the same tokens, in the order of the forward pass."""

    sites: tuple[SiteDifference, ...]

    @property
    def first(self) -> SiteDifference | None:
        """The first site that differs; None if all sites agree."""
        return next((site for site in self.sites if site.differs), None)

    def __str__(self) -> str:
        """Return one line per site, and the result."""
        width = max(len(site.site) for site in self.sites)
        lines = [
            f"{site.site:<{width}}  {site.largest:.1e}{'  differs' if site.differs else ''}" for site in self.sites
        ]
        largest = max(site.largest for site in self.sites)
        if self.first is None:
            return "\n".join([*lines, f"No difference: at most {largest:.1e} at {len(self.sites)} sites."])
        return "\n".join([*lines, f"The first difference is at {self.first.site}, after {self.first.theirs}."])


def compare_models(
    ours: Transformer,
    theirs: nn.Module,
    *tokens: Int[Tensor, "batch _"],
    run: Callable[..., Any] | None = None,
    options: Mapping[str, Any] | None = None,
    tolerance: float | None = None,
) -> ModelComparison:
    """Run another program's model and ours on the same tokens, and compare the values inside.

    Modules are matched by the table of keys that converted the weights. Compared are inputs and outputs of linear
    layers and normalizations, attention patterns, and logits.

    >>> ours, _ = tc.load("out/ckpt.pt")
    >>> print(hl.compare_models(ours, theirs, torch.randint(65, (1, 80))))

    Args:
        ours: the imported model.
        theirs: a model of the class that the weights belong to, with these weights; it is not changed.
        *tokens: one text, or source and target. They should be longer than a sliding window and than the distances of
            relative positions, as some errors show only there.
        run: called with their model and the tokens, and returns the logits. None: `theirs(*tokens)`, whose first result
            are the logits; models of the `transformers` library are called with an attention mask.
        options: as for `tc.load`, where importing these weights needed a mapping, or an option that is not in the
            configuration.
        tolerance: for values of size 1; larger values get proportionally more. None: by the precision of ours, as in
            the proof on the Steps page.

    Raises:
        CheckpointError: their model has no known layout, or lacks weights of ours.
        ArgumentError: the two have no value in common that could be compared.
    """
    check_model(ours)
    try:
        pairs = {pair.ours: pair for pair in module_pairs(ours, theirs, options)}
    except UnsupportedModelError as error:
        raise CheckpointError(SHOW, error=error) from error
    real = [_is_real(text, ours.config.pad_id) for text in tokens]
    run = run or (_run_of_library(real) if hasattr(getattr(theirs, "config", None), "to_dict") else _run)
    dtype = str(next(ours.parameters()).dtype).removeprefix("torch.")
    tolerance = TOLERANCES[dtype] if tolerance is None else tolerance
    with torch.no_grad():  # in inference mode, theirs could not be trained with what it caches, such as masks
        with recording(theirs, {pair.theirs for pair in pairs.values()}) as their_values:
            their_logits = run(theirs, *tokens)
        values, logits = _record(ours, tokens, pairs)
        matched = [*_matched(values, pairs, their_values), *_logits(logits, their_logits)]
        sites = tuple(
            _difference(match, aligned, real, tolerance)
            for match in matched
            if (aligned := _aligned(match.theirs, match.ours)) is not None
        )
    if not sites:
        raise ArgumentError("the two models have no value in common; check that theirs is the model of these weights")
    return ModelComparison(sites=sites)


class _Value(NamedTuple):
    """A value of ours: a module's input or output, or a pattern."""

    module: str
    kind: str  # "input", "output" or "pattern"
    value: Tensor
    site: str  # the name of the hook point that it passes, or of the module


class _Match(NamedTuple):
    """The same value in both models."""

    ours: Tensor
    theirs: Tensor
    site: str
    their_site: str


def _run(theirs: nn.Module, *tokens: Tensor) -> Any:
    return theirs(*tokens)


def _run_of_library(real: Sequence[Real]) -> Callable[..., Any]:
    """Return a function that runs a model of the `transformers` library."""

    def run(theirs: nn.Module, *tokens: Tensor) -> Any:
        inputs = {"input_ids": tokens[0], "attention_mask": real[0].long()}
        if len(tokens) > 1:
            inputs |= {"decoder_input_ids": tokens[1], "decoder_attention_mask": real[1].long()}
        output = theirs(**inputs)
        return next((output[name] for name in ("logits", "prediction_logits") if name in output), None)

    return run


def _is_real(tokens: Tensor, pad_id: int | None) -> Real:
    """Return where a text is not padding; its first token always counts."""
    real = torch.ones_like(tokens, dtype=torch.bool) if pad_id is None else tokens != pad_id
    real[:, 0] = True
    return real


def _record(
    ours: Transformer, tokens: Sequence[Tensor], modules: Mapping[str, ModulePair]
) -> tuple[list[_Value], Tensor | None]:
    """Return the values of our model, in the order of the forward pass, and its logits."""
    values: list[_Value] = []
    at_hooks: list[tuple[str, Tensor]] = []
    points = {name: point for name, point in named_hook_points(ours).items() if not name.endswith(_NOT_COMPARED)}

    def at_hook(name: str) -> Callable[[Tensor], Tensor]:
        def keep(value: Tensor) -> Tensor:
            if name.endswith("hook_pattern"):
                values.append(_Value(name, "pattern", value, name))
            at_hooks.append((name, value))
            return value

        return keep

    def at_module(name: str) -> Callable[..., None]:
        def keep(_: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> None:
            values.append(_Value(name, "input", arguments[0], f"{name} (input)"))
            values.append(_Value(name, "output", output, name))

        return keep

    with ExitStack() as stack:
        for name in modules:
            stack.enter_context(ours.get_submodule(name).register_forward_hook(at_module(name)))
        stack.enter_context(active_hooks({point: at_hook(name) for name, point in points.items()}))
        logits = ours(*tokens) if ours.config.unembed else None
        if logits is None:
            ours.final_states(*tokens)
    site_of = {id(value): name for name, value in at_hooks}
    site_of |= {id(one.value): f"{one.module.removesuffix('out')}hook_z" for one in values if _is_z(one)}
    return [one._replace(site=site_of.get(id(one.value), one.site)) for one in values], logits


def _is_z(one: _Value) -> bool:
    """Return whether a value is the concatenation of all heads."""
    return one.kind == "input" and one.module.endswith("_attn.out")


def _matched(values: Sequence[_Value], pairs: Mapping[str, ModulePair], their_values: TheirValues) -> Iterator[_Match]:
    """Yield each value of ours with theirs; the same tensor is compared once."""
    n_calls: Counter[tuple[str, str, str]] = Counter()  # of modules, also of those that several of our layers share
    seen: set[int] = set()
    patterns = [one for one in values if one.kind == "pattern"]
    their_patterns = iter(their_values.patterns if len(their_values.patterns) == len(patterns) else ())
    for one in values:
        if one.kind == "pattern":
            if (pattern := next(their_patterns, None)) is not None:
                yield _Match(one.value, pattern, one.site, "softmax")
            continue
        pair = pairs[one.module]
        calls = (their_values.inputs if one.kind == "input" else their_values.outputs)[pair.theirs]
        key = (pair.theirs, one.kind, re.sub(r"\d+", "*", one.module))
        n_calls[key] += 1
        if id(one.value) in seen or n_calls[key] > len(calls):
            continue
        value = calls[n_calls[key] - 1]
        if (part := pair.part_of(value) if one.kind == "output" else value) is not None:
            seen.add(id(one.value))
            yield _Match(one.value, part, one.site, f"{pair.theirs} ({one.kind})")


def _logits(ours: Tensor | None, theirs: Any) -> Iterator[_Match]:
    """Yield the logits of both models, if both return them; theirs may be of the last position only, as nanoGPT's."""
    value = next((part for part in theirs if isinstance(part, Tensor)), None) if isinstance(theirs, tuple) else theirs
    if ours is not None and isinstance(value, Tensor) and value.ndim == ours.ndim:
        yield _Match(ours[:, -1:] if value.shape[1] == 1 else ours, value, "hook_logits", "logits")


def _aligned(theirs: Tensor, ours: Tensor) -> Tensor | None:
    """Return their value with the axes of ours; None if it has another size."""
    if theirs.shape == ours.shape:
        return theirs
    if theirs.ndim == ours.ndim == 3 and theirs.transpose(0, 1).shape == ours.shape:  # [pos, batch, width]
        return theirs.transpose(0, 1)
    return theirs.reshape(ours.shape) if theirs.numel() == ours.numel() else None


def _difference(match: _Match, theirs: Tensor, real: Sequence[Real], tolerance: float) -> SiteDifference:
    """Return the largest difference at one site, without rows of padding."""
    is_of_source = match.site.startswith("encoder.") or match.site.endswith(("cross_attn.k", "cross_attn.v"))
    rows = real[0 if is_of_source else -1]
    ours, theirs = (value.transpose(1, 2) if match.their_site == "softmax" else value for value in (match.ours, theirs))
    if ours.shape[1] == rows.shape[1]:
        ours, theirs = ours[rows], theirs[rows]
    largest = float((ours - theirs.to(ours.device)).abs().amax())  # NaN where one of the values is
    size = float(ours.abs().amax())
    return SiteDifference(
        site=match.site,
        theirs=match.their_site,
        largest=math.inf if math.isnan(largest) else largest,
        size=size,
        tolerance=tolerance * (1 + size),
    )
