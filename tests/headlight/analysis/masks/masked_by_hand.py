"""Models under any masks, each written out cell by cell in plain Python: the oracle of the mask laboratory."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

import transformer_core as tc
from headlight.analysis.trace.attentions import ATTENTIONS

Masks = Mapping[tuple[str, int], np.ndarray]
"""By attention and layer: [query, key], True = may attend."""


def usual(model: tc.Transformer, inputs: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], np.ndarray]:
    """The masks that the paper puts everywhere."""
    pad_id, config = model.config.pad_id, model.config
    real = {side: np.array([token != pad_id for token in tokens]) for side, tokens in inputs.items()}
    masks = {}
    for layer in range(config.n_encoder_layers):
        n = len(inputs["source"])
        masks["encoder", layer] = np.array([[real["source"][key] for key in range(n)] for _ in range(n)])
    for layer in range(config.n_decoder_layers):
        n = len(inputs["target"])
        masks["decoder", layer] = np.array(
            [[key <= query and real["target"][key] for key in range(n)] for query in range(n)]
        )
        if config.has_encoder:
            masks["cross", layer] = np.array([real["source"] for _ in range(n)])
    return masks


def run(
    model: tc.Transformer, inputs: Mapping[str, Sequence[int]], masks: Masks
) -> tuple[np.ndarray, dict[Any, np.ndarray]]:
    """The logits [pos, vocab] with these masks in place of all, and every pattern by attention, layer and head."""
    edits: dict[str, Any] = {
        ATTENTIONS[name].site(layer, "hook_mask"): lambda mask, _, new=new: torch.from_numpy(new).expand_as(mask)
        for (name, layer), new in masks.items()
    }
    with torch.no_grad(), tc.intervene(model, edits), tc.capture(model, "*.hook_pattern") as acts:
        logits = model(*(torch.tensor([list(tokens)]) for tokens in inputs.values()))[0]
    patterns = {
        (name, layer, head): pattern.numpy()
        for name, layer in masks
        for head, pattern in enumerate(acts[ATTENTIONS[name].site(layer)][0])
    }
    return logits.double().numpy(), patterns


def softmax(logits: np.ndarray) -> np.ndarray:
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)
