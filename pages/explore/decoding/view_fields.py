"""The fields of the Decoding page besides the model, the text and the head: what was written, and how.

The text is a handful of branches. Each begins with fixed tokens, some of them chosen by a person; after them the model
writes on its own, reproducibly for a given seed. So the address alone determines every step.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from headlight.language import say
from pages.components.sampling import sampling_fields, sampling_of
from pages.shared.view import state
from pages.shared.view.fields import Field, Kept, decimal, number, one_of, plain, text_up_to
from transformer_core.decoding.settings import Sampling
from transformer_core.errors import mark

if TYPE_CHECKING:
    from transformer_core.decoding.decoding_step import Aim

PAGE = "decoding"
MOST_BRANCHES = 12
MOST_LED = 1000  # fixed tokens of a branch in the address
MOST_BEAMS = 8
LIMIT_STEP = 200  # initial limit of written tokens, and the step by which a person can raise it
_OF = Kept("decoding-of")  # source and text that the branches belong to
MADE_ROOM = Kept("decoding-made-room", False)  # whether a new branch just replaced an old one
_PATHS = Kept("decoding-paths", ())  # the tokens of each branch as they were last drawn
_BRANCH = re.compile(r"(?:!?\d{1,7}(?:\.!?\d{1,7})*)?")
MEANS = {"": mark("one head"), "layer": mark("layer mean"), "all": mark("mean of all heads")}


@dataclass(frozen=True)
class Branch:
    """The fixed tokens that a branch begins with."""

    tokens: tuple[int, ...] = ()  # after <bos> or the prompt
    forced: tuple[int, ...] = ()  # their places that a person chose


def _written(branches: Sequence[Branch]) -> str:
    """Return branches in the format of an address, such as "~12.!44.7", with forced tokens marked by "!"."""
    return "~".join(
        ".".join(f"{'!' if place in branch.forced else ''}{token}" for place, token in enumerate(branch.tokens))
        for branch in branches
    )


def _branches(text: str) -> tuple[Branch, ...]:
    """Read branches.

    Raises:
        ValueError: the format is invalid.
    """
    parts = text.split("~")
    if len(parts) > MOST_BRANCHES or not all(map(_BRANCH.fullmatch, parts)):
        raise ValueError(
            say(
                "the format is up to {n} branches joined by ~, each with tokens joined by dots: ~12.!44.7",
                n=MOST_BRANCHES,
            )
        )
    results = []
    for part in parts:
        tokens = [token for token in part.split(".") if token][:MOST_LED]
        forced = tuple(place for place, token in enumerate(tokens) if token.startswith("!"))
        results.append(Branch(tuple(int(token.removeprefix("!")) for token in tokens), forced))
    return tuple(results)


STEP = Field(PAGE, "step", None, number)  # number of written tokens at the selected step
LENGTH = Field(PAGE, "length", None, number)  # tokens to write on a branch; None: by architecture
LIMIT = Field(PAGE, "limit", LIMIT_STEP, number)
BRANCHES: Field = Field(PAGE, "branches", (Branch(),), _branches, _written)
BRANCH = Field(PAGE, "branch", 0, number)  # index of the selected one

SAMPLING = sampling_fields(PAGE)
REPETITION, SEED = SAMPLING["repetition_penalty"], SAMPLING["seed"]

MEAN = Field(PAGE, "mean", "layer", one_of(*MEANS))  # of heads; "": only the chosen head
PART = Field(PAGE, "part", "heads", one_of("heads", "alignment", "tree", "beams", "cache", "led"))
N_BEAMS = Field(PAGE, "beams", 4, number)
PENALTY = Field(PAGE, "penalty", 0.6, decimal(0, 5), plain)  # alpha
PENALTY_FORM = Field(PAGE, "form", "paper", one_of("paper", "length"))
CONTINUATION = Field(PAGE, "led", "", text_up_to(2000))  # forced on a decoder; other models have `state.TARGET`
FILLED = Field(PAGE, "filled", "", text_up_to(2000))  # blanks of a masked model: see blanks_data.py

FIELDS = (
    *(STEP, LENGTH, LIMIT, BRANCHES, BRANCH),
    *SAMPLING.values(),
    *(MEAN, PART, N_BEAMS, PENALTY, PENALTY_FORM, CONTINUATION, FILLED),
)


def sampling() -> Sampling:
    """Return the sampling settings."""
    return sampling_of(SAMPLING)


def go_to(n_written: int) -> None:
    """Go to the step at which this many tokens of this branch are written."""
    STEP.set(max(0, n_written))


def go_on(n_tokens: int) -> None:
    """Go forward by this many tokens, and write them if necessary."""
    go_to((STEP.value or 0) + n_tokens)
    LENGTH.set(max(LENGTH.value or 0, STEP.value))


def allow_more() -> None:
    """Raise the limit, and write on."""
    LIMIT.set(LIMIT.value + LIMIT_STEP)
    go_on(1)


def fork(tokens: Sequence[int]) -> None:
    """Continue with these tokens instead of the model's own; the existing continuation stays a branch."""
    at = STEP.value or 0
    here = BRANCHES.value[BRANCH.value]
    tokens_so_far = (*path()[:at], *tokens)
    forced = (*(place for place in here.forced if place < at), *range(at, len(tokens_so_far)))
    open_path(tokens_so_far, forced=forced)


