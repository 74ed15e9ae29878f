"""The code of every box of the plan: the classes and functions that run, with their file and line."""

import inspect
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from headlight.analysis.blueprint.plan import Box, encoding_of, is_normalized
from transformer_core.config import ModelConfig
from transformer_core.errors import SiteError

_ROOT = Path(__file__).resolve().parents[3]
_MODEL = "transformer_core.model"
_NORMS = {"rms": "RMSNorm", "none": "NoNorm"}
_OF_KIND = {
    "embedding": (f"{_MODEL}.embeddings:TokenEmbedding",),
    "segments": (f"{_MODEL}.embeddings:SegmentEmbedding",),
    "sum": (f"{_MODEL}.stack:Stack._embed",),
    "projection": (f"{_MODEL}.stack:Stack._embed",),
    "layer": (f"{_MODEL}.block:Block",),
    "attention": (
        *(f"{_MODEL}.attention:{name}" for name in ("MultiHeadAttention", "attention_scores", "attention_pattern")),
        f"{_MODEL}.sdpa:scaled_dot_product_attention",
    ),
    "add": (f"{_MODEL}.block:Block._add",),
    "feed_forward": (f"{_MODEL}.feed_forward:FeedForward",),
    "transform": (f"{_MODEL}.transformer:UnembedTransform",),
    "linear": (f"{_MODEL}.transformer:Transformer.logits_of",),
    "softmax": ("headlight.analysis.blueprint.capture:probabilities",),
}
_SINUSOIDAL = (f"{_MODEL}.positions:SinusoidalPositions", f"{_MODEL}.positions:sinusoidal_table")
_ROTARY = tuple(f"{_MODEL}.rotary:{name}" for name in ("RotaryPositions", "Rotation", "rotary_frequencies"))
_OF_POSITIONS = {
    "learned": (f"{_MODEL}.positions:LearnedPositions",),
    **dict.fromkeys(("sinusoidal_interleaved", "sinusoidal_halves"), _SINUSOIDAL),
    **dict.fromkeys(("rotary_interleaved", "rotary_halves"), _ROTARY),
    "alibi": (f"{_MODEL}.distance_bias:AlibiBias", f"{_MODEL}.distance_bias:alibi_slopes"),
    "relative_buckets": (f"{_MODEL}.distance_bias:RelativeBuckets", f"{_MODEL}.distance_bias:relative_bucket"),
}


@dataclass(frozen=True, kw_only=True)
class CodePart:
    """A class or a function as it is written."""

    name: str  # "MultiHeadAttention"
    text: str
    file: str  # relative to the project's root
    line: int  # first line, from 1


def code_of(config: ModelConfig, box: Box) -> tuple[CodePart, ...]:
    """Return the code that computes a box, the main part first."""
    return tuple(map(_read, _names(config, box)))


def _names(config: ModelConfig, box: Box) -> tuple[str, ...]:
    """Return the classes and functions of a box, each as "module:name"."""
    norm = f"{_MODEL}.norms:{_NORMS.get(config.norm, 'LayerNorm')}"
    match box.kind:
        case "positions":
            return _OF_POSITIONS[encoding_of(config, box)]
        case "norm":
            return (norm if is_normalized(config, box) else f"{_MODEL}.norms:NoNorm",)
        case "add_norm":
            return (*_OF_KIND["add"], norm)
    if box.kind not in _OF_KIND:
        raise SiteError("no code is known for a block of kind {kind!r}", kind=box.kind)
    return _OF_KIND[box.kind]


@lru_cache(maxsize=64)
def _read(name: str) -> CodePart:
    module, _, path = name.partition(":")
    part_object: Any = import_module(module)
    for part in path.split("."):
        part_object = getattr(part_object, part)
    part_object = inspect.unwrap(part_object)
    lines, first = inspect.getsourcelines(part_object)
    file = Path(inspect.getsourcefile(part_object) or "").resolve()
    return CodePart(
        name=path,
        text=inspect.cleandoc("\n" + "".join(lines)) + "\n",
        file=file.relative_to(_ROOT).as_posix(),
        line=first,
    )
