"""What defines the view of the page Architecture, beside the model, the text and the head."""

import re
from collections.abc import Callable

import streamlit as st

from pages.shared.components.drawing import sent_block
from pages.shared.fields import Field, one_of
from transformer_core.analysis.blueprint.plan import STACKS, Blueprint, Box
from transformer_core.language import say

PAGE = "architecture"
DRAWING = "architecture-drawing"  # key of the component
_BLOCK = re.compile(r"[a-z_]{1,30}(?:\.\d{1,4})?(?:\.[a-z_0-9]{1,30})?")
_SITE = re.compile(r"[a-z_0-9.]{1,100}")
_OPEN = "architecture-open-layers"  # the layer of each stack that is open on the drawing


def _written_as(form: re.Pattern[str], example: str) -> Callable[[str], str]:
    """Return a check for a name."""

    def read(text: str) -> str:
        if not form.fullmatch(text):
            raise ValueError(say("it is written as {example}", example=example))
        return text

    return read


BLOCK: Field = Field(PAGE, "block", None, _written_as(_BLOCK, "decoder.0.cross_attn"))  # None: see `first_to_look_at`
PART = Field(PAGE, "part", "drawing", one_of("drawing", "parameters", "cost", "stream"))
SHOWN = Field(PAGE, "show", "shapes", one_of("shapes", "weights", "text", "code"))  # of the chosen block
SITE: Field = Field(PAGE, "site", None, _written_as(_SITE, "encoder.hook_embed"))  # None: the one to look at first
FIELDS: tuple[Field, ...] = (BLOCK, PART, SHOWN, SITE)


def choose_block(name: str) -> None:
    """A block was chosen."""
    BLOCK.set(name)
    SITE.set(None)


def on_block() -> None:
    """A block was clicked on the drawing; what came from the browser is checked against the plan by `fit`."""
    if name := sent_block(DRAWING):
        choose_block(name)


def fit(plan: Blueprint) -> tuple[Box, str]:
    """Return the chosen block, and what there is to say where the wanted one is not in this model.

    Args:
        plan: of the model.
    """
    wanted = BLOCK.value
    missed = "" if wanted is None or wanted in plan.boxes else wanted
    if missed:
        BLOCK.set(None)
        SITE.set(None)
    box = plan.boxes[BLOCK.value or plan.first_to_look_at()]
    layers = st.session_state.setdefault(_OPEN, {})
    for stack in STACKS:
        layers[stack] = min(layers.get(stack, plan.layers(stack)), max(plan.layers(stack) - 1, 0))
    if box.layer is not None:
        layers[box.stack] = box.layer
    return box, missed


def open_layers() -> dict[str, int]:
    """Return the layer of each stack that is open on the drawing; `fit` must have run."""
    return dict(st.session_state[_OPEN])
