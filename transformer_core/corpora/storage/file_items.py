"""The texts or pairs of files as a sequence that knows only where they are, and reads them when they are asked for."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from transformer_core.corpora.corpus import Pair, Text

Item = Pair | Text


class Spans(Protocol):
    """Text, each byte of which has an address."""

    def read(self, spans: NDArray[np.int64]) -> Iterator[bytes]:
        """Yield the bytes of each stretch, [stretch, 2]: its first address, and the one after its last."""
        ...

    def path_and_line(self, address: int) -> tuple[str, int]:
        """Return the file of an address, as a message names it, and the line, counted from 1."""
        ...


class FileItems(Sequence[Item]):
    """Pairs, or texts, that lie in files.

    Args:
        files: where they lie.
        spans: [item, 2], the address of the first byte of each, and of the byte after its last.
        read_as: makes an item of its bytes, as `as_text` does.
        fingerprint: of all of it; "" if it has none.
    """

    def __init__(
        self,
        files: Spans,
        spans: NDArray[np.int64],
        read_as: Callable[[bytes], Item],
        *,
        fingerprint: str = "",
    ) -> None:
        self.files = files
        self.spans = spans
        self.read_as = read_as
        self.fingerprint = fingerprint

    @property
    def n_bytes(self) -> int:
        """Bytes of all items, as they are in the files."""
        return int((self.spans[:, 1] - self.spans[:, 0]).sum())

    def __len__(self) -> int:
        """Count the items."""
        return len(self.spans)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> "FileItems": ...
    def __getitem__(self, index: int | slice) -> "Item | FileItems":
        """Read one item; a slice is not read yet."""
        if isinstance(index, slice):
            return FileItems(self.files, self.spans[index], self.read_as)
        [raw] = self.files.read(self.spans[index][None])
        return self.read_as(raw)

    def __iter__(self) -> Iterator[Item]:
        """Read one item after another."""
        return map(self.read_as, self.files.read(self.spans))

    def path_and_line(self, index: int) -> tuple[str, int]:
        """Return the file of an item, as a message names it, and its line, counted from 1."""
        return self.files.path_and_line(int(self.spans[index, 0]))


def as_text(raw: bytes) -> Text:
    """Return a text, without white space after it, each line break as one character."""
    return Text(raw.rstrip().decode("utf-8").replace("\r\n", "\n"))
