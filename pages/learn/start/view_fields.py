"""What defines the view of the Start page, beside the model and the text: zoom, step, and how tokens are chosen."""

from collections.abc import Callable

from headlight.analysis.stage.panels import Zoom
from headlight.language import say
from pages.components.sampling import SLIDERS, sampling_fields, sampling_of, sent_sampling
from pages.learn.steps import view_fields as steps_fields
from pages.shared.view import state
from pages.shared.view.fields import Field, Kept, matching, number
from pages.shared.view.shared_value import SharedValue
from transformer_core.config import ModelConfig
from transformer_core.decoding.settings import GREEDY, Sampling
from transformer_core.errors import ConfigError, mark

PAGE = "start"
STAGE = "start-stage"  # key of the component
ZOOMED, STEPPED = SharedValue(STAGE, "zoom"), SharedValue(STAGE, "step")  # what a person chose there
MOST_CHOSEN = 64  # tokens that stand in the address
_TOKENS = matching(
    r"(?:\d{1,7}(?:\.\d{1,7})*)?",
    mark("the format is token ids joined by dots: 12.44"),
    lambda match: tuple(int(token) for token in match[0].split(".")[:MOST_CHOSEN] if token),
)
_OF = Kept("start-of")  # the model and the text that the chosen tokens belong to


def _zoom(text: str) -> str:
    """Read a zoom level, such as "decoder.0.cross_attn".

    Raises:
        ValueError: it is none.
    """
    try:
        return str(Zoom.of(text))
    except ConfigError:
        raise ValueError(say("the format is a block, attention or head: decoder.0.cross_attn.2")) from None


ZOOM: Field = Field(PAGE, "zoom", "", _zoom)
STEP = Field(PAGE, "step", None, number)  # tokens that were generated; None: where the model is least certain
TOKENS: Field = Field(PAGE, "tokens", (), _TOKENS, lambda tokens: ".".join(map(str, tokens)))  # forced, the first ones
SAMPLING = sampling_fields(PAGE)
FIELDS = (ZOOM, STEP, TOKENS, *SAMPLING.values(), *steps_fields.FIELDS)


def sampling() -> Sampling:
    """Return how the next token is chosen."""
    return sampling_of(SAMPLING)


def is_models_own() -> bool:
    """Whether the model generates greedily, and nothing was chosen for it."""
    return not TOKENS.value and sampling() == GREEDY


def fit(config: ModelConfig, identity: object) -> list[str]:
    """Keep what is chosen within what the model has; return a sentence for what could not be met.

    Args:
        config: the model's.
        identity: of the model and the text; with others, what was generated is forgotten.
    """
    if _OF.is_chosen and _OF.value != identity and not state.came_by_link():
        for field in (STEP, TOKENS):
            field.set(field.usual)
    _OF.set(identity)
    try:
        zoom = Zoom.of(ZOOM.value, config)
    except ConfigError as error:
        ZOOM.set("")
        return [say("{error}; the overview is shown.", error=error)]
    if zoom.level in ("attention", "head"):
        state.SHOWN_HEAD.set(zoom.attention, zoom.layer, state.HEAD.value if zoom.head is None else zoom.head)
    return []


def on_zoom(query_of: Callable[[str], int | None]) -> None:
    """A person zoomed in or out; what came from the browser is checked like any input.

    Args:
        query_of: returns the query to look at in the head of an attention; None: the page finds one.
    """
    try:
        ZOOM.set(_zoom(str(ZOOMED.heard())[:100]))
    except ValueError:
        return
    zoom = Zoom.of(ZOOM.value)
    if zoom.level == "head":  # another head than before: what was open in that one says nothing of it
        for field in steps_fields.FIELDS:
            field.set(field.usual)
        steps_fields.QUERY.set(query_of(zoom.attention))
        steps_fields.PLACE.forget()


def on_step(*, is_filling: bool) -> None:
    """Another step was chosen; `is_filling`: of blanks that are filled, where later ones are opened again."""
    step = STEPPED.heard()
    if type(step) is int and 0 <= step <= MOST_CHOSEN:
        STEP.set(step)
        if is_filling:
            TOKENS.set(TOKENS.value[:step])


def on_sampling(generated: tuple[int, ...]) -> None:
    """A slider was let go: what was generated up to this step stays."""
    if settings := sent_sampling(STAGE, sampling()):
        TOKENS.set(generated)
        for name in SLIDERS:
            SAMPLING[name].set(getattr(settings, name))


def choose_token(generated: tuple[int, ...], token: int) -> None:
    """A person chose which token comes next; the stage has room for this many."""
    if len(generated) + 1 <= MOST_CHOSEN:
        TOKENS.set((*generated, token))
        STEP.set(len(generated) + 1)


def forget_places() -> None:
    """Tell the figures again where they are: they are drawn for the first time."""
    steps_fields.PLACE.forget()
    STEPPED.forget()
    ZOOMED.forget()


def start_again() -> None:
    """Forget what was generated."""
    for field in (STEP, TOKENS):
        field.set(field.usual)
