"""The bar on top of every page: model and text are chosen here, and the model's answer stands beside the text."""

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from headlight.figures import isolate
from headlight.language import language, say, say_message, say_number
from headlight.viewing.media import FORMATS, MOST_BYTES, Medium
from pages.shared import answer, devices, models, presenter, prose, readings
from pages.shared.lines import in_a_line
from pages.shared.models import ModelCard
from pages.shared.view import files, locale, long_texts, state
from transformer_core.errors import HeadlightError, TextError, mark
from transformer_core.text.interface import WRITTEN_MASK
from transformer_core.text.labels import visible

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun
    from headlight.analysis.trace.traced_forward import FixedText
    from transformer_core.text.interface import Tokenizer

CLAIM = mark("See what every attention head does, step by step, in a model that you can train yourself.")
TEXT_BOXES = {  # label and placeholder
    "encoder_decoder": (mark("Text"), mark("Type a sentence, then press Enter")),
    "decoder_only": (mark("Prompt"), mark("Type how a text begins, then press Enter")),
    "encoder_only": (
        mark("Text with blanks"),
        mark("Type a text with ____ in place of missing words, then press Enter"),
    ),
}
WITHOUT_BLANKS = TEXT_BOXES["encoder_decoder"]  # for an encoder without a head or a mask token
OF_IDS = mark("Type token ids such as 464 3290 318, then press Enter")
ABOUT_LONG_TEXTS = mark(
    "This model reads up to {n:,} tokens of it. Spaces, tabs and line breaks are kept. In one-line fields, ↵ stands "
    "for a line break (press Shift+Enter to type it), and \\↵ for the character itself."
)
NEEDS_CORE = mark(
    "This page needs Headlight’s core, which does not compute this model. Choose another model, or look at this one on "
    "the pages Heads, Decoding and Compare."
)
VIEWED = mark("Computed by the transformers library, not by Headlight’s core: attention and predictions only.")
MEDIA = {"image": mark("Image"), "audio": mark("Sound")}
OPEN = {"image": mark("Open an image"), "audio": mark("Open a sound")}
OF_FILES = {
    "image": mark("PNG, JPEG or WebP, up to {n} MB"),
    "audio": mark("WAV, up to {n} MB and 60 seconds"),
}
ABOUT_FILES = mark("The file stays in this session: links to this page open with an example instead.")
PADDED = mark("Shown: the first {n:,} of {n_all:,} frames; the others are padding.")
MODEL_WIDTH = 300  # px
MOST_WORDS = 2000  # of a vocabulary


def no_models(*, can_import: bool) -> None:
    """Explain how to get a model if there is none; `can_import`: by the inputs below."""
    st.title("Headlight")
    prose.info(
        say("There is no trained model yet. Import one below, or train one in about ten minutes with this command:")
        if can_import
        else say("There is no trained model yet. This command trains one in about ten minutes:")
    )
    place = shlex.quote(models.at_root(models.folder() / models.SHIPPED[0]))
    st.code(f"{models.TRAIN_COMMAND} --keep {place}", language="bash")
    prose.caption(
        say(
            "Models are loaded from the folder {folder}. Reload this page when the training has finished.",
            folder=models.at_root(models.folder()),
        )
    )


def sidebar(card: ModelCard | None = None) -> None:
    """Draw the sidebar of a page, with facts about its model; the presenter layout has none."""
    if presenter.PRESENTER.value:
        return
    with st.sidebar:
        prose.html("<p class='hl-small hl-brand' lang='{}'>{}</p>", language(), say(CLAIM))
        locale.choose()
        presenter.choose()
        if card:
            prose.html("<div class='hl-model'>{}</div><p class='hl-small'>{}.</p>", card.title, card.claim())


