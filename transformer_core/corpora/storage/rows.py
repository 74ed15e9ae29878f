"""The rows of tables in JSON, JSON lines, CSV, TSV and Parquet, recognised by content and read one at a time."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from transformer_core.checkpoints.file_kinds import not_fetched
from transformer_core.corpora.storage.encodings import MARKS, decoded, encoding_of, refuse_known
from transformer_core.corpora.storage.json_values import LONGEST_ROW, json_values
from transformer_core.corpora.storage.pair_lines import BadLine, Problem
from transformer_core.corpora.storage.text_files import beginning_of, opened, shown
from transformer_core.errors import CorpusError
from transformer_core.reasons import reason

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

Format = Literal["json", "json_lines", "csv", "tsv", "parquet"]
TableRow = tuple[int, Mapping[str, Any] | BadLine]
"""The line of a row, counted from 1 (of Parquet: the row), and its cells by column, or its problem."""

MOST_COLUMNS = 10_000
_HEAD = 2**16  # bytes read to recognise a format
_N_COMPARED = 20  # lines compared to find the delimiter
_MOST_UNPACKED = 2**26, 16  # of columns of Parquet: bytes, or this many times their size in the file
_ENDINGS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json_lines",
    ".ndjson": "json_lines",
    ".parquet": "parquet",
}


def format_of(path: Path) -> Format | None:
    """Return the format of a table by its content, or by an ending that only tables have; None for other files."""
    with opened(path) as file:
        head = file.read(_HEAD)
        has_more_lines = b"\n" not in head and any(
            b"\n" in block.rstrip() for block in iter(lambda: file.read(2**20), b"")
        )
    if head.startswith(b"PAR1"):
        return "parquet"
    if known := _ENDINGS.get(path.suffix.lower()):
        return known
    if path.suffix.lower() == ".json" and not_fetched(head):
        return "json"
    codec = next((codec for mark, codec, _ in MARKS if head.startswith(mark)), "utf-8")
    text = head.decode(codec, "ignore").lstrip()
    if re.match(r'\[\s*(\{\s*["}]|\[\s*["\[]|")', text):
        return "json" if _begins_array(text, is_cut=len(head) == _HEAD) else None
    if not re.match(r'\{\s*"', text):
        return None
    first, line_break, rest = text.partition("\n")
    if not line_break and len(head) == _HEAD:
        return "json_lines" if has_more_lines else "json"
    if path.suffix.lower() == ".json" and not rest.strip():
        return "json"
    try:
        return "json_lines" if isinstance(json.loads(first), dict) else None
    except (ValueError, RecursionError):
        return "json" if re.match(r'\{\s*"(?:[^"\\\n]|\\.)*"\s*:', text) else None


def _begins_array(text: str, *, is_cut: bool) -> bool:
    """Return whether the beginning of a text, with a bracket and a quotation mark, is valid JSON."""
    try:
        _, end = json.JSONDecoder().raw_decode(text, re.compile(r"\[\s*").match(text).end())  # type: ignore[union-attr]
    except RecursionError:
        return True
    except ValueError:
        return is_cut
    return text[end:].lstrip()[:1] in (",", "]", "")


def rows_of(
    path: Path, kind: Format, *, header: bool = False, columns: Sequence[str] | None = None
) -> Iterator[TableRow]:
    """Yield the rows of a table, using little memory.

    Args:
        path: of the table.
        kind: from `format_of`.
        header: of CSV and TSV: whether the first row contains the names of the columns; otherwise they are 1, 2, ...
        columns: those needed; None: all. Other columns of Parquet are not read.

    Raises:
        CorpusError: the table cannot be read; the message names the line if possible.
    """
    if kind == "parquet":
        yield from _parquet_rows(path, columns)
        return
    _refuse_other_kind(path)
    with opened(path) as file:
        texts = decoded(file, encoding_of(file, shown(path)).codec, shown(path))
        first = next(texts, "").removeprefix("\ufeff")
        texts = chain([first], texts)
        if kind == "json":
            for line, value in json_values(texts, shown(path)):
                cells = cells_of(value)
                yield line, BadLine(line=line, problem="no_row", text=str(value)) if cells is None else cells
        elif kind == "json_lines":
            for number, row in enumerate(lines_of(texts, shown(path)), 1):
                if row.strip():
                    yield number, _cells_or_problem(row, number)
        else:
            delimiter = "\t" if kind == "tsv" else _delimiter(first)
            yield from _named(_delimited(texts, shown(path), kind, delimiter), header=header)


def _refuse_other_kind(path: Path) -> None:
    """Raise CorpusError for an archive, a pointer of Git LFS or a web page."""
    head = beginning_of(path)
    refuse_known(head, shown(path))
    if path.suffix.lower() in (".json", *_ENDINGS) and (what := not_fetched(head)):
        raise CorpusError("{path} is not a table: {what}", path=shown(path), what=what)


def lines_of(texts: Iterable[str], title: str) -> Iterator[str]:
    """Yield the lines of a text that is read in blocks, each with its line break.

    Raises:
        CorpusError: a line is longer than a row may be.
    """
    rest = ""
    for text in texts:
        *lines, rest = f"{rest}{text}".split("\n")
        yield from (f"{line}\n" for line in lines)
        if len(rest) > LONGEST_ROW:
            raise CorpusError(
                "{title} has a line of more than {n:,} characters, which is too long for a row of a table; "
                "put each row on its own line, or divide the text",
                title=title,
                n=LONGEST_ROW,
            )
    if rest:
        yield rest


def _cells_or_problem(line: str, number: int) -> Mapping[str, Any] | BadLine:
    try:
        cells = cells_of(json.loads(line))
    except (ValueError, RecursionError) as error:
        problem: Problem = "too_deep" if isinstance(error, RecursionError) else "no_json"
        return BadLine(line=number, problem=problem, text=line.rstrip())
    return BadLine(line=number, problem="no_row", text=line.rstrip()) if cells is None else cells


def cells_of(value: object) -> Mapping[str, Any] | None:
    """Return the cells of a row of JSON or Parquet, those of nested objects as object.cell; None for other values."""
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, list):
        return {f"{i}": cell for i, cell in enumerate(value, 1)}
    if not isinstance(value, dict):
        return None
    if not any(isinstance(cell, dict) for cell in value.values()):
        return value
    cells: dict[str, Any] = {}
    for name, cell in value.items():
        cells |= {f"{name}.{inner}": part for inner, part in cell.items()} if isinstance(cell, dict) else {name: cell}
    return cells


def _delimiter(text: str) -> str:
    """Return the delimiter of the first lines of a CSV file."""
    lines = [line for line in re.sub(r'"[^"]*"', "", text[:_HEAD]).split("\n") if line.strip()][:_N_COMPARED]
    return max(",;\t|", key=lambda sign: (min((line.count(sign) for line in lines), default=0), text.count(sign)))


def _delimited(texts: Iterable[str], title: str, kind: Format, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with its first line."""
    if kind == "tsv":
        for number, line in enumerate(lines_of(texts, title), 1):
            if line.strip():
                yield number, line.rstrip("\r\n").split("\t")
        return
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_ROW))
    rows, n_read = csv.reader(lines_of(texts, title), delimiter=delimiter, strict=True), 0
    try:
        for row in rows:
            if any(map(str.strip, row)):
                yield n_read + 1, row
            n_read = rows.line_num
    except csv.Error as error:
        raise CorpusError(
            "{title}: the row that starts at line {line:,} cannot be read as .csv ({error}); check "
            "for a missing quotation mark",
            title=title,
            line=n_read + 1,
            error=error,
        ) from error


