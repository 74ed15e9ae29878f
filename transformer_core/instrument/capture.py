"""Capture: keep the activations of chosen sites while a model runs."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, TypeVar, overload

from torch import Tensor, nn

from transformer_core.hooks import Handler, HookPoint, handling, named_hook_points, named_source_points
from transformer_core.instrument.lazy import LazyPattern
from transformer_core.instrument.sites import matching
from transformer_core.model.attention import PatternSource

Kept = TypeVar("Kept")


class _ByName(Mapping[str, Kept]):
    """What a capture has kept, by the name of the site; of several forwards, the last."""

    def __init__(self) -> None:
        """Start empty; `capture` fills it."""
        self._values: dict[str, Kept] = {}

    def __getitem__(self, site: str) -> Kept:
        """Return what was kept at `site`.

        Raises:
            KeyError: the site was not captured, or no forward has passed it yet.
        """
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


class Activations(_ByName[Tensor]):
    """The activations that a capture has kept, by the name of the site; of several forwards, the last."""


class LazyActivations(_ByName[Tensor | LazyPattern]):
    """What a lazy capture has kept: patterns that are computed where one looks, tensors at all other sites."""

    @property
    def patterns(self) -> dict[str, LazyPattern]:
        """The patterns alone, by the name of their site."""
        return {name: value for name, value in self.items() if isinstance(value, LazyPattern)}


@overload
def capture(
    model: nn.Module, *sites: str, detach: bool = True, lazy: Literal[False] = False
) -> AbstractContextManager[Activations]: ...


@overload
def capture(
    model: nn.Module, *sites: str, detach: bool = True, lazy: Literal[True]
) -> AbstractContextManager[LazyActivations]: ...


def capture(
    model: nn.Module, *sites: str, detach: bool = True, lazy: bool = False
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
        model: whose sites are meant.
        *sites: names or globs ("encoder.*.hook_z"); none means every site, or, if lazy, every pattern.
        detach: cut the activations off from the graph of gradients.
        lazy: keep a `LazyPattern` at the sites that are called `hook_pattern`, and tensors at the others.

    Returns:
        a context that gives the activations by name, filled as the model runs.

    Raises:
        SiteError: on entering: a name or glob that no site has; the message names the nearest ones.
    """
    return _capturing_lazily(model, sites, detach) if lazy else _capturing(model, sites, detach)


@contextmanager
def _capturing(model: nn.Module, sites: tuple[str, ...], detach: bool) -> Iterator[Activations]:
    """Keep tensors."""
    activations = Activations()
    chosen = matching(named_hook_points(model), sites or ("*",))
    with handling({point: _keeping(activations._values, name, detach) for name, point in chosen.items()}):
        yield activations


@contextmanager
def _capturing_lazily(model: nn.Module, sites: tuple[str, ...], detach: bool) -> Iterator[LazyActivations]:
    """Keep what patterns are made of, and tensors elsewhere."""
    activations = LazyActivations()
    sources = named_source_points(model)
    handlers: dict[HookPoint, Handler] = {}
    for name, point in matching(named_hook_points(model), sites or ("*hook_pattern",)).items():
        module, _, stem = name.rpartition("hook_")
        if stem == "pattern":
            handlers[sources[f"{module}pattern_source"]] = _keeping_lazily(activations._values, name, detach)
        else:
            handlers[point] = _keeping(activations._values, name, detach)
    with handling(handlers):
        yield activations


def _keeping(values: dict[str, Any], name: str, detach: bool) -> Handler:
    def keep(value: Tensor) -> Tensor:
        values[name] = value.detach() if detach else value
        return value

    return keep


def _keeping_lazily(values: dict[str, Any], name: str, detach: bool) -> Handler:
    def keep(source: PatternSource) -> PatternSource:
        values[name] = LazyPattern(source, detach=detach)
        return source

    return keep
