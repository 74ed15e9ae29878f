"""Outputs, probabilities and losses of a model with heads changed, and the texts of greedy decoding and beam search.

Heads are ablated, patched, or attend to one key only.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headlight.analysis.trace.attentions import attentions_of
from pages.learn.tour.lesson_engine.expressions import Parts
from pages.learn.tour.lesson_engine.lesson import ExpressionError
from pages.learn.tour.lesson_engine.quantities import probabilities
from pages.learn.tour.lesson_engine.quantity import Part, attention_site, name_of, quantity
from pages.learn.tour.lesson_engine.run import MOST_NEW_TOKENS, LessonRun
from pages.learn.tour.lesson_engine.value import Result, number
from transformer_core.decoding.beam_tree import search_beams
from transformer_core.decoding.decoding_step import DecodingStep
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.decoding.inputs import tensor_of
from transformer_core.decoding.tree import DecodingTree
from transformer_core.errors import TextError, mark
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.interventions import patch, set_cells, zero_heads

Change = Callable[..., Mapping[str, Any]]
"""Returns the interventions, by site, for a run and the parts in a quantity's brackets."""


def switched_off(run: LessonRun, attention: Part, layer: Part, *heads: Part) -> Mapping[str, Any]:
    """Return the ablation of heads of one layer."""
    return {attention_site(run, attention, layer, "hook_z"): zero_heads([_head(run, head) for head in heads])}


def _changing(name: str, output_means: str, probs_mean: str, *, is_patched: bool = False) -> Callable[[Change], Change]:
    """Register the output of a changed model, and its probabilities given the correct model's output [pos, vocab]."""

    def register(change: Change) -> Change:
        @quantity(f"output_{name}", output_means, is_patched=is_patched)
        @wraps(change)
        def output(run: LessonRun, *parts: Part) -> Result:
            key = ("output", name, parts, run.source and run.source.model_run.inputs)
            text: str = run.once(key, lambda: _generate(run, change(run, *parts)))
            return text

        @quantity(f"probs_{name}", probs_mean, is_patched=is_patched)
        @wraps(change)
        def probs(run: LessonRun, *parts: Part) -> Result:
            key = ("logits", name, parts, run.source and run.source.model_run.inputs)
            return probabilities(run, run.once(key, lambda: _logits(run, change(run, *parts))).numpy())

        return change

    return register


@_changing(
    "without",
    mark("output with a head ablated"),
    mark("probabilities of all tokens with a head ablated [pos, vocab]"),
)
def _without(run: LessonRun, attention: Part, layer: Part, head: Part) -> Mapping[str, Any]:
    return switched_off(run, attention, layer, head)


@_changing(
    "patched",
    mark("output with a head patched from the other text, at one query or at all"),
    mark("probabilities of all tokens with a head patched from the other text, at one query or at all [pos, vocab]"),
    is_patched=True,
)
def _patched(run: LessonRun, attention: Part, layer: Part, head: Part, query: Part | None = None) -> Mapping[str, Any]:
    site = attention_site(run, attention, layer, "hook_z")
    if run.source is None or run.source.sites[site].shape != run.sites[site].shape:
        raise ExpressionError("patching needs another text with the same number of tokens; change other: …")
    side, _ = run.sides[str(attention)]
    positions = None if query is None else [run.axis("query", side).place("query", query)]
    activations = {site: torch.from_numpy(run.source.sites[site])[None]}
    return {site: patch(activations, heads=[_head(run, head)], positions=positions)}


@_changing(
    "looking",
    mark("output when a query of a head attends to one key only"),
    mark("probabilities of all tokens when a query of a head attends to one key only [pos, vocab]"),
)
def _looking(run: LessonRun, attention: Part, layer: Part, head: Part, query: Part, key: Part) -> Mapping[str, Any]:
    site = attention_site(run, attention, layer, "hook_pattern")
    queries, keys = run.sides[str(attention)]
    row, column = run.axis("query", queries).place("query", query), run.axis("key", keys).place("key", key)
    return {site: set_cells({(_head(run, head), row, None): 0.0, (_head(run, head), row, column): 1.0})}


@quantity("text_loss", mark("loss on the correct model’s output, nats per token"))
def _text_loss(run: LessonRun) -> Result:
    _check_decoder(run)
    return number(float(_losses(run, torch.from_numpy(run.logits).double()).mean()))


@quantity("loss_rise", mark("increase of the loss, in nats per token, with one or several heads ablated"))
def _loss_rise(run: LessonRun, attention: Part, layer: Part, head: Part, *more: Part) -> Result:
    return number(_rise(run, (attention, layer, head, *more)))


def loss_rises(run: LessonRun) -> Mapping[str, Float[np.ndarray, "layer head"]]:
    """Return the increase of the loss with each head ablated on its own, by attention, nats per token.

    The mean is over all targets but the end of the sequence; it is negative where the loss is lower.

    Raises:
        TextError: a masked model, which generates nothing.
    """
    config = run.model.config
    shapes = {name: (attention.n_layers(config), config.n_heads) for name, attention in attentions_of(config).items()}
    return {
        name: np.array([_rise(run, (name, *place)) for place in np.ndindex(shape)]).reshape(shape)
        for name, shape in shapes.items()
    }


def next_tokens(run: LessonRun) -> list[int]:
    """Return the id of the correct next token at each position; at the last, the correct model's prediction."""
    labels = run.tokenizer.target.tokens(range(run.logits.shape[-1]))
    return [*run.model_run.inputs[-1][1:], labels.index(run.model_run.following[-1])]


