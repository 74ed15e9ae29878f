"""Capture: keep the activations of chosen sites while a model runs."""

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Literal, TypeVar, overload

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_core.errors import ConfigError, Message, SiteError
from transformer_core.hooks import Handler, HookPoint, active_hooks, named_hook_points, named_lazy_points
from transformer_core.instrument.lazy import LazyPattern
from transformer_core.instrument.listing import as_html, as_text
from transformer_core.instrument.sites import check_reached, matching, sites
from transformer_core.model.attention import PatternInputs

Kept = TypeVar("Kept")


class ByName(Mapping[str, Kept]):
    """Captured values by site name, from the last forward pass; `each` returns those of all passes."""

    def __init__(self, *, every: bool = False) -> None:
        """Start empty; `every`: keep the values of every forward pass, not only of the last one."""
        self._values: dict[str, list[Kept]] = {}
        self._every = every

    def add(self, site: str, value: Kept) -> None:
        """Store a value; without `every`, it replaces the previous one."""
        kept = self._values.setdefault(site, [])
        if not self._every:
            kept.clear()
        kept.append(value)

    def each(self, site: str) -> tuple[Kept, ...]:
        """Return the values at a site, one per forward pass; without `every=True`, only the last."""
        return tuple(self._kept(site))

    def __getitem__(self, site: str) -> Kept:
        """Return the value at a site.

        Raises:
            KeyError: the site was not captured, or no forward pass has reached it yet.
        """
        return self._kept(site)[-1]

    def _kept(self, site: str) -> list[Kept]:
        if site not in self._values:
            raise KeyError(f"{site!r} was not captured; captured are: {', '.join(self._values) or 'none yet'}")
        return self._values[site]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in the order of the forward pass."""
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, site: object) -> bool:
        return site in self._values

    def __repr__(self) -> str:
        """Return a table of the sites, their shapes and sizes."""
        return as_text(type(self).__name__, self)

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return as_html(type(self).__name__, self)


class Activations(ByName[Tensor]):
    """Captured activations by site name, from the last forward pass; `each` returns those of all passes."""

    def stack(self, stem: str, *, attention: str | None = None) -> Float[Tensor, "layer ..."]:
        """Return the activations of one kind of site in all captured layers, stacked along a new first axis.

        >>> acts.stack("resid_post", attention="decoder").shape
        torch.Size([2, 1, 9, 128])

        Args:
            stem: of the site's name, such as "pattern" or "resid_post".
            attention: "encoder", "decoder" or "cross", as for `sites`; needed if several were captured.

        Raises:
            SiteError: no such site was captured, or the sites belong to several attentions or stacks.
        """
        names = [name for name in self if fnmatchcase(name, sites(stem, attention=attention))]
        kinds = {re.sub(r"(?<=\.)\d+(?=\.)", "*", name) for name in names}
        if len(kinds) != 1:
            raise SiteError(
                "{stem} was captured at {kinds}; only one kind of site can be stacked: specify the "
                "attention (encoder, decoder or cross)",
                stem=stem,
                kinds=", ".join(sorted(kinds)) or Message("no site"),
            )
        return torch.stack([self[name] for name in names])


class LazyActivations(ByName[Tensor | LazyPattern]):
    """The result of a lazy capture: patterns that are computed on demand, and tensors at all other sites."""

    @property
    def patterns(self) -> dict[str, LazyPattern]:
        """The patterns only, by site name."""
        return {name: value for name, value in self.items() if isinstance(value, LazyPattern)}


@overload
def capture(
    model: nn.Module, *wanted: str, detach: bool = True, lazy: Literal[False] = False, every: bool = False
) -> AbstractContextManager[Activations]: ...


@overload
def capture(
    model: nn.Module,
    *wanted: str,
    detach: bool = True,
    lazy: Literal[True],
    every: bool = False,
    overview: tuple[int, int] | None = None,
) -> AbstractContextManager[LazyActivations]: ...


@contextmanager
def capture(
    model: nn.Module,
    *wanted: str,
    detach: bool = True,
    lazy: bool = False,
    every: bool = False,
    overview: tuple[int, int] | None = None,
) -> Iterator[Any]:
    """Capture the activations of some sites of `model` within a context.

    The model itself is not changed: other threads that use it at the same time are not affected, and nothing remains
    after the context. Captures may be nested.

    >>> with capture(model, "*.hook_pattern") as acts:
    ...     logits = model(src, tgt)
    >>> acts["decoder.blocks.0.cross_attn.hook_pattern"].shape
    torch.Size([1, 4, 7, 9])

    For long texts, `lazy=True` keeps only the inputs of each pattern, in memory linear in the length, and
    `final_states` skips the logits, which would take more memory than all of these:

    >>> with capture(model, lazy=True, overview=(256, 256)) as acts:
    ...     model.final_states(tokens)
    >>> acts.patterns["decoder.blocks.0.self_attn.hook_pattern"].pooled((256, 256)).shape
    torch.Size([12, 256, 256])

    Captures and interventions at the same site act in order of entry: inside `intervene`, a capture keeps
    the output of the intervention; around it, the input. A lazy pattern is always the one that weights the values.

    Args:
        model: to capture from; a compiled model runs eagerly meanwhile.
        *wanted: names or globs ("encoder.*.hook_z", "*"), such as `site` and `sites` return; none: every pattern.
        detach: detach the activations from the autograd graph.
        lazy: keep a `LazyPattern` at sites named `hook_pattern`, and tensors at the others.
        every: keep the values of every forward pass, such as each step of decoding; see `each`.
        overview: pool each lazy pattern to this size while the model runs, for `LazyPattern.pooled`: afterwards it
            would be computed a second time. Where gradients are recorded, it is computed on request all the same.

    Returns:
        a context manager of the activations by name, filled as the model runs.

    Raises:
        ConfigError: an overview without `lazy`; from the model, one with a size below 1.
        SiteError: on entering: a name or glob that matches no site; the message names the nearest ones. On leaving: one
            whose sites no forward pass has reached: another model, a copy or another thread ran, or nothing.
    """
    if overview is not None and not lazy:
        raise ConfigError("only lazy patterns have an overview; set lazy=True as well")
    wanted = wanted or (sites("pattern"),)
    activations: ByName[Any] = LazyActivations(every=every) if lazy else Activations(every=every)
    sources = named_lazy_points(model) if lazy else {}
    handlers: dict[HookPoint, Handler] = {}
    for name, point in matching(named_hook_points(model), wanted).items():
        module, _, stem = name.rpartition("hook_")
        if lazy and stem == "pattern":
            handlers[sources[f"{module}pattern_inputs"]] = _keeping_lazily(activations, name, detach, overview)
        else:
            handlers[point] = _keeping(activations, name, detach)
    with active_hooks(handlers):
        yield activations
    check_reached(wanted, activations)


def _keeping(kept: ByName[Any], name: str, detach: bool) -> Handler:
    def keep(value: Tensor) -> Tensor:
        kept.add(name, value.detach() if detach else value)
        return value

    return keep


def _keeping_lazily(kept: ByName[Any], name: str, detach: bool, overview: tuple[int, int] | None) -> Handler:
    def keep(source: PatternInputs) -> PatternInputs:
        pattern = LazyPattern(source, detach=detach)
        kept.add(name, pattern)
        return source if overview is None else replace(source, attend=partial(pattern.attend, size=overview))

    return keep
