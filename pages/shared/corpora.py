"""What to train on: a generated corpus or a custom text, and its statistics before the training starts.

A separate process, shared by all sessions, computes the statistics. The page starts the process, signals each second
that somebody is waiting, and reads its progress. Without that signal, because the user cancelled or all tabs are
closed, the process ends.
"""

import json
import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from headlight.cli.launch import forget_log
from headlight.corpora.analysis_process import STAGES, Progress, WatchedFolder
from headlight.language import localized, percent, say, say_message
from pages.shared import models, prose, runs
from pages.shared.glossary.links import definitions
from pages.shared.view.fields import Kept
from transformer_core.config import Architecture
from transformer_core.corpora.reading import CorpusReading
from transformer_core.errors import NO_MESSAGE, CorpusError, HeadlightError, Message, mark
from transformer_core.reasons import reason

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
_STATUS_CANCELLED = 130  # the exit status of a process that ended because nobody waited
_STATUS_SORRY = 2  # the exit status of one that explains its failure in a sentence
_OLD_SECONDS = 24 * 3600.0  # age at which abandoned files are deleted
_STARTING = threading.Lock()  # keeps two sessions from starting two processes for one corpus


@dataclass(frozen=True, kw_only=True)
class CorpusChoice:
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


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """The state of a corpus analysis; with neither statistics nor a problem, its process is still running."""

    folder: WatchedFolder
    stats: "CorpusStats | None" = None
    problem: Message = NO_MESSAGE  # why there are no statistics
    progress: Progress = field(default_factory=Progress)


def show(choice: CorpusChoice, architecture: Architecture) -> "CorpusStats | None":
    """Draw and return the statistics of a corpus; None during the analysis, or with a message if it failed."""
    arguments = (choice.corpus, dict(choice.reading), architecture)
    if _CANCELLED.value == arguments:
        prose.info(say("The analysis was cancelled; a text is analysed before it is trained on."))
        st.button(say("Analyse"), key="analyse", on_click=_CANCELLED.pop)
        return None
    _CANCELLED.pop()
    try:
        analysis = analysis_of(*arguments)
    except HeadlightError as error:
        prose.warning(say("This cannot be trained on: {error}.", error=error))
        return None
    before = _WATCHED.value
    if before is not None and before.path != analysis.folder.path:
        before.give_up()
    _WATCHED.set(analysis.folder)
    if analysis.problem:
        prose.warning(say("This cannot be trained on: {error}.", error=analysis.problem))
        st.button(say("Try again"), key="analyse-again", on_click=forget, args=(analysis,))
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
    """Draw the progress of an analysis each second; rerun the page when it has ended."""
    if _CANCELLED.value == request:
        st.rerun()
    try:
        analysis = analysis_of(*request)
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


def place_of(corpus: str) -> str:
    """Return the name of a corpus as this process finds it, wherever it was started."""
    from headlight.programs.corpus import PREFIX
    from transformer_core.corpora import BETWEEN, CORPORA

    if corpus.startswith(PREFIX):
        program = models.ROOT / corpus.removeprefix(PREFIX)
        return f"{PREFIX}{program}" if program.exists() else corpus
    return corpus if corpus in CORPORA else BETWEEN.join(str(models.ROOT / part) for part in corpus.split(BETWEEN))


def reading_here(reading: Mapping[str, str | int | bool]) -> Mapping[str, str | int | bool]:
    """Return how a corpus is read, with the folder of a tokenizer as this process finds it, wherever it was started."""
    tokens = str(reading.get("tokens", ""))
    folder = models.ROOT / os.path.expanduser(tokens)
    return {**reading, "tokens": str(folder)} if "/" in tokens and os.path.isdir(folder) else reading


def analysis_of(corpus: str, reading: Mapping[str, str | int | bool], architecture: Architecture) -> Analysis:
    """Return the state of a corpus analysis and signal that somebody is waiting; start the analysis if there is none.

    Args:
        corpus: as `--corpus` takes it.
        reading: fields of `CorpusReading`.
        architecture: of the model that is to learn from it.

    Raises:
        HeadlightError: there is no such corpus, it cannot be read so, or no process can be started.
    """
    from headlight.corpora.corpus_stats import CorpusStats, kept_stats, made_from

    reading = reading_here(reading)
    chosen, path = CorpusReading(**reading), place_of(corpus)  # type: ignore[arg-type]  # what the widgets offer
    depends_on = json.dumps(made_from(path, chosen, architecture))
    folder = WatchedFolder(runs.folder() / ".analyses" / blake2b(depends_on.encode(), digest_size=8).hexdigest())
    with _STARTING:
        started = next((one for one in runs.launcher().started() if one.run == folder.path), None)
        is_at_work = started.process.poll() is None if started else folder.is_alive()
        stats = kept_stats(path, chosen, architecture)
        if stats is None and folder.result.exists():  # the cache folder cannot be written
            with suppress(OSError, LookupError, TypeError, ValueError):
                stats = CorpusStats.from_json(folder.result.read_text(encoding="utf-8"))
        elif stats is not None and not is_at_work and folder.path.exists():
            folder.delete()
            forget_log(folder.path.parent / ".logs" / f"{folder.path.name}.log")
        if stats is not None:
            return Analysis(folder=folder, stats=stats)
        if started and not is_at_work and started.process.returncode != _STATUS_CANCELLED:
            return Analysis(folder=folder, problem=_problem(started.process.returncode, started.trouble(), started.log))
        try:
            folder.want()
            if not is_at_work:
                _start(folder, path, reading, architecture)
        except OSError as error:
            raise CorpusError(
                "{folder} cannot be written ({error}); make room there", folder=folder.path, error=reason(error)
            ) from error
    return Analysis(folder=folder, progress=folder.progress())


def forget(analysis: Analysis) -> None:
    """Forget that an analysis failed, so that it is tried again."""
    runs.launcher().forget(analysis.folder.path)


def _start(
    folder: WatchedFolder, path: str, reading: Mapping[str, str | int | bool], architecture: Architecture
) -> None:
    for old in folder.path.parent.glob("[!.]*"):
        if time.time() - old.stat().st_mtime > _OLD_SECONDS:
            WatchedFolder(old).delete()
    words = ["inspect", "--corpus", path, "--architecture", architecture, "--folder", str(folder.path)]
    for name, value in reading.items():
        words += ["--set", f"{name}={value if isinstance(value, str) else str(value).lower()}"]
    runs.launcher().forget(folder.path)
    runs.launcher().start(folder.path, words)


def _problem(status: int, trouble: Message, log: Path) -> Message:
    if status == _STATUS_SORRY:
        return trouble
    return Message(
        "its analysis ended early (exit status {status}): it was killed or ran out of memory; its output is in {log}",
        status=status,
        log=log,
    )
