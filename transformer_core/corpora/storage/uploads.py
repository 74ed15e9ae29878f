"""Uploaded or pasted texts, stored as UTF-8 and validated as a corpus."""

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

from transformer_core.corpora.reading import CorpusReading
from transformer_core.corpora.storage.encodings import Encoding, File, NotTextError, decoded, encoding_of
from transformer_core.corpora.storage.files import open_corpus, table_at
from transformer_core.corpora.storage.pair_lines import BadLinesError
from transformer_core.errors import NO_MESSAGE, CorpusError, Message
from transformer_core.reasons import reason

MOST_BYTES = 2 * 2**30  # size of an upload; read larger files in place instead
MOST_FILES = 10_000  # of an upload
SKIPS_BAD_LINES = ".skip-bad-lines"  # marks a file of pairs whose bad lines the user has agreed to skip

_BLOCK = 2**20  # bytes read at a time
_LONGEST_NAME, _LONGEST_TITLE = 120, 80  # bytes of a file name without its ending; characters in a message
_UNDER_WAY = ".taking-in-"  # prefix of folders that are being written
_STALE_SECONDS = 24 * 3600.0  # older folders were left behind by killed processes
_NAMELESS = Message("the text")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)  # device names of Windows


@dataclass(frozen=True, kw_only=True)
class TakenIn:
    """A stored upload."""

    path: Path  # for `load_corpus(str(path))`
    remark: Message  # changes made to the text, in sentences; empty if there were none


def take_in(
    files: Sequence[tuple[File | bytes, str]],
    folder: Path,
    *,
    skip_bad_lines: bool = False,
) -> TakenIn:
    """Store uploaded files as a corpus, or raise and store nothing.

    Text in UTF-16, UTF-32 or Windows-1252 becomes UTF-8. A file keeps its name, as far as file systems allow, in a
    folder named by a hash of names and contents, so equal uploads are stored once. Several files are stored in one
    folder; files that are not text are left out.

    Args:
        files: seekable binary files or their bytes, each with its name: any text, in which slashes separate subfolders.
        folder: where to store them; created if missing.
        skip_bad_lines: whether lines without a pair or text may be skipped.

    Raises:
        BadLinesError: some lines have no pair or text, and may not be skipped.
        CorpusError: the upload is not text or not a corpus, or cannot be stored; the message says what to do.
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
                    size, remark = _write_clean(source, path, _title(called) or title, digest, n_left)
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
            must_skip = _check(clean, title, may_skip=skip_bad_lines)
            path = folder / digest.hexdigest() / clean.name
            path.parent.mkdir(exist_ok=True)
            if must_skip:
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
    """Return a file name; a table keeps its ending."""
    title = _title(called) or str(_NAMELESS)
    ending = PurePath(title).suffix.lower()
    return _file_name(title, ending if ending in (".tsv", ".csv", ".json", ".jsonl", ".ndjson", ".parquet") else "")


def _place_in(clean: Path, called: str) -> Path:
    """Return a new path for one of several files, in the subfolders of its name."""
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
    """Return a title for several files: their folder, the common beginning of their names, or their number."""
    folders = {re.split(r"[/\\]", name)[0] for name in names if re.search(r"[/\\]", name)}
    if len(folders) == 1:
        return _title(folders.pop()) or str(_NAMELESS)
    first, last = min(names), max(names)
    n_common = next((i for i, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    begin = _title(first[:n_common]).rstrip("._- ")
    return begin if len(begin) > 1 else f"{len(names)} files"


def _sweep(folder: Path) -> None:
    """Delete folders left over by killed processes."""
    for left in folder.glob(f"{_UNDER_WAY}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _write_clean(
    source: File, clean: Path, title: str | Message, digest: "blake2b", n_left: int
) -> tuple[int, Message]:
    """Write one file as UTF-8, or unchanged if it is Parquet; return its size in bytes and the changes made to it."""
    n_bytes = source.seek(0, os.SEEK_END)
    if n_bytes > n_left:
        raise CorpusError(
            "{title} is larger than {n:,.0f} GiB; leave it where it is, and give its path as the corpus",
            title=title,
            n=MOST_BYTES / 2**30,
        )
    digest.update(clean.name.encode("utf-8"))  # different names make a different corpus
    clean.parent.mkdir(parents=True, exist_ok=True)
    source.seek(0)
    is_parquet = source.read(4) == b"PAR1"
    source.seek(0)
    encoding = Encoding("", NO_MESSAGE) if is_parquet else encoding_of(source, title)
    texts = decoded(source, encoding.codec, title)
    with open(clean, "wb") as out:
        for raw in iter(lambda: source.read(_BLOCK), b"") if is_parquet else map(str.encode, texts):
            digest.update(raw)
            out.write(raw)
        out.flush()
        os.fsync(out.fileno())
    return n_bytes, encoding.remark


def _check(clean: Path, title: str | Message, *, may_skip: bool) -> bool:
    """Check that files are a corpus, or a table whose columns are still to be chosen.

    Returns:
        Whether bad lines have to be skipped.

    Raises:
        CorpusError: the files are neither; the message uses the name of the upload.
    """
    try:
        table = table_at(clean)
        try:
            if table is None or table.is_chosen:
                open_corpus(clean)
        except BadLinesError:
            if not may_skip:
                raise
            open_corpus(clean, CorpusReading(skip_bad_lines=True))
            return True
    except BadLinesError as error:
        raise BadLinesError(error.lines, title) from error
    except CorpusError as error:
        raise CorpusError(error.message.replaced(str(clean), title).replaced(f"{clean.parent}/", "")) from error
    return False


def _title(name: str) -> str:
    """Return the last part of a name without invisible characters, for messages; may be empty."""
    last = re.split(r"[/\\]", name)[-1]
    seen = "".join(character if character.isprintable() else " " for character in last)
    return " ".join(seen.split())[:_LONGEST_TITLE]


def _file_name(title: str, ending: str) -> str:
    """Return a name that is valid on every file system, with the given ending, or its own if that is empty."""
    has_ending = re.fullmatch(r"\.\w{1,8}", PurePath(str(title)).suffix)
    stem, usual = (PurePath(title).stem, PurePath(title).suffix) if has_ending else (title, ".txt")
    suffix = ending or usual
    plain = re.sub(r"[^\w.() -]+", "-", unicodedata.normalize("NFC", stem)).strip("-._ ")
    short = plain.encode("utf-8")[:_LONGEST_NAME].decode("utf-8", "ignore").rstrip("-._ ")
    if not short or _RESERVED.fullmatch(short.partition(".")[0]):
        short = f"text-{short}".rstrip("-")
    return f"{short}{suffix}"
