"""The cross-attention of each output token over the source, next to the gold alignment where it is known."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures import TokenGrid
from headlight.figures.heatmaps.decoding import alignment_matrix
from headlight.language import say, say_number
from pages.components import figures
from pages.explore.decoding import view_fields
from pages.explore.decoding.data import DecodingData
from pages.explore.decoding.recipes import tokens_of
from pages.shared import cache, prose
from pages.shared.corpora import MADE_HERE
from pages.shared.drawing import draw
from pages.shared.glossary.links import definitions
from pages.shared.models import ModelCard, place_of
from pages.shared.recipe import Expression, Print, call, named, value_of
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from headlight.analysis.texts.word_alignment import AlignmentScore, FoundPair, KnownAlignment

NEXT = "…"  # label of the row of the next token


@dataclass(frozen=True, kw_only=True, eq=False)
class Alignment:
    """The attention over the source and the gold alignment, as code."""

    n_shown: int  # rows up to this step, the next token's included
    weights: Expression  # of all tokens of the branch
    links: Expression  # cells that the attention aligns
    pair: Expression | None  # the pair of the corpus
    known: Expression | None  # its gold alignment
    trouble: HeadlightError | None  # why the search for the pair failed

    @property
    def truth(self) -> Expression | None:
        """The cells of the gold alignment; None if it is unknown."""
        return None if self.known is None else named("truth", self.known.cells(self.known.links))

    @property
    def score(self) -> Expression | None:
        """The agreement of the attention with the gold alignment; None while there is nothing to judge."""
        is_judged = self.known is not None and value_of(self.known).judged
        return self.known.score(self.weights) if self.known is not None and is_judged else None

    def printed(self, n_written: int) -> list[Print]:
        """Return the lines that print the rows of the written tokens, and their agreement with the gold alignment."""
        return [Print(self.weights[:n_written], "[tgt, src]"), *([] if self.score is None else [Print(self.score)])]


def show(data: DecodingData) -> None:
    """Draw a row for each written token and for the next token."""
    if not data.branch:
        prose.small(say("Nothing has been generated yet: take a step."))
        return
    result = _recipe(data)
    of_branch = data.output_labels[len(data.given) :]
    labels = [*of_branch[: data.n_written], NEXT, *of_branch[data.n_written + 1 :]][: len(of_branch)]
    title = say("Alignment: {who}", who=data.who("cross"))
    figure = call(
        alignment_matrix,
        result.weights,
        call(
            TokenGrid,
            labels,
            data.recipe.given.labels,
            query_name=say("query: next token"),
            key_name=say("key: source token"),
            marked=(data.n_written if data.n_written < len(data.branch) else None, None),
        ),
        n_shown=result.n_shown,
        truth=result.truth,
        links=result.links,
        title=title,
    )
    arrays = _arrays(data, result)
    rows, columns = (
        [f"{place} {label}" for place, label in enumerate(arrays[side])] for side in ("target_tokens", "source_tokens")
    )
    draw(
        figure,
        *result.printed(data.n_written),
        title=title,
        name=data.file_name("alignment"),
        key="decoding-alignment",
        csv=lambda: matrix_csv(arrays["weights"], "target", rows, "source", columns, "weight"),
        arrays=lambda: arrays,
        model=data.card.path,
        on_cell=lambda: _open(figures.sent_cell("decoding-alignment")),
    )
    verdict = prose.sentence(result.trouble) if result.trouble else _verdict(result)
    prose.small(verdict, definitions("alignment-error-rate"))


def code(data: DecodingData) -> list[Print]:
    """Return the lines that print the rows of the written tokens, and their agreement with the gold alignment."""
    return _recipe(data).printed(data.n_written) if data.branch else []


def _open(cell: tuple[int, int] | None) -> None:
    """Go to the step before the token of the clicked row was written."""
    if cell is not None:
        view_fields.go_to(cell[0])


def _recipe(data: DecodingData) -> Alignment:
    """Return the attention over the source for the tokens so far, and the gold alignment if there is one."""
    from headlight.analysis.texts.word_alignment import hard_alignment, known_alignment
    from transformer_core.decoding.decoding_step import written_weights

    recipe, n_shown = data.recipe, min(data.n_written + 1, len(data.branch))
    weights = named("weights", call(written_weights, recipe.branch, "cross", data.aim))
    result, trouble = _pair(data)
    known = None
    if result is not None:
        written = tokens_of(recipe.branch[: data.n_written])
        known = named("known", call(known_alignment, result.pair, recipe.tokenizer, recipe.given.ids, written))
        known = None if value_of(known) is None else known
    links = call(hard_alignment, weights) if known is None else known.cells(known.links_of(weights))
    links = named("links", links)
    return Alignment(n_shown=n_shown, weights=weights, links=links, pair=result, known=known, trouble=trouble)


def _pair(data: DecodingData) -> tuple[Expression | None, HeadlightError | None]:
    """Return the pair of the model's corpus that has this source, if any, and the error if the search failed."""
    corpus = _corpus_of(data.card)
    if corpus is None or data.left_out:
        return None, None
    from headlight.analysis.texts.word_alignment import KnownPairs
    from transformer_core.corpora import load_corpus

    name, seed = corpus
    pairs = cache.kept(mark("sources of corpora"), call(KnownPairs, call(load_corpus, name, seed=seed)))
    result = named("found", pairs.find(data.view.text))
    try:
        with st.spinner(say("Searching the model’s corpus for this text …")):
            return (None if value_of(result) is None else result), None
    except HeadlightError as error:
        return None, error


def _corpus_of(card: ModelCard) -> tuple[str, int] | None:
    """Return name and seed of the model's corpus if Headlight generates that corpus and it has pairs, else None."""
    try:
        corpus = json.loads((place_of(card.path) / "card.json").read_text(encoding="utf-8"))["corpus"]
        name, seed = str(corpus["name"]), int(corpus["seed"])
    except (OSError, LookupError, TypeError, ValueError):
        return None  # an imported model, or one not trained yet
    return (name, seed) if name in MADE_HERE and MADE_HERE[name][1] else None


def _verdict(alignment: Alignment) -> str:
    """Say how well this attention agrees with the gold alignment, or why that is unknown."""
    result: FoundPair | None
    known: KnownAlignment | None
    score: AlignmentScore | None
    result, known, score = value_of((alignment.pair, alignment.known, alignment.score))
    if result is None or known is None:
        return say(
            "A dot marks the maximum weight of each row. A gold alignment exists only for the exact sentences of "
            "Headlight’s generated corpora, and this text is not one of them."
        )
    part = say("held out from training") if result.is_held_out else say("used for training")
    parted = (
        say(
            " From token {n} on, the output differs from the corpus target, “{target}”, so it has no gold alignment.",
            n=known.n_agreed,
            target=result.pair.target,
        )
        if known.is_parted
        else ""
    )
    if score is None:
        return say(
            "This sentence is in the corpus ({part}), so its gold alignment is known: generate a word to score "
            "it.{parted}",
            part=part,
            parted=parted,
        )
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


def _arrays(data: DecodingData, alignment: Alignment) -> dict[str, np.ndarray]:
    n = data.n_written
    weights, truth, links = value_of((alignment.weights[:n], alignment.truth, alignment.links))
    targets = data.output_labels[len(data.given) :][:n]
    return {
        "weights": weights,
        "target_tokens": np.array(targets),
        "source_tokens": np.array(data.source_labels),
        "links": np.array(sorted(cell for cell in links if cell[0] < n)),
        **({} if truth is None else {"truth": np.array(sorted(truth))}),
    }
