"""A text of one's own: taken in, or refused with a reason; chosen, read as its owner wants, and deleted."""

from pathlib import Path
from typing import BinaryIO

import pandas as pd
import streamlit as st

from pages.shared import models, prose
from pages.shared.corpora import TOKENS, Choice
from pages.shared.view import run_state
from pages.shared.view.fields import Kept
from pages.train.train import own_texts
from pages.train.train.own_texts import OwnText
from transformer_core.corpora.storage.pair_lines import BadLinesError, pair_in_words
from transformer_core.errors import CorpusError, HeadlightError, mark
from transformer_core.language import say, say_message, say_number

OWN = Kept("train-own")  # the text that is chosen; None after one was refused
DIVISIONS = {"auto": mark("as in the file"), "lines": mark("one text per line"), "stream": mark("one running text")}
_FOREIGN = "foreign"
_TOKENS = {**TOKENS, _FOREIGN: mark("From a folder or the Hub")}
_UPLOADS = Kept("train-uploads", 0)  # how many files have come
_PENDING = Kept("train-upload-pending")  # a file with bad lines, until its owner decides
_REFUSAL = Kept("train-upload-refusal")  # of the last file, as long as nothing is chosen
_REMARK = Kept("train-upload-remark", ("", ""))  # on the last file, with its key


def choose() -> Choice | None:
    """Take in texts of one's own, and choose one of them; None while there is none."""
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
    key = st.selectbox(
        say("Train on"),
        [*texts],
        format_func=lambda key: titles.get(key, key),
        key=OWN.key,
        placeholder=say("Choose a text"),
        persist_state="session",
    )
    if OWN.value is None:
        return None
    remarked, remark = _REMARK.value
    if key == remarked and remark:
        prose.info(remark)
    text = texts[key]
    choice = _read(key, text)
    _offer_to_delete(text)
    return choice


def _take() -> None:
    """Offer to give a file, or to type a text."""
    by_file, by_hand = st.tabs([say("A file"), say("Typed or pasted")])
    with by_file:
        n_uploads = _UPLOADS.value
        file = st.file_uploader(
            say("Text, or pairs as .tsv or .csv, up to {n} MB", n=st.get_option("server.maxUploadSize")),
            help=say(
                "A UTF-8 text file; for pairs, one per line: source, tab (or comma), target. It stays on this machine."
            ),
            key=f"{_UPLOADS.key}-{n_uploads}",
        )
        if file is not None:  # it has arrived as a whole: no button that could be pressed too early
            with st.spinner(say("Reading the file …"), show_time=True):
                _take_in(file.name, file)
            _UPLOADS.set(n_uploads + 1)
            st.rerun()  # the page that a person sees has room for another file
    with by_hand, st.form("train-paste", border=False):
        text = st.text_area(say("Text, or tab-separated pairs"), height=160, placeholder=say("Paste a text here"))
        if st.form_submit_button(say("Upload")):
            name = f"{say('pasted')}{'.tsv' if _are_pairs(text) else '.txt'}"
            _take_in(name, text.encode("utf-8", "replace"))


def _take_in(name: str, content: BinaryIO | bytes, *, skip_bad_lines: bool = False) -> None:
    """Take a text in and choose it; one that is refused leaves nothing chosen, so that no other one is trained on."""
    from transformer_core.corpora.storage.uploads import take_in

    OWN.set(None)
    for kept in (_REFUSAL, _REMARK, _PENDING):
        kept.pop()
    try:
        taken = take_in(content, name, own_texts.folder(), skip_bad_lines=skip_bad_lines)
    except BadLinesError as error:
        _PENDING.set((name, content, error))
    except CorpusError as error:
        _REFUSAL.set(say("This could not be imported: {error}.", error=error))
    else:
        OWN.set(taken.path.parent.name)
        _REMARK.set((OWN.value, say_message(taken.remark)))