def model_and_text(cards: Mapping[str, ModelCard], notes: Sequence[str], *, reads: bool, is_changed: bool) -> bool:
    """Draw the text and the choice of the model in one line, and below it the model's answer and any notices.

    Args:
        cards: of the models that are here.
        notes: one sentence for each request of the address that cannot be met.
        reads: the model runs on the text here; otherwise the page runs it, and shows its answer.
        is_changed: interventions act on what is read here.

    Returns:
        Whether there is a model run to show, or will be once there is a text.
    """
    card = cards[state.current().model]
    has_usual_box = card.config.unembed and not card.is_program
    label, placeholder = TEXT_BOXES[card.config.architecture] if has_usual_box else WITHOUT_BLANKS
    placeholder = OF_IDS if card.reads_ids else placeholder
    with st.container(key="hl-bar"):
        with st.container(key="hl-bar-choices", horizontal=True, gap="small"):
            if card.medium:
                _media(card.medium)
            else:
                state.TEXT.text_line(
                    say(label), placeholder=say(placeholder), take=state.take_text, label_visibility="collapsed"
                )
            if card.takes_pairs:
                state.SECOND_TEXT.text_line(
                    say("Second text"), placeholder=say("Second text (optional)"), label_visibility="collapsed"
                )
            state.MODEL.selectbox(
                say("Model"),
                cards,
                name=lambda name: say("{title} · {kind}", title=cards[name].label, kind=say(cards[name].kind)),
                take=lambda name: state.choose_model(name, cards),
                label_visibility="collapsed",
                width=MODEL_WIDTH,
            )
        with st.container(key="hl-answer-line", horizontal=True, gap="small"):
            place = st.container(key="hl-answer", horizontal=True, gap="small")
            if not card.medium:
                _other_texts(card)
        try:
            with place:
                model_run = _model_run(card, is_changed=is_changed) if reads else None
                if reads:
                    answer.show(card, model_run)
            not_finite = _not_finite(card, model_run)
        except HeadlightError as error:
            what = say("This text cannot be read") if isinstance(error, TextError) else say("This model cannot be used")
            prose.warning(f"{what}: {say_message(error)}.")
            return False
        view = state.current()
        viewed = [say(VIEWED)] if card.is_viewed and reads else []
        of_run = _of_media(model_run) if card.medium else _remarks(model_run, view.whole_text, card.config.max_seq_len)
        remarks = [*viewed, *not_finite, *notes, *of_run]
        if model_run and view.source(card, is_changed=is_changed) == view.source(card, is_changed=False):
            is_own = model_run.n_given == 1  # nothing was forced
            remarks += unlike_training(card, model_run.mean_probability, model_run.unknown) if is_own else []
        if remarks:
            with st.container(key="hl-remark"):
                prose.note(" ".join(remarks))
    return True


def _not_finite(card: ModelCard, model_run: "ModelRun | None") -> list[str]:
    """Return one sentence on the weights that are NaN or infinite, and one on where such values first occur."""
    view = state.current()
    note = None if card.is_shipped else models.not_finite(card.path, card.version, view.device, view.precision)
    if note is None:
        return not_finite_from(model_run)
    site = model_run.not_finite if model_run else None
    return [say_message(note), *([say("First at {site}.", site=site)] if site else [])]


def not_finite_from(model_run: "ModelRun | None") -> list[str]:
    """Return a sentence on where the first NaN or infinite value occurs, if there is one."""
    if not model_run or not model_run.not_finite:
        return []
    return [say("NaN or infinity first occurs at {site}.", site=model_run.not_finite)]


def _model_run(card: ModelCard, *, is_changed: bool) -> "ModelRun | None":
    """Return the model run of the view's text, with a progress notice while it takes long."""
    view = state.current()
    loading = say(
        "Loading {title} ({n} parameters) onto the {device} …",
        title=card.title,
        n=prose.amount(card.n_parameters),
        device=devices.name_of(view.device),
    )
    with st.spinner(prose.plain(loading), show_time=True):
        models.load(card.path, card.version, view.device, view.precision)
    answer.settle(card, view.source(card, is_changed=is_changed))
    with st.spinner(say("Reading the text …"), show_time=True):
        return readings.current(card, is_changed=is_changed)


