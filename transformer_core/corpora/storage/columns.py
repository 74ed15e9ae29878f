"""The columns of tables: those of the text, or of source and target, and whether the first line contains names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from transformer_core.corpora.reading import CorpusReading
from transformer_core.corpora.storage.pair_lines import BadLine
from transformer_core.corpora.storage.rows import MOST_COLUMNS, Format, format_of, parquet_columns, rows_of
from transformer_core.corpora.storage.text_files import NoTextError, first_of, shown
from transformer_core.errors import CorpusError, Message

_N_READ = 100  # rows read to find the columns
_N_LISTED = 20  # columns listed in a message
_SIDES = ("source", "src", "target", "tgt", "trg")
_CHATS = ("messages", "conversations", "conversation", "dialog", "dialogue", "chat", "turns")
_TEXTS = "text content body document story sentence article review comment quote message tweet abstract".split()
_PAIRS = (
    *(("source", "target"), ("src", "tgt"), ("src", "trg"), ("instruction+input", "output"), ("input", "output")),
    *(("instruction", "output"), ("instruction", "response"), ("prompt", "completion"), ("prompt", "response")),
    *(("question", "answer"), ("query", "response"), ("instruction", "completion"), ("document", "summary")),
    *(("article", "highlights"), ("article", "summary"), ("text", "summary"), ("instruction+context", "response")),
)
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


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table, known from its first rows."""

    path: Path  # of the file, or of the folder of the files
    files: tuple[Path, ...]
    format: Format | None  # None: two parallel files
    columns: tuple[str, ...]
    has_header: bool  # of CSV and TSV: the first line contains the names of the columns
    text: str = ""  # the column of the text; columns joined by "+" are one text, each on its own line
    source: str = ""  # or the columns of source and target
    target: str = ""

    @property
    def is_chosen(self) -> bool:
        """Whether the columns to read are known."""
        return bool(self.text or (self.source and self.target))

    @property
    def sides(self) -> tuple[list[str], ...]:
        """The columns of the text, or of the source and of the target, if they are chosen."""
        return tuple(_parts(name, self.columns) for name in (self.text, self.source, self.target) if name)

    @property
    def can_have_header(self) -> bool:
        """Whether the first line may contain names."""
        return self.format in ("csv", "tsv")


def table_of(path: Path, files: Sequence[Path], reading: CorpusReading) -> Table | None:
    """Return the table of some files; None if they are not a table, or are to be read as text.

    Raises:
        CorpusError: they cannot be read, or lack the requested columns.
    """
    if reading.division != "auto" or not files:
        return None
    parallel = _parallel(files)
    kinds = {None} if parallel else {format_of(file) for file in files}
    if len(kinds) > 1 or not (parallel or kinds - {None}):
        return None
    (kind,) = kinds
    columns, has_header = parallel, False
    if kind is None:
        files = sorted(files, key=lambda file: parallel.index(_side(file, files)))
    else:
        has_header = kind in ("csv", "tsv") and _has_header(files[0], kind, reading)
        columns = _columns(files[0], kind, has_header=has_header)
    chosen = {"text": reading.text_column, "source": reading.source_column, "target": reading.target_column}
    for name in chosen.values():
        if any(part not in columns for part in _parts(name, columns)):
            raise CorpusError(
                "{path} has no column {column}; it has {columns}",
                path=shown(path),
                column=name,
                columns=listed(columns),
            )
    if not any(chosen.values()):
        chosen = _guess(columns, kind, has_names=has_header or kind not in ("csv", "tsv"))
    return Table(path=path, files=tuple(files), format=kind, columns=columns, has_header=has_header, **chosen)


def _has_header(path: Path, kind: Format, reading: CorpusReading) -> bool:
    if reading.header != "auto":
        return reading.header == "yes"
    first = next((cells for _, cells in rows_of(path, kind) if not isinstance(cells, BadLine)), {})
    names = [*map(str.strip, first.values())]
    requested = filter(None, (reading.text_column, reading.source_column, reading.target_column))
    return looks_like_header(names) or any(
        part in names and part not in first for name in requested for part in _parts(name, names)
    )


def _columns(path: Path, kind: Format, *, has_header: bool) -> tuple[str, ...]:
    if not path.stat().st_size:
        raise NoTextError("{path} is empty", path=shown(path))
    rows = (cells for _, cells in islice(rows_of(path, kind, header=has_header), _N_READ))
    of_rows = [parquet_columns(path)] if kind == "parquet" else (row for row in rows if not isinstance(row, BadLine))
    names: dict[str, None] = {}
    for of_row in of_rows:
        names |= dict.fromkeys(of_row)
        if len(names) > MOST_COLUMNS:
            raise CorpusError(
                "{path} has more than {n:,} columns; export only those that have text", path=shown(path), n=MOST_COLUMNS
            )
    return tuple(names)


def _guess(columns: Sequence[str], kind: Format | None, *, has_names: bool) -> dict[str, str]:
    """Return the columns with usual names."""
    if kind is None or (not has_names and kind in ("csv", "tsv")):
        first = (*columns[:2], "")[:2] if len(columns) > 1 else ("1", "2")
        return {"source": first[0], "target": first[1]}
    if not columns:
        return {"text": "text"}  # all rows are bad, and will be reported
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
    """Return the only part of a file name that differs from the name of the other file."""
    (other,) = (name for name in files if name != file) if len(files) == 2 else (file,)
    mine, others = (re.split(r"[._-]", path.name.lower()) for path in (file, other))
    different = [part for part, its in zip(mine, others, strict=False) if part != its]
    return different[0] if len(mine) == len(others) and len(different) == 1 else ""


def _parallel(files: Sequence[Path]) -> tuple[str, ...]:
    """Return the names of the sides of two parallel files, source first; empty for other files."""
    if len(files) != 2:
        return ()
    sides = sorted((_side(file, files) for file in files), key=lambda side: (*_SIDES, side).index(side))
    return tuple(sides) if all(side in LANGUAGES or side in _SIDES for side in sides) else ()


def looks_like_header(cells: list[str]) -> bool:
    """Return whether most cells of a first row are usual names of columns, and none is a sentence."""
    if len({*cells}) < len(cells) or any(len(cell.split()) > 3 or re.search(r"[.!?]$", cell) for cell in cells):
        return False
    words = [{*re.findall(r"[a-z]+", cell.lower())} for cell in cells]
    known = [cell.lower() in LANGUAGES or bool(NAMES & names) for cell, names in zip(cells, words, strict=True)]
    return sum(known) > len(cells) / 2 and (len(cells) > 1 or cells[0].lower() in NAMES)


def _parts(name: str, columns: Sequence[str]) -> list[str]:
    return [] if not name else [name] if name in columns else name.split("+")


def listed(columns: Sequence[str]) -> Message:
    """Return the names of columns, at most the first twenty."""
    return first_of(columns[:_N_LISTED], len(columns) - _N_LISTED, separator=", ")


def columns_in_words(table: Table) -> Message:
    """Return a message naming the columns that are read, or the roles of two files."""
    if table.format is None:
        names = {side: file.name for side, file in zip(table.columns, table.files, strict=True)}
        source, target = names[table.source], names[table.target]
        return Message("Source: the file {source}; target: {target}.", source=source, target=target)
    if table.text:
        return Message("Text: the column {text}.", text=table.text)
    return Message("Source: the column {source}; target: {target}.", source=table.source, target=table.target)
