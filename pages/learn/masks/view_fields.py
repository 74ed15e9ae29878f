"""The fields of the Masks page besides the model, the text and the head, and the texts about the presets."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from headlight.analysis.heads.measures import HeadName
from headlight.analysis.masks.presets import MOST_PADDING, PRESETS, attention_for
from headlight.language import say
from pages.learn import experiment_runs
from pages.shared.models import ModelCard
from pages.shared.view import state
from pages.shared.view.fields import Field, Kept, decimal, number, one_of, plain, text_up_to, whole
from transformer_core.config import ModelConfig
from transformer_core.errors import mark

PAGE = "masks"
PARTS = ("edit", "which", "leak", "dropout", "training")
MOST_DROPOUT = 0.9
MOST_SIZE = 64
MOST_CELLS = MOST_SIZE * MOST_SIZE  # that can be toggled
_OF = Kept("masks-of")  # identifies the mask that the edited cells belong to
_MOVED = Kept("masks-moved")  # the chosen attention, and the one at which the preset is shown instead
_RUN = re.compile(r"(\d{1,2})(?:-(\d{1,2}))?\.(\d{1,2})(?:-(\d{1,2}))?")

Cell = tuple[int, int]


def _cells(text: str) -> tuple[Cell, ...]:
    """Read the cells that differ from the preset, such as "3.4-7~5-6.0".

    Raises:
        ValueError: the format is invalid, or there are too many cells.
    """
    cells: set[Cell] = set()
    room = MOST_CELLS
    for part in text.split("~"):
        match = _RUN.fullmatch(part)
        if match is None:
            raise ValueError(say("the format is queries, a dot and keys, joined by ~: 3.4-7~5-6.0"))
        first_query, last_query, first_key, last_key = match.groups()
        queries = range(int(first_query), int(last_query or first_query) + 1)
        keys = range(int(first_key), int(last_key or first_key) + 1)
        room -= len(queries) * len(keys)  # checked before expanding, as many large rectangles fit into an address
        if room < 0:
            raise ValueError(
                say("it can list at most {most:,} cells, as many as the largest mask has", most=MOST_CELLS)
            )
        cells |= set(product(queries, keys))
    return tuple(sorted(cells))


def _in_words(cells: Iterable[Cell]) -> str:
    """Write cells as rectangles: runs of adjacent keys, with equal runs of adjacent queries merged."""
    keys_of: dict[int, list[int]] = {}
    for query, key in sorted(set(cells)):
        keys_of.setdefault(query, []).append(key)
    by_runs: dict[tuple[int, int], list[int]] = {}
    for query, keys in keys_of.items():
        for run in _runs(keys):
            by_runs.setdefault(run, []).append(query)
    parts = [(rows, run) for run, queries in by_runs.items() for rows in _runs(queries)]
    return "~".join(f"{_span(rows)}.{_span(run)}" for rows, run in sorted(parts))


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and last number of each run of consecutive numbers; `numbers` must be sorted."""
    runs: list[tuple[int, int]] = []
    for value in numbers:
        if runs and value == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], value)
        else:
            runs.append((value, value))
    return runs


