"""What to train on: a corpus that is made here, or a text of one's own; and what is known of it before the start."""

import html
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pandas as pd
import streamlit as st

from pages.shared import models, runs
from transformer_core.config import Architecture
from transformer_core.corpora.reading import CorpusReading
from transformer_core.errors import CorpusError, HeadlightError
from transformer_core.language import grouped, mark, say, say_again

if TYPE_CHECKING:
    from transformer_core.corpora.portrait import CorpusPortrait

MADE_HERE: Mapping[str, tuple[str, bool]] = {  # by name: in words, and whether it holds pairs
    "copy": (mark("Copy: letters come out as they went in"), True),
    "reverse": (mark("Reverse: letters come out backwards"), True),
    "sort": (mark("Sort: letters come out in the order of the alphabet"), True),
    "addition": (mark("Addition: two numbers and their sum"), True),
    "dates": (mark("Dates: any way of writing a date becomes one"), True),
    "brackets": (mark("Brackets: open ones are closed"), True),
    "en-fr": (mark("English to French: small sentences, with pronouns"), True),
    "induction": (mark("Induction: what came behind the same letter before?"), False),
    "stories": (mark("Stories: short tales, told on"), False),
}
TOKENS = {"byte_bpe": mark("pieces of words"), "character": mark("characters"), "word": mark("words")}
_TO_TRAIN_ON = {
    "pairs": mark("pairs to train on"),
    "texts": mark("texts to train on"),
    "stretches": mark("stretches to train on"),
}
_TOKENS_A = {"source": mark("tokens a source"), "target": mark("tokens a target"), "text": mark("tokens a text")}
DIVISIONS = {"auto": mark("as it is divided"), "lines": mark("each line a text"), "stream": mark("one running text")}
SOURCE, GENERATED, OWN = "train-source", "train-corpus", "train-own"
_UPLOADS = "train-uploads"  # how many files have come
_SAID = "train-upload-said"  # of the last one, at the next run
_MADE, _OWN = mark("Made here"), mark("Your own text")
_SECONDS = 3600  # at most, that the first look at a corpus takes


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A corpus, and how it is read."""

    name: str  # of a corpus that is made here; "own" for a text of one's own
    corpus: str  # as `--corpus` takes it
    is_pairs: bool
    run_name: str  # for a run on it
    reading: Mapping[str, str | int] = field(default_factory=dict)  # fields of CorpusReading that were chosen


def texts_folder() -> Path:
    """Return where texts of one's own are kept."""
    return runs.folder() / ".texts"


def choose() -> Choice | None:
    """Choose a corpus; None while there is none."""
    source = st.segmented_control(
        say("Corpus"), [_MADE, _OWN], format_func=lambda name: say(name), default=_MADE, required=True, key=SOURCE
    )
    if source == _MADE:
        name = st.selectbox(
            say("Which one"),
            [*MADE_HERE],
            format_func=lambda name: say(MADE_HERE[name][0]),
            key=GENERATED,
            label_visibility="collapsed",
            persist_state="session",
        )
        return Choice(name=name, corpus=name, is_pairs=MADE_HERE[name][1], run_name=name)
    return _own()


def _own() -> Choice | None:
    """Take in texts of one's own, and choose one of them."""
    by_file, by_hand = st.tabs([say("A file"), say("Typed or pasted")])
    with by_file:
        n_uploads = st.session_state.setdefault(_UPLOADS, 0)
        file = st.file_uploader(
            say("Text, or pairs as .tsv or .csv, up to {n} MB", n=st.get_option("server.maxUploadSize")),
            help=say(
                "A text file in UTF-8; of pairs, each line a source, a tab (or comma) and a target. It stays on this "
                "machine."
            ),
            key=f"{_UPLOADS}-{n_uploads}",
        )
        if file is not None:  # it has arrived as a whole: no button that could be pressed too early
            with st.spinner(say("Reading the file …"), show_time=True):
                st.session_state[_SAID] = _take_in(file.name, file)
            st.session_state[_UPLOADS] = n_uploads + 1
            st.rerun()  # the page that a person sees has room for another file
        _tell(st.session_state.pop(_SAID, ("", "")))
    with by_hand, st.form("train-paste", border=False):
        text = st.text_area(say("Text, or pairs with a tab between"), height=160, placeholder=say("Paste a text here"))
        if st.form_submit_button(say("Take it in")) and text.strip():
            _tell(_take_in(f"{say('pasted')}{'.tsv' if _are_pairs(text) else '.txt'}", text.encode()))
    texts = {path.name: path for path in _texts()}
    if not texts:
        st.caption(say("Nothing was taken in yet."))
        return None
    if st.session_state.get(OWN) not in texts:
        st.session_state[OWN] = next(iter(texts))
    name = st.selectbox(say("Train on"), [*texts], key=OWN, persist_state="session")
    is_pairs = name.endswith(".tsv")
    reading: dict[str, str | int] = {}
    with st.container(key="hl-train-reading"):
        left, right = st.columns(2)
    tokens = left.selectbox(
        say("Tokens"), [*TOKENS], format_func=lambda name: say(TOKENS[name]), key=f"train-tokens-{name}"
    )
    if tokens != "byte_bpe":
        reading["tokens"] = tokens
    if not is_pairs:
        division = right.selectbox(
            say("Texts"), [*DIVISIONS], format_func=lambda name: say(DIVISIONS[name]), key=f"train-divided-{name}"
        )
        if division != "auto":
            reading["division"] = division
    return Choice(
        name="own",
        corpus=models.at_root(texts[name]),
        is_pairs=is_pairs,
        run_name=Path(name).stem.partition(".")[0],
        reading=reading,
    )


