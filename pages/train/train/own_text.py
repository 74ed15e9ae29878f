"""A custom text: its upload, or its refusal with a reason, its selection, its reading options and its deletion."""

from collections.abc import Sequence
from os.path import isdir
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import streamlit as st

from headlight.language import say, say_message, say_number
from pages.shared import models, owners, prose
from pages.shared.corpora import TOKENS, CorpusChoice
from pages.shared.view import run_state
from pages.shared.view.fields import Kept
from pages.train.train import keep, own_texts
from pages.train.train.own_texts import OwnText
from transformer_core.corpora.reading import CorpusReading
from transformer_core.corpora.storage.pair_lines import BadLinesError, pair_in_words
from transformer_core.errors import HeadlightError, mark

OWN = Kept("train-own")  # the text that is chosen; None after one was refused
DIVISIONS = {"auto": mark("as in the file"), "lines": mark("one text per line"), "stream": mark("one running text")}
_ROWS = {"pairs": mark("Source and target"), "texts": mark("One text")}
_N_ROWS = 3  # of a table, shown where the columns cannot be guessed
Uploads = Sequence[tuple[BinaryIO | bytes, str]]
"""Open files, or what was typed, and what each is called."""

_FOREIGN = "foreign"
_TOKENS = {**TOKENS, _FOREIGN: mark("From a folder or the Hub")}
_UPLOADS = Kept("train-uploads", 0)  # number of uploads so far
_PENDING = Kept("train-upload-pending")  # files with bad lines, until their owner decides
_REFUSAL = Kept("train-upload-refusal")  # why the last file was refused, while nothing is chosen
_REMARK = Kept("train-upload-remark", ("", ""))  # on the last file, with its key


def choose() -> CorpusChoice | None:
    """Accept custom texts and return the chosen one; None while there is none."""
    _take()
    if _PENDING.value:
        _offer_to_skip(*_PENDING.value)
        return None
    if OWN.value is None and (refusal := _REFUSAL.value):
        prose.warning(refusal)
    texts = own_texts.available()
    if not texts:
        prose.caption(say("Nothing uploaded yet."))
        return None
    titles = own_texts.titles(texts)
    chosen = OWN.value if OWN.is_chosen else next(iter(texts))
    OWN.set(chosen if chosen in texts else None)
    OWN.selectbox(say("Train on"), [*texts], name=titles.__getitem__, placeholder=say("Choose a text"))
    key = OWN.value
    if key is None:
        return None
    remarked, remark = _REMARK.value
    if key == remarked and remark:
        prose.info(remark)
    text = texts[key]
    choice = _read(key, text)
    _offer_to_delete(text)
    return choice


def _take() -> None:
    """Draw the inputs for files, a folder of files, or a typed text."""
    by_file, by_folder, by_hand = st.tabs([say("Files"), say("A folder"), say("Typed or pasted")])
    n_uploads, size = _UPLOADS.value, st.get_option("server.maxUploadSize")
    with by_file:
        files = st.file_uploader(
            say("Text, or a table: .jsonl, .json, .csv, .tsv, .parquet; up to {n} MB", n=size),
            help=say(
                "A text file; or a table with a text, or a source and a target, in each row. Two parallel files "
                "(train.en and train.fr), chosen together, make pairs. It stays on this machine."
            ),
            accept_multiple_files=True,
            key=f"{_UPLOADS.key}-{n_uploads}",
        )
    with by_folder:
        files += st.file_uploader(
            say("A folder of texts or of tables, up to {n} MB per file", n=size),
            accept_multiple_files="directory",
            key=f"{_UPLOADS.key}-folder-{n_uploads}",
        )
    if files:  # taken in when fully uploaded: there is no button that could be pressed too early
        with by_file, st.spinner(say("Reading the file …"), show_time=True):
            _take_in([(file, file.name) for file in files])
        _UPLOADS.set(n_uploads + 1)
        st.rerun()  # resets the upload widget for more files
    with by_hand, st.form("train-paste", border=False):
        text = st.text_area(say("Text, or tab-separated pairs"), height=160, placeholder=say("Paste a text here"))
        if st.form_submit_button(say("Upload")):
            lines = [line for line in text.splitlines() if line.strip()]
            are_pairs = len(lines) > 1 and sum("\t" in line for line in lines) > len(lines) / 2
            name = f"{say('pasted')}{'.tsv' if are_pairs else '.txt'}"
            _take_in([(text.encode("utf-8", "replace"), name)])


def _take_in(files: Uploads, *, skip_bad_lines: bool = False) -> None:
    """Store texts and choose them; if they are refused, nothing is chosen, so that no other text is trained on."""
    from transformer_core.corpora.storage.uploads import take_in

    OWN.set(None)
    for kept in (_REFUSAL, _REMARK, _PENDING):
        kept.pop()
    try:
        owners.check_room(own_texts.folder())
        taken = take_in(files, own_texts.folder(), skip_bad_lines=skip_bad_lines)
    except BadLinesError as error:
        _PENDING.set((files, error))
    except HeadlightError as error:
        _REFUSAL.set(say("This could not be imported: {error}.", error=error))
    else:
        owners.claim(taken.path.parent)
        OWN.set(taken.path.parent.name)
        _REMARK.set((OWN.value, say_message(taken.remark)))


