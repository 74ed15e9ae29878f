"""Walking: one watched forward, and of it every matrix on the way through one head."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.analysis.trace.watching import tensor_of
from transformer_core.analysis.walkthrough.arithmetic import Weights
from transformer_core.analysis.walkthrough.outline import Origin, Outline
from transformer_core.analysis.walkthrough.recomputing import Given
from transformer_core.analysis.walkthrough.walkthrough import Walkthrough
from transformer_core.instrument.capture import Activations, capture
from transformer_core.model.distance_bias import PositionBias
from transformer_core.model.stack import Stack
from transformer_core.model.transformer import Transformer


@torch.inference_mode()
def walk(
    model: Transformer,
    inputs: Sequence[Sequence[int]],
    *,
    attention: str,
    layer: int,
    head: int,
    labels: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Walkthrough:
    """Run the model once over a text, watched, and return every matrix on the way through one head.

    Args:
        model: in evaluation mode, on any device and in any precision.
        inputs: tokens of the text, and of the decoder's input where there are two stacks: `Reading.inputs`.
        attention: "encoder", "decoder" or "cross".
        layer: from 0.
        head: from 0.
        labels: of the queries' and of the keys' tokens: `Reading.labels(attention)`; None: the tokens' numbers.

    Returns:
        The numbers are those of this one forward; what the model never holds by itself, such as the dot products before
        they are divided, is computed from them in float32, and has no site.

    Raises:
        SiteError: an attention, a layer or a head that the model has not.
        TextError: tokens that the model cannot take.
    """
    outline = Outline.of(model.config, attention=attention, layer=layer, head=head)
    held = {name: site for name, site in outline.sites().items() if site is not None}
    origins = {"x": outline.origin_of_x()} | ({"memory": outline.origin_of_memory()} if outline.is_cross else {})
    needs_memory = outline.is_cross or outline.is_followed_by_cross
    sites = {*held.values(), *(site for origin in origins.values() for site in origin.sites)}
    sites |= {outline.memory_site} if needs_memory else set()
    with capture(model, *sorted(sites)) as activations:
        model.final_states(*(tensor_of(tokens, model) for tokens in inputs))
    sides = dict(zip(_sides(model), inputs, strict=True))
    queries, keys = (sides[side] for side in (outline.attention.queries_from, outline.attention.keys_from))
    values = {name: _of_head(outline, name, activations[site]) for name, site in held.items()}
    norms = [origin.norm for origin in origins.values() if origin.norm is not None]
    weights = weights_of(model, (outline.block, f"{outline.stack}.position_bias", *norms))
    given = Given(
        queries=tuple(queries),
        keys=tuple(keys),
        source=tuple(sides.get("source", ())),
        x=values["x"],
        memory=_array(activations[outline.memory_site][0]) if needs_memory else None,
        x_parts=_parts(activations, origins["x"]),
        memory_parts=_parts(activations, origins["memory"]) if outline.is_cross else {},
    )
    _add_what_is_never_held(model, outline, weights, values)
    return Walkthrough(
        outline,
        weights,
        given,
        values,
        labels or (list(map(str, queries)), list(map(str, keys))),
        dtype=str(activations[held["x"]].dtype).removeprefix("torch."),
        device=str(activations[held["x"]].device),
    )


def _add_what_is_never_held(
    model: Transformer, outline: Outline, weights: Weights, values: dict[str, Float[np.ndarray, "_ _"]]
) -> None:
    """Add the quantities that are shown though they are no value of the model's by themselves."""
    d_head = outline.config.head_width
    if outline.is_projected_in_steps:
        read = values["x_normalized" if outline.is_pre_norm else "x"]
        looked_at = values["memory"] if outline.is_cross else read
        for name, source, head in (("q", read, outline.head), ("k", looked_at, outline.key_value_head)):
            rows = slice(head * d_head, (head + 1) * d_head)
            projected = weights.linear(f"{outline.module}.{name}", source.astype(np.float64))[:, rows]
            values[f"{name}_projected"] = projected.astype(np.float32)
    scores = values["product"] = values["q"] @ values["k"].T
    if outline.config.scale_scores:
        scores = values["scaled"] = scores / np.float32(np.sqrt(d_head))
    if outline.has_bias:
        values["bias"] = _distance_bias(model.get_submodule(outline.stack), outline.head, *scores.shape)
        values["biased"] = scores + values["bias"]


def _distance_bias(stack: torch.nn.Module, head: int, n_queries: int, n_keys: int) -> Float[np.ndarray, "query key"]:
    """Return what the model adds to the scores of a head."""
    assert isinstance(stack, Stack) and stack.position_bias is not None, "the model has such a bias"
    rule = PositionBias(
        of_distance=stack.position_bias,
        n_queries=n_queries,
        n_keys=n_keys,
        n_earlier=0,
        device=stack.embed.weight.device,
    )
    return _array(rule.write_out()[0, head])


def _of_head(outline: Outline, name: str, captured: Tensor) -> Float[np.ndarray, "_ _"]:
    """Return what was captured of a text, of the walk's head where there are heads."""
    of_text = captured[0]
    if name.endswith("concat"):
        return _array(of_text.transpose(0, 1).flatten(start_dim=1))
    if of_text.dim() == 2:
        return _array(of_text)
    if name == "mask":  # one for all heads
        return _array(of_text[0])
    return _array(of_text[outline.key_value_head if name.startswith(("k", "v")) else outline.head])


def weights_of(model: Transformer, modules: Iterable[str]) -> Weights:
    """Return the parameters of some modules, by the modules' paths; those on the CPU are not copied."""
    prefixes = tuple(f"{module}." for module in modules)
    return Weights(
        {name: _array(value.detach()) for name, value in model.named_parameters() if name.startswith(prefixes)}
    )


def _parts(activations: Activations, origin: Origin) -> dict[str, Float[np.ndarray, "_ _"]]:
    return {site: _array(activations[site][0]) for site in origin.sites}


def _sides(model: Transformer) -> tuple[str, ...]:
    """Return which texts the model takes."""
    config = model.config
    return (("source",) if config.has_encoder else ()) + (("target",) if config.has_decoder else ())


def _array(tensor: Tensor) -> Float[np.ndarray, "*axes"]:
    return tensor.float().cpu().numpy()
