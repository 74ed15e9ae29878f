"""The rows of tables: JSON, JSON lines, CSV, TSV and Parquet, recognised by content and read a row at a time."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from transformer_core.corpora.storage.encodings import MARKS, decoded, encoding_of
from transformer_core.corpora.storage.pair_lines import BadLine, Problem
from transformer_core.corpora.storage.text_files import opened, shown
from transformer_core.errors import CorpusError
from transformer_core.reasons import reason

Format = Literal["json", "json_lines", "csv", "tsv", "parquet"]
Row = tuple[int, Mapping[str, Any] | BadLine]
"""The line of a row, counted from 1 (of Parquet: the row), and its cells by column, or what is wrong with it."""

LONGEST_ROW = 2**22  # characters; parsed, a row of JSON can take 20 times as many bytes
_HEAD = 2**16  # bytes by which a format is recognised
_N_COMPARED = 20  # lines by which the delimiter is found
_MOST_UNPACKED = 2**26, 16  # of a column of Parquet: bytes, or so many times its size in the file
_ENDINGS: dict[str, Format] = {".csv": "csv", ".tsv": "tsv", ".jsonl": "json_lines", ".ndjson": "json_lines"}


def format_of(path: Path) -> Format | None:
    """Return what table a file is, by its content; of CSV and TSV, by its ending. None: it is none."""
    with opened(path) as file:
        head = file.read(_HEAD)
    if head.startswith(b"PAR1"):
        return "parquet"
    if known := _ENDINGS.get(path.suffix.lower()):
        return known
    codec = next((codec for mark, codec, _ in MARKS if head.startswith(mark)), "utf-8")
    text = head.decode(codec, "ignore").lstrip()
    if re.match(r'\[\s*(\{\s*["}]|\[\s*["\[]|")', text):
        return "json" if _begins_array(text, is_cut=len(head) == _HEAD) else None
    if not re.match(r'\{\s*"', text):
        return None
    first, line_break, rest = text.partition("\n")
    if not line_break and len(head) == _HEAD:
        return "json_lines"
    if path.suffix.lower() == ".json" and not rest.strip():
        return "json"
    try:
        return "json_lines" if isinstance(json.loads(first), dict) else None
    except (ValueError, RecursionError):
        return "json" if re.match(r'\{\s*"(?:[^"\\\n]|\\.)*"\s*:', text) else None


def _begins_array(text: str, *, is_cut: bool) -> bool:
    """Whether a text that begins with a bracket and a quotation mark is JSON as far as it can be seen."""
    try:
        _, end = json.JSONDecoder().raw_decode(text, re.compile(r"\[\s*").match(text).end())  # type: ignore[union-attr]
    except RecursionError:
        return True
    except ValueError:
        return is_cut
    return text[end:].lstrip()[:1] in (",", "]", "")


def rows_of(path: Path, kind: Format, *, header: bool | None = None) -> Iterator[Row]:
    """Yield the rows of a table, in little memory.

    Args:
        path: of the table.
        kind: from `format_of`.
        header: of CSV and TSV: whether the first row has the names of the columns; None: if it looks like that. Without
            them the columns are called 1, 2, and so on.

    Raises:
        CorpusError: it cannot be read; the message names the line where it can.
    """
    if kind == "parquet":
        yield from _parquet_rows(path)
        return
    with opened(path) as file:
        texts = decoded(file, encoding_of(file, shown(path)).codec, shown(path))
        first = next(texts, "").removeprefix("\ufeff")
        texts = chain([first], texts)
        if kind == "json":
            yield from _json_rows(texts, shown(path))
        elif kind == "json_lines":
            yield from _json_lines(texts, shown(path))
        else:
            delimiter = "\t" if kind == "tsv" else _delimiter(first)
            yield from _named(_delimited(texts, shown(path), kind, delimiter), header)


def lines_of(texts: Iterable[str], title: str) -> Iterator[str]:
    """Yield the lines of a text that comes some at a time, each with its line break.

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


def _json_lines(texts: Iterable[str], title: str) -> Iterator[Row]:
    for number, line in enumerate(lines_of(texts, title), 1):
        if line.strip():
            yield number, _cells_or_problem(line, number)


def _cells_or_problem(line: str, number: int) -> Mapping[str, Any] | BadLine:
    try:
        cells = cells_of(json.loads(line))
    except (ValueError, RecursionError) as error:
        problem: Problem = "too_deep" if isinstance(error, RecursionError) else "no_json"
        return BadLine(line=number, problem=problem, text=line.rstrip())
    return BadLine(line=number, problem="no_row", text=line.rstrip()) if cells is None else cells


