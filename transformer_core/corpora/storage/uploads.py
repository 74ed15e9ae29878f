"""What a person uploads or pastes, written to a file of ours that is known to be a corpus."""

import csv
import os
import re
import shutil
import time
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from io import BytesIO
from itertools import chain
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Literal, Protocol, runtime_checkable

from transformer_core.corpora.reading import CorpusReading
from transformer_core.corpora.storage.encodings import decoded, encoding_of
from transformer_core.corpora.storage.files import open_corpus
from transformer_core.corpora.storage.pair_lines import BadLinesError, pair_lines
from transformer_core.corpora.storage.text_files import TextFiles, check_text_file
from transformer_core.errors import CorpusError, Message
from transformer_core.reasons import reason

MOST_BYTES = 2 * 2**30  # of what is taken in; larger files are better read where they are
SKIPS_BAD_LINES = ".skip-bad-lines"  # beside a file of pairs: a person has agreed to skip lines that hold none

_BLOCK = 2**20  # bytes that are read at a time
_LONGEST_NAME, _LONGEST_TITLE = 120, 80  # bytes of a file name, its ending not counted; characters in a message
_LONGEST_LINE = 2**22  # characters of a .csv file, which is read a line at a time
_UNDER_WAY = ".taking-in-"  # how folders begin in which something is written
_STALE_SECONDS = 24 * 3600.0  # older ones are no longer being written
_NAMELESS = Message("the text")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)  # names that Windows keeps for devices


@runtime_checkable
class Readable(Protocol):
    """An open file, or what can be read like one."""

    def read(self, size: int, /) -> bytes:
        """Return some bytes, so many at most; none at the end."""
        ...


@dataclass(frozen=True, kw_only=True)
class TakenIn:
    """An uploaded file, stored by us."""

    path: Path  # for `load_corpus(str(path))`
    remark: Message  # what was done to the text on the way, in sentences; none if nothing was


def take_in(
    file: Readable | bytes,
    name: str,
    folder: Path,
    *,
    as_pairs: bool | Literal["auto"] = "auto",
    skip_bad_lines: bool = False,
) -> TakenIn:
    """Write what a person gave to a file in a folder, so that it can be trained on; or say why not, and write nothing.

    Text in UTF-16, UTF-32 or Windows-1252 becomes UTF-8. The columns of a .csv file become those of a .tsv file. The
    file keeps its name, but for what no file system takes, and lies in a folder that is named by name and content: the
    same file is there once, another one of the same name beside it.

    Args:
        file: an open file, read in little memory, or the bytes themselves.
        name: what the person calls it; any text, no path is taken from it.
        folder: where to write; it is made.
        as_pairs: whether lines are pairs: a source, a tab (in .csv a comma or a semicolon) and a target; "auto": if
            the name ends in .tsv or .csv.
        skip_bad_lines: whether lines that hold no pair may be left out when the file is read.

    Raises:
        BadLinesError: some lines hold no pair, and the person has not agreed to skip them.
        CorpusError: it is no text, or no corpus, or cannot be written; the message names the line where it can, and
            says what to do.
    """
    called = _title(name)
    title = called or _NAMELESS
    is_pairs = PurePath(called).suffix.lower() in (".tsv", ".csv") if as_pairs == "auto" else as_pairs
    file_name = _file_name(called or str(_NAMELESS), ".tsv" if is_pairs else "")
    source = BytesIO(file) if isinstance(file, bytes) else file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        with TemporaryDirectory(prefix=_UNDER_WAY, dir=folder) as place:
            upload = Path(place, "given")
            clean = Path(place, "clean.tsv" if is_pairs else "clean.txt")
            _copy(source, upload, title)
            remarks, fingerprint = _write_clean(upload, clean, title, is_pairs, file_name)
            reading = CorpusReading(skip_bad_lines=is_pairs and skip_bad_lines)
            n_bad = _n_bad_lines(clean, title, reading)
            path = folder / fingerprint / file_name
            if is_pairs and PurePath(str(title)).suffix.lower() == ".csv":
                kept_as = Message("{name} is stored as {file}, with tab-separated columns.", name=title, file=file_name)
                remarks.append(kept_as)
            path.parent.mkdir(exist_ok=True)
            if n_bad:
                (path.parent / SKIPS_BAD_LINES).touch()
            if not path.exists() or path.stat().st_size != clean.stat().st_size:
                os.replace(clean, path)
    except OSError as error:
        raise CorpusError(
            "{title} cannot be saved in {folder} ({error}); free some disk space there, or choose another folder",
            title=title,
            folder=folder,
            error=reason(error),
        ) from error
    return TakenIn(path=path, remark=Message.joined(" ", remarks))