def _span(ends: tuple[int, int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}-{ends[1]}"


PART = Field(PAGE, "part", PARTS[0], one_of(*PARTS))
PRESET = Field(PAGE, "preset", "own", one_of(*PRESETS))
EDITS: Field = Field(PAGE, "edits", (), _cells, _in_words)  # cells that differ from the preset
SIZE = Field(PAGE, "size", None, whole(range(1, MOST_SIZE + 1)))  # of window, prefix or blocks; None: the default
PADDING = Field(PAGE, "padding", None, whole(range(MOST_PADDING + 1)))  # tokens; None: as many as the preset needs
LAYERS = Field(PAGE, "layers", "all", one_of("all", "one"))  # layers that the mask applies to
CHANGED = Field(PAGE, "changed", None, number)  # the token that the leak test changes; None: one in the middle
TOKEN = Field(PAGE, "token", "", text_up_to(100))  # its replacement; "": another token of the text

DROPOUT = Field(PAGE, "dropout", 0.1, decimal(0, MOST_DROPOUT), plain)  # probability, on the pattern
SEED = Field(PAGE, "seed", 0, number)  # of the dropout

FIELDS: tuple[Field, ...] = (
    *(PART, PRESET, EDITS, SIZE, PADDING, LAYERS, CHANGED, TOKEN, DROPOUT, SEED, experiment_runs.MASKS),
)


def usual_head(card: ModelCard) -> HeadName:
    """Return the default head: in the decoder's self-attention, or in one at which the preset is visible."""
    last = state.last_head(card)
    if "decoder" not in card.attentions:
        return last
    attention = attention_for(PRESETS[PRESET.value], "decoder", card.config)
    return HeadName(attention, card.n_layers(attention) - 1, 0)


def choose_preset(name: str | None, config: ModelConfig) -> None:
    """Choose a preset, with its default size and padding and without edited cells.

    A preset without effect on the chosen attention is shown at another one; the next preset returns to the chosen
    attention.
    """
    if name is not None and name in PRESETS:
        for field in (EDITS, SIZE, PADDING):
            field.set(field.usual)
        chosen = moved_from() or state.ATTENTION.value
        shown = attention_for(PRESETS[name], chosen, config)
        state.ATTENTION.set(shown)
        _MOVED.set((chosen, shown) if shown != chosen else None)
        PRESET.set(name)


def moved_from() -> str | None:
    """Return the chosen attention if the preset is shown at another one instead; else None."""
    match _MOVED.value:
        case (str(chosen), shown) if shown == state.ATTENTION.value:
            return chosen
    return None


def choose_attention(name: str) -> None:
    """Choose an attention; a new one starts without edited cells."""
    if name != state.ATTENTION.value:
        EDITS.set(())
    state.ATTENTION.set(name)
    _MOVED.set(None)


def turn(cells: Sequence[int], n_keys: int) -> None:
    """Store the cells that were toggled by hand, given as row-major indices."""
    EDITS.set(tuple(divmod(cell, n_keys) for cell in cells))


def fit(key: object, n_queries: int, n_keys: int) -> None:
    """Drop edited cells outside the mask, and all of them for another text, model or attention."""
    if _OF.is_chosen and _OF.value != key and not state.came_by_link():
        EDITS.set(())
    _OF.set(key)
    EDITS.set(tuple((query, key) for query, key in EDITS.value if query < n_queries and key < n_keys))


class PresetWords(NamedTuple):
    """The texts about one preset."""

    title: str
    what: str  # one sentence: its purpose or, for a mistake, what is wrong
    sees: str = ""  # for a mistake, its visible effect
    size: str = ""  # the name of its size, if it has one


WORDS: Mapping[str, PresetWords] = {
    "own": PresetWords(mark("The model’s own"), mark("The mask that this attention was trained with.")),
    "padding": PresetWords(
        mark("Padding"), mark("Texts in a batch are padded to the same length; padding is never attended to.")
    ),
    "look_ahead": PresetWords(
        mark("Causal"), mark("Each position sees itself and earlier positions, never the token it has to predict.")
    ),
    "padding_look_ahead": PresetWords(
        mark("Padding × causal"),
        mark("A decoder in training: a key is allowed where both masks allow it (their product)."),
    ),
    "window": PresetWords(
        mark("Sliding window"),
        mark(
            "Each position sees only nearby positions, so the cost grows linearly with the length, not quadratically."
        ),
        size=mark("Window size"),
    ),
    "prefix": PresetWords(
        mark("Prefix"),
        mark("All positions see the prefix, as in an encoder; after it, attention is causal."),
        size=mark("Prefix length"),
    ),
    "block": PresetWords(
        mark("Blocks"),
        mark("Several texts packed into one sequence; each attends only to its own block."),
        size=mark("Block length"),
    ),
    "none": PresetWords(
        mark("None"),
        mark("Everything is visible. Correct for an encoder without padding; a decoder sees what it has to predict."),
    ),
    "flipped": PresetWords(
        mark("True and False flipped"),
        mark(
            "Here True means “may attend”, as in torch’s scaled_dot_product_attention; in torch’s MultiheadAttention "
            "True means “masked”. Mixing them up inverts the mask."
        ),
        mark("each position sees only what was masked in training, or nothing, and then its row is all zeros."),
    ),
    "cross": PresetWords(
        mark("Causal on cross-attention"),
        mark("The causal mask is applied to cross-attention, where it does not belong."),
        mark(
            "the first target tokens see only the beginning of the source, while self-attention sees the future, "
            "which in training is the answer."
        ),
    ),
    "forgotten": PresetWords(
        mark("Padding not masked"),
        mark("The text is padded, but the padding is not masked."),
        mark(
            "padding takes attention away from real tokens, so the output depends on the batch. Nothing changes only "
            "where the causal mask hides the padding anyway, after the text."
        ),
    ),
    "unshifted": PresetWords(
        mark("Targets not shifted"),
        mark(
            "The mask is correct, but the decoder’s input is the target itself, not shifted right: row i finds its "
            "answer at key i."
        ),
        mark(
            "a model trained this way would learn to copy, and its loss would fall almost to 0. This model was "
            "trained with shifted targets, so its predictions are one token ahead of the targets."
        ),
    ),
}
