"""Generated corpora: how they are drawn from a seed."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from transformer_core.corpora.corpus import Corpus
from transformer_core.errors import CorpusError

Drawn = TypeVar("Drawn")

_PATIENCE = 10_000  # draws in a row without a new item, after which no more are to be expected


@dataclass(frozen=True, kw_only=True)
class GeneratedCorpus:
    """A corpus that is drawn from a seed: the same one for the same seed."""

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
        CorpusError: there are fewer different items.
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
