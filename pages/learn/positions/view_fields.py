"""What defines the view of the Positions page, beside the model, the text and the head."""

from pages.learn import experiment_runs
from pages.shared.view.fields import Field, matching, number, number_pair, one_of, whole, write_pair
from transformer_core.errors import mark

PAGE = "positions"
MOST_POSITIONS, MOST_WIDTH = 512, 1024
MOST_DIMENSIONS = 6  # whose waves are drawn together
MOST_HEADS = 64
PARTS = ("table", "waves", "products", "shift", "dials", "bias", "model", "retrain")
PARTS_OF = {  # that make sense for an encoding; the first is what is seen first
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
N = Field(PAGE, "n", None, whole(range(1, MOST_POSITIONS + 1)))  # positions; None: as many as show the part well
WIDTH = Field(PAGE, "width", None, whole(range(2, MOST_WIDTH + 1, 2)))  # None: likewise
DIMENSIONS: Field = Field(
    PAGE, "dims", None, _DIMENSIONS, lambda dimensions: ".".join(map(str, dimensions))
)  # whose waves are drawn; None: some of all speeds
SHIFT = Field(PAGE, "shift", 5, whole(range(1, MOST_POSITIONS)))  # by how many positions
PLACES: Field = Field(
    PAGE, "places", None, _PLACES, write_pair
)  # of query and key on the dials; None: their own positions
VECTORS = Field(PAGE, "vectors", "same", one_of("same", "model"))  # what is turned: one vector twice; the head's own
TOKENS: Field = Field(
    PAGE, "tokens", None, _PLACES, write_pair
)  # whose query and key are turned; None: the last, the first
N_HEADS = Field(PAGE, "heads", None, whole(range(1, MOST_HEADS + 1)))  # with slopes; None: the model's, or 8
BIAS_HEAD = Field(PAGE, "slope", 0, number)  # the head whose bias is drawn as a matrix
LOOK_AHEAD = Field(PAGE, "sees", "past", one_of("past", "all"))  # whether buckets serve later keys, too
IN_MODEL = Field(PAGE, "in", "sources", one_of("sources", "shuffle"))  # the question about the model
SEED = Field(PAGE, "seed", 0, number)  # of the order of the shuffled words

FIELDS: tuple[Field, ...] = (
    *(ENCODING, PART, N, WIDTH, DIMENSIONS, SHIFT, PLACES, VECTORS, TOKENS),
    *(N_HEADS, BIAS_HEAD, LOOK_AHEAD, IN_MODEL, SEED),
    experiment_runs.POSITIONS,
)


def parts(encoding: str) -> tuple[str, ...]:
    """Return the parts that an encoding has."""
    return (*PARTS_OF[encoding], *OF_THE_MODEL)


def part() -> str:
    """Return the part that is shown: the chosen one, where the encoding has it."""
    there = parts(ENCODING.value)
    return PART.value if PART.value in there else there[0]


def choose_encoding(encoding: str) -> None:
    """Another encoding was chosen; sizes and dimensions that were chosen for the last one may not suit it."""
    if encoding != ENCODING.value:
        DIMENSIONS.set(None)
        if "learned" in (encoding, ENCODING.value):
            WIDTH.set(None)
            N.set(None)
    ENCODING.set(encoding)


def open_table(encoding: str, n: int | None, width: int | None) -> None:
    """A table was chosen by its button."""
    choose_encoding(encoding)
    PART.set("table")
    N.set(n)
    WIDTH.set(width)
