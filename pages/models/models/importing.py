"""Importing a model: by id, by path or as files, with its progress; what its files leave open is decided in forms."""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.language import say, say_message
from pages.models import model_store
from pages.models.model_store import ImportRequest
from pages.models.models import formats
from pages.shared import models, owners, prose
from pages.shared.view import state
from pages.shared.view.fields import Kept
from transformer_core.errors import HeadlightError, Message, mark

PENDING = Kept("import-pending")  # a request and its error, until the user decides what its files leave open
_REQUEST = Kept("import-request")  # that a form has completed, to be imported by the next run
_UPLOADS = Kept("import-uploads", 0)  # number of imports from files so far
_OPTIONS = Kept("import-options", "")  # of the next import, as typed
CANCELLED = mark("The import was cancelled; nothing was kept.")
UPLOADED = mark(
    "All files of a model, chosen or dropped together: those of a Hugging Face folder, or weights and what belongs to "
    "them, such as ckpt.pt and meta.pkl; or a zip file. Import larger models by path."
)


def show() -> None:
    """Draw the inputs, or the form for a request that is pending."""
    prose.subheading(say("Import a model"))
    if note := state.MODELS_NOTE.pop():
        prose.info(note, icon=":material/check:")
    place = st.empty()  # of the progress, and of an error
    planned: ImportRequest | None = _REQUEST.pop()
    request = _decide(*PENDING.value) if PENDING.value else _with_options(_choose())
    formats.show()
    if request := request or planned:
        _run(request, place)


def _choose() -> ImportRequest | None:
    """Draw the inputs; return the request of a press on a button."""
    if owners.is_shared():
        return _upload()
    by_id, by_file = st.tabs([say("By id or path"), say("Files")])
    with by_id, st.form("bring-in-by-id", border=False):
        source = st.text_input(
            say("Id on the Hugging Face Hub, or path on this machine"), placeholder="openai-community/gpt2"
        )
        is_submitted = st.form_submit_button(say("Import"), key="import-path")
    with by_file:
        request = _upload()
    return ImportRequest(source=source.strip()) if is_submitted and source.strip() else request


def _with_options(request: ImportRequest | None) -> ImportRequest | None:
    """Draw the input for options; return a request with them."""
    from transformer_core.checkpoints.mapping.rules import option_of

    with st.expander(say("Options")):
        _OPTIONS.text_area(
            say("One per line, such as n_heads = 12 or activation = gelu_tanh"),
            help=say(
                "For models without a config.json: values that replace assumed ones. The notes on a model list what "
                "was assumed."
            ),
            height=100,
            max_chars=1000,
        )
    if request is None:
        return None
    try:
        options: dict[str, Any] = dict(option_of(line) for line in _OPTIONS.value.splitlines() if line.strip())
    except HeadlightError as error:
        prose.warning(prose.sentence(error))
        return None
    return replace(request, options=options)


def _upload() -> ImportRequest | None:
    """Draw the input for files; return the request of a press on its button."""
    most = st.get_option("server.maxUploadSize")
    with st.form("bring-in-files", border=False):
        files = st.file_uploader(
            say("The files of a model, or a zip file, up to {n} MB", n=most),
            help=say(UPLOADED),
            accept_multiple_files=True,
            key=f"{_UPLOADS.key}-{_UPLOADS.value}",
        )
        is_submitted = st.form_submit_button(say("Import"), key="import-upload")
    if not is_submitted or not files:
        return None
    if sum(file.size for file in files) > most * 10**6:
        prose.warning(say("These files are larger than {n} MB together; leave out files that are not needed.", n=most))
        return None
    return ImportRequest(files={file.name: file for file in files})


def _decide(request: ImportRequest, error: HeadlightError) -> ImportRequest | None:
    """Draw the form for what a request leaves open; return the completed request after a press on its button."""
    from pages.models.models import mapping_form, question_form
    from transformer_core.checkpoints.layout import UndecidedError
    from transformer_core.checkpoints.nearest import UnknownLayoutError

    with st.container(border=True, key="hl-import-form"):
        if isinstance(error, UndecidedError):
            options = question_form.show(request, error, PENDING.pop)
        else:
            assert isinstance(error, UnknownLayoutError)
            options = mapping_form.show(request, error, PENDING.pop)
    if options is None:
        return None
    return ImportRequest(source=request.source, files=request.files, options={**request.options, **options})


def bring_in(source: str) -> None:
    """Import a model from a path in the next run."""
    _REQUEST.set(ImportRequest(source=source))
    PENDING.pop()


def _run(request: ImportRequest, place: DeltaGenerator) -> None:
    """Import a model while showing the progress, and choose it; or show why this failed, or what is open."""
    from transformer_core.checkpoints.layout import UndecidedError
    from transformer_core.checkpoints.nearest import UnknownLayoutError

    with place.container(horizontal=True, vertical_alignment="center", key="hl-import-progress"):
        bar = st.progress(0.0, text=say("Looking for the model …"))
        st.button(say("Cancel"), key="import-cancel", on_click=_note_cancelled)

    def show(done: int, in_all: int, what: Message) -> None:
        words = say_message(what)
        text = say(
            "{what}: {done:,.0f} of {in_all:,.0f} MiB",
            what=f"{words[:1].upper()}{words[1:]}",
            done=done / 2**20,
            in_all=in_all / 2**20,
        )
        bar.progress(min(1.0, done / max(1, in_all)), text=prose.plain(text))

    try:
        name = request.run(show)
    except (UndecidedError, UnknownLayoutError) as error:
        PENDING.set((request, copy(error)))  # without its traceback, which keeps all weights in memory
        _forget_files()
        st.rerun()
    except HeadlightError as error:
        with place:
            prose.warning(say("This model could not be imported: {error}.", error=error))
        return
    PENDING.pop()
    _OPTIONS.pop()
    _forget_files()
    _note_imported(name, models.available())
    st.rerun()


def _forget_files() -> None:
    """Empty the input for files."""
    _UPLOADS.set(_UPLOADS.value + 1)


def _note_cancelled() -> None:
    state.MODELS_NOTE.set(say(CANCELLED))


def _note_imported(name: str, cards: Mapping[str, models.ModelCard]) -> None:
    """Choose a model that was imported, and note this for the next run."""
    card = cards.get(name)
    if card is None:  # deleted a moment ago
        return
    note = say("“{title}” was imported and is now chosen on all pages.", title=card.title)
    if card.reads_ids:
        note += " " + say("It came without a tokenizer, so its texts are token ids, such as 464 3290 318.")
    if card.medium:
        note += " " + say("It reads images or sounds: choose one in the bar, or open your own.")
    state.MODELS_NOTE.set(" ".join([note, *map(say_message, model_store.import_notes(card.path))]))
    state.NEXT_MODEL.set(name)
