"""Where the model looked to write each token of the output, beside what each truly depends on, where that is known."""

import html
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.components import figures
from pages.explore.decoding import view_fields
from pages.explore.decoding.code import looked
from pages.explore.decoding.data import DecodingData
from pages.shared import analyses, cache, export, prose, ticking
from pages.shared.code import KEEP
from pages.shared.corpora import MADE_HERE
from pages.shared.glossary.links import definitions
from pages.shared.models import ModelCard, place_of
from pages.shared.style import theme
from pages.shared.view import state
from transformer_core.analysis.heads.table import matrix_csv
from transformer_core.errors import HeadlightError, mark
from transformer_core.figures.alignment import alignment_matrix
from transformer_core.language import say, say_number

if TYPE_CHECKING:
    from transformer_core.analysis.texts.word_alignment import FoundPair, KnownAlignment, KnownPairs, Links

TICK = 1.0  # s between two looks whether the corpus is there
NEXT = "…"  # the label of the row whose token is about to be written
AGAIN = """
from transformer_core.figures.alignment import alignment_matrix

figure = alignment_matrix(
    values,
    {targets!r},
    {sources!r},
    n_shown=len(values),
    truth={truth!r},
    links={links!r},
    title={title!r},
)
{keep}"""


def show(data: DecodingData) -> None:
    """Draw a row for each token that was written, and the one that is about to be."""
    from transformer_core.analysis.texts.word_alignment import hard_alignment
    from transformer_core.decoding.looking import written_weights

    if not data.branch:
        st.html(f"<p class='hl-small'>{say('Nothing has been generated yet: take a step.')}</p>")
        return
    weights = written_weights(data.branch, "cross", data.aim)
    n_shown = min(data.n_written + 1, len(data.branch))
    of_branch = data.output_labels[len(data.given) :]
    labels = (*of_branch[: data.n_written], NEXT, *of_branch[data.n_written + 1 :])[: len(of_branch)]
    found, trouble = _pair(data)
    known = None if found is None else _known(data, found)
    truth: Links | None = None if known is None else known.cells(known.links)
    links = hard_alignment(weights[:n_shown]) if known is None else known.cells(known.links_of(weights))
    title = say("Alignment: {who}", who=data.who("cross"))
    figure = alignment_matrix(
        weights,
        labels,
        data.source_labels,
        n_shown=n_shown,
        truth=truth,
        links=links,
        at=data.n_written if data.n_written < len(data.branch) else None,
        title=title,
        theme=theme(),
    )
    figures.live_figure(
        figure,
        name=data.file_name("alignment"),
        key="decoding-alignment",
        files=lambda: _files(data, weights[: data.n_written], truth, links, title),
        height=int(figure.layout.height),
        on_cell=lambda: _open(figures.sent_cell("decoding-alignment")),
    )
    if isinstance(trouble, analyses.AtWorkError):
        ticking.look_again(after=TICK)
        wait = say(
            "The model’s corpus is being generated for the first time; the gold alignment will appear in a moment."
        )
        st.html(f"<p class='hl-small'>{html.escape(wait)}</p>")
        return
    verdict = prose.sentence(trouble) if trouble else _verdict(data, weights, found, known)
    st.html(f"<p class='hl-small'>{html.escape(verdict)}{prose.linked(definitions('alignment-error-rate'))}</p>")


def _open(cell: tuple[int, int] | None) -> None:
    """A row was clicked: go to the step before its token was written."""
    if cell is not None:
        view_fields.go_to(cell[0])


def _pair(data: DecodingData) -> "tuple[FoundPair | None, HeadlightError | None]":
    """Return the pair of the model's corpus whose source was read, if there is one, and why it cannot be known."""
    corpus = _corpus_of(data.card)
    if corpus is None or data.left_out:
        return None, None
    try:
        with st.spinner(say("Searching the model’s corpus for this text …")):
            return cache.get(mark("sources of corpora"), corpus, lambda: _pairs(*corpus)).find(data.view.text), None
    except HeadlightError as error:
        return None, error


