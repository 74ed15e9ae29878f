"""The data of the Compare page: two sides with their model runs, and the tokens that can be compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from headlight.analysis.texts.side_by_side import SharedTokens
from headlight.figures import Figure
from pages.explore.compare.sides import Side, teacher_forced
from pages.shared import cache, prose
from pages.shared.drawing import draw_figure
from pages.shared.recipe import Expression, Print, literal, script, through, value_of
from transformer_core.errors import mark
from transformer_core.text.interface import in_one_line

MOST_TOKENS = 512  # per side


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparisonData:
    """Two sides that were read; all parts of the page draw from it."""

    a: Side
    b: Side

    @classmethod
    def of(cls, a: Side, b: Side) -> "ComparisonData":
        """Read both sides; B is teacher-forced on A's output where possible.

        Raises:
            HeadlightError: a model cannot be loaded, or a text cannot be read.
        """
        data = cls(a=a, b=teacher_forced(b, a))
        value_of([side.recipe for side in data.sides])
        return data

    @property
    def sides(self) -> tuple[Side, Side]:
        """A and B."""
        return self.a, self.b

    @property
    def outputs(self) -> list[Print]:
        """The lines that print the output of each side."""
        return [Print(side.recipe.output) for side in self.sides if side.model_run.predicts]

    @property
    def is_viewed(self) -> bool:
        """Whether the model of a side is computed by transformers, and not by the core."""
        return any(side.weights.is_viewed for side in self.sides)

    @property
    def is_same(self) -> bool:
        """Whether both sides have the same weights, interventions, text and target."""
        a, b = ((side.source, side.text, side.target) for side in self.sides)
        return a == b

    @property
    def n_tokens(self) -> int:
        """The largest number of queries or keys in any attention of either side."""
        return max(n for side in self.sides for maps in side.model_run.attention_maps.values() for n in maps.shape[2:])

    @property
    def has_same_tokens(self) -> bool:
        """Whether both models were given the same tokens."""
        a, b = (side.model_run.inputs for side in self.sides)
        return bool(a == b)

    def labels(self, side: Side, attention: str) -> Any:
        """Return the labels of the compared queries and keys of one side's attention, as code.

        If B is teacher-forced on A's tokens, both sides use A's labels, where the first token may be in lower case.
        """
        is_as_a = self.b.target is not None and self.has_same_tokens
        labels, end = (self.a if is_as_a else side).recipe.labels(attention), self.n_compared(side)
        return labels if end is None else (labels[0][:end], labels[1][:end])

    def n_compared(self, side: Side) -> int | None:
        """Return the number of tokens of a side that are compared; None: all.

        For decoder-only models only the prompt is compared, unless both sides have the same tokens.
        """
        is_prompt = side.model_run.architecture == "decoder_only" and not self.has_same_tokens
        return side.model_run.n_given if is_prompt else None

    def shared(self, attention_a: str, attention_b: str) -> Expression:
        """Return the paired tokens of an attention of A and one of B as code."""
        return literal(SharedTokens).of(self.labels(self.a, attention_a), self.labels(self.b, attention_b))

    def draw(self, figure: Figure, *, name: str, code: Sequence[Print], **options: Any) -> None:
        """Draw a figure that can be saved with its numbers and the code that computes them.

        Args:
            figure: the figure.
            name: suffix of its file names, after the names of the two sides.
            code: the lines that print its numbers.
            **options: as `draw_figure` takes them.
        """
        draw_figure(
            figure,
            name=f"{self.a.file_name}-{self.b.file_name}-{name}",
            code=lambda: script(*code),
            model=self.a.folder,
            state_of=lambda: {"b": self.b.as_json()},
            about="\n".join(f"{side.letter}: {side.name}: {in_one_line(side.text)}" for side in self.sides),
            **options,
        )


def kept(compared: Expression, *, waiting: str) -> Expression:
    """Return the expression, cached for all sessions; `waiting` is shown while it is computed."""

    def compute(make: Callable[[], Any]) -> Any:
        with st.spinner(prose.plain(waiting), show_time=True):
            return make()

    return cache.kept(mark("comparisons"), through(compared, compute))