def cells_of(value: object) -> Mapping[str, Any] | None:
    """Return the cells of a row of JSON or Parquet: those of an object in it are called object.cell. None: no row."""
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, list):
        return {f"{i}": cell for i, cell in enumerate(value, 1)}
    if not isinstance(value, dict):
        return None
    cells: dict[str, Any] = {}
    for name, cell in value.items():
        cells |= {f"{name}.{inner}": part for inner, part in cell.items()} if isinstance(cell, dict) else {name: cell}
    return cells


class _JsonReader:
    """Reads a JSON text value by value."""

    def __init__(self, texts: Iterator[str], title: str) -> None:
        self.texts, self.title = texts, title
        self.buffer, self.place, self.line = "", 0, 1
        self.decoder = json.JSONDecoder()

    def peek(self) -> str:
        """Return the next sign that is not white space; "" at the end."""
        while True:
            place = _WHITE.match(self.buffer, self.place).end()  # type: ignore[union-attr]
            self._go_to(place)
            if place < len(self.buffer) or not self._fill():
                return self.buffer[place : place + 1]

    def take(self, allowed: str) -> str:
        """Return the next sign and go on behind it.

        Raises:
            CorpusError: it is none of those that are allowed.
        """
        sign = self.peek()
        if not sign or sign not in allowed:
            raise self._invalid(f"{' or '.join(allowed)} expected")
        self.place += 1
        return sign

    def value(self) -> Any:
        """Return the next value, and go on behind it.

        Raises:
            CorpusError: there is none, or it is longer or deeper than a row may be.
        """
        self.peek()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.buffer, self.place)
                if end < len(self.buffer) or not self._fill():
                    self._go_to(end)
                    return value
            except RecursionError as error:
                raise CorpusError(
                    "{title}, line {line:,}: the JSON is nested too deeply; use an array of objects or of texts",
                    title=self.title,
                    line=self.line,
                ) from error
            except ValueError as error:
                if len(self.buffer) - self.place > LONGEST_ROW:
                    raise CorpusError(
                        "{title}, line {line:,}: a value has more than {n:,} characters, or is not valid JSON; "
                        "use an array of objects or of texts",
                        title=self.title,
                        line=self.line,
                        n=LONGEST_ROW,
                    ) from error
                if not self._fill():
                    raise self._invalid(str(error).partition(":")[0]) from error

    def _go_to(self, place: int) -> None:
        self.line += self.buffer.count("\n", self.place, place)
        self.place = place

    def _fill(self) -> bool:
        """Read on, twice as much as waits; return whether there was more."""
        rest = self.buffer[self.place :]
        more = [next(self.texts, "")]
        while more[-1] and sum(map(len, more)) < len(rest):
            more.append(next(self.texts, ""))
        self.buffer, self.place = "".join([rest, *more]), 0
        return any(more)

    def _invalid(self, problem: str) -> CorpusError:
        return CorpusError(
            "{title}, line {line:,}: this is not valid JSON ({problem}); correct it, or choose division=lines to read "
            "it as plain text",
            title=self.title,
            line=self.line,
            problem=problem,
        )


def _json_rows(texts: Iterator[str], title: str) -> Iterator[Row]:
    """Yield the elements of an array, or of the first array in an object, parsed one by one."""
    reader = _JsonReader(texts, title)
    if reader.take("[{") == "{":
        while reader.peek() != "}":
            reader.value()
            reader.take(":")
            if reader.peek() == "[":
                break
            reader.value()
            if reader.take(",}") == "}":
                break
        if reader.peek() != "[":
            raise CorpusError(
                "{title} is one JSON object, not a list of texts; save its texts as an array or as JSON lines, or "
                "choose division=lines to read it as plain text",
                title=title,
            )
        reader.take("[")
    is_over = reader.peek() == "]"
    while not is_over:
        reader.peek()
        line, value = reader.line, reader.value()
        cells = cells_of(value)
        yield line, BadLine(line=line, problem="no_row", text=str(value)) if cells is None else cells
        is_over = reader.take(",]") == "]"


def _delimiter(text: str) -> str:
    """Return what separates the columns of the first lines of a CSV file."""
    lines = [line for line in re.sub(r'"[^"]*"', "", text[:_HEAD]).split("\n") if line.strip()][:_N_COMPARED]
    return max(",;\t|", key=lambda sign: (min((line.count(sign) for line in lines), default=0), text.count(sign)))


