"""The fields of the Positions page besides the model, the text and the head."""

from headlight.analysis.heads.measures import HeadName
from pages.learn import experiment_runs
from pages.shared.models import ModelCard
from pages.shared.view.fields import Field, matching, number, number_pair, one_of, whole, write_pair
from transformer_core.errors import mark

PAGE = "positions"
MOST_POSITIONS, MOST_WIDTH = 512, 1024
MOST_DIMENSIONS = 6  # drawn as waves at once
MOST_HEADS = 64
PARTS = ("table", "waves", "products", "shift", "dials", "bias", "model", "retrain")
PARTS_OF = {  # parts of each encoding; the first is the default
    "sinusoidal_halves": ("table", "waves", "products", "shift"),
    "sinusoidal_interleaved": ("table", "waves", "products", "shift"),
    "learned": ("table", "waves", "products"),
    "rotary_halves": ("dials", "table", "waves", "products"),
    "rotary_interleaved": ("dials", "table", "waves", "products"),
    "alibi": ("bias",),
    "relative_buckets": ("bias",),
    "none": (),
}
ENCODINGS = (*PARTS_OF,)
OF_THE_MODEL = ("model", "retrain")  # parts that every encoding has
_DIMENSIONS = matching(
    r"\d{1,4}(?:\.\d{1,4})*",
    mark("the format is dimensions joined by dots: 0.64.128"),
    lambda match: tuple(dict.fromkeys(map(int, match[0].split("."))))[:MOST_DIMENSIONS],
)
_PLACES = number_pair(mark("the format is the positions of a query and a key: 7.12"))


ENCODING = Field(PAGE, "encoding", ENCODINGS[0], one_of(*ENCODINGS))
PART = Field(PAGE, "part", None, one_of(*PARTS))  # None: the first one of the encoding
N = Field(PAGE, "n", None, whole(range(1, MOST_POSITIONS + 1)))  # positions; None: the default of the part
WIDTH = Field(PAGE, "width", None, whole(range(2, MOST_WIDTH + 1, 2)))  # None: likewise
DIMENSIONS: Field = Field(
    PAGE, "dims", None, _DIMENSIONS, lambda dimensions: ".".join(map(str, dimensions))
)  # dimensions drawn as waves; None: a spread over all frequencies
SHIFT = Field(PAGE, "shift", 5, whole(range(1, MOST_POSITIONS)))  # in positions
PLACES: Field = Field(
    PAGE, "places", None, _PLACES, write_pair
)  # of query and key on the dials; None: their own positions
VECTORS = Field(PAGE, "vectors", "same", one_of("same", "model"))  # rotated vectors: one vector as both; the head's own
TOKENS: Field = Field(PAGE, "tokens", None, _PLACES, write_pair)  # of query and key; None: the last and the first token
N_HEADS = Field(PAGE, "heads", None, whole(range(1, MOST_HEADS + 1)))  # heads with slopes; None: the model's, or 8
BIAS_HEAD = Field(PAGE, "slope", 0, number)  # the head whose bias is drawn as a matrix
LOOK_AHEAD = Field(PAGE, "sees", "past", one_of("past", "all"))  # whether buckets cover later keys too
IN_MODEL = Field(PAGE, "in", "sources", one_of("sources", "shuffle"))  # the question about the model
SEED = Field(PAGE, "seed", 0, number)  # of the shuffled word order

FIELDS: tuple[Field, ...] = (
    *(ENCODING, PART, N, WIDTH, DIMENSIONS, SHIFT, PLACES, VECTORS, TOKENS),
    *(N_HEADS, BIAS_HEAD, LOOK_AHEAD, IN_MODEL, SEED),
    experiment_runs.POSITIONS,
)


def usual_head(card: ModelCard) -> HeadName:
    """Return the default head: in the first layer of a self-attention, whose scores depend on positions most."""
    return HeadName("decoder" if "decoder" in card.attentions else "encoder", 0, 0)


def parts(encoding: str) -> tuple[str, ...]:
    """Return the parts that an encoding has."""
    return (*PARTS_OF[encoding], *OF_THE_MODEL)


def part() -> str:
    """Return the shown part: the chosen one if the encoding has it, else the default."""
    there = parts(ENCODING.value)
    return PART.value if PART.value in there else there[0]


def choose_encoding(encoding: str) -> None:
    """Choose an encoding, and reset sizes and dimensions that may not suit it."""
    if encoding != ENCODING.value:
        DIMENSIONS.set(None)
        if "learned" in (encoding, ENCODING.value):
            WIDTH.set(None)
            N.set(None)
    ENCODING.set(encoding)


def open_table(encoding: str, n: int | None, width: int | None) -> None:
    """Show a table of an encoding with the given sizes."""
    choose_encoding(encoding)
    PART.set("table")
    N.set(n)
    WIDTH.set(width)
