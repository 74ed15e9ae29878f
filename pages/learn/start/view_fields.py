"""What defines the view of the Start page, beside the model and the text: zoom, step, and how tokens are chosen."""

from dataclasses import replace

from headlight.analysis.stage.panels import Zoom
from headlight.language import say
from pages.components.sampling import SLIDERS, sampling_fields, sampling_of, sent_sampling
from pages.learn import dropout_step
from pages.learn.steps.view_fields import MOST_CHOSEN, token_ids, written_ids
from pages.shared.view import state
from pages.shared.view.fields import Field, Kept, number, one_of
from pages.shared.view.shared_value import SharedValue
from transformer_core.config import ModelConfig
from transformer_core.decoding.settings import GREEDY, Sampling
from transformer_core.errors import ConfigError

PAGE = "start"
STAGE = "start-stage"  # key of the component
ZOOMED, STEPPED = SharedValue(STAGE, "zoom"), SharedValue(STAGE, "step")  # the person's choices there
DECODED = SharedValue(STAGE, "decoding")
_OF = Kept("start-of")  # the model and the text that the chosen tokens belong to


def _zoom(text: str) -> str:
    """Read a zoom level, such as "decoder.0.cross_attn".

    Raises:
        ValueError: the text is not a zoom level.
    """
    try:
        return str(Zoom.of(text))
    except ConfigError:
        raise ValueError(say("the format is a block, attention or head: decoder.0.cross_attn.2")) from None


ZOOM: Field = Field(PAGE, "zoom", "", _zoom)
STEP = Field(PAGE, "step", None, number)  # number of generated tokens; None: the least certain step
TOKENS: Field = Field(PAGE, "tokens", (), token_ids, written_ids)  # forced first tokens
SAMPLING = sampling_fields(PAGE, temperature=1.0)
DECODING = Field(PAGE, "decoding", None, one_of("greedy", "sampling"))  # None: as `fit` finds it
FIELDS = (ZOOM, STEP, TOKENS, DECODING, *SAMPLING.values(), *dropout_step.FIELDS)


def sampling() -> Sampling:
    """Return the settings that the next-token distribution is shown with."""
    return sampling_of(SAMPLING)


def decoding() -> Sampling:
    """Return how the next token is chosen: the most probable one, or drawn from the distribution that is shown."""
    settings = sampling()
    if DECODING.value == "sampling":
        return settings
    return replace(GREEDY, repetition_penalty=settings.repetition_penalty)


def is_models_own() -> bool:
    """Whether the model generates greedily, and nothing was chosen for it."""
    return not TOKENS.value and decoding() == GREEDY


def fit(config: ModelConfig, identity: object) -> list[str]:
    """Restrict the choices to what the model has; return a sentence on each that could not be applied.

    Args:
        config: the model's.
        identity: of the model and the text; if it changes, the generated tokens are forgotten.
    """
    if _OF.is_chosen and _OF.value != identity and not state.came_by_link():
        for field in (STEP, TOKENS):
            field.set(field.usual)
    _OF.set(identity)
    is_greedy = SAMPLING["temperature"].value in (0, 1)  # links without `decoding` mean sampling at other temperatures
    DECODING.found("greedy" if is_greedy else "sampling")
    try:
        zoom = Zoom.of(ZOOM.value, config)
    except ConfigError as error:
        ZOOM.set("")
        return [say("{error}; the overview is shown.", error=error)]
    if zoom.level in ("attention", "head"):
        state.SHOWN_HEAD.set(zoom.attention, zoom.layer, state.HEAD.value if zoom.head is None else zoom.head)
    return []


def on_zoom() -> None:
    """Set the zoom level that a person chose, after validating the browser's message."""
    try:
        ZOOM.set(_zoom(str(ZOOMED.heard())[:100]))
    except ValueError:
        return


def on_step(*, is_filling: bool) -> None:
    """Set the step that a person chose; with `is_filling`, blanks filled in later steps become empty again."""
    step = STEPPED.heard()
    if type(step) is int and 0 <= step <= MOST_CHOSEN:
        STEP.set(step)
        if is_filling:
            TOKENS.set(TOKENS.value[:step])


def on_sampling(generated: tuple[int, ...]) -> None:
    """Apply the settings of a released slider; if tokens are drawn by them, keep those generated up to this step."""
    if settings := sent_sampling(STAGE, sampling()):
        if DECODING.value == "sampling":
            TOKENS.set(generated)
        for name in SLIDERS:
            SAMPLING[name].set(getattr(settings, name))


def on_decoding(generated: tuple[int, ...]) -> None:
    """Choose tokens greedily or by sampling after this step, keeping those generated up to it."""
    if (decoded := DECODED.heard()) in ("greedy", "sampling"):
        TOKENS.set(generated)
        DECODING.set(decoded)


def choose_token(generated: tuple[int, ...], token: int) -> None:
    """Append the token that a person chose, unless `MOST_CHOSEN` is reached."""
    if len(generated) + 1 <= MOST_CHOSEN:
        TOKENS.set((*generated, token))
        STEP.set(len(generated) + 1)


def forget_places() -> None:
    """Make the next run send the zoom level and the step to a stage drawn for the first time."""
    STEPPED.forget()
    ZOOMED.forget()


def start_again() -> None:
    """Forget what was generated."""
    for field in (STEP, TOKENS):
        field.set(field.usual)
