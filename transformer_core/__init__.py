"""A Transformer that can be watched: model, training, decoding and the instruments to look inside.

>>> import transformer_core as tc
>>> model, tokenizer = tc.load("checkpoints/en-fr")
>>> with tc.capture(model, "*.hook_pattern") as acts:
...     logits = model(src, tgt)
>>> acts["decoder.blocks.0.cross_attn.hook_pattern"]  # [batch, head, query, key]

`tc.presets` is `transformer_core.model.presets`, configurations to start from. A name is loaded, and torch with it,
when it is first used, so that a `--help` need not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformer_core.checkpoints.checkpoint import read_card, save
    from transformer_core.checkpoints.load import load
    from transformer_core.config import ModelConfig
    from transformer_core.decoding.beam import beam_search
    from transformer_core.decoding.decoding_step import DecodingStep
    from transformer_core.decoding.greedy import Decoding, greedy_decode
    from transformer_core.decoding.session import DecodingSession
    from transformer_core.decoding.settings import Sampling
    from transformer_core.decoding.tree import DecodingTree
    from transformer_core.instrument.capture import Activations, LazyActivations, capture
    from transformer_core.instrument.head_weights import HeadWeights, weights
    from transformer_core.instrument.intervene import intervene
    from transformer_core.instrument.interventions import (
        average,
        edit_mask,
        knock_out,
        patch,
        replace,
        resample,
        scale,
        set_cells,
        zero,
        zero_heads,
    )
    from transformer_core.instrument.lazy import LazyPattern
    from transformer_core.instrument.sites import Site, site, site_names, sites
    from transformer_core.model import presets
    from transformer_core.model.transformer import Transformer, build
    from transformer_core.text.tokenizer import Tokenizer, train_tokenizer

__version__ = "0.1.0"

__all__ = [
    "Activations",
    "Decoding",
    "DecodingSession",
    "DecodingStep",
    "DecodingTree",
    "HeadWeights",
    "LazyActivations",
    "LazyPattern",
    "ModelConfig",
    "Sampling",
    "Site",
    "Tokenizer",
    "Transformer",
    "average",
    "beam_search",
    "build",
    "capture",
    "edit_mask",
    "greedy_decode",
    "intervene",
    "knock_out",
    "load",
    "patch",
    "presets",
    "read_card",
    "replace",
    "resample",
    "save",
    "scale",
    "set_cells",
    "site",
    "site_names",
    "sites",
    "train_tokenizer",
    "weights",
    "zero",
    "zero_heads",
]

_HOMES = {
    "config": ("ModelConfig",),
    "decoding.beam": ("beam_search",),
    "decoding.greedy": ("Decoding", "greedy_decode"),
    "decoding.session": ("DecodingSession",),
    "decoding.settings": ("Sampling",),
    "decoding.decoding_step": ("DecodingStep",),
    "decoding.tree": ("DecodingTree",),
    "instrument.capture": ("Activations", "LazyActivations", "capture"),
    "instrument.head_weights": ("HeadWeights", "weights"),
    "instrument.intervene": ("intervene",),
    "instrument.interventions": (
        *("average", "edit_mask", "knock_out", "patch", "replace", "resample", "scale", "set_cells"),
        *("zero", "zero_heads"),
    ),
    "instrument.lazy": ("LazyPattern",),
    "instrument.sites": ("Site", "site", "site_names", "sites"),
    "model.presets": ("presets",),
    "model.transformer": ("Transformer", "build"),
    "text.tokenizer": ("Tokenizer", "train_tokenizer"),
    "checkpoints.checkpoint": ("read_card", "save"),
    "checkpoints.load": ("load",),
}


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    for home, names in _HOMES.items():
        if name in names:
            module = import_module(f"{__name__}.{home}")
            value = globals()[name] = module if name == "presets" else getattr(module, name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted({*globals(), *__all__})
