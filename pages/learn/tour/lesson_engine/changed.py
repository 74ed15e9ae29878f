"""What a model writes with one head changed: ablated, patched, or made to attend to one key and nothing else."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import torch

from pages.learn.tour.lesson_engine.errors import ExpressionError
from pages.learn.tour.lesson_engine.getters import Get, Parts, attention_site, probabilities
from pages.learn.tour.lesson_engine.run import MOST_NEW_TOKENS, Run
from pages.learn.tour.lesson_engine.value import Result
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.decoding.inputs import tensor_of
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.interventions import patch, set_cells, zero_heads

Change = Callable[[Run, Parts], Mapping[str, Any]]
"""Gives the intervention, by its site, that a quantity's brackets ask for."""


def switched_off(run: Run, parts: Parts) -> Mapping[str, Any]:
    """Return what sets a head's output to 0: attention, layer, head."""
    attention, layer, head = parts
    return {attention_site(run, attention, layer, "hook_z"): zero_heads([_head(run, head)])}


def looking(run: Run, parts: Parts) -> Mapping[str, Any]:
    """Return what gives all of a query's weight to one key: attention, layer, head, query, key."""
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
    """Return what gives a head the output that it has on the lesson's other text: attention, layer, head, query.

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


def output(change: Change) -> Get:
    """Return what gets the text that the changed model writes by itself."""

    def get(run: Run, parts: Parts) -> Result:
        words: str = _once(run, ("output", change, parts, _source(run)), lambda: _write(run, change(run, parts)))
        return words

    return get


def probs(change: Change) -> Get:
    """Return what gets the changed model's probabilities behind each token that the right one wrote [pos, vocab]."""

    def get(run: Run, parts: Parts) -> Result:
        return probabilities(
            run, _once(run, ("probs", change, parts, _source(run)), lambda: _logits(run, change(run, parts)))
        )

    return get


@torch.inference_mode()
def _write(run: Run, interventions: Mapping[str, Any]) -> str:
    is_pair = run.model.config.architecture == "encoder_decoder"
    if run.model.decoder is None:
        raise ExpressionError("a masked model does not generate text")
    given = list(run.model_run.inputs[0]) if is_pair else list(run.model_run.inputs[0])[: run.model_run.n_given]
    with intervene(run.model, interventions):
        decoding = greedy_decode(run.model, tensor_of(given, run.model), max_new_tokens=MOST_NEW_TOKENS)
    tokens = decoding.tokens[0].tolist()
    return run.tokenizer.target.decode(tokens) if is_pair else run.tokenizer.continuation(tokens, len(given))


@torch.inference_mode()
def _logits(run: Run, interventions: Mapping[str, Any]) -> Any:
    with intervene(run.model, interventions):
        return run.model(*(tensor_of(ids, run.model) for ids in run.model_run.inputs))[0].float().numpy()


def _source(run: Run) -> Hashable:
    """Return what a patch of a run takes its values from."""
    return run.source and run.source.model_run.inputs


def _once(run: Run, key: Hashable, make: Callable[[], Any]) -> Any:
    """Return what was made before, or make it."""
    if key not in run.found:
        run.found[key] = make()
    return run.found[key]


def _head(run: Run, head: str | float) -> int:
    n_heads = run.model.config.n_heads
    if isinstance(head, str) or head not in range(n_heads):
        raise ExpressionError(
            "this model has no head “{head}”, only 0 to {last}",
            head=f"{head:g}" if not isinstance(head, str) else head,
            last=n_heads - 1,
        )
    return int(head)