def _other_texts(card: ModelCard) -> None:
    """Draw the examples to try, and the box for a long text, each folded up."""
    if card.examples:
        with st.popover(say("Examples"), type="tertiary", key=state.EXAMPLES.key, on_change="rerun", width="content"):
            for index, example in enumerate(card.examples):
                st.button(
                    prose.plain(in_a_line(example)),
                    key=f"example-{index}",
                    type="tertiary",
                    on_click=state.on_example,
                    args=(example,),
                )
    if not card.reads_ids:
        _vocabulary(card)
    with (
        st.popover(
            say("Long text"),
            type="tertiary",
            key=state.LONG_TEXT_OPEN.key,
            on_change=_on_long_text_box,
            width="content",
        ),
        st.container(width=520),
    ):
        st.text_area(
            say("A long text"),
            key=state.LONG_TEXT.key,
            height=260,
            max_chars=long_texts.MAX_CHARACTERS,
            placeholder=say("Paste a text here"),
            help=say(ABOUT_LONG_TEXTS, n=readings.max_tokens(card.config)),
        )
        st.button(say("Analyse"), type="primary", on_click=state.on_long_text)


def _vocabulary(card: ModelCard) -> None:
    """Draw which words the model has tokens for, folded up."""
    with st.popover(say("Vocabulary"), type="tertiary", key="vocabulary", on_change="rerun", width="content") as folded:
        if not folded.open:
            return
        view = state.current()
        with st.container(width=420):
            try:
                _, tokenizer = models.load(card.path, card.version, view.device, view.precision)
            except HeadlightError as error:
                prose.small(say("This cannot be shown: {error}.", error=error))
                return
            if not (words := vocabulary_of(tokenizer)):
                prose.small(say("Any text can be written: rare words are split into several tokens."))
                return
            about = mark("The vocabulary has {n:,} words and characters, listed here, and {special:,} special tokens.")
            prose.small(say(about, n=len(words), special=tokenizer.vocab_size - len(words)))
            if card.config.has_encoder and card.config.has_decoder and tokenizer.target is tokenizer:
                prose.small(say("Source and target share this vocabulary."))
            elif tokenizer.target is not tokenizer:
                prose.small(say("This is the source vocabulary; the target has its own."))
            with st.container(height=260):
                prose.small(" ".join(map(isolate, words[:MOST_WORDS])))
            if len(words) > MOST_WORDS:
                prose.small(say("The first {n:,} of {n_found:,} tokens.", n=MOST_WORDS, n_found=len(words)))


def vocabulary_of(tokenizer: "Tokenizer") -> list[str]:
    """Return the words, or characters, of the vocabulary in alphabetical order; [] if others are split into several."""
    if tokenizer.kind not in ("word", "character"):
        return []
    ids = range(tokenizer.vocab_size)
    words = [
        label for label, special in zip(tokenizer.labels(ids), tokenizer.is_special(ids), strict=True) if not special
    ]
    return sorted(words, key=lambda word: (not word[:1].isalpha(), word.casefold()))


def _media(medium: Medium) -> None:
    """Draw the choice of an image or a sound, and the box to open one, folded up."""
    state.TEXT.selectbox(
        say(MEDIA[medium]),
        files.keys(medium),
        name=files.label,
        take=state.on_example,
        label_visibility="collapsed",
    )
    with (
        st.popover(say(OPEN[medium]), key=files.IS_OPEN.key, on_change="rerun", width="content"),
        st.container(width=420),
    ):
        st.file_uploader(
            prose.plain(say(OF_FILES[medium], n=MOST_BYTES >> 20)),
            type=[*FORMATS[medium]],
            key=files.upload_key(),
            on_change=state.on_file,
            args=(medium,),
            max_upload_size=MOST_BYTES >> 20,
        )
        if files.NOTE.value:
            prose.warning(files.NOTE.value)
        prose.small(say(ABOUT_FILES))


def _of_media(model_run: "ModelRun | None") -> list[str]:
    """Return a sentence on the padding after a sound, if its frames are left out."""
    if model_run is None or not model_run.left_out:
        return []
    n = len(model_run.source)
    return [say(PADDED, n=n, n_all=model_run.left_out.stop)]