def _corpus_of(card: ModelCard) -> tuple[str, int] | None:
    """Return name and seed of the corpus of pairs that a model was trained on, if it is one that is made here."""
    try:
        corpus = json.loads((place_of(card.path) / "card.json").read_text(encoding="utf-8"))["corpus"]
        name, seed = str(corpus["name"]), int(corpus["seed"])
    except (OSError, LookupError, TypeError, ValueError):
        return None  # a model that was brought in from elsewhere, or not trained yet
    return (name, seed) if name in MADE_HERE and MADE_HERE[name][1] else None


def _pairs(name: str, seed: int) -> "KnownPairs":
    """Return the pairs of a corpus by their sources.

    Raises:
        HeadlightError: the corpus is drawn just now, or cannot be.
    """
    from transformer_core.analysis.texts.word_alignment import KnownPairs
    from transformer_core.corpora import load_corpus

    if seed == 0:  # as it is drawn for all who look
        analyses.draw(name, "encoder_decoder")
    return KnownPairs(load_corpus(name, seed=seed))


def _known(data: DecodingData, found: "FoundPair") -> "KnownAlignment | None":
    """Return the true alignment of what was written up to this step."""
    from transformer_core.analysis.texts.word_alignment import known_alignment

    _, tokenizer = data.source.load()
    return known_alignment(found.pair, tokenizer, data.source_tokens, [step.token for step in data.written])


def _verdict(data: DecodingData, weights: np.ndarray, found: "FoundPair | None", known: "KnownAlignment | None") -> str:
    """Say how well this attention tells the alignment, or why nobody knows."""
    if found is None or known is None:
        return say(
            "A dot marks the maximum weight of each row. A gold alignment exists only for the exact sentences of "
            "Headlight’s generated corpora, and this text is not one of them."
        )
    part = say("held out from training") if found.is_held_out else say("used for training")
    parted = (
        say(
            " From token {n} on, the output differs from the corpus target, “{target}”, so it has no gold alignment.",
            n=known.n_agreed,
            target=found.pair.target,
        )
        if known.is_parted
        else ""
    )
    if not known.judged:
        return say(
            "This sentence is in the corpus ({part}), so its gold alignment is known: generate a word to score "
            "it.{parted}",
            part=part,
            parted=parted,
        )
    score = known.score(weights)
    n, best = len(known.judged), known.least_error_rate
    least = (
        say(
            " Some words have several gold links; with one link per word, the AER cannot be lower than {best:.2f}.",
            best=best,
        )
        if best
        else ""
    )
    return say_number(
        n,
        "Alignment error rate (AER) so far: {error:.2f}. The predicted links (dots, one for {n} word) have "
        "precision {precision:.0%} and recall {recall:.0%} against the gold links (outlines).{least} The sentence "
        "is in the corpus ({part}).{parted}",
        "Alignment error rate (AER) so far: {error:.2f}. The predicted links (dots, one per word, {n} words) have "
        "precision {precision:.0%} and recall {recall:.0%} against the gold links (outlines).{least} The sentence "
        "is in the corpus ({part}).{parted}",
        error=score.error_rate,
        precision=score.precision,
        recall=score.recall,
        least=least,
        part=part,
        parted=parted,
    )


def _files(
    data: DecodingData, weights: np.ndarray, truth: "Links | None", links: "Links", title: str
) -> Mapping[str, bytes]:
    """Return the numbers of the rows that are written, and the lines that draw them again."""
    name = data.file_name("alignment")
    targets, sources = list(data.output_labels[len(data.given) :][: len(weights)]), list(data.source_labels)
    rows, columns = ([f"{place} {label}" for place, label in enumerate(side)] for side in (targets, sources))
    told = {
        "targets": targets,
        "sources": sources,
        "truth": None if truth is None else sorted(truth),
        "links": sorted(cell for cell in links if cell[0] < len(weights)),
        "title": title,
        "keep": KEEP.format(title=title, text=state.about(), file=f"{name}.html"),
    }
    arrays = {"weights": weights, "target_tokens": np.array(targets), "source_tokens": np.array(sources)}
    arrays |= {"links": np.array(told["links"])} | ({} if truth is None else {"truth": np.array(told["truth"])})
    return export.files(
        name=name,
        csv=lambda: matrix_csv(weights, "target", rows, "source", columns, "weight"),
        arrays=lambda: arrays,
        code=looked(data, "cross", whole=True) + AGAIN.format(**told),
        state=state.in_words(),
        model=data.card.path,
    )