def open_path(tokens: Sequence[int], *, forced: Sequence[int] = ()) -> None:
    """Go to the step at which these tokens are written, on a branch that begins with them or on a new one."""
    tokens_so_far = tuple(tokens)
    beginning = [
        place for place, of_branch in enumerate(_PATHS.value) if of_branch[: len(tokens_so_far)] == tokens_so_far
    ]
    if beginning:
        BRANCH.set(BRANCH.value if BRANCH.value in beginning else beginning[0])
    else:
        kept = BRANCHES.value[: MOST_BRANCHES - 1]
        MADE_ROOM.set(len(kept) < len(BRANCHES.value))
        BRANCHES.set((*kept, Branch(tokens_so_far, tuple(forced))))
        BRANCH.set(len(kept))
    go_to(len(tokens_so_far))


def start_again() -> None:
    """Delete all branches, and write again."""
    for field in (BRANCHES, BRANCH, LENGTH, LIMIT):
        field.set(field.usual)
    go_to(0)


def set_sampling(values: Mapping[Field, Any]) -> None:
    """Change the sampling settings from this step on, keeping the tokens written up to it."""
    at, here = STEP.value or 0, BRANCHES.value[BRANCH.value]
    kept = Branch(tuple(path()[:at]), tuple(place for place in here.forced if place < at))
    branches = [*BRANCHES.value]
    branches[BRANCH.value] = kept if len(kept.tokens) >= len(here.tokens) else here
    BRANCHES.set(tuple(branches))
    for field, value in values.items():
        field.set(value)


def path() -> tuple[int, ...]:
    """Return the tokens of this branch as they were last drawn."""
    paths, branch = _PATHS.value, BRANCH.value
    tokens: tuple[int, ...] = paths[branch] if branch < len(paths) else BRANCHES.value[branch].tokens
    return tokens


def drawn(paths: Sequence[tuple[int, ...]], at: int, first: int) -> None:
    """Store the tokens of each branch, the step that is shown, and the default step."""
    _PATHS.set(tuple(paths))
    STEP.set(at)
    STEP.found(first)


def fit(key: object) -> None:
    """Clamp the chosen values to valid ranges; for another text or model, reset all that was written."""
    if _OF.is_chosen and _OF.value != key and not state.came_by_link():
        for field in (STEP, LENGTH, LIMIT, BRANCHES, BRANCH, CONTINUATION, FILLED):
            field.set(field.usual)
        _PATHS.pop()
    _OF.set(key)
    BRANCH.set(min(BRANCH.value, len(BRANCHES.value) - 1))
    N_BEAMS.set(min(max(N_BEAMS.value, 1), MOST_BEAMS))


def without(branch: int) -> None:
    """Delete a branch; the first one cannot be deleted."""
    if 0 < branch < len(BRANCHES.value):
        BRANCHES.set(tuple(one for place, one in enumerate(BRANCHES.value) if place != branch))
        BRANCH.set(0)


def aim(n_layers: int) -> "Aim":
    """Return the head, or mean of heads, whose attention is shown; clamp its layer to a stack of `n_layers`."""
    from transformer_core.decoding.decoding_step import Aim

    view = state.current()
    return Aim(layer=min(view.layer, n_layers - 1), head=view.head, mean=MEAN.value)


def choose_aim(n_layers: int, n_heads: int) -> None:
    """Draw the choice of the head, or of the mean of heads, whose attention is shown."""
    shown = aim(n_layers)
    with st.popover(say("Select heads"), type="tertiary"):
        MEAN.selectbox(say("Attention of"), [*MEANS], name=lambda mean: say(MEANS[mean]))
        state.LAYER.selectbox(say("Layer"), range(n_layers), shown=shown.layer, disabled=shown.mean == "all")
        state.HEAD.selectbox(say("Head"), range(n_heads), disabled=bool(shown.mean))
