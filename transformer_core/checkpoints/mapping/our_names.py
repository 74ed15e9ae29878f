"""The names of our parameters with their shapes, for people who write a mapping."""

from collections.abc import Collection, Iterable
from difflib import SequenceMatcher
from functools import cache
from itertools import takewhile

from transformer_core.checkpoints.convert import own_parameters
from transformer_core.checkpoints.nearest import without_numbers
from transformer_core.config import ModelConfig
from transformer_core.model.transformer import assemble

_SIZES = {
    **{41: "vocab_size", 53: "max_seq_len", 24: "d_model", 37: "d_ff"},
    **{6: "d_head", 36: "n_heads·d_head", 12: "n_kv_heads·d_head"},
}
_FILLED_ALREADY = 0.2  # of the likeness, which is in [0, 2]


@cache
def our_names() -> dict[str, str]:
    """Return the shape in words for each name, with * for the number of a layer; those of encoders are left out."""
    config = ModelConfig(
        vocab_size=41,
        max_seq_len=53,
        d_model=24,
        d_ff=37,
        d_head=6,
        n_heads=6,
        n_kv_heads=2,
        n_encoder_layers=1,
        n_decoder_layers=1,
        positions="learned",
        norm_position="pre",
        gated=True,
        qk_norm=True,
        unembed_bias=True,
        tie_embeddings="none",
    )
    return {
        without_numbers(name): f"[{', '.join(_SIZES[size] for size in parameter.shape)}]"
        for name, parameter in own_parameters(assemble(config)).items()
        if not name.startswith("encoder.")
    }


def nearest_name(name: str, known: Iterable[str], filled: Collection[str]) -> str:
    """Return the most similar of our names, with * for the numbers of layers.

    Args:
        name: that does not exist.
        known: the names of a model, with *; `our_names` are added.
        filled: the names that have a tensor already, with *; they are less probable.
    """
    stack = "encoder." if name.startswith("encoder.") else "decoder."
    names = {*known, *(one.replace("decoder.", stack) for one in our_names())}

    def likeness(one: str) -> float:
        common = len([*takewhile(lambda pair: pair[0] == pair[1], zip(name, one, strict=False))]) / len(name)
        return SequenceMatcher(None, name, one).ratio() + common - _FILLED_ALREADY * (one in filled)

    return max(sorted(names), key=likeness)
