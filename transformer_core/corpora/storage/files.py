"""Corpora from files: a text file, a file of tab-separated pairs, or a folder of text files, of any size."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from transformer_core.corpora.corpus import Corpus, Pair, Text, first_half
from transformer_core.corpora.reading import AS_MADE, CorpusReading
from transformer_core.corpora.storage.file_items import FileItems, as_pair, as_text
from transformer_core.corpora.storage.file_spans import FEWEST_BYTES, Division, OneTextError, divided, division_of
from transformer_core.corpora.storage.pair_lines import pair_lines, refuse_bad_lines
from transformer_core.corpora.storage.running_text import RunningText, running_text
from transformer_core.corpora.storage.text_files import NoTextError, TextFile, TextFiles, check_text_file, shown
from transformer_core.errors import CorpusError, Message
from transformer_core.reasons import reason

_TEXTS: dict[Division, Message] = {
    "stretches": Message(
        "{n:,} text, from {file} ({size})", plural="{n:,} texts, separated by blank lines, from {file} ({size})"
    ),
    "lines": Message("{n:,} line, from {file} ({size})", plural="{n:,} lines, from {file} ({size})"),
    "pairs": Message("{n:,} pair, from {file} ({size})", plural="{n:,} pairs, from {file} ({size})"),
    "files": Message("{n:,} text, from {folder} ({size})", plural="{n:,} texts, one per file, from {folder} ({size})"),
}
_EXAMPLES, _LONGEST_EXAMPLE = 4, 60  # how many, and characters of one
_N_LEFT_OUT_TOLD = 3  # files without text
_FEWEST_TOKENS, _MOST_TOKENS, _BYTES_A_TOKEN = 512, 30_000, 256  # of the tokenizer: one for so many bytes of text


def open_corpus(path: str | os.PathLike[str], reading: CorpusReading = AS_MADE) -> Corpus:
    """Return the corpus that lies in a file or in a folder; what it holds is read only when it is asked for.

    As nothing else is wanted:

    * A .tsv file holds a pair a line: source, tab, target. What stands after a second tab is left out, and the
      description says of how many lines. With `skip_bad_lines`, so are lines that hold no pair.
    * Another file holds texts, whatever its name: the stretches between blank lines if there are twenty in its first
      MiB, else its lines. If all of it is one line, it is one running text.
    * A folder holds a text a file, those of its folders included, in the order of their names. Hidden files are left
      out; so are files without text and .tsv files, and the description says how many.

    Blank lines count for nothing. A text of more than 1 MiB is cut into several, after a line or a word if it can be.
    About one text in twenty is held out, 1 at least and 2,000 at most: by a hash of the text, or of the source of a
    pair, so that equal ones are on the same side, and nothing that is held out is trained on.

    As one running text, the files are read from end to end with all white space, and the last tenth is held out.

    Args:
        path: of the file or the folder; the text is UTF-8, with or without a byte order mark.
        reading: what one token is, and what one text is; of a folder, in each of its files.

    Raises:
        BadLinesError: some lines of a .tsv file hold no pair.
        CorpusError: there is nothing there, it may not be read, or it cannot be a corpus; the message names the file
            and the line where it can, and says what to do.
    """
    path = Path(path)
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise CorpusError("{path} is neither a file nor a folder", path=shown(path))
    return _of_folder(path, reading) if os.path.isdir(path) else _of_file(path, reading)


def _of_file(path: Path, reading: CorpusReading) -> Corpus:
    try:
        files = TextFiles(path, [check_text_file(path)])
    except NoTextError as error:
        raise CorpusError("{problem}; use a text file", problem=error) from error
    name = path.resolve().stem
    if _is_pair_file(path):
        if reading.division != "auto":
            raise CorpusError(
                "{path} contains one pair per line (.tsv); leave division at auto, or change the file "
                "extension to read it as text",
                path=shown(path),
            )
        lines = pair_lines(files)
        refuse_bad_lines(lines, shown(path), skip=reading.skip_bad_lines)
        return _corpus(files, "pairs", reading, name=name, remark=lines.remark)
    reading.refuse_skipping(shown(path))
    if reading.division != "auto":
        return _corpus(files, reading.division, reading, name=name)
    try:
        return _corpus(files, division_of(files.files[0]), reading, name=name)
    except OneTextError:
        if files.size < FEWEST_BYTES:
            raise
        return _corpus(files, "stream", reading, name=name)


def _of_folder(path: Path, reading: CorpusReading) -> Corpus:
    reading.refuse_skipping(shown(path))
    texts: list[TextFile] = []
    left_out: list[Message] = []
    for file in files_of(path):
        try:
            if _is_pair_file(file):
                raise NoTextError("{path} contains pairs and must be opened as a file", path=shown(file))
            texts.append(check_text_file(file))
        except NoTextError as error:
            left_out.append(error.message)
    if not texts and not left_out:
        raise CorpusError(
            "the folder {path} contains no text; add text files to it, or choose another folder", path=shown(path)
        )
    if not texts:
        raise CorpusError(
            "the folder {path} contains no text ({found}); add text files to it, or choose another folder",
            path=shown(path),
            found=_first_of(left_out),
        )
    division = "files" if reading.division == "auto" else reading.division

    def remark(corpus: Message) -> Message:
        if not left_out:
            return corpus
        return Message("{corpus} Skipped files without text: {n:,}.", corpus=corpus, n=len(left_out))

    return _corpus(TextFiles(path, texts), division, reading, name=path.resolve().name, remark=remark)


def _corpus(
    files: TextFiles,
    division: Division | Literal["stream"],
    reading: CorpusReading,
    *,
    name: str,
    remark: Callable[[Message], Message] = Message,
) -> Corpus:
    """Return the corpus of files that are checked; the remark is put onto its description."""
    name = shown(Path(name)) or "files"  # the topmost folder has no name
    fingerprint = blake2b(f"{division} {files.fingerprint}".encode(), digest_size=32).hexdigest()
    train: FileItems
    held_out: FileItems
    if division == "stream":
        train, held_out = running_text(files, fingerprint=fingerprint)
    else:
        train, held_out = (
            FileItems(files, spans, as_pair if division == "pairs" else as_text, fingerprint=f"{fingerprint} {part}")
            for part, spans in zip(("train", "held out"), divided(files, division), strict=True)
        )
    prompts, openings = (
        tuple(_openings(held_out, as_prompts=is_held_out)) or tuple(_openings(train, as_prompts=is_held_out))
        for is_held_out in (True, False)
    )
    kind = reading.kind or "byte_bpe"
    usual = min(max(files.size // _BYTES_A_TOKEN, _FEWEST_TOKENS), _MOST_TOKENS)
    return Corpus(
        name=name,
        title=re.sub(r"[-_\s]+", " ", name).strip().capitalize() or name,
        description=remark(_description(files, division, len(train), len(held_out))),
        train=train,
        held_out=held_out,
        examples=prompts,
        fill_in_examples=() if division == "pairs" else tuple(filter(None, map(_with_gap, openings))),
        tokenizer_kind=kind,
        tokenizer_source=reading.tokenizer_source,
        vocab_size=reading.vocab_size_of(kind, _MOST_TOKENS if kind == "character" else usual),
        known_fingerprint=fingerprint,
    )


def _description(files: TextFiles, division: Division | Literal["stream"], n_train: int, n_held_out: int) -> Message:
    """Return what a corpus is, in one or two sentences."""
    is_large = files.size >= 1e5
    name = shown(Path(files.path.resolve().name))
    size = f"{files.size / 1e6:,.1f} MB" if is_large else f"{files.size / 1e3:,.1f} kB"
    if division == "stream":
        return Message("One continuous text from {file} ({size}); the last 10% is held out.", file=name, size=size)
    named = {"folder" if division == "files" else "file": name}
    texts = Message(_TEXTS[division], n=n_train, **named, size=size)
    return Message(
        "{texts}; {n:,} more is held out.", plural="{texts}; {n:,} more are held out.", n=n_held_out, texts=texts
    )


def _first_of(left_out: Sequence[Message]) -> Message:
    """Return why the first three files were left out, and how many more there are."""
    first = Message.joined("; ", left_out[:_N_LEFT_OUT_TOLD])
    n_more = len(left_out) - _N_LEFT_OUT_TOLD
    return Message("{files}; and {n:,} more", files=first, n=n_more) if n_more > 0 else first


def files_of(folder: Path) -> list[Path]:
    """Return all files of a folder and of the folders in it, but hidden ones, by their names.

    Raises:
        CorpusError: a folder may not be read.
    """

    def refuse(error: OSError) -> None:
        raise CorpusError(
            "the folder {path} cannot be read ({error}); change its permissions",
            path=error.filename,
            error=reason(error),
        )

    paths = []
    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [Path(place, name) for name in names if not name.startswith(".")]
    return sorted((path for path in paths if os.path.isfile(path)), key=lambda path: path.relative_to(folder).parts)


def _is_pair_file(path: Path) -> bool:
    return path.suffix.lower() == ".tsv"


def _openings(items: FileItems, *, as_prompts: bool) -> Iterator[str]:
    """Yield the first words of some texts, of pairs their sources, each on one line.

    As a prompt, a short text is halved: after all of it, a model that has learnt it would write nothing.
    """
    if isinstance(items, RunningText):
        items = items[:: max(1, len(items) // _EXAMPLES)]
    for item in items[:_EXAMPLES]:
        text = item.source if isinstance(item, Pair) else item.text
        if isinstance(items, RunningText):  # its stretches begin anywhere; a line, or a word, does not
            text = text.partition("\n")[2].strip() or text.partition(" ")[2].strip() or text
        text = " ".join(text.split())
        if len(text) > _LONGEST_EXAMPLE:
            text = text[:_LONGEST_EXAMPLE].rsplit(" ", 1)[0]
        elif as_prompts and isinstance(item, Text) and not isinstance(items, RunningText):
            text = first_half(Text(text))
        if text:
            yield text


def _with_gap(text: str) -> str:
    """Return a text with a gap in the place of its longest word, or "" if that is most of it."""
    word = max(re.finditer(r"\w+", text), key=lambda word: len(word.group()), default=None)
    if word is None or len(word.group()) > len(text) // 2:
        return ""
    return f"{text[: word.start()]}____{text[word.end() :]}"
