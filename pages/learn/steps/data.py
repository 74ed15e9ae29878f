"""The data of the Attention step by step page: a head on a text, and the tokens that are shown."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headlight.analysis.heads.measures import HeadName
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.analysis.trace.cells import strongest_cell
from pages.learn import dropout_step
from pages.learn.steps import view_fields
from pages.learn.steps.view_fields import MatrixCell
from pages.shared import cache, readings
from pages.shared.heads import head_in_words
from pages.shared.models import ModelCard
from pages.shared.recipe import Expression, call, named, through, value_of
from pages.shared.sources import Source
from pages.shared.view import state
from pages.shared.view.state import View
from transformer_core.cached_property import cached_property
from transformer_core.config import ModelConfig
from transformer_core.decoding.settings import GREEDY, Sampling
from transformer_core.errors import mark
from transformer_core.text.interface import Given

if TYPE_CHECKING:
    from headlight.analysis.stage.panels import StageText
    from headlight.analysis.trace.model_run import ModelRun
    from headlight.analysis.walkthrough.outline import Number, WalkMatrix
    from headlight.analysis.walkthrough.walkthrough import Walkthrough

MOST_SHOWN = 24  # queries, and likewise keys
HOP = MOST_SHOWN // 2  # tokens by which the shown part of a long text moves
PAIRS = ("elementwise", "weighted")  # quantities with a row for each pair of query and key
MOST_TOKENS = 256  # per side, as a walk holds several [query, key] matrices


def read(source: Source, text: Given, target: str | None) -> "ModelRun":
    """Return the model run of a text; of a long text, only its beginning and end are read.

    Raises:
        HeadlightError: the model cannot be loaded, or the text cannot be read by it.
    """
    whole = readings.read(source, text, target)
    return whole if max(map(len, whole.inputs)) <= MOST_TOKENS else _cut(source, text, target)


@cache.by_arguments(mark("truncated texts"))
def _cut(source: Source, text: Given, target: str | None) -> "ModelRun":
    return readings.run(source, text, target, MOST_TOKENS)


def recipe(source: Source, config: ModelConfig, text: Given, target: str | None) -> Expression:
    """Return the model run of a text as code; `config`: the model's."""
    loaded = source.recipe()
    reading = readings.call_of(loaded, source, text, target, min(MOST_TOKENS, config.max_seq_len))
    return named("model_run", through(source.forward(reading), lambda _: read(source, text, target)))


def generated(source: Source, text: Given, chosen: tuple[int, ...], sampling: Sampling = GREEDY) -> Expression:
    """Return the text of the stage as code: a text with what is generated after it, or with its blanks filled.

    Args:
        source: the model.
        text: the source, the prompt, or a text with blanks.
        chosen: tokens that come first, whatever the settings say.
        sampling: how those after them are chosen.
    """
    from headlight.analysis.stage.generating import generate

    options: dict[str, Any] = {"chosen": chosen} if chosen else {}
    if sampling != GREEDY:
        options["sampling"] = sampling
    result = source.forward(call(generate, *source.recipe(), text, **options))
    return named("stage_text", cache.kept(mark("generated texts"), result))


def walk_of(model_run: Expression, source: Source, head: HeadName) -> Expression:
    """Return every matrix of a head on a text, as code.

    Args:
        model_run: as `recipe` gives it.
        source: the model.
        head: the head; `value_of` raises HeadlightError if the model does not have it.
    """
    from headlight.analysis.walkthrough import walkthrough

    model, options = source.recipe()[0], {"labels": model_run.labels(head.attention)}
    if dropout_step.is_shown():
        options["dropout_seed"] = dropout_step.SEED.value
    result = source.forward(call(walkthrough.walk, model, model_run.inputs, **head._asdict(), **options))
    return named("walk_through", cache.kept(mark("step-by-step traces"), result))


