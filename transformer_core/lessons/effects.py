"""What a head is good for on one text: how much worse the text goes where the head is switched off."""

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float

from transformer_core.analysis.attentions import attentions_of
from transformer_core.analysis.watching import tensor_of
from transformer_core.errors import TextError
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.interventions import zero_heads
from transformer_core.language import say
from transformer_core.lessons.run import Run
from transformer_core.model.transformer import Transformer


def loss_rises(run: Run) -> Mapping[str, Float[np.ndarray, "layer head"]]:
    """Return by how much the loss rises where each head by itself writes 0.

    Args:
        run: of a model that writes, on a text.

    Returns:
        nats a token, by the names of the attentions; below 0 where the text goes better without a head.

    Raises:
        TextError: a model that fills in blanks, and writes nothing.
    """
    if run.model.decoder is None:
        raise TextError(say("a model that writes nothing has no loss on this text"))
    if "loss_rises" not in run.found:
        run.found["loss_rises"] = _loss_rises(run)
    rises: Mapping[str, np.ndarray] = run.found["loss_rises"]
    return rises


@torch.inference_mode()
def _loss_rises(run: Run) -> dict[str, np.ndarray]:
    model, reading = run.model, run.reading
    inputs = [tensor_of(ids, model) for ids in reading.inputs]
    following = _following(run)
    whole = _loss(model, inputs, following)
    rises = {}
    for name, attention in attentions_of(model.config).items():
        n_layers = attention.n_layers(model.config)
        rises[name] = np.zeros((n_layers, model.config.n_heads))
        for layer, head in np.ndindex(*rises[name].shape):
            with intervene(model, {attention.site(layer, "hook_z"): zero_heads([head])}):
                rises[name][layer, head] = _loss(model, inputs, following) - whole
    return rises


def _following(run: Run) -> list[int]:
    """Return the token behind each one that the decoder read; the last one's is what the model finds best."""
    read = run.reading.inputs[-1]
    return [*read[1:], int(run.logits[-1].argmax())]


def _loss(model: Transformer, inputs: list[torch.Tensor], following: list[int]) -> float:
    log_probs = model(*inputs)[0].float().log_softmax(dim=-1)
    return float(-log_probs.gather(-1, torch.tensor(following)[:, None]).mean())
