"""Pairs and texts as arrays of numbers: written once, and each item made again when it is asked for."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from transformer_core.corpora.corpus import Alignment, Antecedents, Pair, Text
from transformer_core.corpora.storage.kept_arrays import Sink
from transformer_core.errors import CorpusError

Item = Pair | Text

_TOGETHER = 2**10  # items that are made at a time
DTYPES: Mapping[str, np.dtype[Any]] = {
    "text": np.dtype(np.uint8),  # all texts end to end, of a pair its source, then its target, as UTF-8
    "text_ends": np.dtype(np.int64),  # of each text: the byte after it
    "unit_ends": np.dtype(np.int64),  # of each item: the aligned units up to its last, all items counted
    "source_ends": np.dtype(np.int64),  # of each unit: the sources up to its last, all units counted
    "sources": np.dtype(np.int64),  # what the units depend on, end to end
    "antecedent_ends": np.dtype(np.int64),  # of each item: its last pronoun with a noun, all items counted
    "antecedents": np.dtype(np.int64),  # a pronoun and a noun, and so on, end to end
    "per_item": np.dtype(np.int64),  # texts an item: 2 of a pair, else 1; 1 or 0: alignments; 1 or 0: antecedents
}


class KeptItems(Sequence[Item]):
    """Pairs, or texts, of which nothing is in memory but what is looked at.

    Args:
        arrays: what `write_items` wrote.
        rows: which of the items, in order; all of them, if nothing is said.
        fingerprint: of these items; "" if they have none.
        has_alignments: False: the items forget theirs, for a tokenizer whose tokens are not their units.
    """

    def __init__(
        self,
        arrays: Mapping[str, NDArray[Any]],
        rows: range | None = None,
        *,
        fingerprint: str = "",
        has_alignments: bool = True,
    ) -> None:
        self.n_texts = int(arrays["per_item"][0])  # of an item
        self.has_alignments = has_alignments and bool(arrays["per_item"][1])
        self.has_antecedents = bool(arrays["per_item"][2])
        self.arrays = arrays
        self.rows = range(len(arrays["text_ends"]) // self.n_texts) if rows is None else rows
        self.fingerprint = fingerprint

    @property
    def n_bytes(self) -> int:
        """Bytes of all texts."""
        text_ends, rows = self.arrays["text_ends"], np.arange(self.rows.start, self.rows.stop, self.rows.step)
        starts = np.append(0, text_ends)[rows * self.n_texts]
        return int((text_ends[(rows + 1) * self.n_texts - 1] - starts).sum())

    def without_alignments(self) -> "KeptItems":
        """Return the same items, with no alignment."""
        return KeptItems(self.arrays, self.rows, fingerprint=self.fingerprint, has_alignments=False)

    def __len__(self) -> int:
        """Count the items."""
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> "KeptItems": ...
    def __getitem__(self, index: int | slice) -> "Item | KeptItems":
        """Make one item; the items of a slice are not made yet."""
        if isinstance(index, slice):
            return KeptItems(self.arrays, self.rows[index], has_alignments=self.has_alignments)
        return self._read_items(self.rows[index : index + 1 or None])[0]

    def __iter__(self) -> Iterator[Item]:
        """Make some items at a time."""
        for start in range(0, len(self.rows), _TOGETHER):
            yield from self._read_items(self.rows[start : start + _TOGETHER])

    def _read_items(self, rows: range) -> list[Item]:
        views = {name: array.data for name, array in self.arrays.items()}  # plain numbers, faster one by one
        return [self._item(row, views) for row in rows]

    def _item(self, row: int, views: Mapping[str, memoryview]) -> Item:
        first, texts = row * self.n_texts, []
        start = views["text_ends"][first - 1] if first else 0
        for end in views["text_ends"][first : first + self.n_texts].tolist():
            texts.append(str(views["text"][start:end], "utf-8"))
            start = end
        alignment = _alignment(row, views) if self.has_alignments else None
        if self.n_texts == 1:
            return Text(texts[0], alignment)
        return Pair(texts[0], texts[1], alignment, _antecedents(row, views) if self.has_antecedents else None)


def _alignment(row: int, views: Mapping[str, memoryview]) -> Alignment:
    first_unit = views["unit_ends"][row - 1] if row else 0
    ends = views["source_ends"][first_unit : views["unit_ends"][row]].tolist()
    start = views["source_ends"][first_unit - 1] if first_unit else 0
    alignment = []
    for end in ends:
        alignment.append(tuple(views["sources"][start:end].tolist()))
        start = end
    return tuple(alignment)


def _antecedents(row: int, views: Mapping[str, memoryview]) -> Antecedents:
    start = views["antecedent_ends"][row - 1] if row else 0
    end = views["antecedent_ends"][row]
    numbers = iter(views["antecedents"][2 * start : 2 * end].tolist())
    return tuple(zip(numbers, numbers, strict=True))


def write_items(items: Sequence[Item], sinks: Mapping[str, Sink]) -> None:
    """Write items so that `KeptItems` finds them: all pairs or all texts, all with an alignment or all without.

    Of antecedents, too, all pairs have some, be it none of this source, or know nothing.

    Raises:
        CorpusError: some have an alignment and others have none.
    """
    texts = [text.encode("utf-8") for item in items for text in item.texts]
    known = [item.alignment for item in items if item.alignment is not None]
    if len(known) not in (0, len(items)):
        raise CorpusError(
            "{n:,} of {n_items:,} items have an alignment; either all or none must have one",
            n=len(known),
            n_items=len(items),
        )
    referring = [item.antecedents for item in items if isinstance(item, Pair) and item.antecedents is not None]
    if len(referring) not in (0, len(items)):
        raise CorpusError(
            "{n:,} of {n_items:,} pairs have antecedents; either all or none must have them",
            n=len(referring),
            n_items=len(items),
        )
    units = [unit for alignment in known for unit in alignment]
    sinks["text"].append(np.frombuffer(b"".join(texts), np.uint8))
    sinks["text_ends"].append(_ends(texts))
    sinks["unit_ends"].append(_ends(known))
    sinks["source_ends"].append(_ends(units))
    sinks["sources"].append(np.fromiter(chain.from_iterable(units), np.int64))
    sinks["antecedent_ends"].append(_ends(referring))
    sinks["antecedents"].append(np.fromiter(chain.from_iterable(chain.from_iterable(referring)), np.int64))
    is_pairs = bool(items) and isinstance(items[0], Pair)
    sinks["per_item"].append(np.array([2 if is_pairs else 1, bool(known), bool(referring)], np.int64))


def _ends(parts: Sequence[Sequence[Any]]) -> NDArray[np.int64]:
    return np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