def _on_long_text_box() -> None:
    """Open or close the box for a long text; it opens with the current text, to be read in full and edited."""
    if state.LONG_TEXT_OPEN.value:
        state.LONG_TEXT.set(state.TEXT.value)


def _remarks(model_run: "ModelRun | None", text: str, context: int) -> list[str]:
    if model_run is None:
        return []
    remarks = [*unknown_words(model_run.unknown), *ignored_white_space(model_run.ignores_white_space)]
    if model_run.border is not None:
        remarks.append(say("‖ marks the first token of the second text."))
    if not model_run.left_out and len(text) == long_texts.MAX_CHARACTERS:
        remarks.append(say("Texts can have up to {n:,} characters; the rest was cut off.", n=long_texts.MAX_CHARACTERS))
    remarks += left_out(model_run, context)
    is_cut = model_run.architecture == "encoder_decoder" and not model_run.is_complete and not model_run.not_finite
    if is_cut and not answer.is_awaited():
        remarks.append(say("No end-of-sequence token was generated; the output is truncated."))
    if not model_run.has_mask and WRITTEN_MASK.search(text):
        remarks.append(say("This model has no mask token, so it reads ____ literally."))
    return [*remarks, *_detours(model_run)]


def left_out(text: "FixedText", context: int | None = None) -> list[str]:
    """Return a sentence for each of a text and a target that was too long to be read whole.

    Args:
        text: with what was left out of it.
        context: of the model, in tokens; None: something else limits the text.
    """
    remarks = []
    if text.left_out and context and text.left_out.start >= context - 1:  # a last token may follow the text
        remarks.append(
            say(
                "This text is longer than the model’s context of {context} tokens: only its first {n} tokens "
                "were read.",
                context=context,
                n=text.left_out.start,
            )
        )
    elif text.left_out:
        remarks.append(say("This text is long: only its first {n} tokens were read.", n=text.left_out.start))
    if text.target_left_out:
        remarks.append(say("The target is long: only its first {n} tokens were read.", n=text.target_left_out.start))
    return remarks


def unlike_training(card: ModelCard, mean_probability: float, unknown: Sequence[str]) -> list[str]:
    """Return a sentence that a text is unlike the model's training data, if the model's own output suggests so."""
    if unknown or not mean_probability < card.least_usual:
        return []
    return [say("This text is probably unlike the training data; expect poor output.")]


def unknown_words(unknown: Sequence[str]) -> list[str]:
    """Return, in one sentence, the words that the model has no token for."""
    if not unknown:
        return []
    shown = ", ".join(say("“{word}”", word=isolate(visible(word[:30]))) for word in unknown[:5])
    more = say(" and {n} more", n=len(unknown) - 5) if len(unknown) > 5 else ""
    return [
        say(
            "Not in the vocabulary, so replaced by the unknown token: {shown}{more}; expect poor output.",
            shown=shown,
            more=more,
        )
    ]


def ignored_white_space(is_ignored: bool) -> list[str]:
    """Return, in one sentence, that the model ignores some white space of the text, if it does."""
    return [say("This model ignores some spaces, tabs or line breaks in this text.")] if is_ignored else []


def _detours(model_run: "ModelRun") -> list[str]:
    """Return a sentence on where a typed target departs from the model's own output."""
    detours = model_run.detours
    if not detours:
        return []
    shown = ", ".join(
        say(
            "“{instead}” instead of your “{typed}” ({probability})",
            instead=isolate(detour.instead),
            typed=isolate(detour.typed),
            probability=answer.probability(detour.probability),
        )
        for detour in detours[:3]
    )
    n_more = len(detours) - 3
    more = say_number(n_more, " and differ {n} more time", " and differ {n} more times") if n_more > 0 else ""
    return [
        say(
            "The model itself would continue with {shown}{more}; in brackets: the probability of your token.",
            shown=shown,
            more=more,
        )
    ]
