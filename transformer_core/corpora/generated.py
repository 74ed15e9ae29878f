"""Corpora by name: those drawn here from a seed, and those of other packages.

A name such as "program:reverse" is loaded by the package that registered its prefix.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from transformer_core.corpora.corpus import Corpus
from transformer_core.errors import CorpusError

Drawn = TypeVar("Drawn")

_PATIENCE = 10_000  # draws in a row without a new item before giving up


@dataclass(frozen=True, kw_only=True)
class GeneratedCorpus:
    """A corpus drawn from a seed: equal seeds give equal corpora."""

    about: Corpus  # everything but the items
    draw: Callable[[int], tuple[Sequence[Any], Sequence[Any]]]  # from a seed: training and held-out items

    def __call__(self, *, seed: int = 0) -> Corpus:
        """Draw the corpus."""
        train, held_out = self.draw(seed)
        return replace(self.about, train=tuple(train), held_out=tuple(held_out))


def draw_distinct(draw: Callable[[], Drawn], count: int, *, key: Callable[[Drawn], Hashable]) -> list[Drawn]:
    """Draw items until there are `count` different ones; return them in the order of their first draw.

    Args:
        draw: returns a random item each time.
        count: items wanted.
        key: items with equal keys are the same item.

    Raises:
        CorpusError: fewer than `count` different items were found.
    """
    items: dict[Hashable, Drawn] = {}
    n_repeated = 0
    while len(items) < count:
        item = draw()
        before = len(items)
        items.setdefault(key(item), item)
        n_repeated = 0 if len(items) > before else n_repeated + 1
        if n_repeated > _PATIENCE:
            raise CorpusError(
                "{n:,} different items were requested, but there are only about {there:,}; request fewer",
                n=count,
                there=before,
            )
    return list(items.values())


@dataclass(frozen=True)
class Provider:
    """Loads the corpora whose names begin with a prefix."""

    load: Callable[[str, int], Corpus]  # by name and seed
    made_from: Callable[[str], list[str]]  # by name: everything that the corpus depends on, as a cache key


PROVIDERS: dict[str, Provider] = {}  # by prefix, such as "program:"


def provider_of(name: str) -> Provider | None:
    """Return the provider of a corpus, or None where no package registered one for its name."""
    return next((provider for prefix, provider in PROVIDERS.items() if name.startswith(prefix)), None)
