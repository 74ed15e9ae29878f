"""Walking: one watched forward, and of it every matrix on the way through one head."""

from collections.abc import Sequence

import torch

from transformer_core.analysis.trace.attentions import sides_of
from transformer_core.analysis.trace.traced_forward import captured
from transformer_core.analysis.walkthrough.extracting import attention_of, distance_bias, quantities_of
from transformer_core.analysis.walkthrough.outline import Outline
from transformer_core.analysis.walkthrough.recomputing import recompute, sites_to_recompute
from transformer_core.analysis.walkthrough.records import WalkInputs
from transformer_core.analysis.walkthrough.walkthrough import Walkthrough
from transformer_core.analysis.walkthrough.weights import Weights
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
        inputs: tokens of the text, and of the decoder's input where there are two stacks: `ModelRun.inputs`.
        attention: "encoder", "decoder" or "cross".
        layer: from 0.
        head: from 0.
        labels: of the queries' and of the keys' tokens: `ModelRun.labels(attention)`; None: the tokens' numbers.

    Returns:
        The numbers are those of this one forward; what the model never holds by itself, such as the dot products before
        they are divided, is computed from them in float32, and has no site.

    Raises:
        SiteError: an attention, a layer or a head that the model has not.
        TextError: tokens that the model cannot take.
    """
    outline = Outline.of(model.config, attention=attention, layer=layer, head=head)
    sites = {site for site in outline.sites().values() if site is not None}
    origins = {"x": outline.origin_of_x()} | ({"memory": outline.origin_of_memory()} if outline.is_cross else {})
    sites |= {site for origin in origins.values() for site in origin.sites} | sites_to_recompute(outline)
    activations = captured(model, inputs, *sorted(sites))
    sides = dict(zip(sides_of(model.config.architecture), inputs, strict=True))
    queries, keys = (sides[side] for side in (outline.attention.queries_from, outline.attention.keys_from))
    arrays = {site: value.float().cpu() for site, value in activations.items()}
    parts = {name: {site: arrays[site][0].numpy() for site in origin.sites} for name, origin in origins.items()}
    norms = [origin.norm for origin in origins.values() if origin.norm is not None]
    walked = attention_of(model.get_submodule(outline.block), outline)
    bias = distance_bias(model, outline, len(queries))
    x = activations[outline.sites()["x"] or ""]
    return Walkthrough(
        outline,
        Weights.of(model, (outline.block, f"{outline.stack}.position_bias", *norms)),
        WalkInputs(keys=tuple(keys), x_parts=parts["x"], memory_parts=parts.get("memory", {})),
        quantities_of(outline, walked, bias, arrays),
        recompute(model, outline, activations),
        labels or (list(map(str, queries)), list(map(str, keys))),
        dtype=str(x.dtype).removeprefix("torch."),
        device=str(x.device),
    )