def _named(rows: Iterator[tuple[int, list[str]]], *, header: bool) -> Iterator[TableRow]:
    """Yield rows with the names of their columns; the names are the first row, or numbers."""
    names = [*map(str.strip, next(rows, (1, []))[1])] if header else []
    for line, cells in rows:
        del cells[MOST_COLUMNS + 1 :]  # one more than allowed, to detect too many
        names += [f"{i}" for i in range(len(names) + 1, len(cells) + 1)]
        named = dict(zip(names, cells, strict=False))
        named.pop("", None)
        yield line, named


def parquet_columns(path: Path) -> tuple[str, ...]:
    """Return the names of the columns of a Parquet file, as in `rows_of`, without reading them.

    Raises:
        CorpusError: it is damaged, or pyarrow is missing.
    """
    with _parquet(path) as file:
        fields = [(field.name, getattr(field.type, "names", [])) for field in file.schema_arrow]  # with nested names
    return tuple(f"{name}.{part}" if part else name for name, parts in fields for part in parts or [""])


@contextmanager
def _parquet(path: Path) -> "Iterator[ParquetFile]":
    """Open a Parquet file; raise CorpusError if it is damaged or pyarrow is missing."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise CorpusError(
            "{path} is a Parquet file, and reading those needs pyarrow; install it (pip install pyarrow), or export "
            "the texts as JSON lines",
            path=shown(path),
        ) from error
    _refuse_other_kind(path)
    try:
        with parquet.ParquetFile(path, buffer_size=2**20, pre_buffer=False) as file:
            yield file
    except (arrow.ArrowException, OSError) as error:
        raise CorpusError(
            "{path} is a damaged Parquet file ({error}); copy or export it again", path=shown(path), error=reason(error)
        ) from error


def _parquet_rows(path: Path, columns: Sequence[str] | None) -> Iterator[TableRow]:
    """Yield the rows of a Parquet file, which is unpacked page by page."""
    number = 0
    with _parquet(path) as file:
        names = [name for name in file.schema_arrow.names if columns is None or _is_of(name, columns)]
        _refuse_unpacked(file, names, path)
        for batch in file.iter_batches(batch_size=64, columns=names):
            for row in range(batch.num_rows):
                number += 1
                yield number, cells_of({name: batch.column(i)[row].as_py() for i, name in enumerate(names)}) or {}


def _is_of(name: str, columns: Sequence[str]) -> bool:
    """Return whether a column of Parquet is one of `columns`, or contains one."""
    return any(column == name or column.startswith(f"{name}.") for column in columns)


def _refuse_unpacked(file: "ParquetFile", names: Sequence[str], path: Path) -> None:
    """Raise CorpusError if columns unpack to many times their size."""
    for group in map(file.metadata.row_group, range(file.metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            most = max(_MOST_UNPACKED[0], _MOST_UNPACKED[1] * chunk.total_compressed_size)
            if chunk.total_uncompressed_size > most and _is_of(chunk.path_in_schema.split(".")[0], names):
                raise CorpusError(
                    "{path}: the column {column} would unpack to {n:,} MB, many times its size in the file; "
                    "export the texts as JSON lines",
                    path=shown(path),
                    column=chunk.path_in_schema,
                    n=chunk.total_uncompressed_size // 10**6,
                )
