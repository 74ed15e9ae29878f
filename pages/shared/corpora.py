"""What to train on: a corpus that is made here, or a custom text; and what is known of it before the start."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from headlight.corpora.analysis_process import STAGES, WatchedFolder
from headlight.language import localized, percent, say, say_message
from pages.shared import analyses, prose
from pages.shared.glossary.links import definitions
from pages.shared.view.fields import Kept
from transformer_core.config import Architecture
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from headlight.corpora.corpus_stats import CorpusStats

MADE_HERE: Mapping[str, tuple[str, bool]] = {  # by name: in words, and whether it holds pairs
    "copy": (mark("Copy: repeat the letters"), True),
    "reverse": (mark("Reverse: letters in reverse order"), True),
    "sort": (mark("Sort: letters in alphabetical order"), True),
    "addition": (mark("Addition: two numbers and their sum"), True),
    "dates": (mark("Dates: normalize date formats to ISO 8601"), True),
    "brackets": (mark("Brackets: close the open brackets"), True),
    "en-fr": (mark("English to French: simple sentences with pronouns"), True),
    "induction": (mark("Induction: which letter followed last time?"), False),
    "stories": (mark("Stories: continue short stories"), False),
}
FOREIGN = mark("tokens of the chosen tokenizer")
TOKENS = {"byte_bpe": mark("subwords (BPE)"), "character": mark("characters"), "word": mark("words")}
_TO_TRAIN_ON = {
    "pairs": mark("pairs to train on"),
    "texts": mark("texts to train on"),
    "stretches": mark("sections to train on"),
}
_LENGTHS = {
    "source": mark("source length (tokens)"),
    "target": mark("target length (tokens)"),
    "text": mark("text length (tokens)"),
}
_WATCHED = Kept("corpus-analysis")  # the folder of the analysis that was selected last
_CANCELLED = Kept("corpus-cancelled")  # what is not to be analysed
_TICK = 1.0  # seconds between two looks at an analysis


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A corpus, and how it is read."""

    name: str  # of a corpus that is made here; "own" for a custom text
    corpus: str  # as `--corpus` takes it
    is_pairs: bool
    run_name: str  # for a run on it
    reading: Mapping[str, str | int | bool] = field(default_factory=dict)  # fields of CorpusReading that were chosen

    @property
    def is_made_here(self) -> bool:
        """Whether it is a corpus that is generated here, not a custom text."""
        return self.corpus in MADE_HERE


def show(choice: Choice, architecture: Architecture) -> "CorpusStats | None":
    """Draw what is known of a corpus; None while that is found out, or, with a sentence, where it cannot be."""
    arguments = (choice.corpus, dict(choice.reading), architecture)
    if _CANCELLED.value == arguments:
        prose.info(say("The analysis was cancelled; a text is analysed before it is trained on."))
        st.button(say("Analyse"), key="analyse", on_click=_CANCELLED.pop)
        return None
    _CANCELLED.pop()
    try:
        analysis = analyses.look(*arguments)
    except HeadlightError as error:
        prose.warning(say("This cannot be trained on: {error}.", error=error))
        return None
    before = _WATCHED.value
    if before is not None and before.path != analysis.folder.path:
        before.give_up()
    _WATCHED.set(analysis.folder)
    if analysis.problem:
        prose.warning(say("This cannot be trained on: {error}.", error=analysis.problem))
        st.button(say("Try again"), key="analyse-again", on_click=analyses.forget, args=(analysis,))
        return None
    if analysis.stats is None:
        st.fragment(_watch, run_every=_TICK)(arguments)
        return None
    stats = analysis.stats
    prose.paragraph(say_message(stats.description))
    if choice.is_pairs:
        samples = pd.DataFrame(stats.samples, columns=[say("source"), say("target")])
    else:
        samples = pd.DataFrame([sample[0] for sample in stats.samples], columns=[say("text")])
    st.dataframe(samples, hide_index=True, height=38 + 35 * min(8, len(samples)))
    prose.facts(facts(stats), links=definitions("unigram-baseline", "bigram-baseline", "held-out-data"))
    with st.expander(say("Tokens"), icon=":material/abc:"):
        prose.html("{}", prose.tokens((one.token, localized(one.count)) for one in stats.frequent))
    return stats


def facts(stats: "CorpusStats") -> list[tuple[str, str]]:
    """Return the facts about a corpus, each with its number."""
    lengths = [
        (
            say(_LENGTHS[side]),
            say(
                "{median:,} (95% up to {percentile:,}, longest {longest:,})",
                median=of.median,
                percentile=of.percentile_95,
                longest=of.longest,
            ),
        )
        for side, of in stats.lengths.items()
    ]
    return [
        (say(_TO_TRAIN_ON[stats.items]), localized(stats.n_train)),
        (say("held-out"), localized(stats.n_held_out)),
        (say("tokens to train on"), localized(stats.n_train_tokens)),
        (
            say("vocabulary"),
            say("{n:,} {tokens}", n=stats.vocab_size, tokens=say(TOKENS.get(stats.tokenizer_kind, FOREIGN))),
        ),
        *lengths,
        (say("unknown tokens in held-out data"), percent(stats.unknown_share, 1)),
        (say("unigram baseline"), say("{n:.2f} nats", n=stats.unigram_loss)),
        (say("bigram baseline"), say("{n:.2f} nats", n=stats.bigram_loss)),
    ]


def tokens_per_item(stats: "CorpusStats") -> float:
    """Return about how many tokens a pair, or a text, gives the model, <bos> and <eos> included."""
    return stats.n_train_tokens / max(1, stats.n_train) + (2 if stats.items == "pairs" else 1)


def _watch(request: tuple[str, Mapping[str, str | int | bool], Architecture]) -> None:
    """Draw how far an analysis is, each second again; when it has ended, the page continues."""
    if _CANCELLED.value == request:
        st.rerun()
    try:
        analysis = analyses.look(*request)
    except HeadlightError:
        st.rerun()
    if analysis.stats is not None or analysis.problem:
        st.rerun()
    progress, name = analysis.progress, Path(request[0]).name
    share = progress.n_done / progress.n_in_all if progress.n_in_all else 0.0
    with st.container(border=True, key="hl-analysis"):
        words = say("Analysing {name}: {stage} …", name=name, stage=STAGES.get(progress.stage, progress.stage))
        if progress.n_in_all:
            words = say("{words} {done:,} of {all:,}", words=words, done=progress.n_done, all=progress.n_in_all)
        st.progress(min(1.0, share), prose.plain(words))
        prose.caption(say("This is done once per text and setting; you can keep using the page."))
        st.button(say("Cancel"), key="cancel-analysis", on_click=_cancel, args=(request, analysis.folder))


def _cancel(request: object, folder: WatchedFolder) -> None:
    _CANCELLED.set(request)
    folder.give_up()
