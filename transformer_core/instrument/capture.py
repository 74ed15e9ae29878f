"""Capture: keep the activations of chosen sites while a model runs."""

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeVar, overload

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_core.errors import Message, SiteError
from transformer_core.hooks import Handler, HookPoint, active_hooks, named_hook_points, named_lazy_points
from transformer_core.instrument.lazy import LazyPattern
from transformer_core.instrument.sites import check_reached, matching, sites
from transformer_core.model.attention import PatternInputs

Kept = TypeVar("Kept")


class ByName(Mapping[str, Kept]):
    """What a capture has kept, by the name of the site; of several forward passes, the last, unless `each` is asked."""

    def __init__(self, *, every: bool = False) -> None:
        """Start empty; `capture` fills it.

        Args:
            every: keep the values of every forward pass, and not of the last one only.
        """
        self._values: dict[str, list[Kept]] = {}
        self._every = every

    def add(self, site: str, value: Kept) -> None:
        """Store a value; without `every`, it replaces the one before."""
        kept = self._values.setdefault(site, [])
        if not self._every:
            kept.clear()
        kept.append(value)

    def each(self, site: str) -> tuple[Kept, ...]:
        """Return what was kept at `site`, a value for each forward pass; without `every=True`, the last one alone.

        Raises:
            KeyError: as for `[site]`.
        """
        return tuple(self._kept(site))

    def __getitem__(self, site: str) -> Kept:
        """Return what was kept at `site`.

        Raises:
            KeyError: the site was not captured, or no forward has passed it yet.
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
        """Return how many sites have been captured."""
        return len(self._values)

    def __contains__(self, site: object) -> bool:
        """Return whether the site has been captured."""
        return site in self._values


class Activations(ByName[Tensor]):
    """The activations that a capture has kept, by the name of the site; of several forward passes, the last."""

    def stack(self, stem: str, *, attention: str | None = None) -> Float[Tensor, "layer ..."]:
        """Return the activations of one kind of site in all layers that were captured, stacked along a new first axis.

        >>> acts.stack("resid_post", attention="decoder").shape
        torch.Size([2, 1, 9, 128])

        Args:
            stem: what passes there, such as "pattern" or "resid_post".
            attention: "encoder", "decoder" or "cross", as for `sites`; needed where both stacks or both attentions of
                the decoder were captured.

        Raises:
            SiteError: nothing of that kind was captured, or sites of several attentions or stacks.
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
    """What a lazy capture has kept: patterns that are computed where one looks, tensors at all other sites."""

    @property
    def patterns(self) -> dict[str, LazyPattern]:
        """The patterns alone, by the name of their site."""
        return {name: value for name, value in self.items() if isinstance(value, LazyPattern)}


@overload
def capture(
    model: nn.Module, *wanted: str, detach: bool = True, lazy: Literal[False] = False, every: bool = False
) -> AbstractContextManager[Activations]: ...


@overload
def capture(
    model: nn.Module, *wanted: str, detach: bool = True, lazy: Literal[True], every: bool = False
) -> AbstractContextManager[LazyActivations]: ...


def capture(
    model: nn.Module, *wanted: str, detach: bool = True, lazy: bool = False, every: bool = False
) -> AbstractContextManager[Activations] | AbstractContextManager[LazyActivations]:
    """Keep the activations of some sites of `model` while the context lasts.

    Nothing is written on the model: other threads that use it at the same time see nothing of this, and after the
    context, left by an exception too, nothing is there. Captures may be nested.

    >>> with capture(model, "*.hook_pattern") as acts:
    ...     logits = model(src, tgt)
    >>> acts["decoder.blocks.0.cross_attn.hook_pattern"].shape
    torch.Size([1, 4, 7, 9])

    For long texts, `lazy=True` keeps of each pattern only what it is made of, in memory that grows with the length and
    not with its square, and `final_states` leaves out the logits, which would be larger than all of that:

    >>> with capture(model, lazy=True) as acts:
    ...     model.final_states(tokens)
    >>> acts.patterns["decoder.blocks.0.self_attn.hook_pattern"].pooled((256, 256)).shape
    torch.Size([12, 256, 256])

    Beside interventions, at one site the order of entering counts: within `intervene`, a capture keeps what the
    intervention made; around it, what it was given. A lazy pattern is always the one that the values are weighted by.

    Args:
        model: whose sites are meant; where it is compiled, it runs eagerly meanwhile.
        *wanted: names or globs ("encoder.*.hook_z", "*"), as `site` and `sites` make them; none means every pattern.
        detach: cut the activations off from the graph of gradients.
        lazy: keep a `LazyPattern` at the sites that are called `hook_pattern`, and tensors at the others.
        every: keep what every forward pass brings, such as each step of a decoding; `each` returns it.

    Returns:
        a context that gives the activations by name, filled as the model runs.

    Raises:
        SiteError: on entering: a name or glob that no site has; the message names the nearest ones. On leaving: one of
            which no forward pass reached a site: another model or copy ran, or another thread, or nothing.
    """
    wanted = wanted or (sites("pattern"),)
    return _capturing_lazily(model, wanted, detach, every) if lazy else _capturing(model, wanted, detach, every)


@contextmanager
def _capturing(model: nn.Module, wanted: tuple[str, ...], detach: bool, every: bool) -> Iterator[Activations]:
    """Keep tensors."""
    activations = Activations(every=every)
    chosen = matching(named_hook_points(model), wanted)
    with active_hooks({point: _keeping(activations, name, detach) for name, point in chosen.items()}):
        yield activations
    check_reached(wanted, activations)


@contextmanager
def _capturing_lazily(
    model: nn.Module, wanted: tuple[str, ...], detach: bool, every: bool
) -> Iterator[LazyActivations]:
    """Keep what patterns are made of, and tensors elsewhere."""
    activations = LazyActivations(every=every)
    sources = named_lazy_points(model)
    handlers: dict[HookPoint, Handler] = {}
    for name, point in matching(named_hook_points(model), wanted).items():
        module, _, stem = name.rpartition("hook_")
        if stem == "pattern":
            handlers[sources[f"{module}pattern_inputs"]] = _keeping_lazily(activations, name, detach)
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


def _keeping_lazily(kept: ByName[Any], name: str, detach: bool) -> Handler:
    def keep(source: PatternInputs) -> PatternInputs:
        kept.add(name, LazyPattern(source, detach=detach))
        return source

    return keep
