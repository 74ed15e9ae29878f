"""The data of the Interventions page: the run of the unchanged model, the stack, and its effects."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headlight.analysis.interventions.records import Ablation, InterventionStack, Patch
from headlight.analysis.interventions.stacks import to_json
from headlight.figures import isolate
from pages.investigate.interventions import view_fields
from pages.shared import cache, drawing
from pages.shared.models import ModelCard
from pages.shared.recipe import Expression, Print, call, named, value_of
from pages.shared.sources import Source
from pages.shared.view import state
from pages.shared.view.state import View
from transformer_core.cached_property import cached_property
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from headlight.analysis.interventions.base import Base
    from headlight.analysis.interventions.comparison import Consequences
    from headlight.analysis.interventions.effect import Metric
    from headlight.analysis.trace.model_run import ModelRun
    from transformer_core.text.interface import Given, Tokenizer

STORE = mark("interventions")


@dataclass(frozen=True, kw_only=True, eq=False)
class InterventionsData:
    """A text, the stack, and what it changes; all parts of the page draw from it."""

    card: ModelCard
    view: View
    source: Source
    stack: InterventionStack
    base_recipe: Expression  # the unchanged run, as code
    base: "Base"
    error: HeadlightError | None  # why the stack cannot be applied here

    @classmethod
    def current(cls, card: ModelCard) -> "InterventionsData | None":
        """Return the data of the current view; None if there is no text.

        Raises:
            HeadlightError: the model cannot be loaded, or the text cannot be read by it.
        """
        state.fit(card)
        view = state.current()
        if not view.text:
            return None
        source = view.source(card, is_changed=False)
        recipe = base_recipe(source, view)
        parts = {"card": card, "view": view, "source": source, "base_recipe": recipe, "base": value_of(recipe)}
        data = cls(**parts, stack=view_fields.current(), error=None)
        try:
            value_of(data.result_recipe)
        except HeadlightError as error:
            return cls(**parts, stack=InterventionStack(), error=error)
        if data.stack.texts:
            cache.measure(STORE, data.base_recipe)
        return data

    @property
    def run(self) -> "ModelRun":
        """The run of the unchanged model."""
        return self.base.run

    @property
    def only_reads(self) -> bool:
        """Whether the model is a decoder-only one that is not asked to continue the text."""
        return self.run.architecture == "decoder_only" and not self.source.continues

    @cached_property
    def result_recipe(self) -> Expression:
        """What the stack changes, as code."""
        from headlight.analysis.interventions.comparison import consequences

        pairs = {"pairs": self.pairs} if self.pairs else {}
        return self._computed("result", consequences, self.base_recipe, self.stack, **pairs)

    @cached_property
    def output_recipe(self) -> Expression:
        """The output that the model generates with the stack, as code."""
        from headlight.analysis.interventions.comparison import free_output

        return self._computed("output", free_output, self.base_recipe, self.result_recipe)

    def _computed(self, name: str, function: Callable[..., Any], *arguments: Any, **more: Any) -> Expression:
        """Return as code the result of a function that runs the model with the stack."""
        value = call(function, *self.source.recipe(), *arguments, **more)
        return named(name, cache.kept(STORE, self.source.forward(value)))

    @cached_property
    def result(self) -> "Consequences":
        """What the stack changes."""
        return value_of(self.result_recipe)

    @cached_property
    def output(self) -> str:
        """The output that the model generates with the stack; decoded on first use."""
        return value_of(self.output_recipe)

    def source_of(self, entry: Ablation | Patch) -> tuple[Mapping[int, int], bool]:
        """Return the positions that an intervention would take its values from if it were the only one.

        Args:
            entry: that takes values from one other text.

        Returns:
            Which positions are paired, and whether the other text's run is that of the text itself.

        Raises:
            HeadlightError: the model cannot read that text.
        """
        from headlight.analysis.interventions.context import prepare

        stack, base = InterventionStack(entries=(entry,)), self.base_recipe
        ready = call(prepare, *self.source.recipe(), stack, run=base.run, sources=base.sources)
        (pairing,) = value_of(self.source.forward(ready)).pairings
        (text,) = stack.texts
        is_same = self.base.sources.run(self.source.load()[0], text).inputs == self.run.inputs
        cache.measure(STORE, base)
        return pairing, is_same

    def comparison_recipe(self, text: "Given", kind: str) -> Expression:
        """Return as code the comparison with the run of another text.

        Args:
            text: that the source run reads.
            kind: of the components that are compared.
        """
        from headlight.analysis.interventions.base import compare_with_source

        value = call(compare_with_source, *self.source.recipe(), self.base_recipe, text, kind=kind)
        return named("compared", cache.kept(STORE, self.source.forward(value)))

    @cached_property
    def pair_error(self) -> HeadlightError | None:
        """Why the two chosen tokens cannot be compared."""
        if view_fields.PAIR.value is not None:
            token, other = view_fields.PAIR.value
            try:
                self.base.metric(token=token, other=other)
            except HeadlightError as error:
                return error
        return None

    @cached_property
    def pairs(self) -> dict[int, tuple[int, int]]:
        """The two tokens that a person compares, by the chosen output token, by default the last one."""
        if view_fields.PAIR.value is None or self.pair_error is not None:
            return {}
        n, chosen = len(self.base.tokens), int(view_fields.TOKEN.value)
        return {chosen if 0 <= chosen < n else n - 1: view_fields.PAIR.value}

    @cached_property
    def index(self) -> int:
        """The output token of the metric: the chosen one, or by default the most changed or the most uncertain one.

        An end token is the default only if there is no other token.
        """
        chosen = next(iter(self.pairs), int(view_fields.TOKEN.value))
        if 0 <= chosen < len(self.base.tokens):
            return chosen
        change, before = np.abs(self.result.logit_difference_change), self.result.logit_differences[0]
        sizes = change if change.any() else -before
        ends = np.isin(self.base.tokens, [*self.card.config.eos_ids])
        return int(np.where(ends & ~ends.all(), -np.inf, sizes).argmax())

    @cached_property
    def metric(self) -> "Metric":
        """The logit difference at the output token of the metric."""
        token, other = self.result.pairs[self.index]
        return self.base.metric(index=self.index, token=token, other=other)

    @cached_property
    def usual_other_text(self) -> str:
        """The default text that values are taken from, until a person types one."""
        from headlight.analysis.interventions.source_runs import usual_other_text

        tokenizer, most = self.source.load()[1], self.base.sources.max_tokens
        return usual_other_text(tokenizer, self.run.architecture, state.TEXT.value, self.card.examples, max_tokens=most)

    @property
    def output_tokenizer(self) -> "Tokenizer":
        """The tokenizer of the model's output."""
        tokenizer: Tokenizer = self.source.load()[1]
        return tokenizer.target if self.run.architecture == "encoder_decoder" else tokenizer

    def input_tokenizer(self, side: str) -> "Tokenizer":
        """The tokenizer of the model's input: "source", or "target" of the decoder."""
        return self.output_tokenizer if side == "target" else self.source.load()[1]

    def label(self, token: int) -> str:
        """Return the label of a token of the output."""
        return isolate(self.output_tokenizer.labels([token])[0])

    def draw(
        self,
        drawn: Expression,
        numbers: Expression,
        comment: str,
        *,
        title: str,
        name: str,
        csv: Callable[[Mapping[str, np.ndarray]], str],
        state_of: Callable[[], Mapping[str, Any]] = dict,
        **more: Any,
    ) -> None:
        """Draw a figure that can be saved with its numbers and with the code that computes both.

        Args:
            drawn: the call that draws it.
            numbers: that are saved, by name.
            comment: on the line that prints them.
            title: of the figure.
            name: of its files, after the model's.
            csv: gives the numbers as a table.
            state_of: gives what else it depends on, beside the text and the stack.
            more: as for `drawing.draw`.
        """
        sides = ("source", "target") if self.run.architecture == "encoder_decoder" else ("text", "segments")
        ids = {side: [*tokens] for side, tokens in zip(sides, self.run.inputs, strict=False)}
        ids["output"] = [*self.base.tokens]
        drawing.draw(
            drawn,
            Print(numbers, comment),
            title=title,
            name=f"{self.view.model}-{name}",
            csv=lambda: csv(value_of(numbers)),
            arrays=lambda: value_of(numbers),
            model=self.card.path,
            state_of=lambda: {"ids": ids, "stack": json.loads(to_json(self.stack)), **state_of()},
            **more,
        )


def base_recipe(source: Source, view: View) -> Expression:
    """Return the unchanged run of a text as code."""
    from headlight.analysis.interventions.base import read_base

    options: dict[str, Any] = {} if view.target is None else {"target": view.target}
    options |= {} if source.continues else {"max_new_tokens": 0}
    reading = call(read_base, *source.recipe(), view.text, **options)
    return named("base", cache.kept(STORE, source.forward(reading)))
