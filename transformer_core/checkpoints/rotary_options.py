"""The rotary options of other libraries' config.json, and the factors of queries that express a part of them."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from transformer_core.checkpoints.family import FULL, WINDOW
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig, RotaryScaling
from transformer_core.errors import Message

SCALINGS: dict[str, RotaryScaling] = {
    **{"default": "none", "linear": "linear", "llama3": "llama3", "yarn": "yarn"},
    "dynamic": "none",  # it only changes the frequencies beyond max_position_embeddings
}


def read_rotary(
    options: Options,
    *,
    fraction: float | None = None,
    base: str = "rope_theta",
    usual_base: float = 10_000.0,
    has_yarn: bool = False,
    inner: Options | None = None,
) -> dict[str, Any]:
    """Return the rotary fields of a configuration: `rope_parameters`, in older files `rope_theta` and `rope_scaling`.

    Args:
        options: the options of the whole model.
        fraction: rotated fraction of each head, unless `rope_parameters` gives it; None: always the whole head.
        base: the name of `rope_theta` in older files.
        usual_base: `rope_theta`, if it is missing.
        has_yarn: the family's table scales queries by `attention_factor`.
        inner: the rotary options; None: the same in all layers.
    """
    options.idle("rope_scaling", "rope_parameters")
    inner = rotary_options(options) if inner is None else inner
    for fields in (options, inner):
        if fraction is None:
            fields.must_be(
                "partial_rotary_factor", 1.0, Message("this family only supports RoPE on all dimensions of a head")
            )
        fields.idle("original_max_position_embeddings")
    part = 1.0 if fraction is None else inner.number("partial_rotary_factor", fraction)
    rotary: dict[str, Any] = {
        "positions": "rotary_halves",
        "rotary_base": inner.number("rope_theta", options.number(base, usual_base)),
        "rotary_fraction": part,
    }
    scalings = {name: kind for name, kind in SCALINGS.items() if has_yarn or kind != "yarn"}
    scaling = inner.choice(kind_of_scaling(inner), scalings, "default")
    inner.idle("factor")
    if scaling != "none":
        rotary |= {"rotary_scaling": scaling, "rotary_scaling_factor": _scaling_factor(options, inner)}
    if scaling in ("llama3", "yarn"):
        low, high = ("beta_slow", "beta_fast") if scaling == "yarn" else ("low_freq_factor", "high_freq_factor")
        rotary |= {
            "rotary_low_freq_factor": inner.number(low, 1.0 if scaling == "yarn" else None),
            "rotary_high_freq_factor": inner.number(high, 32.0 if scaling == "yarn" else None),
            "rotary_original_len": _original_len(options, inner),
        }
    if scaling == "yarn":
        inner.must_be("truncate", True, Message("the pairs between which frequencies change are whole numbers"))
        inner.idle("attention_factor", "mscale", "mscale_all_dim")  # in the weights
    inner.finish()
    return rotary


def read_rotary_by_kind(
    options: Options, window: Mapping[str, Any], *, usual_bases: tuple[float, float], base_in_window: str
) -> dict[str, Any]:
    """Return the rotary fields of a model whose layers with a window have another RoPE, which is not scaled.

    Args:
        options: the options of the whole model.
        window: the fields of the sliding window.
        usual_bases: `rope_theta` of layers without and with a window, if it is missing.
        base_in_window: the name of the latter in older files.
    """
    in_window = options.inside("rope_parameters").inside(WINDOW)
    unscaled = Message("only layers without a window support scaled RoPE")
    in_window.must_be("rope_type", "default", unscaled)
    base = in_window.number("rope_theta", options.number(base_in_window, usual_bases[1]))
    inner = _without_window(rotary_options(options))
    rotary = read_rotary(options, usual_base=usual_bases[0], has_yarn=True, inner=inner)
    if window and not window.get("layers_without_window"):
        if rotary.get("rotary_scaling") == "yarn":  # `attention_factor` would scale the queries of all layers
            raise inner.error(kind_of_scaling(inner), unscaled)
        return {"positions": rotary["positions"], "rotary_base": base}
    return {**rotary, "rotary_base_in_window": base} if window else rotary


def attention_factor(options: Options) -> dict[str, float]:
    """Return YaRN's factor of rotated queries and keys, by the keyword of `keys` (Peng et al. 2023, sec. 3.4)."""
    inner = _without_window(rotary_options(options))
    if inner.value(kind_of_scaling(inner)) != "yarn":
        return {}
    factor = _scaling_factor(options, inner)

    def scale(weight: float) -> float:
        return 0.1 * weight * math.log(factor) + 1 if factor > 1 else 1.0

    weights = inner.number("mscale", 0.0), inner.number("mscale_all_dim", 0.0)
    usual = scale(weights[0]) / (scale(weights[1]) or 1.0) if all(weights) else scale(1.0)
    return {"attention_factor": inner.number("attention_factor", usual)}


def rotary_options(options: Options) -> Options:
    """Return the rotary options of a file, under their older or their newer name."""
    return options.inside("rope_scaling" if "rope_scaling" in options else "rope_parameters")


def _without_window(inner: Options) -> Options:
    """Return the rotary options of layers without a window, if there are two kinds of layers."""
    return inner.inside(FULL) if FULL in inner or WINDOW in inner else inner


def kind_of_scaling(inner: Options) -> str:
    """Return the name of the option for the kind of scaling."""
    return "type" if "type" in inner and "rope_type" not in inner else "rope_type"


def _original_len(options: Options, inner: Options) -> int:
    """Return the context length in training."""
    outermost = options if "original_max_position_embeddings" in options else inner
    return outermost.whole("original_max_position_embeddings", options.whole("max_position_embeddings"))


def _scaling_factor(options: Options, inner: Options) -> float:
    """Return the scaling factor; YaRN's follows from the two context lengths if it is null."""
    is_yarn = inner.value(kind_of_scaling(inner)) == "yarn"
    lengths = options.whole("max_position_embeddings"), max(_original_len(options, inner), 1)
    return inner.number("factor", lengths[0] / lengths[1] if is_yarn else None)


def query_factors(config: ModelConfig, factor: float) -> dict[str, Tensor]:
    """Return factors of the parameters of queries that have the effect of one factor of rotated queries and of keys.

    Args:
        config: with rotary positions.
        factor: of both; only the rotated part of each head is scaled.
    """
    if factor == 1:
        return {}
    of_head = torch.ones(config.d_head, dtype=torch.float64)
    of_head[: config.n_rotated] = factor * factor
    name = "q_norm" if config.qk_norm else "q"
    factors = of_head if config.qk_norm and config.qk_norm_scope == "shared" else of_head.repeat(config.n_heads)
    each = enumerate(map(config.at_layer, range(config.n_decoder_layers)))
    layers = [i for i, one in each if one.has_rotary_positions and one.rotary_scaling == config.rotary_scaling]
    parts = ("weight", "bias")
    return {f"decoder.blocks.{i}.self_attn.{name}.{part}": factors for i in layers for part in parts}
