"""What a person uploads or pastes, written to a file of ours that is known to be a corpus."""

import os
import re
import shutil
import time
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from io import BytesIO
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Protocol, runtime_checkable

from transformer_core.corpora.reading import CorpusReading
from transformer_core.corpora.storage.encodings import Encoding, NotTextError, decoded, encoding_of
from transformer_core.corpora.storage.files import open_corpus, table_at
from transformer_core.corpora.storage.pair_lines import BadLinesError
from transformer_core.errors import NO_MESSAGE, CorpusError, Message
from transformer_core.reasons import reason

MOST_BYTES = 2 * 2**30  # of what is taken in; larger files are better read where they are
MOST_FILES = 10_000  # that are taken in together
SKIPS_BAD_LINES = ".skip-bad-lines"  # beside a file of pairs: a person has agreed to skip lines that hold none

_BLOCK = 2**20  # bytes that are read at a time
_LONGEST_NAME, _LONGEST_TITLE = 120, 80  # bytes of a file name, its ending not counted; characters in a message
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
    files: Sequence[tuple[Readable | bytes, str]],
    folder: Path,
    *,
    skip_bad_lines: bool = False,
) -> TakenIn:
    """Write what a person gave to a folder, so that it can be trained on; or say why not, and write nothing.

    Text in UTF-16, UTF-32 or Windows-1252 becomes UTF-8. A file keeps its name, but for what no file system takes, and
    lies in a folder that is named by names and contents: the same file is there once, another one of the same name
    beside it. Several files lie in a folder of their own there; those that are no text are left out.

    Args:
        files: open files, read in little memory, or the bytes themselves, and what the person calls each: any text;
            with slashes, the folders that it lies in, which never lead elsewhere.
        folder: where to write; it is made.
        skip_bad_lines: whether lines that hold no pair or text may be left out when the files are read.

    Raises:
        BadLinesError: some lines hold no pair or text, and the person has not agreed to skip them.
        CorpusError: it is no text, or no corpus, or cannot be written; the message names the line where it can, and
            says what to do.
    """
    if len(files) > MOST_FILES:
        raise CorpusError(
            "{n:,} files are too many, at most {most:,} are taken; join them, or give the path of their folder as the "
            "corpus",
            n=len(files),
            most=MOST_FILES,
        )
    title = _title(files[0][1]) or _NAMELESS if len(files) == 1 else _title_of_all([name for _, name in files])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        with TemporaryDirectory(prefix=_UNDER_WAY, dir=folder) as place:
            digest, remarks, n_left, n_left_out = blake2b(digest_size=6), [], MOST_BYTES, 0
            name = _name_of(files[0][1]) if len(files) == 1 else _file_name(str(title), "")
            clean = Path(place, "clean", name if len(files) == 1 else PurePath(name).stem)
            for file, called in files:
                source = BytesIO(file) if isinstance(file, bytes) else file
                try:
                    path = clean if len(files) == 1 else _place_in(clean, called)
                    size, remark = _write_clean(
                        source, Path(place, "given"), path, _title(called) or title, digest, n_left
                    )
                    n_left -= size
                    remarks.append(remark)
                except NotTextError:
                    if len(files) == 1:
                        raise
                    n_left_out += 1
            if not clean.exists():
                raise CorpusError("none of the {n:,} files is text; use text files or tables", n=len(files))
            if n_left_out:
                remarks.append(Message("Files that are not text were left out: {n:,}.", n=n_left_out))
            skips = skip_bad_lines and _n_bad_lines(clean, title) > 0
            if not skips:
                _check(clean, title, CorpusReading())
            path = folder / digest.hexdigest() / clean.name
            path.parent.mkdir(exist_ok=True)
            if skips:
                (path.parent / SKIPS_BAD_LINES).touch()
            if clean.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            if clean.is_dir() or not path.exists() or path.stat().st_size != clean.stat().st_size:
                os.replace(clean, path)
    except OSError as error:
        raise CorpusError(
            "{title} cannot be saved in {folder} ({error}); free some disk space there, or choose another folder",
            title=title,
            folder=folder,
            error=reason(error),
        ) from error
    return TakenIn(path=path, remark=Message.joined(" ", filter(None, remarks)))


def _name_of(called: str) -> str:
    """Return the name of a file: a table keeps its ending, unless it is to be text."""
    title = _title(called) or str(_NAMELESS)
    ending = PurePath(title).suffix.lower()
    return _file_name(title, ending if ending in (".tsv", ".csv", ".json", ".jsonl", ".ndjson", ".parquet") else "")