def _sweep(folder: Path) -> None:
    """Delete what processes left behind that did not live to finish."""
    for left in folder.glob(f"{_UNDER_WAY}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _copy(source: Readable, upload: Path, title: str | Message) -> None:
    """Copy what was given, as it is."""
    n_bytes = 0
    with open(upload, "wb") as copy:
        while block := source.read(_BLOCK):
            n_bytes += len(block)
            if n_bytes > MOST_BYTES:
                raise CorpusError(
                    "{title} is larger than {n:,.0f} GiB; leave it where it is, and give its path as the corpus",
                    title=title,
                    n=MOST_BYTES / 2**30,
                )
            copy.write(block)


def _write_clean(
    upload: Path, clean: Path, title: str | Message, is_pairs: bool, file_name: str
) -> tuple[list[Message], str]:
    """Write what was given as UTF-8 text, or as tab-separated pairs; return remarks, and a fingerprint."""
    digest = blake2b(file_name.encode("utf-8"), digest_size=6)  # of the name, too: two names are two texts
    with open(upload, "rb") as file, open(clean, "wb") as out:
        codec, *remarks = encoding_of(file, title)
        texts = decoded(file, codec, title)
        if is_pairs and PurePath(str(title)).suffix.lower() == ".csv":
            texts = _tab_separated(texts, title)
        for text in texts:
            raw = text.encode("utf-8")
            digest.update(raw)
            out.write(raw)
        out.flush()
        os.fsync(out.fileno())
    return list(filter(None, remarks)), digest.hexdigest()


def _tab_separated(texts: Iterable[str], title: str | Message) -> Iterator[str]:
    """Yield the rows of a .csv file as lines with tabs between the columns, each at the line where the row begins."""
    lines = _lines(texts, title)
    first = next(lines, "")
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_LINE))
    rows = csv.reader(chain(filter(None, [first]), lines), delimiter=max(",;\t", key=first.count), strict=True)
    n_read = 0  # lines
    try:
        for row in rows:
            yield "\t".join(" ".join(cell.split()) for cell in row) + "\n" * (rows.line_num - n_read)
            n_read = rows.line_num
    except csv.Error as error:
        raise CorpusError(
            "{title}: the row that starts at line {line:,} cannot be read as .csv ({error}); check "
            "for a missing quotation mark",
            title=title,
            line=n_read + 1,
            error=error,
        ) from error


def _lines(texts: Iterable[str], title: str | Message) -> Iterator[str]:
    """Yield the lines of a text that comes some at a time, each with its line break."""
    rest = ""
    for text in texts:
        *lines, rest = f"{rest}{text}".split("\n")
        yield from (f"{line}\n" for line in lines)
        if len(rest) > _LONGEST_LINE:
            raise CorpusError(
                "{title} has a line of more than {n:,} characters, which is too long for a row of a .csv "
                "file; upload it as text, or put each pair on its own line",
                title=title,
                n=_LONGEST_LINE,
            )
    if rest:
        yield rest


def _n_bad_lines(clean: Path, title: str | Message, reading: CorpusReading) -> int:
    """Check that a file is a corpus, and count the lines that are skipped; errors say the name that a person knows."""
    try:
        open_corpus(clean, reading)
        return pair_lines(TextFiles(clean, [check_text_file(clean)])).n_bad if reading.skip_bad_lines else 0
    except BadLinesError as error:
        raise BadLinesError(error.lines, title) from error
    except CorpusError as error:
        raise CorpusError(error.message.replaced(str(clean), title)) from error


def _title(name: str) -> str:
    """Return what a message calls the text: the last part of its name, with nothing in it that is not seen, or ""."""
    last = re.split(r"[/\\]", name)[-1]
    seen = "".join(character if character.isprintable() else " " for character in last)
    return " ".join(seen.split())[:_LONGEST_TITLE]


def _file_name(title: str, ending: str) -> str:
    """Return a name that every file system takes, and no shell minds: its letters, digits, spaces, points and dashes.

    Args:
        title: what the person calls it.
        ending: that it has to have; "": any that does not say that the file holds pairs.
    """
    has_ending = re.fullmatch(r"\.\w{1,8}", PurePath(str(title)).suffix)
    stem, usual = (PurePath(title).stem, PurePath(title).suffix) if has_ending else (title, ".txt")
    suffix = ending or (".txt" if usual.lower() in (".tsv", ".csv") else usual)
    plain = re.sub(r"[^\w.() -]+", "-", unicodedata.normalize("NFC", stem)).strip("-._ ")
    short = plain.encode("utf-8")[:_LONGEST_NAME].decode("utf-8", "ignore").rstrip("-._ ")
    if not short or _RESERVED.fullmatch(short.partition(".")[0]):
        short = f"text-{short}".rstrip("-")
    return f"{short}{suffix}"
