"""Corpora from files of any size: text files, tables of texts or pairs, and folders of either."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from transformer_core.corpora.corpus import Corpus, Pair, Text, first_half
from transformer_core.corpora.reading import AS_MADE, CorpusReading
from transformer_core.corpora.storage.columns import Table, columns_in_words, listed, table_of
from transformer_core.corpora.storage.encodings import NotTextError
from transformer_core.corpora.storage.file_items import (
    FEW_FOR_VOCABULARY,
    FileItems,
    RunningText,
    as_text,
    running_text,
)
from transformer_core.corpora.storage.file_spans import (
    FEWEST_BYTES,
    MOST_SHORT_TEXTS,
    SHORTEST_TEXTS,
    Division,
    OneTextError,
    divided,
    division_of,
    texts_at_beginning,
)
from transformer_core.corpora.storage.rows import format_of
from transformer_core.corpora.storage.tables import table_items
from transformer_core.corpora.storage.text_files import (
    NoTextError,
    TextFile,
    TextFiles,
    check_text_file,
    first_of,
    places_of,
    shown,
)
from transformer_core.errors import CorpusError, Message

_TEXTS: dict[Division, Message] = {
    "stretches": Message(
        "{n:,} text, from {file} ({size})", plural="{n:,} texts, separated by blank lines, from {file} ({size})"
    ),
    "lines": Message("{n:,} line, from {file} ({size})", plural="{n:,} lines, from {file} ({size})"),
    "pairs": Message("{n:,} pair, from {file} ({size})", plural="{n:,} pairs, from {file} ({size})"),
    "texts": Message("{n:,} text, from {file} ({size})", plural="{n:,} texts, from {file} ({size})"),
    "files": Message("{n:,} text, from {folder} ({size})", plural="{n:,} texts, one per file, from {folder} ({size})"),
}
_EXAMPLES, _LONGEST_EXAMPLE = 4, 60  # how many, and characters of one
_N_LEFT_OUT_NAMED = 3  # files without text
_FEWEST_TOKENS, _MOST_TOKENS, _BYTES_PER_TOKEN = 512, 30_000, 256  # of the tokenizer


def open_corpus(path: str | os.PathLike[str], reading: CorpusReading = AS_MADE) -> Corpus:
    """Return the corpus of a file or folder; its texts are read on access.

    By default:

    * A table has one text or pair per row: JSON (an array of objects or texts), JSON lines, Parquet, CSV or TSV.
      Columns are found by their usual names; without names, the first two are a pair. A chat, a list of turns in a
      cell, is one text. With `skip_bad_lines`, rows without a pair or text are left out.
    * Two files whose names differ only in a language (train.en, train.fr), or in "source" and "target", are pairs, line
      by line.
    * Any other file contains texts: the stretches between blank lines if its first MiB has twenty, else its lines. One
      long line, or millions of lines shorter than 16 bytes, are one running text.
    * A folder with its subfolders has one text per file, or tables that are read as one: whichever has more bytes.
      Hidden files, files of the other kind and files without text are left out.

    Blank lines are ignored. A text of more than 1 MiB is cut, after a line or a word if possible. About one text in
    twenty is held out, at least 1 and at most 2,000, by a hash of the text or of a pair's source, so equal texts are in
    the same part. A running text is read with all its white space, and its last tenth is held out.

    Args:
        path: a file, a folder, or several joined by `BETWEEN`. Text is UTF-8, with or without a byte order mark; tables
            may also be UTF-16, UTF-32 or Windows-1252.
        reading: tokens, and the division into texts. With a division, a table is read as text.

    Raises:
        BadLinesError: some rows of a table have no pair or text.
        CorpusError: nothing there can be read as a corpus; the message says why and what to do.
    """
    place, paths = places_of(path)
    table = table_at(path, reading)
    if table is not None:
        return _of_table(table, reading, n_left_out=len(paths) - len(table.files))
    reading.refuse_table(shown(place))
    return _of_folder(place, paths, reading) if paths != [place] else _of_file(place, reading)


def table_at(path: str | os.PathLike[str], reading: CorpusReading = AS_MADE) -> Table | None:
    """Return the table at a path as for `open_corpus`, from its first rows; None if it is text.

    Raises:
        CorpusError: it cannot be read, or lacks the requested columns.
    """
    place, paths = places_of(path)
    table = table_of(place, paths, reading)
    if table or len(paths) < 2:
        return table
    sizes: Counter[object] = Counter()
    formats = {file: format_of(file) for file in paths if file.stat().st_size}
    for file, kind in formats.items():
        sizes[kind] += file.stat().st_size
    most = max(sizes, key=lambda kind: sizes[kind], default=None)
    return table_of(place, [file for file, kind in formats.items() if kind == most], reading)


def _of_table(table: Table, reading: CorpusReading, *, n_left_out: int) -> Corpus:
    if not table.is_chosen:
        raise CorpusError(
            "{path} has the columns {columns}; choose text_column, or source_column and target_column",
            path=shown(table.path),
            columns=listed(table.columns),
        )
    train, held_out, lines, size, fingerprint = table_items(table, skip_bad_lines=reading.skip_bad_lines)

    def remark(corpus: Message) -> Message:
        corpus = lines.remark(corpus)
        if (table.source, table.target) != ("1", "2") and table.columns != ("text",):
            corpus = Message("{corpus} {columns}", corpus=corpus, columns=columns_in_words(table))
        if table.can_have_header and table.has_header:
            corpus = Message("{corpus} The first line was read as the names of the columns.", corpus=corpus)
        return _with_left_out(corpus, n_left_out)

    parts = (train, held_out)
    division: Division = "texts" if table.text else "pairs"
    return _corpus(table.path, division, reading, parts, size=size, fingerprint=fingerprint, remark=remark)


def _with_left_out(corpus: Message, n: int) -> Message:
    return Message("{corpus} Skipped files without text: {n:,}.", corpus=corpus, n=n) if n else corpus


def _of_file(path: Path, reading: CorpusReading) -> Corpus:
    try:
        files = TextFiles(path, [check_text_file(path)])
    except NoTextError as error:
        raise CorpusError("{problem}; use a text file", problem=error) from error
    if reading.division != "auto":
        return _of_texts(files, reading.division, reading)
    natural = division_of(files.files[0])
    division: Division | Literal["stream"] = natural
    n_texts, n_bytes = texts_at_beginning(files.files[0], natural)
    if n_bytes < SHORTEST_TEXTS * n_texts and n_texts * files.size > MOST_SHORT_TEXTS * n_bytes:
        division = "stream"  # each text would take many times its own size
    try:
        return _of_texts(files, division, reading)
    except OneTextError:
        if files.size < FEWEST_BYTES:
            raise
        return _of_texts(files, "stream", reading)


def _of_folder(path: Path, paths: Sequence[Path], reading: CorpusReading) -> Corpus:
    texts: list[TextFile] = []
    left_out: list[Message] = []
    for file in paths:
        try:
            if reading.division == "auto" and file.stat().st_size and format_of(file):
                raise NoTextError("{path} is a table and must be opened as a file", path=shown(file))
            texts.append(check_text_file(file))
        except (NoTextError, NotTextError) as error:
            left_out.append(error.message)
    if not texts and not left_out:
        raise CorpusError(
            "the folder {path} contains no text; add text files to it, or choose another folder", path=shown(path)
        )
    if not texts:
        raise CorpusError(
            "the folder {path} contains no text ({found}); add text files to it, or choose another folder",
            path=shown(path),
            found=first_of(left_out[:_N_LEFT_OUT_NAMED], len(left_out) - _N_LEFT_OUT_NAMED),
        )
    division = "files" if reading.division == "auto" else reading.division
    return _of_texts(TextFiles(path, texts), division, reading, n_left_out=len(left_out))


def _of_texts(
    files: TextFiles, division: Division | Literal["stream"], reading: CorpusReading, *, n_left_out: int = 0
) -> Corpus:
    fingerprint = blake2b(f"{division} {files.fingerprint}".encode(), digest_size=32).hexdigest()
    parts: tuple[FileItems, ...]
    if division == "stream":
        parts = running_text(files, fingerprint=fingerprint)
    else:
        parts = tuple(
            FileItems(files, spans, as_text, fingerprint=f"{fingerprint} {part}")
            for part, spans in zip(("train", "held out"), divided(files, division), strict=True)
        )
    remark = partial(_with_left_out, n=n_left_out)
    return _corpus(files.path, division, reading, parts, size=files.size, fingerprint=fingerprint, remark=remark)


def _corpus(
    path: Path,
    division: Division | Literal["stream"],
    reading: CorpusReading,
    parts: Sequence[FileItems],
    *,
    size: int,
    fingerprint: str,
    remark: Callable[[Message], Message],
) -> Corpus:
    """Return the corpus made of two parts; `remark` extends its description."""
    resolved = path.resolve()
    name = shown(Path(resolved.name if resolved.is_dir() else resolved.stem)) or "files"  # the root has no name
    train, held_out = parts
    prompts, openings = (
        tuple(_openings(held_out, as_prompts=is_held_out)) or tuple(_openings(train, as_prompts=is_held_out))
        for is_held_out in (True, False)
    )
    description = remark(_description(path, size, division, len(train), len(held_out)))
    kind = reading.kind or "byte_bpe"
    if kind != "character" and train.n_bytes > FEW_FOR_VOCABULARY and not reading.tokenizer_source:
        description = Message(
            "{corpus} Its vocabulary is built from an even sample: at most 8 MB of text, and 1 MB of distinct words.",
            corpus=description,
        )
    usual = min(max(size // _BYTES_PER_TOKEN, _FEWEST_TOKENS), _MOST_TOKENS)
    return Corpus(
        name=name,
        title=re.sub(r"[-_\s]+", " ", name).strip().capitalize() or name,
        description=description,
        train=train,
        held_out=held_out,
        examples=prompts,
        fill_in_examples=() if division == "pairs" else tuple(filter(None, map(_with_gap, openings))),
        tokenizer_kind=kind,
        tokenizer_source=reading.tokenizer_source,
        vocab_size=reading.vocab_size_of(kind, _MOST_TOKENS if kind == "character" else usual),
        known_fingerprint=fingerprint,
    )


def _description(
    path: Path, n_bytes: int, division: Division | Literal["stream"], n_train: int, n_held_out: int
) -> Message:
    name = shown(Path(path.resolve().name))
    size = f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e5 else f"{n_bytes / 1e3:,.1f} kB"
    if division == "stream":
        return Message("One continuous text from {file} ({size}); the last 10% is held out.", file=name, size=size)
    named = {"folder" if division == "files" else "file": name}
    texts = Message(_TEXTS[division], n=n_train, **named, size=size)
    return Message(
        "{texts}; {n:,} more is held out.", plural="{texts}; {n:,} more are held out.", n=n_held_out, texts=texts
    )


def _openings(items: FileItems, *, as_prompts: bool) -> Iterator[str]:
    """Yield the first words of some texts or sources; for prompts, halve short texts to leave a continuation."""
    if isinstance(items, RunningText):
        items = items[:: max(1, len(items) // _EXAMPLES)]
    for item in items[:_EXAMPLES]:
        text = item.source if isinstance(item, Pair) else item.text
        if isinstance(items, RunningText):  # its stretches begin anywhere; start at a line or a word
            text = text.partition("\n")[2].strip() or text.partition(" ")[2].strip() or text
        if len(text) > _LONGEST_EXAMPLE:
            text = re.sub(r"\s+\S*\Z", "", text[:_LONGEST_EXAMPLE])
        elif as_prompts and isinstance(item, Text) and not isinstance(items, RunningText):
            text = first_half(Text(text))
        if text.strip():
            yield text


def _with_gap(text: str) -> str:
    """Return a text with a gap in place of its longest word, or "" if that word is most of the text."""
    word = max(re.finditer(r"\w+", text), key=lambda word: len(word.group()), default=None)
    if word is None or len(word.group()) > len(text) // 2:
        return ""
    return f"{text[: word.start()]}____{text[word.end() :]}"
