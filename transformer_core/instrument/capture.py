"""Capture: keep the activations of chosen sites while a model runs."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import SequenceMatcher
from fnmatch import fnmatchcase

from torch import Tensor, nn

from transformer_core.errors import SiteError
from transformer_core.hooks import Handler, HookPoint, handling, named_hook_points


class Activations(Mapping[str, Tensor]):
    """What a capture has kept, by the name of the site; of several forwards, the last."""

    def __init__(self) -> None:
        """Start empty; `capture` fills it."""
        self._values: dict[str, Tensor] = {}

    def __getitem__(self, site: str) -> Tensor:
        """Return the activation at `site`.

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


@contextmanager
def capture(model: nn.Module, *sites: str, detach: bool = True) -> Iterator[Activations]:
    """Keep the activations of some sites of `model` while the context lasts.

    Nothing is written on the model: other threads that use it at the same time see nothing of this, and after the
    context, left by an exception too, nothing is there. Captures may be nested.

    >>> with capture(model, "*.hook_pattern") as acts:
    ...     logits = model(src, tgt)
    >>> acts["decoder.blocks.0.cross_attn.hook_pattern"].shape
    torch.Size([1, 4, 7, 9])

    Args:
        model: whose sites are meant.
        *sites: names or globs ("encoder.*.hook_z"); none means every site.
        detach: cut the activations off from the graph of gradients.

    Yields:
        the activations by name, filled as the model runs.

    Raises:
        SiteError: a name or glob that no site has; the message names the nearest ones.
    """
    activations = Activations()

    def keep(name: str) -> Handler:
        def handler(value: Tensor) -> Tensor:
            activations._values[name] = value.detach() if detach else value
            return value

        return handler

    chosen = _matching(named_hook_points(model), sites or ("*",))
    with handling({hook_point: keep(name) for name, hook_point in chosen.items()}):
        yield activations


def site_names(model: nn.Module) -> tuple[str, ...]:
    """Return the names of all sites of `model`, in the order in which it was built."""
    return tuple(named_hook_points(model))


def _matching(hook_points: Mapping[str, HookPoint], sites: tuple[str, ...]) -> dict[str, HookPoint]:
    """Return the hook points that some name or glob asks for.

    Raises:
        SiteError: a name or glob that matches nothing.
    """
    for site in sites:
        if not any(fnmatchcase(name, site) for name in hook_points):
            nearest = _nearest(site, hook_points)
            hint = (
                f"the nearest are {', '.join(nearest)}"
                if nearest
                else f"there are {len(hook_points)}; see site_names(model)"
            )
            raise SiteError(f"the model has no site {site!r}; {hint}")
    return {name: point for name, point in hook_points.items() if any(fnmatchcase(name, site) for site in sites)}


def _nearest(site: str, names: Iterable[str], *, at_least: float = 0.6) -> list[str]:
    """Return up to three names that resemble `site`, the nearest first; a glob is compared by its written parts."""
    parts = [part for part in site.split(".") if part.strip("*?")]
    if not parts:
        return []

    def likeness(name: str) -> float:
        components = name.split(".")
        return sum(max(SequenceMatcher(None, part, c).ratio() for c in components) for part in parts) / len(parts)

    scores = {name: likeness(name) for name in names}
    return [name for name in sorted(scores, key=scores.__getitem__, reverse=True) if scores[name] >= at_least][:3]
