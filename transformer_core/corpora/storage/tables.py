"""Tables as corpora: which columns are the text, or the source and the target, and the items made of their rows."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer_core.corpora.reading import CorpusReading
from transformer_core.corpora.storage.encodings import decoded, encoding_of
from transformer_core.corpora.storage.file_items import FileItems
from transformer_core.corpora.storage.file_spans import LONGEST_TEXT, hashes_of, hold_out
from transformer_core.corpora.storage.kept_arrays import Sink, kept_arrays
from transformer_core.corpora.storage.pair_lines import N_SHOWN, BadLine, PairLines, Problem, refuse_bad_lines
from transformer_core.corpora.storage.rows import (
    LANGUAGES,
    LONGEST_ROW,
    Format,
    Row,
    format_of,
    lines_of,
    looks_like_header,
    rows_of,
)
from transformer_core.corpora.storage.text_files import LARGE, NoTextError, opened, shown
from transformer_core.errors import CorpusError, Message

_VERSION = "1"  # of what is made of rows
_N_LOOKED_AT = 100  # rows by which the columns are found
_TOGETHER = 2**10  # items that are stored at a time
_MOST_WRITTEN = 2**26, 16  # of texts: bytes, or so many times the size of the files
_BETWEEN = b"\0"  # source and target; no text has a zero byte
_SIDES = ("source", "src", "target", "tgt", "trg")
_CHATS = ("messages", "conversations", "conversation", "dialog", "dialogue", "chat", "turns")
_TEXTS = "text content body document story sentence article review comment quote message tweet abstract".split()
_PAIRS = (
    *(("source", "target"), ("src", "tgt"), ("src", "trg"), ("instruction+input", "output"), ("input", "output")),
    *(("instruction", "output"), ("instruction", "response"), ("prompt", "completion"), ("prompt", "response")),
    *(("question", "answer"), ("query", "response"), ("instruction", "completion"), ("document", "summary")),
    *(("article", "highlights"), ("article", "summary"), ("text", "summary"), ("instruction+context", "response")),
)
_ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant"}


@dataclass(frozen=True, kw_only=True)
class Table:
    """What is known of a table from its first rows."""

    path: Path  # of the file, or of the folder that the files lie in
    files: tuple[Path, ...]
    format: Format | None  # None: two parallel files, whose lines belong together
    columns: tuple[str, ...]
    has_header: bool  # of CSV and TSV: the first line has the names of the columns
    text: str = ""  # the column with the text; columns joined by "+" are one, each on a line of its own
    source: str = ""  # in place of it, the columns with the source and the target
    target: str = ""

    @property
    def is_chosen(self) -> bool:
        """Whether it is known which columns are read."""
        return bool(self.text or (self.source and self.target))

    @property
    def can_have_header(self) -> bool:
        """Whether the first line can be read as names."""
        return self.format in ("csv", "tsv")


def table_of(path: Path, files: Sequence[Path], reading: CorpusReading) -> Table | None:
    """Return what table some files are together; None: they are none, or are to be read as text.

    Raises:
        CorpusError: they cannot be read, or have not the columns that are asked for.
    """
    if reading.division != "auto" or not files:
        return None
    parallel = _parallel(files)
    formats = {None} if parallel else {format_of(file) for file in files}
    if not parallel and (len(formats) > 1 or formats == {None}):
        return None
    (kind,) = formats
    header = None if reading.header == "auto" else reading.header == "yes"
    wanted = bool(reading.text_column or reading.source_column)
    if parallel:
        columns, has_header = parallel, False
        files = sorted(files, key=lambda file: parallel.index(_side(file, files)))
    else:
        if not files[0].stat().st_size:
            raise NoTextError("{path} is empty", path=shown(files[0]))
        assert kind is not None
        has_header = kind in ("csv", "tsv") and _has_header(files[0], kind, header)
        rows = (cells for _, cells in islice(rows_of(files[0], kind, header=has_header), _N_LOOKED_AT))
        columns = tuple(dict.fromkeys(name for cells in rows if not isinstance(cells, BadLine) for name in cells))
    chosen = {"text": reading.text_column, "source": reading.source_column, "target": reading.target_column}
    for name in chosen.values():
        if any(part not in columns for part in _parts(name, columns)):
            raise CorpusError(
                "{path} has no column {column}; it has {columns}",
                path=shown(path),
                column=name,
                columns=", ".join(columns),
            )
    if not wanted:
        chosen = _guess(columns, kind, has_names=has_header or kind not in ("csv", "tsv"))
    return Table(path=path, files=tuple(files), format=kind, columns=columns, has_header=has_header, **chosen)


def _has_header(path: Path, kind: Format, header: bool | None) -> bool:
    if header is not None:
        return header
    first = next((cells for _, cells in rows_of(path, kind, header=False) if not isinstance(cells, BadLine)), {})
    return looks_like_header([*first.values()])


def _guess(columns: Sequence[str], kind: Format | None, *, has_names: bool) -> dict[str, str]:
    """Return which columns are probably meant, by their usual names."""
    if kind is None or (not has_names and kind in ("csv", "tsv")):
        first = (*columns[:2], "")[:2] if len(columns) > 1 else ("1", "2")
        return {"source": first[0], "target": first[1]}
    if not columns:
        return {"text": "text"}  # each row is bad, and will be named
    by_name = {column.lower().strip(): column for column in columns}
    for name in _CHATS:
        if name in by_name:
            return {"text": by_name[name]}
    for pair in _PAIRS:
        if all(part in by_name for side in pair for part in side.split("+")):
            source, target = ("+".join(by_name[part] for part in side.split("+")) for side in pair)
            return {"source": source, "target": target}
    languages = [
        column for name, column in by_name.items() if name.rpartition(".")[2] in LANGUAGES - {"id", "no", "is"}
    ]
    if len(languages) == 2:
        return {"source": languages[0], "target": languages[1]}
    for name in _TEXTS:
        if name in by_name:
            return {"text": by_name[name]}
    if len(columns) == 1:
        return {"text": columns[0]}
    if len(columns) == 2 and (kind in ("csv", "tsv") or [*columns] == ["1", "2"]):
        return {"source": columns[0], "target": columns[1]}
    return {}


def _side(file: Path, files: Sequence[Path]) -> str:
    """Return what tells the name of one of two files from that of the other."""
    (other,) = (name for name in files if name != file) if len(files) == 2 else (file,)
    mine, others = (re.split(r"[._-]", path.name.lower()) for path in (file, other))
    different = [part for part, its in zip(mine, others, strict=False) if part != its]
    return different[0] if len(mine) == len(others) and len(different) == 1 else ""


def _parallel(files: Sequence[Path]) -> tuple[str, ...]:
    """Return the names of the sides of two parallel files, source first; none, if their names are no such two."""
    if len(files) != 2:
        return ()
    sides = sorted((_side(file, files) for file in files), key=lambda side: (*_SIDES, side).index(side))
    return tuple(sides) if all(side in LANGUAGES or side in _SIDES for side in sides) else ()


class TableRows:
    """The texts of a table's rows, stored end to end; each is at an address."""

    def __init__(self, table: Table, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.table, self.arrays = table, arrays

    def read(self, spans: NDArray[np.int64]) -> Iterator[bytes]:
        """Yield the bytes of each row, [row, 2]: its first address, and the one after its last."""
        for first in range(0, len(spans), _TOGETHER):
            for start, end in spans[first : first + _TOGETHER].tolist():
                yield self.arrays["text"][start:end].tobytes()

    def path_and_line(self, address: int) -> tuple[str, int]:
        """Return the file or folder of the table, and the line of a row."""
        row = int(np.searchsorted(self.arrays["starts"], address, side="right")) - 1
        return shown(self.table.path), int(self.arrays["lines"][row])


def table_items(table: Table, *, skip_bad_lines: bool) -> tuple[FileItems, FileItems, PairLines, int, str]:
    """Return the items of a table: those to train on, those held out, what was counted, its size, its fingerprint.

    Raises:
        BadLinesError: some rows hold none, and are not to be skipped.
        OneTextError: there are not two different items.
        CorpusError: a file is damaged, or unpacks to many times its size.
    """
    size = sum(file.stat().st_size for file in table.files)
    fingerprint = _fingerprint(table)
    is_pairs = not table.text

    def checked(counted: Mapping[str, Any]) -> PairLines:
        lines = PairLines(**{**counted, "first_bad": tuple(counted["first_bad"])}, is_pairs=is_pairs)
        refuse_bad_lines(lines, shown(table.path), skip=skip_bad_lines)
        return lines

    def stored(sinks: Mapping[str, Sink], counted: _Counts) -> Iterator[NDArray[np.int64]]:
        yield from _stored(table, sinks, counted, size)
        if not counted.n_lines:
            raise NoTextError("{path} contains only whitespace", path=shown(table.path))
        checked(vars(counted))

    def fill(sinks: Mapping[str, Sink]) -> None:
        counted = _Counts()
        hold_out(stored(sinks, counted), sinks, "pairs" if is_pairs else "texts", table.path)
        sinks["counts"].append(np.frombuffer(json.dumps(asdict(counted)).encode(), np.uint8))

    dtypes: dict[str, np.dtype[Any]] = dict.fromkeys(("train", "held_out", "starts", "lines"), np.dtype(np.int64))
    dtypes |= dict.fromkeys(("text", "counts"), np.dtype(np.uint8))
    is_large = size >= LARGE or table.format == "parquet"
    arrays = kept_arrays("table", [_VERSION, fingerprint], dtypes, fill, keep=is_large)
    counted = json.loads(arrays["counts"].tobytes())
    lines = checked(counted | {"first_bad": [BadLine(**bad) for bad in counted["first_bad"]]})
    rows = TableRows(table, arrays)
    train, held_out = (
        FileItems(rows, arrays[part].reshape(-1, 2), _texts_in, fingerprint=f"{fingerprint} {part.replace('_', ' ')}")
        for part in ("train", "held_out")
    )
    return train, held_out, lines, size, fingerprint


def _fingerprint(table: Table) -> str:
    """Return a fingerprint of the files and of what is read in them."""
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


@dataclass
class _Counts:
    n_lines: int = 0
    n_bad: int = 0
    n_wider: int = 0
    first_bad: list[BadLine] = field(default_factory=list)


def _stored(table: Table, sinks: Mapping[str, Sink], counted: _Counts, size: int) -> Iterator[NDArray[np.int64]]:
    """Store the items of the rows; yield some at a time, [item, 3]: their addresses, and a hash of text or source."""
    sinks["text"].append(np.empty(0, np.uint8))
    most, first, texts, lines, hashed = max(_MOST_WRITTEN[0], _MOST_WRITTEN[1] * size), 0, [], [], []
    n_waiting = 0
    for line, raw in _items(table, counted):
        texts.append(raw)
        lines.append(line)
        hashed.append(raw.partition(_BETWEEN)[0].strip().replace(b"\r\n", b"\n"))
        n_waiting += len(raw)
        if len(texts) == _TOGETHER or n_waiting > LONGEST_ROW:
            yield _store(texts, lines, hashed, first, sinks)
            first, n_waiting = first + n_waiting, 0
            texts, lines, hashed = [], [], []
        if first > most:
            raise CorpusError(
                "the texts of {path} are more than {n:,} MB, many times its size; export fewer of them",
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


def _items(table: Table, counted: _Counts) -> Iterator[tuple[int, bytes]]:
    """Yield the line and the bytes of each item, and count the rows and those that hold none."""
    for line, cells in _rows(table):
        counted.n_lines += 1
        found = cells if isinstance(cells, BadLine) else _item(cells, table)
        if isinstance(found, list):
            counted.n_wider += table.format in ("csv", "tsv") and not table.has_header and _is_wider(cells)
            yield from ((line, raw) for raw in found)
            continue
        counted.n_bad += 1
        if len(counted.first_bad) < N_SHOWN:
            text = "\t".join(map(str, cells.values())) if not isinstance(cells, BadLine) else ""
            counted.first_bad.append(
                found if isinstance(found, BadLine) else BadLine(line=line, problem=found, text=text)
            )


def _is_wider(cells: Mapping[str, Any] | BadLine) -> bool:
    return not isinstance(cells, BadLine) and any([*cells.values()][2:])


def _rows(table: Table) -> Iterator[Row]:
    if table.format is not None:
        for file in table.files:
            yield from rows_of(file, table.format, header=table.has_header)
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
                    "{longer} has more lines than {shorter}, which has {n:,}; in parallel files each line belongs to "
                    "the same line of the other",
                    longer=shown(table.files[longer]),
                    shorter=shown(table.files[shorter]),
                    n=line - 1,
                )
            if any(text.strip() for text in texts):
                yield line, {side: text.strip() for side, text in zip(table.columns, texts, strict=True)}


def _item(cells: Mapping[str, Any], table: Table) -> list[bytes] | Problem:
    """Return the bytes of a row's text, cut where it is long, or of its pair; or what is wrong with it."""
    if table.text:
        text = _text_of(cells, table.text).replace("\0", " ")
        return _cut(text.encode("utf-8", "replace")) if text.strip() else "no_text"
    if table.format in ("csv", "tsv") and len(cells) < 2:
        return "one_column"
    sides = [_text_of(cells, name).replace("\0", " ") for name in (table.source, table.target)]
    if not all(side.strip() for side in sides):
        return "no_target" if sides[0].strip() else "no_source"
    pair = _BETWEEN.join(side.encode("utf-8", "replace") for side in sides)
    return [pair] if len(pair) <= LONGEST_TEXT else "too_long"


def _cut(raw: bytes) -> list[bytes]:
    """Return a text in pieces of at most `LONGEST_TEXT` bytes, cut after a word if it can be."""
    pieces, start = [], 0
    while len(raw) - start > LONGEST_TEXT:
        end = max(raw.rfind(sign, start, start + LONGEST_TEXT) for sign in (b"\n", b" ")) + 1
        end = end if end > start else start + LONGEST_TEXT
        while raw[end] & 0xC0 == 0x80:  # inside a character of several bytes
            end -= 1
        pieces.append(raw[start:end])
        start = end
    return [piece for piece in (*pieces, raw[start:]) if piece.strip()]


def _parts(name: str, columns: Sequence[str]) -> list[str]:
    return [] if not name else [name] if name in columns else name.split("+")


def _text_of(cells: Mapping[str, Any], name: str) -> str:
    """Return the text of a column, or of several joined by "+", each on a line of its own."""
    return "\n".join(filter(None, (as_written(cells.get(part)) for part in _parts(name, [*cells]))))


def as_written(cell: object) -> str:
    """Return a cell as text: numbers as they are written, the turns of a chat as lines with the role before each."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, list):
        return "\n".join(filter(None, map(_turn, cell)))
    return ""


def _turn(turn: object) -> str:
    """Return a turn of a chat, {role, content} or {from, value}; of a content in parts, the texts."""
    if not isinstance(turn, Mapping):
        return turn if isinstance(turn, str) else ""
    role, said = (turn.get("role"), turn.get("content")) if "content" in turn else (turn.get("from"), turn.get("value"))
    if isinstance(said, list):
        said = "\n".join(str(part["text"]) for part in said if isinstance(part, Mapping) and "text" in part)
    if said is None and isinstance(turn.get("text"), str):
        said = turn["text"]
    if not isinstance(said, str) or not said.strip():
        return ""
    return f"{_ROLES.get(str(role), str(role))}: {said}" if role else said


def _texts_in(raw: bytes) -> Sequence[str]:
    return raw.decode("utf-8").split("\0")


def first_rows(table: Table, n: int) -> list[list[str]]:
    """Return the cells of the first rows as text, those of a column at its place among the columns."""
    rows = islice((cells for _, cells in _rows(table) if not isinstance(cells, BadLine)), n)
    return [[as_written(cells.get(column)) for column in table.columns] for cells in rows]


def columns_in_words(table: Table) -> Message:
    """Return which columns of a table are read."""
    if table.text:
        return Message("Text: the column {text}.", text=table.text)
    return Message("Source: the column {source}; target: {target}.", source=table.source, target=table.target)
