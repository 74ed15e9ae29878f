"""Drawing what a corpus consists of: different items, until there are enough."""

from collections.abc import Callable, Hashable
from typing import TypeVar

from transformer_core.errors import CorpusError

Item = TypeVar("Item")

_PATIENCE = 10_000  # draws in a row that bring nothing new, after which there is nothing left to be drawn


def draw_distinct(draw: Callable[[], Item], count: int, *, key: Callable[[Item], Hashable]) -> list[Item]:
    """Draw items until there are so many different ones; return them in the order in which each came first.

    Args:
        draw: returns an item, another one each time, as chance will have it.
        count: items wanted.
        key: items with equal keys are the same item.

    Raises:
        CorpusError: there are not so many different items.
    """
    items: dict[Hashable, Item] = {}
    in_vain = 0
    while len(items) < count:
        item = draw()
        before = len(items)
        items.setdefault(key(item), item)
        in_vain = 0 if len(items) > before else in_vain + 1
        if in_vain > _PATIENCE:
            raise CorpusError(
                "{n:,} different items were requested, but there are only about {there:,}; request fewer",
                n=count,
                there=before,
            )
    return list(items.values())