def _place_in(clean: Path, called: str) -> Path:
    """Return where one of several files is written: in folders that are named as it says, under a name that is new."""
    *folders, name = re.split(r"[/\\]", called)
    path = clean.joinpath(*(_file_name(_title(part), "").removesuffix(".txt") for part in folders[1:] if _title(part)))
    path.mkdir(parents=True, exist_ok=True)
    path /= _name_of(name)
    n_same = 1
    while path.exists():
        n_same += 1
        path = path.with_stem(f"{path.stem.removesuffix(f'-{n_same - 1}')}-{n_same}")
    return path


def _title_of_all(names: Sequence[str]) -> str:
    """Return what several files are called together: their folder, how their names begin, or how many there are."""
    folders = {re.split(r"[/\\]", name)[0] for name in names if re.search(r"[/\\]", name)}
    if len(folders) == 1:
        return _title(folders.pop()) or str(_NAMELESS)
    first, last = min(names), max(names)
    n_common = next((i for i, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    begin = _title(first[:n_common]).rstrip("._- ")
    return begin if len(begin) > 1 else f"{len(names)} files"


def _sweep(folder: Path) -> None:
    """Delete what processes left behind that did not live to finish."""
    for left in folder.glob(f"{_UNDER_WAY}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _write_clean(
    source: Readable, upload: Path, clean: Path, title: str | Message, digest: "blake2b", n_left: int
) -> tuple[int, Message]:
    """Write one file as UTF-8 text, or a table in Parquet as it is; return its bytes, and what was done to it."""
    n_bytes = 0
    with open(upload, "wb") as copy:
        while block := source.read(_BLOCK):
            n_bytes += len(block)
            if n_bytes > n_left:
                raise CorpusError(
                    "{title} is larger than {n:,.0f} GiB; leave it where it is, and give its path as the corpus",
                    title=title,
                    n=MOST_BYTES / 2**30,
                )
            copy.write(block)
    digest.update(clean.name.encode("utf-8"))  # two names are two texts
    clean.parent.mkdir(parents=True, exist_ok=True)
    with open(upload, "rb") as file:
        is_parquet = file.read(4) == b"PAR1"
        file.seek(0)
        encoding = Encoding("", NO_MESSAGE) if is_parquet else encoding_of(file, title)
        raws = (
            iter(lambda: file.read(_BLOCK), b"")
            if is_parquet
            else map(str.encode, decoded(file, encoding.codec, title))
        )
        with open(clean, "wb") as out:
            for raw in raws:
                digest.update(raw)
                out.write(raw)
            out.flush()
            os.fsync(out.fileno())
    return n_bytes, encoding.remark


def _check(clean: Path, title: str | Message, reading: CorpusReading) -> None:
    """Check that files are a corpus, or a table whose columns are still to be chosen; errors say the person's name."""
    try:
        table = table_at(clean)
        if table is None or table.is_chosen:
            open_corpus(clean, reading)
    except BadLinesError as error:
        raise BadLinesError(error.lines, title) from error
    except CorpusError as error:
        raise CorpusError(error.message.replaced(str(clean), title).replaced(f"{clean.parent}/", "")) from error


def _n_bad_lines(clean: Path, title: str | Message) -> int:
    """Count the lines that would be skipped."""
    try:
        _check(clean, title, CorpusReading())
    except BadLinesError as error:
        _check(clean, title, CorpusReading(skip_bad_lines=True))
        return error.lines.n_bad
    return 0


def _title(name: str) -> str:
    """Return what a message calls the text: the last part of its name, with nothing in it that is not seen, or ""."""
    last = re.split(r"[/\\]", name)[-1]
    seen = "".join(character if character.isprintable() else " " for character in last)
    return " ".join(seen.split())[:_LONGEST_TITLE]


def _file_name(title: str, ending: str) -> str:
    """Return a name that every file system takes, and no shell minds: its letters, digits, spaces, points and dashes.

    Args:
        title: what the person calls it.
        ending: that it has to have; "": any.
    """
    has_ending = re.fullmatch(r"\.\w{1,8}", PurePath(str(title)).suffix)
    stem, usual = (PurePath(title).stem, PurePath(title).suffix) if has_ending else (title, ".txt")
    suffix = ending or usual
    plain = re.sub(r"[^\w.() -]+", "-", unicodedata.normalize("NFC", stem)).strip("-._ ")
    short = plain.encode("utf-8")[:_LONGEST_NAME].decode("utf-8", "ignore").rstrip("-._ ")
    if not short or _RESERVED.fullmatch(short.partition(".")[0]):
        short = f"text-{short}".rstrip("-")
    return f"{short}{suffix}"
