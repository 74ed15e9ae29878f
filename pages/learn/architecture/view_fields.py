"""The fields of the Architecture page besides the model, the text and the head."""

import re
from operator import itemgetter
from typing import NamedTuple

from headlight.analysis.blueprint.plan import STACKS, Blueprint, Box
from headlight.language import say
from pages.learn import dropout_step
from pages.learn.architecture.components.drawing import sent_block
from pages.shared.view.fields import Field, Kept, matching, one_of, write_pair
from transformer_core.errors import mark

PAGE = "architecture"
DRAWING = "architecture-drawing"  # key of the component
_NAME_OF_BLOCK = matching(
    r"[a-z_]{1,30}(?:\.\d{1,4})?(?:\.[a-z_0-9]{1,30})?",
    mark("the format is decoder.0.cross_attn"),
    itemgetter(0),
)
_NAME_OF_SITE = matching(r"[a-z_0-9.]{1,100}", mark("the format is encoder.hook_embed"), itemgetter(0))
_SHAPE = re.compile(r"(\d{1,5})\.(\d{1,7})")
_TYPED_SHAPE = re.compile(r"\s*[\[(]?\s*(\d{1,5})\s*[,x×.;\s]\s*(\d{1,7})\s*[\])]?\s*")
_OPEN = Kept("architecture-open-layers")  # the open layer of each stack in the drawing


class TokensShape(NamedTuple):
    """The shape of a batch of token sequences."""

    batch: int
    pos: int

    def __str__(self) -> str:
        """Return the shape as PyTorch prints it."""
        return f"[{self.batch}, {self.pos}]"


def _shape(text: str, form: re.Pattern[str] = _SHAPE) -> TokensShape:
    """Read a shape, such as "32.128" in an address.

    Raises:
        ValueError: the format is invalid, or a size is 0.
    """
    match = form.fullmatch(text)
    if not match or not int(match[1]) or not int(match[2]):
        raise ValueError(say("enter a number of texts and a number of tokens, each at least 1: [32, 128]"))
    return TokensShape(int(match[1]), int(match[2]))


BLOCK: Field = Field(PAGE, "block", None, _NAME_OF_BLOCK)  # None: see `first_to_look_at`
PART = Field(PAGE, "part", "drawing", one_of("drawing", "parameters", "cost", "stream", "families"))
SHOWN = Field(PAGE, "show", "shapes", one_of("shapes", "weights", "text", "code"))  # of the chosen block
SITE: Field = Field(PAGE, "site", None, _NAME_OF_SITE)  # None: the one to look at first
SHAPES: dict[str, Field] = {  # of the tokens that each stack reads; None: those of the text
    "encoder": Field(PAGE, "src", None, _shape, write_pair),
    "decoder": Field(PAGE, "tgt", None, _shape, write_pair),
}
TYING = Field(PAGE, "sharing", "", one_of("", "three_way", "target", "none"))  # "": as in the model
FIELDS: tuple[Field, ...] = (BLOCK, PART, SHOWN, SITE, *SHAPES.values(), TYING, *dropout_step.FIELDS)
TROUBLE = Kept("architecture-shape-trouble", "")  # the error in a typed shape


def type_shape(stack: str, text: str) -> None:
    """Store the typed shape of a stack's input; empty: the text's own. The other stack gets the same batch size."""
    TROUBLE.set("")
    if not text.strip():
        SHAPES[stack].set(None)
        return
    try:
        shape = _shape(text, _TYPED_SHAPE)
    except ValueError as error:
        TROUBLE.set(say("“{text}” is not a shape; {error}.", text=text[:30], error=error))
        return
    SHAPES[stack].set(shape)
    for field in SHAPES.values():
        if field.value and field.value.batch != shape.batch:
            field.set(field.value._replace(batch=shape.batch))


def choose_block(name: str) -> None:
    """Choose a block, and reset the hook point."""
    BLOCK.set(name)
    SITE.set(None)


def on_block() -> None:
    """Choose the block that was clicked in the drawing; `fit` checks it against the plan."""
    if name := sent_block(DRAWING):
        choose_block(name)


def fit(plan: Blueprint) -> tuple[Box, str]:
    """Return the chosen block, and the name of the requested block if this model has no such block, else "".

    Args:
        plan: of the model.
    """
    wanted = BLOCK.value
    missed = "" if wanted is None or wanted in plan.boxes else wanted
    if missed:
        BLOCK.set(None)
        SITE.set(None)
    box = plan.boxes[BLOCK.value or plan.first_to_look_at()]
    layers = dict(_OPEN.value or {})
    for stack in STACKS:
        layers[stack] = min(layers.get(stack, plan.layers(stack)), max(plan.layers(stack) - 1, 0))
    if box.layer is not None:
        layers[box.stack] = box.layer
    _OPEN.set(layers)
    return box, missed


def open_layers() -> dict[str, int]:
    """Return the open layer of each stack in the drawing; `fit` must have run."""
    return dict(_OPEN.value)
