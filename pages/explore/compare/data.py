"""The data of the Compare page: two sides with their model runs, and the tokens that can be compared."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from headlight.analysis.texts.side_by_side import SharedTokens
from headlight.figures import Figure
from pages.components import figures
from pages.explore.compare.sides import Side, teacher_forced
from pages.shared import cache, export, prose
from pages.shared.recipe import Expression, Print, literal, script, through, value_of
from pages.shared.view import state
from transformer_core.errors import mark
from transformer_core.text.interface import in_one_line

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun

MOST_TOKENS = 512  # on a side


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparisonData:
    """Two sides and their model runs; all parts of the page draw from it."""

    a: Side
    b: Side
    recipes: tuple[Expression, Expression]  # the model runs as code
    model_runs: "tuple[ModelRun, ModelRun]"

    @classmethod
    def of(cls, a: Side, b: Side) -> "ComparisonData":
        """Read both sides; B is teacher-forced on what A writes, where possible.

        Raises:
            HeadlightError: a model cannot be loaded, or a text cannot be read.
        """
        recipe = a.recipe
        b = teacher_forced(b, a, value_of(recipe))
        recipes = recipe, b.recipe
        return cls(a=a, b=b, recipes=recipes, model_runs=value_of(recipes))

    @property
    def sides(self) -> "tuple[tuple[Side, ModelRun], tuple[Side, ModelRun]]":
        """Each side with its model run."""
        return (self.a, self.model_runs[0]), (self.b, self.model_runs[1])

    @property
    def sides_in_code(self) -> tuple[tuple[Side, Expression], tuple[Side, Expression]]:
        """Each side with its model run as code."""
        return (self.a, self.recipes[0]), (self.b, self.recipes[1])

    @property
    def outputs(self) -> list[Print]:
        """The lines that print what each side says."""
        return [
            Print(recipe.output)
            for recipe, model_run in zip(self.recipes, self.model_runs, strict=True)
            if model_run.predicts
        ]

    @property
    def is_same(self) -> bool:
        """Whether the same weights read the same."""
        a, b = ((side.source, side.text, side.target) for side in (self.a, self.b))
        return a == b

    @property
    def n_tokens(self) -> int:
        """The most tokens that a side has."""
        return max(
            n
            for model_run in self.model_runs
            for attention_maps in model_run.attention_maps.values()
            for n in attention_maps.shape[2:]
        )

    def attention_maps(self) -> tuple[Expression, Expression]:
        """Return the attentions of the two chosen heads as code."""
        a, b = (recipe.attention_maps[side.head.attention] for side, recipe in self.sides_in_code)
        return a, b

    def labels(self, i: int, attention: str) -> Any:
        """Return the labels of queries and keys of an attention of side A (0) or B (1), as far as compared, as code.

        Where B is teacher-forced on A's tokens, they are called as in A, where the first may have lost its capital.
        """
        a, b = self.model_runs
        is_forced = self.b.target is not None and a.inputs == b.inputs
        labels, end = self.recipes[0 if is_forced else i].labels(attention), self.n_compared(i)
        return labels if end is None else (labels[0][:end], labels[1][:end])

    def n_compared(self, i: int) -> int | None:
        """Return how many tokens of a side are compared; None: all.

        Of a decoder that continues a prompt only the prompt is compared, unless both sides have the same tokens.
        """
        a, b = self.model_runs
        is_prompt = self.model_runs[i].architecture == "decoder_only" and a.inputs != b.inputs
        return self.model_runs[i].n_given if is_prompt else None

    def shared(self, attention_a: str, attention_b: str) -> Expression:
        """Return the paired tokens of an attention of A and one of B as code."""
        return literal(SharedTokens).of(self.labels(0, attention_a), self.labels(1, attention_b))

    def draw(
        self,
        figure: Figure,
        *,
        name: str,
        key: str,
        csv: Callable[[], str],
        arrays: Callable[[], Mapping[str, np.ndarray]],
        code: Sequence[Print],
        **options: Any,
    ) -> None:
        """Draw a figure that can be taken away with its numbers and the lines that compute them.

        Args:
            figure: what is drawn.
            name: of its files, after the names of the two sides.
            key: of the component.
            csv: gives the numbers as a table.
            arrays: gives them by name.
            code: the lines that print them.
            **options: as `live_figure` takes them.
        """
        whole = f"{self.a.file_name}-{self.b.file_name}-{name}"

        def files() -> Mapping[str, bytes]:
            return export.files(
                name=whole,
                csv=csv,
                arrays=arrays,
                code=script(*code),
                state=state.in_words(),
                model=self.a.folder,
                more={"b": self.b.told()},
            )

        about = "\n".join(f"{side.letter}: {side.name}: {in_one_line(side.text)}" for side in (self.a, self.b))
        figures.live_figure(figure, name=whole, key=key, files=files, about=about, **options)


def kept(compared: Expression, *, waiting: str) -> Expression:
    """Return the same, compared once for all sessions; `waiting` is shown meanwhile."""

    def compute(make: Callable[[], Any]) -> Any:
        with st.spinner(prose.plain(waiting), show_time=True):
            return make()

    return cache.kept(mark("comparisons"), through(compared, compute))
