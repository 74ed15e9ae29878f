"""The fields of the Attention step by step page besides the model, the text and the head.

The figure moves in the browser and reports its state. So the page moves it only after a choice made elsewhere: by a
link, another text or a control.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from headlight.analysis.heads.measures import HeadName
from pages.learn import dropout_step
from pages.learn.steps.step_texts import TITLES
from pages.shared.models import ModelCard
from pages.shared.view import state
from pages.shared.view.fields import Field, Kept, matching, number, one_of
from pages.shared.view.shared_value import SharedValue
from transformer_core.errors import mark

PAGE = "steps"
FIGURE = "steps-figure"  # key of the component
_CELL = r"([a-z_]{1,30})\.(\d{1,8})\.(\d{1,6})"
PLACE = SharedValue(FIGURE, "view")  # state of the figure


MOST_CHOSEN = 64  # tokens in the address
token_ids = matching(
    r"(?:\d{1,7}(?:\.\d{1,7})*)?",
    mark("the format is token ids joined by dots: 12.44"),
    lambda match: tuple(int(token) for token in match[0].split(".")[:MOST_CHOSEN] if token),
)
_OF = Kept("steps-of")  # the model and the text that the generated tokens belong to


def written_ids(tokens: tuple[int, ...]) -> str:
    """Return token ids as the address has them."""
    return ".".join(map(str, tokens))


class MatrixCell(NamedTuple):
    """A number of the walk."""

    matrix: str  # name of a quantity
    row: int
    column: int


QUERY = Field(PAGE, "query", None, number)  # its place in the text; None: the default query
STAGE = Field(PAGE, "stage", "input", one_of(*TITLES))
KEY = Field(PAGE, "key", None, number)  # None: the key with the query's largest weight
CELL: Field = Field(  # the number whose formula is open
    PAGE,
    "cell",
    None,
    matching(
        _CELL,
        mark("the format is matrix, row and column: scaled.7.2"),
        lambda match: MatrixCell(match[1], int(match[2]), int(match[3])),
    ),
    lambda cell: f"{cell.matrix}.{cell.row}.{cell.column}",
)
TOKENS: Field = Field(PAGE, "tokens", (), token_ids, written_ids)  # what Start generated, or filled the blanks with
FIELDS: tuple[Field, ...] = (QUERY, STAGE, KEY, CELL, TOKENS, *dropout_step.FIELDS)


def usual_head(card: ModelCard) -> HeadName:
    """Return the guided head, an encoder head, or else the first head."""
    return HeadName(next(iter(card.attentions)), *(card.guided_head or (0, 0)))


def forget_tokens_of_another(identity: object) -> None:
    """Forget the generated tokens if the model or the text changes; `identity`: of both."""
    if _OF.is_chosen and _OF.value != identity and not state.came_by_link():
        TOKENS.set(())
    _OF.set(identity)


def fit(n_queries: int, n_keys: int, first: int, shapes: Mapping[str, tuple[int, int]]) -> None:
    """Reset a query, key or number that the walk does not have.

    Args:
        n_queries: number of queries in the text.
        n_keys: number of keys in the text.
        first: the default query.
        shapes: rows and columns of the quantities of the walk.
    """
    key, cell = KEY.value, CELL.value
    if QUERY.value is not None and QUERY.value >= n_queries:
        QUERY.set(None)
    QUERY.found(first)
    if key is not None and key >= n_keys:
        KEY.set(None)
    if cell is not None:
        n_rows, n_columns = shapes.get(cell.matrix, (0, 0))
        if cell.row >= n_rows or cell.column >= n_columns:
            CELL.set(None)


def on_view() -> None:
    """Store the state that the figure reports, after validating what the browser sent."""
    text = PLACE.heard()
    if not isinstance(text, Mapping):
        return
    stage, query, key, cell = (text.get(name) for name in ("stage", "query", "key", "cell"))
    if stage in TITLES:
        STAGE.set(stage)
    if _is_index(query):
        QUERY.set(query)
    KEY.set(key if _is_index(key) else None)
    match cell:
        case [str(matrix), int(row), int(column)] if re.fullmatch(_CELL, f"{matrix}.{row}.{column}"):
            CELL.set(MatrixCell(matrix, row, column))
        case _:
            CELL.set(None)


def _is_index(value: object) -> bool:
    return type(value) is int and 0 <= value < 1_000_000
