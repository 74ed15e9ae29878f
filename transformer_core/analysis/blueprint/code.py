"""The code behind every box of the plan: the classes and functions that run, with their file and line."""

import inspect
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from transformer_core.analysis.blueprint.plan import Box, has_added_positions, is_normalized
from transformer_core.config import ModelConfig
from transformer_core.errors import SiteError

_ROOT = Path(__file__).resolve().parents[3]
_MODEL = "transformer_core.model"
_ADD = f"{_MODEL}.block:Block._add"
_NORMS = {"rms": "RMSNorm", "none": "NoNorm"}


@dataclass(frozen=True, kw_only=True)
class CodePart:
    """A class or a function as it is written."""

    name: str  # "MultiHeadAttention"
    text: str
    file: str  # as one writes it at the project's root
    line: int  # where it begins, from 1


def code_of(config: ModelConfig, box: Box) -> tuple[CodePart, ...]:
    """Return the code that computes a box, what does it first."""
    return tuple(map(_read, _names(config, box)))


def _names(config: ModelConfig, box: Box) -> tuple[str, ...]:
    """Return the classes and functions of a box, each as module, colon, and name in it."""
    norm = f"{_MODEL}.norms:{_NORMS.get(config.norm, 'LayerNorm')}"
    match box.kind:
        case "embedding":
            return (f"{_MODEL}.embeddings:TokenEmbedding",)
        case "segments":
            return (f"{_MODEL}.embeddings:SegmentEmbedding",)
        case "positions":
            return _of_positions(config)
        case "sum":
            return (f"{_MODEL}.stack:Stack._embed",)
        case "layer":
            return (f"{_MODEL}.block:Block",)
        case "attention":
            own = tuple(
                f"{_MODEL}.attention:{name}" for name in ("MultiHeadAttention", "attention_scores", "attention_pattern")
            )
            return (*own, f"{_MODEL}.sdpa:scaled_dot_product_attention")
        case "norm":
            return (norm if is_normalized(config, box) else f"{_MODEL}.norms:NoNorm",)
        case "add":
            return (_ADD,)
        case "add_norm":
            return (_ADD, norm)
        case "feed_forward":
            return (f"{_MODEL}.feed_forward:FeedForward",)
        case "transform":
            return (f"{_MODEL}.transformer:UnembedTransform",)
        case "linear":
            return (f"{_MODEL}.transformer:Transformer.logits_of",)
        case "softmax":
            return ("transformer_core.analysis.blueprint.capture:probabilities",)
    raise SiteError("there is no code for a box of the kind {kind!r}", kind=box.kind)


def _of_positions(config: ModelConfig) -> tuple[str, ...]:
    """Return what makes the positions that a model has."""
    if config.positions == "learned":
        return (f"{_MODEL}.positions:LearnedPositions",)
    if has_added_positions(config):
        return (f"{_MODEL}.positions:SinusoidalPositions", f"{_MODEL}.positions:sinusoidal_table")
    if config.has_rotary_positions:
        return tuple(f"{_MODEL}.rotary:{name}" for name in ("RotaryPositions", "Rotation", "rotary_frequencies"))
    names = ("AlibiBias", "alibi_slopes") if config.positions == "alibi" else ("RelativeBuckets", "relative_bucket")
    return tuple(f"{_MODEL}.distance_bias:{name}" for name in names)


@lru_cache(maxsize=64)
def _read(name: str) -> CodePart:
    """Read a class or a function."""
    module, _, path = name.partition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    found = inspect.unwrap(found)
    lines, first = inspect.getsourcelines(found)
    file = Path(inspect.getsourcefile(found) or "").resolve()
    return CodePart(
        name=path,
        text=inspect.cleandoc("\n" + "".join(lines)) + "\n",
        file=file.relative_to(_ROOT).as_posix(),
        line=first,
    )