def _offer_to_skip(files: Uploads, error: BadLinesError) -> None:
    """Show the first invalid lines, those without a pair or text, and let the owner decide whether to skip them."""
    lines = error.lines
    values = {"name": error.name, "n_lines": lines.n_lines}
    if lines.is_pairs:
        counted = say_number(
            lines.n_bad,
            "{name}: {n:,} of {n_lines:,} lines is not a pair; {pair}.",
            "{name}: {n:,} of {n_lines:,} lines are not pairs; {pair}.",
            **values,
            pair=pair_in_words(error.name),
        )
    else:
        counted = say_number(
            lines.n_bad,
            "{name}: {n:,} of {n_lines:,} lines has no text.",
            "{name}: {n:,} of {n_lines:,} lines have no text.",
            **values,
        )
    prose.warning(counted)
    if lines.n_bad > len(lines.first_bad):
        prose.caption(say_number(len(lines.first_bad), "The first line:", "The first {n} lines:"))
    shown = pd.DataFrame([(say_message(bad.in_words()), bad.text.replace("\t", " → ")) for bad in lines.first_bad])
    st.dataframe(shown.set_axis([say("problem"), say("line")], axis=1), hide_index=True)
    with st.container(horizontal=True):
        skip = say_number(lines.n_bad, "Skip this line", "Skip these {n:,} lines")
        st.button(prose.plain(skip), key="skip-bad-lines", type="primary", on_click=_skip, args=(files,))
        st.button(say("Cancel"), key="cancel-upload", on_click=_PENDING.pop)


def _skip(files: Uploads) -> None:
    for file, _ in files:
        if not isinstance(file, bytes):
            file.seek(0)
    _take_in(files, skip_bad_lines=True)


def _read(key: str, text: OwnText) -> CorpusChoice | None:
    """Draw the reading options of a text and return its corpus; None until the tokenizer and the columns are named."""
    try:
        columns = _choose_columns(key, text)
    except HeadlightError as error:
        prose.warning(say("This cannot be trained on: {error}.", error=error))
        return None
    if columns is None:
        return None
    reading, is_pairs, is_table = columns
    with st.container(key="hl-train-reading"):
        left, right = st.columns(2)
    tokens, tokenizer = Kept(f"train-tokens-{key}", "byte_bpe"), Kept(f"train-tokenizer-{key}", "")
    kinds = TOKENS if owners.is_shared() else _TOKENS
    with left:
        tokens.selectbox(say("Tokens"), [*kinds], name=lambda name: say(kinds[name]))
    if tokens.value == _FOREIGN and not owners.is_shared():
        label = say("Folder of a tokenizer, or its id on the Hugging Face Hub")
        tokenizer.text(label, placeholder="openai-community/gpt2")
        source = tokenizer.value.strip()
        if not source:
            prose.caption(say("Specify the tokenizer."))
            return None
        is_folder = "/" not in source and isdir(models.ROOT / source)
        reading["tokens"] = f"./{source}" if is_folder else source
    elif tokens.value != tokens.usual:
        reading["tokens"] = tokens.value
    if not is_table:
        division = Kept(f"train-divided-{key}", "auto")
        with right:
            division.selectbox(say("Texts"), [*DIVISIONS], name=lambda name: say(DIVISIONS[name]))
        if division.value != division.usual:
            reading["division"] = division.value
    return CorpusChoice(
        name="own", corpus=text.corpus, is_pairs=is_pairs, run_name=Path(text.name).stem, reading=reading
    )


def _choose_columns(key: str, text: OwnText) -> tuple[dict[str, Any], bool, bool] | None:
    """Choose the fields of `CorpusReading`; return them, whether the text has pairs, and whether it is a table.

    Raises:
        CorpusError: it cannot be read.
    """
    from transformer_core.corpora.storage.files import table_at
    from transformer_core.corpora.storage.tables import first_rows

    guessed = table_at(text.path)
    if guessed is None:
        return {}, False, False
    reading: dict[str, Any] = {"skip_bad_lines": True} if text.skips_bad_lines else {}
    if guessed.can_have_header:
        has_header = st.checkbox(
            say("The first line has the names of the columns"),
            value=guessed.has_header,
            key=f"train-header-{key}",
            persist_state="session",
        )
        if has_header != guessed.has_header:
            reading["header"] = "yes" if has_header else "no"
            guessed = table_at(text.path, CorpusReading(header=reading["header"])) or guessed
    if not guessed.is_chosen:
        prose.caption(say("Choose the columns to train on. The first rows:"))
        shown = pd.DataFrame(first_rows(guessed, _N_ROWS), columns=[*guessed.columns])
        st.dataframe(shown, hide_index=True)
    row = Kept(f"train-row-{key}", "texts" if guessed.text or len(guessed.columns) < 2 else "pairs")
    row.segmented(say("Each row has"), [*_ROWS], name=lambda name: say(_ROWS[name]), label_visibility="visible")
    sides = {"text_column": (say("Text"), guessed.text)}
    if row.value == "pairs":
        sides = {"source_column": (say("Source"), guessed.source), "target_column": (say("Target"), guessed.target)}
    chosen = {
        name: Kept(f"train-{name}-{guessed.has_header}-{key}", usual or None) for name, (_, usual) in sides.items()
    }
    for place, (name, (label, usual)) in zip(st.columns(2), sides.items(), strict=False):
        options = list(dict.fromkeys([*filter(None, [usual]), *guessed.columns]))
        with place:
            chosen[name].selectbox(label, options, placeholder=say("Choose a column"))
    if not all(column.value for column in chosen.values()):
        return None
    if any(column.value != column.usual for column in chosen.values()):
        reading |= {name: column.value for name, column in chosen.items()}
    return reading, row.value == "pairs", True


def _offer_to_delete(text: OwnText) -> None:
    kept = say("Its trainings and models stay, but resuming a training needs the text.")

    def delete() -> None:
        own_texts.delete(text)
        OWN.set(None)
        run_state.NOTE.set(say("{name} was deleted.", name=text.name))

    keep.offer_deletion(say("Delete this text …"), text.name, kept, delete, key="delete-text")
