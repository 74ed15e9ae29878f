"""Tables as corpora: the items of their rows."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from hashlib import blake2b
from itertools import chain, islice, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer_core.corpora.storage.columns import Table
from transformer_core.corpora.storage.encodings import decoded, encoding_of
from transformer_core.corpora.storage.file_items import FileItems
from transformer_core.corpora.storage.file_spans import (
    LONGEST_TEXT,
    MOST_SHORT_TEXTS,
    SHORTEST_TEXTS,
    cut,
    hashes_of,
    hold_out,
)
from transformer_core.corpora.storage.json_values import LONGEST_ROW
from transformer_core.corpora.storage.kept_arrays import Sink, kept_arrays
from transformer_core.corpora.storage.pair_lines import N_SHOWN, BadLine, PairLines, Problem, refuse_bad_lines
from transformer_core.corpora.storage.rows import TableRow, lines_of, rows_of
from transformer_core.corpora.storage.text_files import LARGE, NoTextError, opened, shown
from transformer_core.errors import CorpusError

_VERSION = "3"  # of the stored rows
_TOGETHER = 2**10  # items stored at a time
_MOST_WRITTEN = 2**26, 16  # limit for stored texts: bytes, or this many times the size of the files
_BETWEEN = "\0"  # source and target; no text contains it
_LONGEST_SHOWN = 200  # characters shown of a cell
_LACKING: Mapping[int, Sequence[Problem]] = {1: ("no_text",), 2: ("no_source", "no_target")}
_ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant"}


class TableRows:
    """The texts of a table's rows, stored end to end."""

    def __init__(self, table: Table, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.table, self.arrays = table, arrays

    def read(self, spans: NDArray[np.int64]) -> Iterator[bytes]:
        """Yield the bytes of each span, [span, 2]."""
        text = self.arrays["text"].data
        for first in range(0, len(spans), _TOGETHER):
            for start, end in spans[first : first + _TOGETHER].tolist():
                yield bytes(text[start:end])

    def path_and_line(self, address: int) -> tuple[str, int]:
        """Return the displayed path of the table, and the line of the row at an address."""
        row = int(np.searchsorted(self.arrays["starts"], address, side="right")) - 1
        return shown(self.table.path), int(self.arrays["lines"][row])


def table_items(table: Table, *, skip_bad_lines: bool) -> tuple[FileItems, FileItems, PairLines, int, str]:
    """Return a table's training items, held-out items, line counts, size in bytes, and fingerprint.

    Raises:
        BadLinesError: some rows have no item, and may not be skipped.
        OneTextError: there are fewer than two different items.
        CorpusError: a file is damaged, or unpacks to many times its size.
    """
    size = sum(file.stat().st_size for file in table.files)
    fingerprint = _fingerprint(table)
    is_pairs = not table.text

    def stored(sinks: Mapping[str, Sink], lines: PairLines) -> Iterator[NDArray[np.int64]]:
        yield from _stored(table, sinks, lines, size)
        if not lines.n_lines:
            raise NoTextError("{path} has no rows", path=shown(table.path))
        refuse_bad_lines(lines, shown(table.path), skip=skip_bad_lines)

    def fill(sinks: Mapping[str, Sink]) -> None:
        lines = PairLines(is_pairs=is_pairs)
        hold_out(stored(sinks, lines), sinks, "pairs" if is_pairs else "texts", table.path)
        sinks["lines_counted"].append(np.frombuffer(json.dumps(asdict(lines)).encode(), np.uint8))

    dtypes: dict[str, np.dtype[Any]] = dict.fromkeys(("train", "held_out", "starts", "lines"), np.dtype(np.int64))
    dtypes |= dict.fromkeys(("text", "lines_counted"), np.dtype(np.uint8))
    is_large = size >= LARGE or table.format == "parquet"
    arrays = kept_arrays("table", [_VERSION, fingerprint], dtypes, fill, keep=is_large)
    counted = json.loads(arrays["lines_counted"].tobytes())
    lines = PairLines(**counted | {"first_bad": [BadLine(**bad) for bad in counted["first_bad"]]})
    refuse_bad_lines(lines, shown(table.path), skip=skip_bad_lines)
    rows = TableRows(table, arrays)
    train, held_out = (
        FileItems(rows, arrays[part].reshape(-1, 2), _texts_in, fingerprint=f"{fingerprint} {part.replace('_', ' ')}")
        for part in ("train", "held_out")
    )
    return train, held_out, lines, size, fingerprint


def _fingerprint(table: Table) -> str:
    """Return a fingerprint of the files and of the columns that are read."""
    digests = []
    for path in table.files:
        digest = blake2b(digest_size=32)
        with opened(path) as file:
            while block := file.read(2**20):
                digest.update(block)
        digests.append(digest.hexdigest())
    files = blake2b("".join(digests).encode(), digest_size=32).hexdigest()
    is_plain = (table.format, table.source, table.target, table.has_header) == ("tsv", "1", "2", False)
    choice = "" if is_plain else repr((table.format, table.text, table.source, table.target, table.has_header))
    return blake2b(f"pairs {files}{choice}".encode(), digest_size=32).hexdigest()


def _stored(table: Table, sinks: Mapping[str, Sink], counted: PairLines, size: int) -> Iterator[NDArray[np.int64]]:
    """Store the items of all rows, and yield them in blocks, [item, 3]: addresses, and a hash of text or source."""
    sinks["text"].append(np.empty(0, np.uint8))
    most, first, texts, lines, hashed = max(_MOST_WRITTEN[0], _MOST_WRITTEN[1] * size), 0, [], [], []
    n_waiting = 0
    for n_items, (line, raw) in enumerate(_items(table, counted)):
        texts.append(raw)
        lines.append(line)
        hashed.append(raw.partition(b"\0")[0])
        n_waiting += len(raw)
        if len(texts) == _TOGETHER or n_waiting > LONGEST_ROW:
            yield _store(texts, lines, hashed, first, sinks)
            first, n_waiting = first + n_waiting, 0
            texts, lines, hashed = [], [], []
        if len(texts) == 1 and n_items > MOST_SHORT_TEXTS and first < SHORTEST_TEXTS * n_items:
            raise CorpusError(
                "{path} has more than {n:,} rows with less than {least} bytes of text on average; each costs as much "
                "as a long one, so combine several into one, or export fewer of them",
                path=shown(table.path),
                n=MOST_SHORT_TEXTS,
                least=SHORTEST_TEXTS,
            )
        if first > most:
            raise CorpusError(
                "the texts of {path} take more than {n:,} MB, many times its size; export fewer of them",
                path=shown(table.path),
                n=most // 10**6,
            )
    if texts:
        yield _store(texts, lines, hashed, first, sinks)


def _store(
    texts: list[bytes], lines: list[int], hashed: list[bytes], first: int, sinks: Mapping[str, Sink]
) -> NDArray[np.int64]:
    ends = first + np.cumsum([len(raw) for raw in texts])
    starts = np.append(first, ends[:-1])
    sinks["text"].append(np.frombuffer(b"".join(texts), np.uint8))
    sinks["starts"].append(starts)
    sinks["lines"].append(np.array(lines, np.int64))
    return np.stack([starts, ends, hashes_of(hashed)], axis=1)


def _items(table: Table, counted: PairLines) -> Iterator[tuple[int, bytes]]:
    """Yield the line and the bytes of each item, and count the rows and the bad ones."""
    sides, is_delimited = table.sides, table.format in ("csv", "tsv")
    can_be_wider = is_delimited and not table.has_header
    for line, cells in _rows(table):
        counted.n_lines += 1
        item: BadLine | list[bytes] | Problem
        if isinstance(cells, BadLine):
            item = cells
        else:
            item = _item(cells, sides, is_delimited=is_delimited)
            if isinstance(item, list):
                counted.n_wider += can_be_wider and len(cells) > 2 and any([*cells.values()][2:])
                for raw in item:
                    yield line, raw
                continue
        counted.n_bad += 1
        if len(counted.first_bad) < N_SHOWN:
            text = "\t".join(map(str, cells.values())) if not isinstance(cells, BadLine) else ""
            counted.first_bad.append(item if isinstance(item, BadLine) else BadLine(line=line, problem=item, text=text))


def _rows(table: Table) -> Iterator[TableRow]:
    if table.format is not None:
        for file in table.files:
            yield from rows_of(file, table.format, header=table.has_header, columns=[*chain(*table.sides)] or None)
        return
    with opened(table.files[0]) as one, opened(table.files[1]) as other:
        sides = (
            lines_of(decoded(file, encoding_of(file, shown(path)).codec, shown(path)), shown(path))
            for file, path in zip((one, other), table.files, strict=True)
        )
        for line, texts in enumerate(zip_longest(*sides), 1):
            if None in texts:
                longer, shorter = (0, 1) if texts[1] is None else (1, 0)
                raise CorpusError(
                    "{longer} has more lines than {shorter}, which has {n:,}; in parallel files, each line must "
                    "correspond to the line with the same number in the other file",
                    longer=shown(table.files[longer]),
                    shorter=shown(table.files[shorter]),
                    n=line - 1,
                )
            if any(text.strip() for text in texts):
                yield line, {side: text.rstrip("\r\n") for side, text in zip(table.columns, texts, strict=True)}


def _item(cells: Mapping[str, Any], sides: Sequence[Sequence[str]], *, is_delimited: bool) -> list[bytes] | Problem:
    """Return the bytes of a row's text, cut if it is long, or of its pair; or the problem with it."""
    if is_delimited and len(cells) < len(sides):
        return "one_column"
    texts = [_text_of(cells, parts).replace("\0", " ") for parts in sides]
    for text, problem in zip(texts, _LACKING[len(texts)], strict=True):
        if not text or text.isspace():
            return problem
    raw = _BETWEEN.join(texts).encode("utf-8", "replace")
    if len(raw) <= LONGEST_TEXT:
        return [raw]
    if len(texts) > 1:
        return "too_long"
    pieces = [raw[slice(*span)] for span in cut(raw, 0, len(raw))]
    return [piece for piece in pieces if piece.strip()]


def _text_of(cells: Mapping[str, Any], parts: Sequence[str]) -> str:
    """Return the text of a column, or of several, each on its own line."""
    if len(parts) == 1:
        return _text_of_cell(cells.get(parts[0]))
    return "\n".join(filter(None, (_text_of_cell(cells.get(part)) for part in parts)))


def _text_of_cell(cell: object) -> str:
    """Return a cell as text; the turns of a chat become lines that begin with the role."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, bytes):
        with suppress(UnicodeDecodeError):
            return cell.decode("utf-8")
    if isinstance(cell, list):
        return "\n".join(filter(None, map(_turn, cell)))
    return ""


def _turn(turn: object) -> str:
    """Return a turn of a chat, {role, content} or {from, value}; of multi-part content, the texts."""
    if not isinstance(turn, Mapping):
        return turn if isinstance(turn, str) else ""
    role, text = (turn.get("role"), turn.get("content")) if "content" in turn else (turn.get("from"), turn.get("value"))
    if isinstance(text, list):
        text = "\n".join(str(part["text"]) for part in text if isinstance(part, Mapping) and "text" in part)
    if text is None and isinstance(turn.get("text"), str):
        text = turn["text"]
    if not isinstance(text, str) or not text.strip():
        return ""
    return f"{_ROLES.get(str(role), str(role))}: {text}" if role else text


def _texts_in(raw: bytes) -> Sequence[str]:
    return raw.decode("utf-8").split("\0")


def first_rows(table: Table, n: int) -> list[list[str]]:
    """Return the cells of the first rows as shortened texts, in the order of the columns."""
    rows = islice((cells for _, cells in _rows(table) if not isinstance(cells, BadLine)), n)
    return [[_text_of_cell(cells.get(column))[:_LONGEST_SHOWN] for column in table.columns] for cells in rows]
