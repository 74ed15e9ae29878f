"""The loss on one text, and how much it rises where heads are switched off."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext

import numpy as np
import torch
from jaxtyping import Float

from headlight.analysis.trace.attentions import attentions_of
from pages.learn.tour.lesson_engine.run import Run
from transformer_core.decoding.inputs import tensor_of
from transformer_core.errors import ConfigError, TextError
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.interventions import zero_heads


def loss_rises(run: Run) -> Mapping[str, Float[np.ndarray, "layer head"]]:
    """Return by how much the loss rises where each head by itself writes 0.

    Args:
        run: of a model that writes, on a text.

    Returns:
        nats a token, the end of the sequence left out, by the names of the attentions; below 0 where the text goes
        better without a head.

    Raises:
        TextError: a model that fills in blanks, and writes nothing.
    """
    _check_writes(run)
    if "loss_rises" not in run.found:
        run.found["loss_rises"] = _loss_rises(run)
    rises: Mapping[str, np.ndarray] = run.found["loss_rises"]
    return rises


def loss_rise(run: Run, attention: str, layer: int, heads: Sequence[int]) -> float:
    """Return by how much the loss rises where some heads of a layer all write 0.

    Args:
        run: of a model that writes, on a text.
        attention: that the heads belong to, such as "decoder".
        layer: from 0.
        heads: one or several.

    Returns:
        nats a token, the mean over all targets but the end of the sequence.

    Raises:
        TextError: a model that fills in blanks, and writes nothing.
        ConfigError: the model has no such heads.
    """
    _check_writes(run)
    config = run.model.config
    found = attentions_of(config).get(attention)
    if found is None or not 0 <= layer < found.n_layers(config) or not set(heads) <= set(range(config.n_heads)):
        named = ", ".join(map(str, heads))
        raise ConfigError(
            "this model has no head {attention} L{layer}.H{head}", attention=attention, layer=layer, head=named
        )
    key = ("loss_rise", attention, layer, *heads)
    if key not in run.found:
        run.found[key] = _loss(run, found.site(layer, "hook_z"), heads) - _loss(run)
    rise: float = run.found[key]
    return rise


def text_loss(run: Run) -> float:
    """Return the loss on what the right model wrote, with teacher forcing: nats a token.

    Raises:
        TextError: a model that fills in blanks, and writes nothing.
    """
    _check_writes(run)
    logits = torch.from_numpy(run.logits).double()
    return float(-logits.log_softmax(dim=-1).gather(-1, torch.tensor(next_tokens(run))[:, None]).mean())


def next_tokens(run: Run) -> list[int]:
    """Return the token that is right after each one that the decoder read, ids; the last one's is the right model's."""
    labels = run.tokenizer.target.tokens(range(run.logits.shape[-1]))
    return [*run.model_run.inputs[-1][1:], labels.index(run.model_run.following[-1])]


def _check_writes(run: Run) -> None:
    if run.model.decoder is None:
        raise TextError("this model predicts no tokens, so it has no loss on this text")


def _loss_rises(run: Run) -> dict[str, np.ndarray]:
    config = run.model.config
    rises = {}
    for name, attention in attentions_of(config).items():
        rises[name] = np.zeros((attention.n_layers(config), config.n_heads))
        for layer, head in np.ndindex(*rises[name].shape):
            rises[name][layer, head] = loss_rise(run, name, layer, [head])
    return rises


def _following(run: Run) -> list[int]:
    """Return the token behind each one that the decoder read; the last one's is what the model finds best."""
    read = run.model_run.inputs[-1]
    return [*read[1:], int(run.logits[-1].argmax())]


@torch.inference_mode()
def _loss(run: Run, site: str = "", heads: Sequence[int] = ()) -> float:
    inputs = [tensor_of(ids, run.model) for ids in run.model_run.inputs]
    with intervene(run.model, {site: zero_heads(heads)}) if heads else nullcontext():
        log_probs = run.model(*inputs)[0].float().log_softmax(dim=-1)
    following = torch.tensor(_following(run))
    losses = -log_probs.gather(-1, following[:, None])[:, 0]
    named = ~torch.isin(following, torch.tensor(sorted(run.model.config.eos_ids), dtype=torch.long))
    return float(losses[named if named.any() else ...].mean())