def _rise(run: LessonRun, ablated: Parts) -> float:
    """Return the increase of the loss under an ablation (attention, layer, heads), without end-of-sequence targets."""
    _check_decoder(run)
    is_word = ~torch.isin(torch.tensor(next_tokens(run)), torch.tensor(sorted(run.model.config.eos_ids)))

    def loss(interventions: Mapping[str, Any]) -> float:
        losses = _losses(run, _logits(run, interventions))
        return float(losses[is_word if is_word.any() else ...].mean())

    before: float = run.once("loss", lambda: loss({}))
    after: float = run.once(("loss", ablated), lambda: loss(switched_off(run, *ablated)))
    return after - before


def _losses(run: LessonRun, logits: Tensor) -> Tensor:
    return -logits.log_softmax(dim=-1).gather(-1, torch.tensor(next_tokens(run))[:, None])[:, 0]


@torch.inference_mode()
def _generate(run: LessonRun, interventions: Mapping[str, Any]) -> str:
    if run.model.decoder is None:
        raise ExpressionError("a masked model does not generate text")
    is_pair = run.model.config.architecture == "encoder_decoder"
    given = list(run.model_run.inputs[0]) if is_pair else list(run.model_run.inputs[0])[: run.model_run.n_given]
    with intervene(run.model, interventions):
        decoding = greedy_decode(run.model, tensor_of(given, run.model), max_new_tokens=MOST_NEW_TOKENS)
    tokens = decoding.tokens[0].tolist()
    return run.tokenizer.target.decode(tokens) if is_pair else run.tokenizer.continuation(tokens, len(given))


@torch.inference_mode()
def _logits(run: LessonRun, interventions: Mapping[str, Any]) -> Tensor:
    with intervene(run.model, interventions):
        logits: Tensor = run.model(*(tensor_of(ids, run.model) for ids in run.model_run.inputs))[0].float()
    return logits


def _check_decoder(run: LessonRun) -> None:
    if run.model.decoder is None:
        raise TextError("this model predicts no tokens, so it has no loss on this text")


def _head(run: LessonRun, head: Part) -> int:
    n_heads = run.model.config.n_heads
    if isinstance(head, str) or head not in range(n_heads):
        raise ExpressionError("this model has no head “{head}”, only 0 to {last}", head=name_of(head), last=n_heads - 1)
    return int(head)


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """A beam-search hypothesis and its fate."""

    words: str  # the generated text
    log_prob: float  # nats, of all its tokens
    fate: str  # "kept", "ended" or "dropped"


@dataclass(frozen=True, kw_only=True)
class Searched:
    """The text that a beam search generated, and the hypotheses that it considered."""

    words: str
    log_prob: float  # nats, of the generated text
    levels: tuple[tuple[Beginning, ...], ...]  # after each token, the best first


def searched(run: LessonRun, n_beams: int, n_tokens: int) -> Searched:
    """Return the result of a beam search.

    Args:
        run: of a model with a decoder.
        n_beams: hypotheses kept at each step; 1: greedy decoding.
        n_tokens: generated at most.

    Raises:
        ConfigError: a model without a decoder, or more tokens than fit into its context.
    """
    result: Searched = run.once(("searched", n_beams, n_tokens), lambda: _search(run, n_beams, n_tokens))
    return result


@quantity("greedy_text", mark("n tokens generated by greedy decoding"))
def _greedy_text(run: LessonRun, n: Part) -> Result:
    return searched(run, 1, _whole(n)).words


@quantity("beam_text", mark("n tokens found by beam search"))
def _beam_text(run: LessonRun, beams: Part, n: Part) -> Result:
    return searched(run, _whole(beams), _whole(n)).words


@quantity("greedy_log_prob", mark("log-probability of n tokens generated by greedy decoding, nats"))
def _greedy_log_prob(run: LessonRun, n: Part) -> Result:
    return number(searched(run, 1, _whole(n)).log_prob)


@quantity("beam_log_prob", mark("log-probability of the text found by beam search, nats"))
def _beam_log_prob(run: LessonRun, beams: Part, n: Part) -> Result:
    return number(searched(run, _whole(beams), _whole(n)).log_prob)


def _whole(part: Part) -> int:
    if isinstance(part, str) or part != int(part) or not 1 <= part <= 64:
        raise ExpressionError("“{part}” must be a whole number from 1 to 64", part=part)
    return int(part)


def _search(run: LessonRun, n_beams: int, n_tokens: int) -> Searched:
    given = list(run.model_run.inputs[0])
    if run.model.config.architecture == "decoder_only":
        given = given[: run.model_run.n_given]
    tree = DecodingTree(run.model, tensor_of(given, run.model))
    result = search_beams(tree, n_beams=n_beams, max_new_tokens=n_tokens)
    levels = tuple(
        tuple(
            Beginning(words=_words(run, tree, one.parent, one.token), log_prob=one.total, fate=one.fate)
            for one in level
        )
        for level in result.levels
    )
    best = result.finished[0]
    return Searched(words=_words(run, tree, best.parent, best.token), log_prob=best.total, levels=levels)


def _words(run: LessonRun, tree: DecodingTree, last: DecodingStep, token: int) -> str:
    """Return the generated text up to a token, after the prompt."""
    path = [step.token for step in last.path()]
    n_given = tree.start.position + 1
    tokenizer = run.tokenizer.target
    whole, given = tokenizer.decode([*path, token]), tokenizer.decode(path[:n_given])
    return whole[len(given) :].strip() if whole.startswith(given) else whole