def _delimited(texts: Iterable[str], title: str, kind: Format, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with the line where it begins."""
    if kind == "tsv":
        yield from (
            (number, [cell.strip() for cell in line.split("\t")])
            for number, line in enumerate(lines_of(texts, title), 1)
            if line.strip()
        )
        return
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_ROW))
    rows, n_read = csv.reader(lines_of(texts, title), delimiter=delimiter, strict=True), 0
    try:
        for row in rows:
            if any(cell.strip() for cell in row):
                yield n_read + 1, [cell.strip() for cell in row]
            n_read = rows.line_num
    except csv.Error as error:
        raise CorpusError(
            "{title}: the row that starts at line {line:,} cannot be read as .csv ({error}); check "
            "for a missing quotation mark",
            title=title,
            line=n_read + 1,
            error=error,
        ) from error


def _named(rows: Iterator[tuple[int, list[str]]], header: bool | None) -> Iterator[Row]:
    """Yield rows with the names of their columns; the names are the first row, or numbers."""
    first = next(rows, None)
    if first is None:
        return
    names = first[1] if (looks_like_header(first[1]) if header is None else header) else []
    for line, cells in rows if names else chain([first], rows):
        named = {name: cell for name, cell in zip(names, cells, strict=False) if name}
        yield line, named | {f"{i}": cell for i, cell in enumerate(cells[len(names) :], len(names) + 1)}


def looks_like_header(cells: list[str]) -> bool:
    """Whether most cells of a first row are names that columns usually have, and none is a sentence."""
    if len({*cells}) < len(cells) or any(len(cell.split()) > 3 or re.search(r"[.!?]$", cell) for cell in cells):
        return False
    words = [{*re.findall(r"[a-z]+", cell.lower())} for cell in cells]
    known = [cell.lower() in LANGUAGES or bool(NAMES & names) for cell, names in zip(cells, words, strict=True)]
    return sum(known) > len(cells) / 2 and (len(cells) > 1 or cells[0].lower() in NAMES)


def _parquet_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a Parquet file; pages are unpacked one after another."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise CorpusError(
            "{path} is a Parquet file, and reading those needs pyarrow; install it (pip install pyarrow), or export "
            "the texts as JSON lines",
            path=shown(path),
        ) from error
    number = 0
    try:
        with parquet.ParquetFile(path, buffer_size=2**20, pre_buffer=False) as file:
            for group in range(file.metadata.num_row_groups):
                chunks = file.metadata.row_group(group)
                for column in range(chunks.num_columns):
                    chunk = chunks.column(column)
                    most = max(_MOST_UNPACKED[0], _MOST_UNPACKED[1] * chunk.total_compressed_size)
                    if chunk.total_uncompressed_size > most:
                        raise CorpusError(
                            "{path}: the column {column} would unpack to {n:,} MB, many times its size in the file; "
                            "export the texts as JSON lines",
                            path=shown(path),
                            column=chunk.path_in_schema,
                            n=chunk.total_uncompressed_size // 10**6,
                        )
            for batch in file.iter_batches(batch_size=64):
                columns = [(name, batch.column(i)) for i, name in enumerate(batch.schema.names)]
                for row in range(batch.num_rows):
                    number += 1
                    cells = cells_of({name: column[row].as_py() for name, column in columns})
                    yield number, cells or {}
    except (arrow.ArrowException, OSError) as error:
        raise CorpusError(
            "{path} is a damaged Parquet file ({error}); copy or export it again", path=shown(path), error=reason(error)
        ) from error


_WHITE = re.compile(r"\s*")
LANGUAGES = frozenset(
    "ar bg cs da de el en es et fa fi fr ga he hi hr hu id is it ja ko lt lv mt nb nl no pl pt ro ru sk sl sv th tr uk "
    "vi zh ara ces deu eng est fin fra hin hun ita jpn kor lit nld pol por ron rus slk spa swe tur ukr zho".split()
)
NAMES = frozenset(
    "text texts sentence sentences content body document article story review comment title headline source target "
    "src tgt trg input output instruction instructions prompt completion response answer answers question questions "
    "context "
    "label labels category class sentiment score rating id index date time author name url summary translation word "
    "words message messages tweet query query1 premise hypothesis english french german spanish italian portuguese "
    "dutch russian chinese japanese language lang quote quotes user username genre tag tags".split()
)