def _offer_to_skip(name: str, content: BinaryIO | bytes, error: BadLinesError) -> None:
    """Show the first lines that are no pairs, and let the owner decide."""
    lines = error.lines
    counted = say_number(
        lines.n_bad,
        "{name}: {n:,} of {n_lines:,} lines is not a pair; {pair}.",
        "{name}: {n:,} of {n_lines:,} lines are not pairs; {pair}.",
        name=error.name,
        n_lines=lines.n_lines,
        pair=pair_in_words(error.name),
    )
    prose.warning(counted)
    if lines.n_bad > len(lines.first_bad):
        prose.caption(say("The first {n}:", n=len(lines.first_bad)))
    shown = pd.DataFrame([(say_message(bad.in_words()), bad.text.replace("\t", " → ")) for bad in lines.first_bad])
    st.dataframe(shown.set_axis([say("problem"), say("line")], axis=1), hide_index=True)
    with st.container(horizontal=True):
        skip = say_number(lines.n_bad, "Skip this line", "Skip these {n:,} lines")
        st.button(prose.plain(skip), key="skip-bad-lines", type="primary", on_click=_skip, args=(name, content))
        st.button(say("Cancel"), key="cancel-upload", on_click=_PENDING.pop)


def _skip(name: str, content: BinaryIO | bytes) -> None:
    if not isinstance(content, bytes):
        content.seek(0)
    _take_in(name, content, skip_bad_lines=True)


def _are_pairs(text: str) -> bool:
    """Whether most lines of a pasted text have a tab in them."""
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) > 1 and sum("\t" in line for line in lines) > len(lines) / 2


def _read(key: str, text: OwnText) -> Choice | None:
    """Choose how a text is read; None while the tokenizer is not named."""
    is_pairs = text.path.suffix.lower() == ".tsv"
    reading: dict[str, str | int | bool] = {"skip_bad_lines": True} if text.skips_bad_lines else {}
    with st.container(key="hl-train-reading"):
        left, right = st.columns(2)
    tokens = left.selectbox(
        say("Tokens"),
        [*_TOKENS],
        format_func=lambda name: say(_TOKENS[name]),
        key=f"train-tokens-{key}",
        persist_state="session",
    )
    if tokens == _FOREIGN:
        source = st.text_input(
            say("Folder of a tokenizer, or its id on the Hugging Face Hub"),
            placeholder="openai-community/gpt2",
            key=f"train-tokenizer-{key}",
            persist_state="session",
        ).strip()
        if not source:
            prose.caption(say("Specify the tokenizer."))
            return None
        is_folder = "/" not in source and (models.ROOT / source).is_dir()
        reading["tokens"] = f"./{source}" if is_folder else source
    elif tokens != "byte_bpe":
        reading["tokens"] = tokens
    if not is_pairs:
        division = right.selectbox(
            say("Texts"),
            [*DIVISIONS],
            format_func=lambda name: say(DIVISIONS[name]),
            key=f"train-divided-{key}",
            persist_state="session",
        )
        if division != "auto":
            reading["division"] = division
    return Choice(name="own", corpus=text.corpus, is_pairs=is_pairs, run_name=Path(text.name).stem, reading=reading)


def _offer_to_delete(text: OwnText) -> None:
    with st.popover(say("Delete this text …"), type="tertiary", icon=":material/delete:", key="delete-text"):
        kept = say("Its trainings and models stay, but resuming a training needs the text.")
        prose.small(kept)
        words = say("Delete {name}", name=text.name)
        st.button(prose.plain(words), key="delete-text-really", on_click=_delete, args=(text,))


def _delete(text: OwnText) -> None:
    try:
        own_texts.delete(text)
    except HeadlightError as error:
        run_state.NOTE.set(say("It was not deleted: {error}.", error=error))
    else:
        OWN.set(None)
        run_state.NOTE.set(say("{name} was deleted.", name=text.name))
