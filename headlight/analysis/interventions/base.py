"""The base run that interventions are compared with: the unchanged model reads a text and continues it.

>>> base = read_base(model, tokenizer, "The animal didn't cross the street because it was too tired.")
>>> other = compare_with_source(model, tokenizer, base, "The animal didn't cross the street because it was too wide.")
>>> other.differences["encoder"][1, 0], other.here("source", 11)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.analysis.heads.outputs import STATE_SITES, states_in
from headlight.analysis.interventions.effect import Metric, OutputTokens, output_log_probs
from headlight.analysis.interventions.records import OF_STACK, Component, ComponentKind
from headlight.analysis.interventions.source_runs import (
    SourceRuns,
    pair_positions,
    site_of,
    stepwise_attention,
)
from headlight.analysis.trace.attentions import attentions_of, sides_of
from headlight.analysis.trace.model_run import ModelRun, run_text
from headlight.analysis.trace.traced_forward import FixedText
from transformer_core.errors import ConfigError
from transformer_core.instrument.capture import capture
from transformer_core.instrument.finite import not_finite_from
from transformer_core.model.transformer import NO_PREDICTIONS, Transformer
from transformer_core.text.interface import Given, Tokenizer


@dataclass(frozen=True, kw_only=True, eq=False)
class ForcedPass:
    """One forward pass over given tokens (teacher forcing)."""

    log_probs: Float[Tensor, "token vocab"]  # nats, at the positions of the output
    patterns: Mapping[str, Float[np.ndarray, "layer head query key"]]  # by attention
    residual: Mapping[str, Float[np.ndarray, "depth pos d_model"]]  # by stack: before layer 0, then after each layer


@dataclass(frozen=True, kw_only=True, eq=False)
class Base:
    """A text as the unchanged model reads and continues it; interventions are compared with it."""

    text: Given
    target: str | None  # forced on an encoder-decoder; None: its own output
    run: ModelRun
    sources: SourceRuns  # source runs of other texts, with the same token limits
    outputs: OutputTokens  # the tokens whose probabilities are compared
    tokens: tuple[int, ...]  # their ids; at blanks, the most probable tokens
    runners_up: tuple[int, ...]  # the most probable other token at each of them
    free_output: str  # that the model generates
    forced: ForcedPass

    def metric(self, index: int = -1, *, token: int | None = None, other: int | None = None) -> Metric:
        """Return the logit difference of two tokens at one output token; without `token` and `other`, the main one.

        Args:
            index: among the output tokens; -1: the last.
            token: the token that should be probable; None: the output token at `index`.
            other: the token to compare it with; None: the most probable other token at this position.

        Raises:
            ConfigError: there is no such output token, or a token is not in the vocabulary.
        """
        n = len(self.tokens)
        if not -n <= index < n:
            raise ConfigError("there is no output token {index}; there are {n}, counted from 0", index=index, n=n)
        index %= n
        last = self.forced.log_probs.shape[-1] - 1
        for named in (token, other):
            if named is not None and not 0 <= named <= last:
                raise ConfigError(
                    "token id {token} is not in the vocabulary; ids go from 0 to {last}", token=named, last=last
                )
        token = self.tokens[index] if token is None else token
        if other is None:
            other = self.runners_up[index] if token != self.runners_up[index] else self.tokens[index]
        return Metric(position=self.outputs.positions[index], token=token, other=other)


@dataclass(frozen=True, kw_only=True, eq=False)
class RunComparison:
    """A source run, and how it differs from the base run at paired positions."""

    run: FixedText
    pairings: Mapping[str, Mapping[int, int]]  # by side, "source" and "target": position here -> there
    differences: Mapping[str, Float[np.ndarray, "depth part pos"]]  # by attention, or stack; NaN: no counterpart
    patterns: Mapping[str, Float[np.ndarray, "layer head query key"]]  # by attention; of the source run

    def here(self, side: str, position: int) -> int | None:
        """Return the position of the base run paired with a position of the source run; None if unpaired."""
        return next((here for here, there in self.pairings[side].items() if there == position), None)


def read_base(
    model: Transformer,
    tokenizer: Tokenizer,
    text: Given,
    *,
    target: str | None = None,
    max_tokens: int = 64,
    max_new_tokens: int = 24,
) -> Base:
    """Run the unchanged model on a text.

    If a decoder-only model generates nothing, its output tokens are those of the text and the most probable next one.

    Args:
        model: in evaluation mode, with a last layer.
        tokenizer: the model's own.
        text: the source, the prompt, or a text with blanks.
        target: forced on an encoder-decoder; None: it generates its own.
        max_tokens: as in `run_text`.
        max_new_tokens: as in `run_text`.

    Raises:
        TextError: a text that the model cannot read.
        ConfigError: the model makes no predictions.
        NotFiniteError: its outputs are NaN or infinite.
    """
    if not model.config.unembed:
        raise ConfigError(NO_PREDICTIONS)
    room: dict[str, Any] = {"max_tokens": max_tokens, "max_new_tokens": max_new_tokens}
    run = run_text(model, tokenizer, text, target=target, **room)
    if run.not_finite:
        raise not_finite_from(run.not_finite)
    outputs = OutputTokens.of(run)
    if run.architecture == "decoder_only" and not max_new_tokens:
        outputs = replace(outputs, positions=tuple(range(len(run.target))), labels=run.following)
    forced = forced_pass(model, run.inputs, outputs.positions)
    log_probs = forced.log_probs
    given = torch.tensor(outputs.tokens or (), dtype=torch.long, device=log_probs.device)
    tokens = torch.cat([given, best_tokens(model, log_probs)[len(given) :]])
    others = best_tokens(model, log_probs.scatter(-1, tokens[:, None], -torch.inf))
    return Base(
        text=text,
        target=target,
        run=run,
        sources=SourceRuns(tokenizer, **room),
        outputs=replace(outputs, tokens=tuple(tokens.tolist())),
        tokens=tuple(tokens.tolist()),
        runners_up=tuple(others.tolist()),
        free_output=run.output if target is None else run_text(model, tokenizer, text, **room).output,
        forced=forced,
    )


def compare_with_source(
    model: Transformer, tokenizer: Tokenizer, base: Base, text: Given, *, kind: ComponentKind = "head"
) -> RunComparison:
    """Run a model on another text, and compare the activations of one kind of component with those of the base run.

    Args:
        model: that `base` was read with.
        tokenizer: the model's own.
        base: of `read_base`.
        text: of the source run.
        kind: kind of the components to compare, one with a row for each query: not "key", "value" or "pattern".

    Returns:
        `differences` are ‖there - here‖ / ‖here‖; a part is a head, or a layer of components without heads.

    Raises:
        TextError: a text that the model cannot read.
    """
    config = model.config
    here, there = base.run, base.sources.run(model, text)
    pairings = {side: pair_positions(here, there, side) for side in sides_of(config.architecture)}
    attentions = attentions_of(config)
    names = [name for name in attentions if kind not in OF_STACK or name != "cross"]

    def activations(run: FixedText, kind: ComponentKind, name: Any) -> Float[np.ndarray, "layer ..."]:
        layers = range(attentions[name].n_layers(config))
        sites = [site_of(Component(kind=kind, attention=name, layer=layer)) for layer in layers]
        kept = base.sources.activations(model, run, sites)
        return np.stack([kept[each][0].float().cpu().numpy() for each in sites])

    differences = {}
    for name in names:
        pairing = pairings[attentions[name].queries_from]
        before, after = (activations(run, kind, name) for run in (here, there))
        if kind in OF_STACK or kind == "attention":
            before, after = before[:, None], after[:, None]  # [layer, part, pos, width]
        changes = np.full(after.shape[:-1], np.nan)
        ours, theirs = [*pairing], [*pairing.values()]
        changes[..., theirs] = relative_changes(before[..., ours, :], after[..., theirs, :])
        differences[name] = changes
    return RunComparison(
        run=there,
        pairings=pairings,
        differences=differences,
        patterns={name: activations(there, "pattern", name) for name in attentions},
    )


def forced_pass(model: Transformer, inputs: Sequence[Sequence[int]], positions: Sequence[int]) -> ForcedPass:
    """Run a model over given tokens, with the interventions that are active.

    Args:
        model: in evaluation mode.
        inputs: tokens of the source and of the decoder's input, or of the one text.
        positions: output positions whose log-probabilities are kept.
    """
    with stepwise_attention(model), capture(model, "*.hook_pattern", *STATE_SITES) as acts:
        log_probs = output_log_probs(model, inputs, positions)
    return ForcedPass(
        log_probs=log_probs,
        patterns={
            name: acts.stack("pattern", attention=name)[:, 0].float().cpu().numpy()
            for name in attentions_of(model.config)
        },
        residual=states_in(acts),
    )


def relative_changes(
    before: Float[np.ndarray, "*axes d_model"], after: Float[np.ndarray, "*axes d_model"]
) -> Float[np.ndarray, "*axes"]:
    """Return ||after - before|| / ||before|| over the last axis.

    Returns:
        at least 0, and exactly 0 where nothing changed; 1 where the vector was set to 0; infinite where it was 0 before
        and is not now.
    """
    before = before.astype(np.float64)
    change = np.linalg.norm(after.astype(np.float64) - before, axis=-1)
    size = np.linalg.norm(before, axis=-1)
    ratio = np.divide(change, size, out=np.full_like(change, np.inf), where=size > 0)
    return np.asarray(np.where(change == 0, 0.0, ratio))


def best_tokens(model: Transformer, log_probs: Float[Tensor, "*axes vocab"]) -> Int[Tensor, "*axes"]:
    """Return the most probable token at each position among those that the model may write."""
    return writable(model, log_probs).argmax(dim=-1)


def writable(model: Transformer, log_probs: Float[Tensor, "*axes vocab"]) -> Float[Tensor, "*axes vocab"]:
    """Return log-probabilities with -inf for the token that the model never writes, where there is one."""
    suppressed = model.config.suppressed_token_id
    if suppressed is None:
        return log_probs
    return log_probs.index_fill(-1, torch.tensor([suppressed], device=log_probs.device), -torch.inf)
