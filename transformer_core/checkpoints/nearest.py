"""The layout or family whose names are the most similar to those of unknown weights."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from torch import Tensor

from transformer_core.checkpoints.entries import Entry
from transformer_core.checkpoints.families import FAMILIES
from transformer_core.checkpoints.layouts import LAYOUTS
from transformer_core.checkpoints.mapping.rules import Shapes, shapes_of
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, Message

_LEAST_SHARE = 0.2  # of common names among all names of both; below, two layouts have nothing to do with each other
_KNOWN_PER_UNKNOWN = 5  # names; with more, the weights are those of the nearest family, or of one like it
_LEAST_NAMES = 6  # in a table
_MOST_NAMED = 4  # names in a message
_DECODER: dict[str, Any] = {"architecture": "decoder_only", "n_encoder_layers": 0, "norm_position": "pre"}
_CHOICES: tuple[dict[str, Any], ...] = (  # with and without biases
    {"n_encoder_layers": 1, "positions": "learned"},
    {
        **{"architecture": "encoder_only", "n_encoder_layers": 1, "n_decoder_layers": 0, "positions": "learned"},
        **{"tie_embeddings": "target", "embedding_norm": True, "unembed_transform": True},
    },
    {**_DECODER, "positions": "learned"},
    {
        **{**_DECODER, "positions": "rotary_halves", "norm": "rms", "gated": True, "feed_forward_bias": False},
        **{"attention_bias": "none", "qk_norm": True},
    },
)
_EXAMPLES = [
    ModelConfig(**{"vocab_size": 8, "n_decoder_layers": 1, "tie_embeddings": "none", **choices}) for choices in _CHOICES
]


@dataclass(frozen=True)
class Nearest:
    """The nearest layout of unknown weights; numbers in names are replaced by *."""

    name: str  # of the layout, or a model_type
    fitting: tuple[str, ...]  # names in the file that the layout has
    missing: tuple[str, ...]  # names of the layout that the file lacks
    unknown: tuple[str, ...]  # names in the file that the layout lacks


class UnknownLayoutError(CheckpointError):
    """Weights whose names are of no known layout.

    Attributes:
        nearest: the nearest layout; None if none is similar.
        shapes: of the tensors in the file, by their keys.
    """

    def __init__(
        self, template: str | Message, /, *, shapes: Shapes, nearest: Nearest | None = None, **values: Any
    ) -> None:
        super().__init__(template, **values)
        self.nearest, self.shapes = nearest, shapes


def unknown_layout(where: str | Message, weights: Mapping[str, Tensor]) -> UnknownLayoutError:
    """Return the error for weights whose names are of no known layout."""
    nearest = nearest_layout(weights)
    known: dict[str, Any] = {"where": where, "config": "config.json", "nearest": nearest, "shapes": shapes_of(weights)}
    if nearest is None:
        return UnknownLayoutError(
            "{where} has no {config}, and the names of its weights are of no known layout, so its architecture is "
            "unknown",
            **known,
        )
    if nearest.name in FAMILIES and len(nearest.fitting) > _KNOWN_PER_UNKNOWN * len(nearest.unknown):
        return UnknownLayoutError(
            "{where} has no {config}; its weights have the names of the transformers library, so write that file into "
            "the same folder with model.config.save_pretrained(folder)",
            **known,
        )
    return UnknownLayoutError(
        "{where} has no {config}, and the names of its weights are of no known layout; the nearest is {layout}, "
        "with {n_fitting} of {n} names. It lacks {missing}; unknown are {unknown}",
        **known,
        layout=nearest.name,
        n_fitting=len(nearest.fitting),
        n=len(nearest.fitting) + len(nearest.missing),
        missing=_some(nearest.missing),
        unknown=_some(nearest.unknown),
    )


def nearest_layout(keys: Iterable[str]) -> Nearest | None:
    """Return the layout or family that shares the most names with the keys of a file; None if none is similar."""
    names = sorted({without_numbers(key) for key in keys})
    best, best_share = None, _LEAST_SHARE
    for layout, table in _tables():
        if len(table) < _LEAST_NAMES:
            continue  # an example without the layers that this layout has
        fitting = {name: known for name in names if (known := end_in(name, table)) is not None}
        n_common = len({*fitting.values()})
        share = n_common / (len(table) + len(names) - len(fitting))
        if share > best_share:
            missing = table.keys() - {*fitting.values()}
            unknown = tuple(name for name in names if name not in fitting)
            best, best_share = Nearest(layout, tuple(fitting), tuple(sorted(missing)), unknown), share
    return best


@cache
def _tables() -> tuple[tuple[str, Mapping[str, Entry]], ...]:
    """Return the entries of each table by name, for each example of a configuration."""
    tables: Mapping[str, Callable[[ModelConfig], tuple[Entry, ...]]] = {
        **{layout.name: layout.keys for layout in LAYOUTS},
        **{family.model_type: family.keys for family in FAMILIES.values()},
    }
    return tuple(
        (name, {without_numbers(entry.key): entry for entry in _entries(keys, config)})
        for name, keys in tables.items()
        for config in _EXAMPLES
    )


def _entries(keys: Callable[[ModelConfig], tuple[Entry, ...]], config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a table; none if its models are never configured so."""
    try:
        return keys(config)
    except KeyError:
        return ()


def entries_of(name: str) -> dict[str, Entry]:
    """Return the entries of a layout or family by their keys, for all examples of a configuration."""
    return {key: entry for its_name, table in _tables() if its_name == name for key, entry in table.items()}


def without_numbers(key: str) -> str:
    """Return a key with * in place of numbers."""
    return ".".join("*" if part.isdecimal() else part for part in key.split("."))


def end_in(name: str, table: Collection[str]) -> str | None:
    """Return the end of a name that a table contains: the file may add a prefix."""
    return next((end for end in _ends(name) if end in table), None)


def _ends(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[i:]) for i in range(len(parts)))


def _some(names: Collection[str]) -> str | Message:
    shown = ", ".join([*names][:_MOST_NAMED]) + (" …" if len(names) > _MOST_NAMED else "")
    return shown or Message("none")
