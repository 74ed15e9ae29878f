"""What a stack of interventions changes: each output token, every head's pattern, the residual stream, the output.

A base run is captured once; each edit then costs one forward pass over the base output (teacher forcing), and a
decoding from the first token at which this pass predicts another one.

>>> base = read_base(model, tokenizer, "The animal didn't cross the street because it was too tired.")
>>> result = consequences(model, tokenizer, base, stack)
>>> result.effect.change, result.logit_differences, result.head_changes["cross"]
>>> base.free_output, free_output(model, tokenizer, base, result)
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from headlight.analysis.flow.divergence import head_changes
from headlight.analysis.interventions.base import (
    Base,
    best_tokens,
    forced_pass,
    read_base,
    relative_changes,
    writable,
)
from headlight.analysis.interventions.context import prepare
from headlight.analysis.interventions.effect import Effect, effect, ranks
from headlight.analysis.interventions.records import InterventionStack
from headlight.analysis.trace.model_run import run_text
from headlight.analysis.trace.traced_forward import greedy_output, output_text
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Given, Tokenizer

N_CANDIDATES = 10  # for each output token, before and after


@dataclass(frozen=True, kw_only=True, eq=False)
class Consequences:
    """Effects of a stack next to the base run; arrays over `token` cover the base output, teacher-forced."""

    stack: InterventionStack
    labels: tuple[str, ...]  # of the base output's tokens
    effect: Effect  # log-probability of each base token before and after, and KL of the distributions; nats
    pairs: tuple[tuple[int, int], ...]  # the two tokens of each logit difference
    logit_differences: Float[np.ndarray, "when token"]  # before and after: logit of the first minus that of the second
    ranks: Int[np.ndarray, "when token"]  # before and after: how many tokens are more probable than the base token
    best: Int[np.ndarray, "when token"]  # before and after: the token that greedy decoding picks
    candidates: Int[np.ndarray, "when token candidate"]  # before and after: the most probable tokens, the best first
    head_changes: Mapping[str, Float[np.ndarray, "layer head"]]  # by attention: Jensen-Shannon distance, in [0, 1]
    residual_changes: Mapping[str, Float[np.ndarray, "depth pos"]]  # by stack: `relative_changes`; depth 0: embeddings
    patterns: Mapping[str, Float[np.ndarray, "layer head query key"]]  # by attention: those with the stack

    @property
    def logit_difference_change(self) -> Float[np.ndarray, " token"]:
        """After minus before, in nats."""
        change: np.ndarray = self.logit_differences[1] - self.logit_differences[0]
        return change


def consequences(
    model: Transformer,
    tokenizer: Tokenizer,
    base: Base | Given,
    stack: InterventionStack,
    *,
    pairs: Mapping[int, tuple[int, int]] | None = None,
) -> Consequences:
    """Return the effects of a stack of interventions.

    Args:
        model: that `base` was read with.
        tokenizer: the model's own.
        base: a text, or what `read_base` returned for it.
        stack: what is changed.
        pairs: by index of an output token, the two tokens of its logit difference; default: the output token and the
            most probable other token.

    Raises:
        ConfigError: an entry that the model has no place for, or a pair of tokens that it does not have.
        InterventionError: an entry names a position outside the text, or a pattern of another shape.
        TextError: a source text that the model cannot read.
    """
    base = base if isinstance(base, Base) else read_base(model, tokenizer, base)
    ready = prepare(model, tokenizer, stack, run=base.run, sources=base.sources)
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
        best=best_tokens(model, log_probs).cpu().numpy(),
        candidates=writable(model, log_probs).topk(min(N_CANDIDATES, log_probs.shape[-1])).indices.cpu().numpy(),
        head_changes={
            name: np.stack(
                [
                    head_changes(a, b, mask)
                    for a, b, mask in zip(base.forced.patterns[name], patterns, base.run.masks[name], strict=True)
                ]
            )
            for name, patterns in forced.patterns.items()
        },
        residual_changes={
            name: relative_changes(base.forced.residual[name], residual) for name, residual in forced.residual.items()
        },
        patterns=forced.patterns,
    )


def free_output(model: Transformer, tokenizer: Tokenizer, base: Base, result: Consequences) -> str:
    """Return the model's own output with a stack; `base.free_output` is the output without one.

    Until the most probable token first differs, greedy decoding repeats the base output: at each step it reads the same
    tokens and chooses the same one. So decoding starts at the first difference.

    Args:
        model: that `base` was read with.
        tokenizer: the model's own.
        base: of `read_base`.
        result: of `consequences`, which names the stack.

    Raises:
        TextError: a source text that the model cannot read.
    """
    config = model.config
    before, after = result.best
    changed = (before != after).nonzero()[0].tolist()
    # The last token of an encoder-decoder that ran out of room was written, but never read.
    is_read = base.run.is_complete or config.architecture != "encoder_decoder"
    if base.target is None and is_read and not changed:
        return base.free_output
    ready = prepare(model, tokenizer, result.stack, run=base.run, sources=base.sources)
    if not config.has_decoder:
        with ready.active():
            return run_text(model, tokenizer, base.text, **base.sources.room).output
    begun: tuple[int, ...] = ()
    if base.target is None:
        begun = (*base.tokens[: changed[0]], int(after[changed[0]])) if changed else base.tokens
    given = base.run.inputs[0] if config.has_encoder else base.run.inputs[0][: base.run.n_given]
    with ready.active(is_checked=False):
        written = greedy_output(model, given, begun=begun, **base.sources.room)
    return output_text(model, tokenizer, given, written)


def token_numbers(result: Consequences) -> dict[str, np.ndarray]:
    """Return the effects of a stack on each output token, by name, each [token].

    Returns:
        `token`, the labels; `logit_difference_before`, `logit_difference_after`, `log_prob_before`, `log_prob_after`
        and `kl` in nats; `rank_before` and `rank_after`; `compared` [token, 2], the ids of the logit difference.
    """
    return {
        "token": np.array(result.labels, dtype=np.str_),
        "logit_difference_before": result.logit_differences[0],
        "logit_difference_after": result.logit_differences[1],
        "log_prob_before": result.effect.before,
        "log_prob_after": result.effect.after,
        "rank_before": result.ranks[0],
        "rank_after": result.ranks[1],
        "kl": result.effect.kl,
        "compared": np.array(result.pairs, dtype=np.int64).reshape(-1, 2),
    }
