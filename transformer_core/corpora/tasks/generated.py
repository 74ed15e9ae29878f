"""Generated corpora: what is known of each beforehand, and how it is drawn from a seed."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from transformer_core.corpora.corpus import Corpus


@dataclass(frozen=True, kw_only=True)
class GeneratedCorpus:
    """A corpus that is made from a seed: the same one for the same seed."""

    about: Corpus  # all but the items
    draw: Callable[[int], tuple[Sequence[Any], Sequence[Any]]]  # of a seed: what to train on, and what is held out

    def __call__(self, *, seed: int = 0) -> Corpus:
        """Draw the corpus."""
        with _without_collector():
            train, held_out = self.draw(seed)
            return replace(self.about, train=tuple(train), held_out=tuple(held_out))


@contextmanager
def _without_collector() -> Iterator[None]:
    """Spare a hundred thousand new objects, none of them garbage, from being looked through again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