@dataclass(frozen=True, kw_only=True, eq=False)
class StepsData:
    """A head on a text; all parts of the page draw from it."""

    card: ModelCard
    view: View
    source: Source
    recipe: Expression  # the model run as code
    walk_recipe: Expression  # the walk as code
    model_run: "ModelRun | StageText"
    walk: "Walkthrough"

    @classmethod
    def current(cls, card: ModelCard) -> "StepsData | None":
        """Return the data of the page; None without a text.

        Raises:
            HeadlightError: the model cannot be loaded, or the text cannot be read by it.
        """
        state.fit(card)
        view = state.current()
        if not view.text:
            return None
        source = view.source(card)
        view_fields.forget_tokens_of_another((source, view.text, view.target))
        if tokens := view_fields.TOKENS.value:
            return cls.of(card, view, source, generated(source, view.text, tokens))
        return cls.of(card, view, source, recipe(source, card.config, view.text, view.target))

    @classmethod
    def of(cls, card: ModelCard, view: View, source: Source, recipe: Expression) -> "StepsData":
        """Return the data for the view's head on a text.

        Args:
            card: of the model.
            view: the chosen head.
            source: the model.
            recipe: the text as code, with `inputs`, `labels` of an attention, `architecture` and `n_given`.

        Raises:
            HeadlightError: the model cannot read the text, or the head cannot be traced.
        """
        walk_recipe = walk_of(recipe, source, view.head_name)
        model_run, walk = value_of((recipe, walk_recipe))
        data = cls(
            card=card,
            view=view,
            source=source,
            recipe=recipe,
            walk_recipe=walk_recipe,
            model_run=model_run,
            walk=walk,
        )
        shapes = {name: quantity.values.shape for name, quantity in walk.quantities.items()}
        n_queries, n_keys = shapes["pattern"]
        d_head = shapes["v"][1]
        of_pairs = dict.fromkeys(PAIRS, (n_queries * n_keys, d_head))
        view_fields.fit(n_queries, n_keys, data.first_look, shapes | of_pairs)
        return data

    @property
    def first_look(self) -> int:
        """The default query: that of the open number, or the word with the largest weight on another word.

        A decoder-only model's own words are left out if possible.
        """
        quantities = self.walk.quantities
        cell: MatrixCell | None = view_fields.CELL.value
        of_cell = quantities.get(cell.matrix) if cell else None
        if cell and of_cell and of_cell.rows == "query" and cell.row < len(of_cell.values):
            return cell.row
        within = None if self.is_cross else MOST_SHOWN - 1  # so that both fit on the page
        n_queries, n_keys = map(len, self.labels)
        of_queries, of_keys = (np.array([_is_word(label) for label in side]) for side in self.labels)
        if self.model_run.architecture == "decoder_only":
            of_queries &= np.arange(n_queries) < self.model_run.n_given
        among = of_queries[:, None] & of_keys
        if not self.is_cross:
            among &= ~np.eye(n_queries, n_keys, dtype=bool)
        mask = quantities["mask"].values > 0
        return strongest_cell(quantities["pattern"].values, mask, within=within, among=among).query

    @property
    def who(self) -> str:
        """The name of the head, in words."""
        return head_in_words(*self.view.head_name)

    @property
    def is_cross(self) -> bool:
        """Whether the keys are tokens of another text than the queries."""
        kind = ATTENTIONS[self.view.attention]
        return kind.queries_from != kind.keys_from

    @property
    def labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The labels of all queries and all keys."""
        return self.model_run.labels(self.view.attention)

    @property
    def query(self) -> int:
        """The chosen query, as a place in the text."""
        return view_fields.QUERY.value

    @property
    def key(self) -> int:
        """The chosen key; by default that of the open number, or the key with the query's largest weight."""
        chosen: int | None = view_fields.KEY.value
        cell: MatrixCell | None = view_fields.CELL.value
        if chosen is None and cell is not None and cell.matrix in self.walk.quantities:
            quantity = self.walk.quantities[cell.matrix]
            chosen = cell.column if quantity.columns == "key" else cell.row if quantity.rows == "key" else None
        return self.strongest_key if chosen is None else chosen

    @property
    def strongest_key(self) -> int:
        """The key with the largest weight of the query."""
        return int(self.walk.quantities["pattern"].values[self.query].argmax())

    @cached_property
    def shown(self) -> tuple[range, range]:
        """The shown queries and keys: all, or in a long text those around the query and around its strongest key.

        In self-attention both are the same range of tokens, which includes query and key if both fit.
        """
        n_queries, n_keys = map(len, self.labels)
        queries, key = _around(self.query, n_queries), self.strongest_key
        if self.is_cross:
            return queries, _around(key, n_keys)
        if key not in queries and abs(key - self.query) + 1 <= MOST_SHOWN:
            first = min(key, self.query, n_keys - MOST_SHOWN)
            queries = range(first, first + MOST_SHOWN)
        return queries, queries

    @property
    def weight_elsewhere(self) -> float:
        """The total attention weight of the query on keys that are not shown."""
        keys = self.shown[1]
        return 1 - float(self.walk.quantities["pattern"].values[self.query, keys.start : keys.stop].sum())

    @property
    def quantities(self) -> "list[WalkMatrix]":
        """The quantities of the figure, restricted to the shown tokens."""
        queries, keys = self.shown
        spans = {"query": slice(queries.start, queries.stop), "key": slice(keys.start, keys.stop)}
        results = []
        for quantity in self.walk.quantities.values():
            if quantity.name == "memory" and not self.is_cross:
                continue  # belongs to another text than this attention's keys
            rows, columns = spans[quantity.rows], spans.get(quantity.columns, slice(None))
            results.append(replace(quantity, values=quantity.values[rows, columns]))
        return results

    @property
    def scores(self) -> str:
        """The name of the quantity that holds the scores before bias and mask."""
        return "scaled" if "scaled" in self.walk.quantities else "product"

    @property
    def number(self) -> "Number | None":
        """The number whose formula is open; None if there is none."""
        cell: MatrixCell | None = view_fields.CELL.value
        return cell and self.walk.number(*cell)

    @property
    def split(self) -> Expression:
        """The decomposed scores, as code; `value_of` raises HeadlightError if they cannot be decomposed."""
        from headlight.analysis.flow.score_sources import score_sources

        model, head = self.source.recipe()[0], self.view.head_name
        result = self.source.forward(call(score_sources, model, self.recipe.inputs, **head._asdict()))
        return named("split", cache.kept(mark("decomposed scores"), result))


def _is_word(label: str) -> bool:
    """Return whether a token is neither only punctuation nor a special token such as <eos>."""
    return any(map(str.isalnum, label)) and not (label.startswith("<") and label.endswith(">"))


def _around(place: int, n: int) -> range:
    """Return the range of shown tokens: all, or some around a place, in steps of `HOP` so that it rarely moves."""
    first = max(0, min((place - HOP // 2) // HOP * HOP, n - MOST_SHOWN))
    return range(first, min(first + MOST_SHOWN, n))
