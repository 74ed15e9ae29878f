"""What the page Compare shows at one time: two sides that were read, and what of them can be compared."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pages.components import figures
from pages.explore.compare.sides import Side, teacher_forced
from pages.shared import cache, export
from pages.shared.view import state
from transformer_core.analysis.texts.side_by_side import SharedTokens
from transformer_core.errors import mark
from transformer_core.figures import Figure

if TYPE_CHECKING:
    from transformer_core.analysis import ModelRun
    from transformer_core.analysis.trace.attention_maps import AttentionMaps

MOST_TOKENS = 512  # on a side: of longer texts, all pairs are too many to be looked at
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparisonData:
    """Two sides and their model runs; all parts of the page draw from it."""

    a: Side
    b: Side
    model_runs: "tuple[ModelRun, ModelRun]"

    @classmethod
    def of(cls, a: Side, b: Side) -> "ComparisonData":
        """Read both sides; B is teacher-forced on what A writes, where possible.

        Raises:
            HeadlightError: a model cannot be loaded, or a text cannot be read.
        """
        model_run = a.read()
        b = teacher_forced(b, a, model_run)
        return cls(a=a, b=b, model_runs=(model_run, b.read()))

    @property
    def sides(self) -> "tuple[tuple[Side, ModelRun], tuple[Side, ModelRun]]":
        """Each side with its model run."""
        return (self.a, self.model_runs[0]), (self.b, self.model_runs[1])

    @property
    def is_same(self) -> bool:
        """Whether the same weights read the same."""
        return self._key_of(self.a) == self._key_of(self.b)

    @property
    def n_tokens(self) -> int:
        """The most tokens that a side has."""
        return max(
            n
            for model_run in self.model_runs
            for attention_maps in model_run.attention_maps.values()
            for n in attention_maps.shape[2:]
        )

    def attention_maps(self) -> "tuple[AttentionMaps, AttentionMaps]":
        """Return the attentions of the two chosen heads."""
        a, b = (model_run.attention_maps[side.head.attention] for side, model_run in self.sides)
        return a, b

    def labels(self, i: int, attention: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the labels of queries and keys of an attention of side A (0) or B (1), as far as they are compared.

        Where B is teacher-forced on A's tokens, they are called as in A, where the first may have lost its capital.
        """
        a, b = self.model_runs
        is_forced = self.b.target is not None and a.inputs == b.inputs
        queries, keys = self.model_runs[0 if is_forced else i].labels(attention)
        end = self.n_compared(i)
        return queries[:end], keys[:end]

    def labels_in_code(self, i: int, attention: str) -> str:
        """Return the expression that gives these labels; the attention as Python writes it."""
        end, letter = self.n_compared(i), "ab"[i]
        labels = f"{letter}.labels({attention})"
        return labels if end is None else f"tuple(side[:{end}] for side in {labels})"

    def n_compared(self, i: int) -> int | None:
        """Return how many tokens of a side are compared; None: all.

        Of a decoder that goes on from a prompt it is the prompt, unless both sides go on from the same with the same.
        """
        a, b = self.model_runs
        is_prompt = self.model_runs[i].architecture == "decoder_only" and a.inputs != b.inputs
        return self.model_runs[i].n_given if is_prompt else None

    def shared(self, attention_a: str, attention_b: str) -> SharedTokens:
        """Return the paired tokens of an attention of A and one of B."""
        return SharedTokens.of(self.labels(0, attention_a), self.labels(1, attention_b))

    def kept(self, what: str, more: Hashable, make: Callable[[], Arrays]) -> Arrays:
        """Return what was compared of these two sides, worked out once for all sessions.

        Args:
            what: names it.
            more: what else it depends on, beside what the sides read.
            make: works it out.
        """
        return cache.get(mark("comparisons"), (what, self._key_of(self.a), self._key_of(self.b), more), make)

    def draw(
        self,
        figure: Figure,
        *,
        name: str,
        key: str,
        csv: Callable[[], str],
        arrays: Callable[[], Mapping[str, np.ndarray]],
        code: str,
        **options: Any,
    ) -> None:
        """Draw a figure that can be taken away with its numbers and the lines that give them.

        Args:
            figure: what is drawn.
            name: of its files, behind the names of the two sides.
            key: of the component.
            csv: gives the numbers as a table.
            arrays: gives them by name.
            code: the lines.
            **options: as `live_figure` takes them.
        """
        whole = f"{self.a.file_name}-{self.b.file_name}-{name}"

        def files() -> Mapping[str, bytes]:
            return export.files(
                name=whole,
                csv=csv,
                arrays=arrays,
                code=code,
                state=state.in_words(),
                model=self.a.weights.source.path if not self.a.weights.run else None,
            )

        about = "\n".join(f"{side.letter}: {side.name}: {side.text}" for side in (self.a, self.b))
        figures.live_figure(figure, name=whole, key=key, files=files, about=about, **options)

    @staticmethod
    def _key_of(side: Side) -> Hashable:
        return side.source, side.text, side.target
