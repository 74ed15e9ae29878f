"""What a stack of interventions changes: each output token, every head's pattern, the residual stream, the output.

A base run is captured once; each edit then costs one forward pass over the base output (teacher forcing), and a
decoding from the first token on at which that pass shows that the model goes on differently.

>>> base = read_base(model, tokenizer, "The animal didn't cross the street because it was too tired.")
>>> result = consequences(model, tokenizer, base, stack)
>>> result.effect.change, result.logit_differences, result.head_changes["cross"]
>>> base.free_output, free_output(model, tokenizer, base, result)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.analysis.flow.divergence import head_changes
from headlight.analysis.flow.effect import Effect, OutputTokens, effect, output_log_probs
from headlight.analysis.interventions.context import SourceUse, prepare
from headlight.analysis.interventions.metric import Metric, ranks
from headlight.analysis.interventions.records import Stack
from headlight.analysis.interventions.source_runs import SourceRuns, stepwise_attention
from headlight.analysis.trace.attentions import attentions_of
from headlight.analysis.trace.greedy_output import greedy_output, output_text
from headlight.analysis.trace.model_run import ModelRun, run_text
from transformer_core.errors import ConfigError
from transformer_core.instrument.capture import capture
from transformer_core.instrument.finite import not_finite_from
from transformer_core.instrument.sites import site
from transformer_core.model.transformer import NO_PREDICTIONS, Transformer
from transformer_core.text.interface import Given, Tokenizer

N_CANDIDATES = 10  # for each output token, before and after


@dataclass(frozen=True, kw_only=True, eq=False)
class ForcedPass:
    """One forward pass over given tokens (teacher forcing)."""

    log_probs: Float[Tensor, "token vocab"]  # nats, at the positions of the output
    patterns: Mapping[str, Float[np.ndarray, "layer head query key"]]  # by attention
    residual: Mapping[str, Float[np.ndarray, "depth pos d_model"]]  # by stack: before layer 0, then after each layer

    @property
    def n_bytes(self) -> int:
        """Memory that is kept, in bytes."""
        arrays = [*self.patterns.values(), *self.residual.values()]
        return self.log_probs.nbytes + sum(array.nbytes for array in arrays)


@dataclass(frozen=True, kw_only=True, eq=False)
class Base:
    """A text as the unchanged model reads it and goes on with it: what interventions are compared with."""

    text: Given
    target: str | None  # a typed target that an encoder-decoder was made to write
    max_tokens: int
    max_new_tokens: int
    run: ModelRun
    outputs: OutputTokens  # the tokens whose probabilities are compared
    tokens: tuple[int, ...]  # their ids; at blanks the most probable ones
    runners_up: tuple[int, ...]  # at each of them the most probable other token
    free_output: str  # what the model writes by itself
    forced: ForcedPass

    @property
    def n_bytes(self) -> int:
        """Memory that is kept, in bytes."""
        return self.run.n_bytes + self.forced.n_bytes

    def metric(self, index: int = -1, *, token: int | None = None, other: int | None = None) -> Metric:
        """Return the logit difference of two tokens at one output token; without `token` and `other`, the main one.

        Args:
            index: among the output tokens; -1: the last.
            token: that should be probable; None: the token of the output.
            other: that it is compared with; None: the most probable of the others at this place.

        Raises:
            ConfigError: there is no such output token, or a token that is not in the vocabulary.
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
class Consequences:
    """What a stack changes, beside the base run; the arrays over `token` are of the base output, teacher-forced."""

    stack: Stack
    labels: tuple[str, ...]  # of the base output's tokens
    effect: Effect  # log-probability of each base token before and after, and KL of the distributions; nats
    pairs: tuple[tuple[int, int], ...]  # the two tokens of each logit difference
    logit_differences: Float[np.ndarray, "when token"]  # before and after: logit of the first minus the second one
    ranks: Int[np.ndarray, "when token"]  # before and after: how many tokens are more probable than the base token
    best: Int[np.ndarray, "when token"]  # before and after: the token that greedy decoding writes
    candidates: Int[np.ndarray, "when token candidate"]  # before and after: the most probable tokens, the best first
    head_changes: Mapping[str, Float[np.ndarray, "layer head"]]  # by attention: Jensen-Shannon distance, in [0, 1]
    residual_changes: Mapping[str, Float[np.ndarray, "depth pos"]]  # by stack: `relative_changes`; depth 0: embeddings
    patterns: Mapping[str, Float[np.ndarray, "layer head query key"]]  # by attention: those with the stack
    source_uses: tuple[SourceUse, ...]

    @property
    def logit_difference_change(self) -> Float[np.ndarray, " token"]:
        """After minus before, in nats."""
        change: np.ndarray = self.logit_differences[1] - self.logit_differences[0]
        return change