def _take_in(name: str, content: BinaryIO | bytes) -> tuple[str, str]:
    """Return why a text was not taken in, and then what is to be known of it: each in words, or ""."""
    from transformer_core.corpora.uploads import take_in

    try:
        taken = take_in(content, name, texts_folder())
    except CorpusError as error:
        return say("This was not taken in: {error}.", error=error), ""
    st.session_state[OWN] = taken.path.name
    return "", taken.remark


def _tell(said: tuple[str, str]) -> None:
    refusal, remark = said
    if refusal:
        st.warning(refusal)
    if remark:
        st.info(remark)


def _are_pairs(text: str) -> bool:
    """Whether each line of a pasted text has a tab in it."""
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) > 1 and all("\t" in line for line in lines)


def _texts() -> list[Path]:
    """Return the texts that were taken in, the newest first."""
    if not texts_folder().is_dir():
        return []
    return sorted(
        (path for path in texts_folder().iterdir() if path.is_file() and not path.name.startswith(".")),
        key=lambda path: -path.stat().st_mtime,
    )


def show(choice: Choice, architecture: Architecture) -> "CorpusPortrait | None":
    """Draw what is known of a corpus; None, with a sentence on the page, where it cannot be trained on."""
    try:
        portrait = portrait_of(choice, architecture)
    except HeadlightError as error:
        st.warning(say("This cannot be trained on: {error}.", error=error))
        return None
    st.html(f"<p class='hl-look'>{html.escape(say_again(portrait.description))}</p>")
    if choice.is_pairs:
        samples = pd.DataFrame(portrait.samples, columns=[say("source"), say("target")])
    else:
        samples = pd.DataFrame([sample[0] for sample in portrait.samples], columns=[say("text")])
    st.dataframe(samples, hide_index=True, height=38 + 35 * min(8, len(samples)))
    cells = "".join(
        f"<div><span>{html.escape(name)}</span>{html.escape(value)}</div>" for name, value in facts(portrait)
    )
    st.html(f"<div class='hl-facts-list'>{cells}</div>")
    with st.expander(say("Tokens"), icon=":material/abc:"):
        frequent = "".join(
            f"<span><bdi>{html.escape(one.token)}</bdi><small>{grouped(one.count)}</small></span>"
            for one in portrait.frequent
        )
        st.html(f"<div class='hl-tokens'>{frequent}</div>")
    return portrait


def facts(portrait: "CorpusPortrait") -> list[tuple[str, str]]:
    """Return what there is to know of a corpus, each thing with its number."""
    lengths = [
        (
            say(_TOKENS_A[side]),
            say(
                "{median} (95 % up to {percentile}, longest {longest})",
                median=of.median,
                percentile=of.percentile_95,
                longest=of.longest,
            ),
        )
        for side, of in portrait.lengths.items()
    ]
    return [
        (say(_TO_TRAIN_ON[portrait.items]), grouped(portrait.n_train)),
        (say("held out"), grouped(portrait.n_held_out)),
        (say("tokens to train on"), grouped(portrait.n_train_tokens)),
        (
            say("vocabulary"),
            say("{n:,} {tokens}", n=portrait.vocab_size, tokens=say(TOKENS[portrait.tokenizer_kind])),
        ),
        *lengths,
        (say("unknown in what is held out"), f"{portrait.unknown_share:.1%}"),
        (say("loss of guessing by frequency"), say("{n:.2f} nats", n=portrait.unigram_loss)),
        (say("loss of looking one token back"), say("{n:.2f} nats", n=portrait.bigram_loss)),
    ]


def tokens_per_item(portrait: "CorpusPortrait") -> float:
    """Return about how many tokens a pair, or a text, gives the model, <bos> and <eos> included."""
    return portrait.n_train_tokens / max(1, portrait.n_train) + (2 if portrait.items == "pairs" else 1)


def place_of(corpus: str) -> str:
    """Return the name of a corpus as this process finds it, wherever it was started."""
    return corpus if corpus in MADE_HERE else str(models.ROOT / corpus)


def portrait_of(choice: Choice, architecture: Architecture) -> "CorpusPortrait":
    """Return what is known of a corpus: what was found before, or what a process of its own finds now.

    Raises:
        CorpusError: the corpus cannot be read.
    """
    from transformer_core.corpora.portrait import kept_portrait

    reading = CorpusReading(**choice.reading)  # type: ignore[arg-type]  # what the widgets offer
    path = place_of(choice.corpus)
    found = kept_portrait(path, reading, architecture)
    if found is not None:
        return found
    with st.spinner(say("Reading the corpus and counting its tokens; the first time takes a while …"), show_time=True):
        words = [sys.executable, "-m", "transformer_core", "inspect", "--corpus", path, "--architecture", architecture]
        for name, value in choice.reading.items():
            words += ["--set", f"{name}={value}"]
        done = subprocess.run(
            [*words, "--json"], cwd=models.ROOT, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        raise CorpusError(
            say_again(lines[-1].removeprefix("error: ")) if lines else say("it could not be read; the log may say why")
        )
    from transformer_core.corpora.portrait import CorpusPortrait

    return CorpusPortrait.from_json(done.stdout)
