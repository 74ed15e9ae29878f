"""Generated corpora in the cache: drawn once and stored as JSON; items are built on access."""

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from transformer_core.corpora.corpus import Corpus, Pair, Text
from transformer_core.corpora.generated import GeneratedCorpus
from transformer_core.corpora.source_code import CODE_OF_CORPORA
from transformer_core.corpora.storage.file_items import Item
from transformer_core.corpora.storage.kept_arrays import Sink, kept_arrays
from transformer_core.errors import CorpusError

_TOGETHER = 2**10  # items written at a time

DTYPES: Mapping[str, np.dtype[Any]] = {
    "items": np.dtype(np.uint8),  # JSON of each item: texts, alignment, and for pairs antecedents
    "ends": np.dtype(np.int64),  # the end (exclusive) of each item in `items`
}


_OF_CORPUS = {**DTYPES, "fingerprint": np.dtype(np.uint8), "n_train": np.dtype(np.int64)}


def kept_corpus(generated: GeneratedCorpus, *, seed: int) -> Corpus:
    """Return a generated corpus from the cache, with items that are built on access.

    It is drawn if it is missing or damaged, or if the source code of corpora has changed.
    """
    draw = cache(lambda: generated(seed=seed))  # `fill` is called again if the disk is full

    def fill(sinks: Mapping[str, Sink]) -> None:
        corpus = draw()
        write_items([*corpus.train, *corpus.held_out], sinks)
        sinks["n_train"].append(np.array([len(corpus.train)]))
        sinks["fingerprint"].append(np.frombuffer(corpus.fingerprint.encode(), np.uint8))

    made_from = [CODE_OF_CORPORA, platform.python_version(), generated.about.name, str(seed)]
    arrays = kept_arrays("corpus", made_from, _OF_CORPUS, fill)
    fingerprint, n_train = arrays["fingerprint"].tobytes().decode(), int(arrays["n_train"][0])
    items = KeptItems(arrays)
    return replace(
        generated.about,
        train=KeptItems(arrays, items.rows[:n_train], fingerprint=f"{fingerprint} train"),
        held_out=KeptItems(arrays, items.rows[n_train:], fingerprint=f"{fingerprint} held out"),
        known_fingerprint=fingerprint,
    )


class KeptItems(Sequence[Item]):
    """Pairs or texts that are built on access.

    Args:
        arrays: written by `write_items`.
        rows: the items to include, in order; all by default.
        fingerprint: of these items; "" if they have none.
        has_alignments: False drops the alignments, for a tokenizer whose tokens are not the aligned units.
    """

    def __init__(
        self,
        arrays: Mapping[str, NDArray[Any]],
        rows: range | None = None,
        *,
        fingerprint: str = "",
        has_alignments: bool = True,
    ) -> None:
        self.arrays = arrays
        self.rows = range(len(arrays["ends"])) if rows is None else rows
        self.fingerprint = fingerprint
        self.has_alignments = has_alignments

    @property
    def n_bytes(self) -> int:
        """The stored size of all items, in bytes."""
        return int(np.diff(self.arrays["ends"], prepend=0)[self.rows].sum())

    def without_alignments(self) -> "KeptItems":
        """Return the same items without their alignments."""
        return KeptItems(self.arrays, self.rows, fingerprint=self.fingerprint, has_alignments=False)

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> "KeptItems": ...
    def __getitem__(self, index: int | slice) -> "Item | KeptItems":
        """Build one item; the items of a slice are not built yet."""
        if isinstance(index, slice):
            return KeptItems(self.arrays, self.rows[index], has_alignments=self.has_alignments)
        return self._item(self.rows[index])

    def __iter__(self) -> Iterator[Item]:
        """Build one item after another."""
        return map(self._item, self.rows)

    def _item(self, row: int) -> Item:
        ends = self.arrays["ends"].data  # plain numbers are faster one by one
        raw = self.arrays["items"].data[ends[row - 1] if row else 0 : ends[row]]
        *texts, alignment, antecedents = json.loads(bytes(raw))
        known = None if alignment is None or not self.has_alignments else tuple(map(tuple, alignment))
        if len(texts) == 1:
            return Text(texts[0], known)
        source, target = texts
        return Pair(source, target, known, None if antecedents is None else tuple(map(tuple, antecedents)))


def write_items(items: Sequence[Item], sinks: Mapping[str, Sink]) -> None:
    """Write items for `KeptItems`.

    Raises:
        CorpusError: only some of the items have an alignment, or only some of the pairs have antecedents.
    """
    antecedents = [item.antecedents if isinstance(item, Pair) else None for item in items]
    n_aligned = sum(item.alignment is not None for item in items)
    if n_aligned not in (0, len(items)):
        raise CorpusError(
            "{n:,} of {n_items:,} items have an alignment; either all or none must have one",
            n=n_aligned,
            n_items=len(items),
        )
    n_referring = len(items) - antecedents.count(None)
    if n_referring not in (0, len(items)):
        raise CorpusError(
            "{n:,} of {n_items:,} pairs have antecedents; either all or none must have them",
            n=n_referring,
            n_items=len(items),
        )
    lengths: list[int] = []
    for start in range(0, len(items), _TOGETHER):
        raws = [
            json.dumps([*item.texts, item.alignment, known], separators=(",", ":")).encode()
            for item, known in zip(
                items[start : start + _TOGETHER], antecedents[start : start + _TOGETHER], strict=True
            )
        ]
        sinks["items"].append(np.frombuffer(b"".join(raws), np.uint8))
        lengths += map(len, raws)
    sinks["ends"].append(np.cumsum(lengths, dtype=np.int64))