def read_base(
    model: Transformer,
    tokenizer: Tokenizer,
    text: Given,
    *,
    target: str | None = None,
    max_tokens: int = 64,
    max_new_tokens: int = 24,
) -> Base:
    """Run the unchanged model on a text, and keep what interventions are compared with.

    Where a decoder-only model writes nothing, its output tokens are those of the text and the most probable next one.

    Args:
        model: in evaluation mode, with a last layer.
        tokenizer: the model's own.
        text: the source, the prompt, or a text with blanks.
        target: for an encoder-decoder, what to make it write; None: what it writes by itself.
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
    tokens = torch.cat([given, _best(model, log_probs)[len(given) :]])
    others = _best(model, log_probs.scatter(-1, tokens[:, None], -torch.inf))
    return Base(
        text=text,
        target=target,
        max_tokens=max_tokens,
        max_new_tokens=max_new_tokens,
        run=run,
        outputs=replace(outputs, tokens=tuple(tokens.tolist())),
        tokens=tuple(tokens.tolist()),
        runners_up=tuple(others.tolist()),
        free_output=run.output if target is None else run_text(model, tokenizer, text, **room).output,
        forced=forced,
    )


def consequences(
    model: Transformer,
    tokenizer: Tokenizer,
    base: Base,
    stack: Stack,
    *,
    pairs: Mapping[int, tuple[int, int]] | None = None,
    sources: SourceRuns | None = None,
) -> Consequences:
    """Return what a stack of interventions changes.

    Args:
        model: that `base` was read with.
        tokenizer: the model's own.
        base: of `read_base`.
        stack: what is changed.
        pairs: by index of an output token, the two tokens of its logit difference; where it has none, the token of the
            output and the most probable of the others.
        sources: keeps source runs from one call to the next; None: they are made anew.

    Raises:
        ConfigError: an entry that the model has no place for, or a pair of tokens that it does not have.
        InterventionError: an entry names a position that the text has not, or a pattern of another shape.
        TextError: a source text that the model cannot read.
    """
    sources = sources or sources_like(model, tokenizer, base)
    ready = prepare(model, tokenizer, stack, run=base.run, sources=sources)
    metrics = [base.metric(index) for index in range(len(base.tokens))]
    for index, (token, other) in (pairs or {}).items():
        metrics[index] = base.metric(index, token=token, other=other)
    with ready.active():  # which swaps tokens too
        forced = forced_pass(model, base.run.inputs, base.outputs.positions)
    before, after = base.forced.log_probs, forced.log_probs
    log_probs = torch.stack([before, after])  # [when, token, vocab]
    return Consequences(
        stack=stack,
        labels=base.outputs.labels,
        effect=effect(before, after, base.tokens),
        pairs=tuple((metric.token, metric.other or 0) for metric in metrics),
        logit_differences=np.array(
            [[metric.of(row) for metric, row in zip(metrics, rows, strict=True)] for rows in log_probs]
        ).reshape(2, len(metrics)),
        ranks=ranks(log_probs, base.tokens),
        best=_best(model, log_probs).cpu().numpy(),
        candidates=_writable(model, log_probs).topk(min(N_CANDIDATES, log_probs.shape[-1])).indices.cpu().numpy(),
        head_changes={
            name: np.stack(
                [
                    head_changes(a, b, mask)
                    for a, b, mask in zip(
                        base.forced.patterns[name],
                        forced.patterns[name],
                        base.run.masks[name],
                        strict=True,
                    )
                ]
            )
            for name in forced.patterns
        },
        residual_changes={
            name: relative_changes(base.forced.residual[name], residual) for name, residual in forced.residual.items()
        },
        patterns=forced.patterns,
        source_uses=ready.source_uses,
    )


def free_output(
    model: Transformer, tokenizer: Tokenizer, base: Base, result: Consequences, *, sources: SourceRuns | None = None
) -> str:
    """Return what the model writes by itself with a stack, as `base.free_output` is what it writes without.

    Up to the first place where another token is the most probable one, greedy decoding writes what it wrote before: at
    each step it reads what it has read, and chooses what it has chosen. So it goes on from there.

    Args:
        model: that `base` was read with.
        tokenizer: the model's own.
        base: of `read_base`.
        result: of `consequences`, which names the stack.
        sources: as for `consequences`.

    Raises:
        TextError: a source text that the model cannot read.
    """
    config = model.config
    room: dict[str, Any] = {"max_tokens": base.max_tokens, "max_new_tokens": base.max_new_tokens}
    before, after = result.best
    changed = (before != after).nonzero()[0].tolist()
    # The last token of an encoder-decoder that ran out of room was written, but never read.
    is_read = base.run.is_complete or config.architecture != "encoder_decoder"
    if base.target is None and is_read and not changed:
        return base.free_output
    sources = sources or sources_like(model, tokenizer, base)
    ready = prepare(model, tokenizer, result.stack, run=base.run, sources=sources)
    if not config.has_decoder:
        with ready.active():
            return run_text(model, tokenizer, base.text, **room).output
    begun: tuple[int, ...] = ()
    if base.target is None:
        begun = (*base.tokens[: changed[0]], int(after[changed[0]])) if changed else base.tokens
    given = base.run.inputs[0] if config.has_encoder else base.run.inputs[0][: base.run.n_given]
    with ready.active(is_checked=False):
        written = greedy_output(model, given, begun=begun, **room)
    return output_text(model, tokenizer, given, written)


def sources_like(model: Transformer, tokenizer: Tokenizer, base: Base) -> SourceRuns:
    """Return source runs that read and write as many tokens as a base run does."""
    return SourceRuns(model, tokenizer, max_tokens=base.max_tokens, max_new_tokens=base.max_new_tokens)


def forced_pass(model: Transformer, inputs: Sequence[Sequence[int]], positions: Sequence[int]) -> ForcedPass:
    """Run a model over given tokens, with whatever is changed in it at the moment, and keep what it computed.

    Args:
        model: in evaluation mode.
        inputs: of the source and of the decoder's input, or of its one text.
        positions: of the output whose log-probabilities are kept.
    """
    config = model.config
    depths = {"encoder": config.n_encoder_layers, "decoder": config.n_decoder_layers}
    of_stream = {
        name: [
            site("resid_pre", layer=0, attention=name),
            *(site("resid_post", layer=layer, attention=name) for layer in range(depth)),
        ]
        for name, depth in depths.items()
        if depth
    }
    residual_sites = [each for sites in of_stream.values() for each in sites]
    with stepwise_attention(model), capture(model, "*.hook_pattern", *residual_sites) as acts:
        log_probs = output_log_probs(model, inputs, positions)
    return ForcedPass(
        log_probs=log_probs,
        patterns={name: _array(acts.stack("pattern", attention=name)[:, 0]) for name in attentions_of(config)},
        residual={name: _array(torch.stack([acts[each][0] for each in sites])) for name, sites in of_stream.items()},
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


def _best(model: Transformer, log_probs: Float[Tensor, "*axes vocab"]) -> Int[Tensor, "*axes"]:
    """Return the most probable token at each place, of those that the model may write there."""
    return _writable(model, log_probs).argmax(dim=-1)


def _writable(model: Transformer, log_probs: Float[Tensor, "*axes vocab"]) -> Float[Tensor, "*axes vocab"]:
    """Return log-probabilities with -inf for the token that the model never writes, where there is one."""
    suppressed = model.config.suppressed_token_id
    if suppressed is None:
        return log_probs
    return log_probs.index_fill(-1, torch.tensor([suppressed], device=log_probs.device), -torch.inf)


def _array(tensor: Tensor) -> np.ndarray:
    """Return a float32 array, wherever and in whatever precision the tensor is."""
    return tensor.float().cpu().numpy()
