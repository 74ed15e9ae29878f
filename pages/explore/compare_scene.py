"""What the page Compare shows at one time: two sides that were read, and what of them can be compared."""

import html
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages.explore.compare_sides import Side
from pages.shared import kept, takeaway
from pages.shared.components import figures
from transformer_core.analysis.side_by_side import SharedTokens
from transformer_core.figures import Figure

if TYPE_CHECKING:
    from transformer_core.analysis import Reading
    from transformer_core.analysis.attended import Attended

MOST_TOKENS = 512  # on a side: of longer texts, all pairs are too many to be looked at
MOST_MIB = 64  # of all comparisons
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """Two sides and their readings; all parts of the page draw from it."""

    a: Side
    b: Side
    readings: "tuple[Reading, Reading]"

    @property
    def sides(self) -> "tuple[tuple[Side, Reading], tuple[Side, Reading]]":
        """Each side with its reading."""
        return (self.a, self.readings[0]), (self.b, self.readings[1])

    @property
    def is_same(self) -> bool:
        """Whether the same weights read the same."""
        return self._key_of(self.a) == self._key_of(self.b)

    @property
    def n_tokens(self) -> int:
        """The most tokens that a side has."""
        return max(n for reading in self.readings for attended in reading.attended.values() for n in attended.shape[2:])

    def attended(self) -> "tuple[Attended, Attended]":
        """Return the attentions of the two chosen heads."""
        a, b = (reading.attended[side.head.attention] for side, reading in self.sides)
        return a, b

    def shared(self, attention_a: str, attention_b: str) -> SharedTokens:
        """Return the paired tokens of an attention of A and one of B."""
        return SharedTokens.of(self.readings[0].labels(attention_a), self.readings[1].labels(attention_b))

    def kept(self, what: str, more: Hashable, make: Callable[[], Arrays]) -> Arrays:
        """Return what was compared of these two sides, worked out once for all sessions.

        Args:
            what: names it.
            more: what else it depends on, beside what the sides read.
            make: works it out.
        """
        comparisons: kept.Store[Arrays] = kept.store(
            "comparisons", most_mib=MOST_MIB, n_bytes=lambda arrays: sum(array.nbytes for array in arrays.values())
        )
        return comparisons.get((what, self._key_of(self.a), self._key_of(self.b), more), make)

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
            return takeaway.files(
                name=whole,
                csv=csv,
                arrays=arrays,
                code=code,
                state=st.query_params.to_dict(),
                model=self.a.weights.source.path if not self.a.weights.run else None,
            )

        figures.live_figure(figure, name=whole, key=key, files=files, **options)

    @staticmethod
    def _key_of(side: Side) -> Hashable:
        return side.source, side.text, side.target


def calm(sentence: str) -> None:
    """Say what a person should know."""
    st.html(f"<p class='hl-note'>{html.escape(sentence)}</p>")
