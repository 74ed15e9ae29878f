"""Outputs, probabilities and losses with heads changed: ablated, patched, or attending to one key only."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.analysis.trace.attentions import attentions_of
from pages.learn.tour.lesson_engine.errors import ExpressionError
from pages.learn.tour.lesson_engine.expressions import Parts
from pages.learn.tour.lesson_engine.getters import attention_site, name_of, probabilities
from pages.learn.tour.lesson_engine.run import MOST_NEW_TOKENS, Run
from pages.learn.tour.lesson_engine.value import Result, number
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.decoding.inputs import tensor_of
from transformer_core.errors import TextError
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.interventions import patch, set_cells, zero_heads

Change = Callable[[Run, Parts], Mapping[str, Any]]
"""Returns the interventions, by site, for the parts in a quantity's brackets."""


def switched_off(run: Run, parts: Parts) -> Mapping[str, Any]:
    """Return the ablation of heads of one layer: attention, layer, heads."""
    attention, layer, *heads = parts
    return {attention_site(run, attention, layer, "hook_z"): zero_heads([_head(run, head) for head in heads])}


def looking(run: Run, parts: Parts) -> Mapping[str, Any]:
    """Return the intervention by which a query attends to one key only: attention, layer, head, query, key."""
    attention, layer, head, *places = parts
    site = attention_site(run, attention, layer, "hook_pattern")
    sides = run.sides[str(attention)]
    query, key = (
        run.axis(name, side).place(name, place)
        for name, side, place in zip(("query", "key"), sides, places, strict=True)
    )
    head = _head(run, head)
    return {site: set_cells({(head, query, None): 0.0, (head, query, key): 1.0})}


def patched(run: Run, parts: Parts) -> Mapping[str, Any]:
    """Return the patch of a head with its output on the lesson's other text: attention, layer, head, query.

    Without a query, at all positions; texts of the same number of tokens are paired by position.
    """
    attention, layer, head, *place = parts
    site = attention_site(run, attention, layer, "hook_z")
    if run.source is None or run.source.sites[site].shape != run.sites[site].shape:
        raise ExpressionError("patching needs another text with the same number of tokens; change other: …")
    side, _ = run.sides[str(attention)]
    positions = [run.axis("query", side).place("query", one) for one in place] or None
    activations = {site: torch.from_numpy(run.source.sites[site])[None]}
    return {site: patch(activations, heads=[_head(run, head)], positions=positions)}


def output(change: Change, run: Run, parts: Parts) -> Result:
    """Return the text that the changed model generates."""
    text: str = run.once(("output", change, parts, _source(run)), lambda: _generate(run, change(run, parts)))
    return text


def probs(change: Change, run: Run, parts: Parts) -> Result:
    """Return the changed model's probabilities on the correct model's output [pos, vocab]."""
    logits = run.once(("logits", change, parts, _source(run)), lambda: _logits(run, change(run, parts)))
    return probabilities(run, logits.numpy())


def loss_rise(run: Run, parts: Parts) -> Result:
    """Return the increase of the loss on the text with heads ablated: attention, layer, heads.

    Returns:
        nats per token, the mean over all targets but the end of the sequence; negative where the loss is lower.

    Raises:
        TextError: a masked model, which generates nothing.
    """
    return number(_rise(run, parts))


def loss_rises(run: Run) -> Mapping[str, Float[np.ndarray, "layer head"]]:
    """Return the `loss_rise` of each head on its own, by attention.

    Raises:
        TextError: a masked model, which generates nothing.
    """
    config = run.model.config
    shapes = {name: (attention.n_layers(config), config.n_heads) for name, attention in attentions_of(config).items()}
    return {
        name: np.array([_rise(run, (name, *place)) for place in np.ndindex(shape)]).reshape(shape)
        for name, shape in shapes.items()
    }


def text_loss(run: Run, parts: Parts) -> Result:
    """Return the loss with teacher forcing on the correct model's output, nats per token.

    Raises:
        TextError: a masked model, which generates nothing.
    """
    _check_decoder(run)
    return number(float(_losses(run, torch.from_numpy(run.logits).double()).mean()))


def next_tokens(run: Run) -> list[int]:
    """Return the correct next token's id at each position; at the last one it is the correct model's."""
    labels = run.tokenizer.target.tokens(range(run.logits.shape[-1]))
    return [*run.model_run.inputs[-1][1:], labels.index(run.model_run.following[-1])]


def _rise(run: Run, ablated: Parts) -> float:
    """Return the increase of the loss, the end of the sequence left out: attention, layer, heads."""
    _check_decoder(run)
    is_word = ~torch.isin(torch.tensor(next_tokens(run)), torch.tensor(sorted(run.model.config.eos_ids)))

    def loss(interventions: Mapping[str, Any]) -> float:
        losses = _losses(run, _logits(run, interventions))
        return float(losses[is_word if is_word.any() else ...].mean())

    before: float = run.once("loss", lambda: loss({}))
    after: float = run.once(("loss", ablated), lambda: loss(switched_off(run, ablated)))
    return after - before


def _losses(run: Run, logits: Tensor) -> Tensor:
    return -logits.log_softmax(dim=-1).gather(-1, torch.tensor(next_tokens(run))[:, None])[:, 0]


@torch.inference_mode()
def _generate(run: Run, interventions: Mapping[str, Any]) -> str:
    if run.model.decoder is None:
        raise ExpressionError("a masked model does not generate text")
    is_pair = run.model.config.architecture == "encoder_decoder"
    given = list(run.model_run.inputs[0]) if is_pair else list(run.model_run.inputs[0])[: run.model_run.n_given]
    with intervene(run.model, interventions):
        decoding = greedy_decode(run.model, tensor_of(given, run.model), max_new_tokens=MOST_NEW_TOKENS)
    tokens = decoding.tokens[0].tolist()
    return run.tokenizer.target.decode(tokens) if is_pair else run.tokenizer.continuation(tokens, len(given))


@torch.inference_mode()
def _logits(run: Run, interventions: Mapping[str, Any]) -> Tensor:
    with intervene(run.model, interventions):
        logits: Tensor = run.model(*(tensor_of(ids, run.model) for ids in run.model_run.inputs))[0].float()
    return logits


def _source(run: Run) -> Hashable:
    """Return the tokens of the run that a patch takes its activations from."""
    return run.source and run.source.model_run.inputs


def _check_decoder(run: Run) -> None:
    if run.model.decoder is None:
        raise TextError("this model predicts no tokens, so it has no loss on this text")


def _head(run: Run, head: str | float) -> int:
    n_heads = run.model.config.n_heads
    if isinstance(head, str) or head not in range(n_heads):
        raise ExpressionError("this model has no head “{head}”, only 0 to {last}", head=name_of(head), last=n_heads - 1)
    return int(head)
