"""Measurements of an output: log-probabilities of its tokens, a logit difference, ranks, and the effect of a change."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.analysis.trace.model_run import ModelRun
from transformer_core.decoding.inputs import final_states
from transformer_core.errors import ConfigError
from transformer_core.instrument.finite import refuse_not_finite
from transformer_core.model.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class OutputTokens:
    """The tokens of an output, and the positions whose distributions they were taken from."""

    positions: tuple[int, ...]  # among the tokens of the decoder's input, or of an encoder's text
    tokens: tuple[int, ...] | None  # None: the unchanged model's most probable token at each position
    labels: tuple[str, ...]

    @classmethod
    def of(cls, model_run: ModelRun) -> "OutputTokens":
        """Return the output of a run: a target, a continuation (without one, the text itself), or the blanks.

        An encoder-only model without a mask token predicts at each token of the text: all of them are its output.

        Args:
            model_run: of the unchanged model.
        """
        if model_run.architecture == "encoder_only":
            places = tuple(blank.position for blank in model_run.blanks)
            return cls(
                positions=places,
                tokens=None,
                labels=tuple(blank.candidates[0].label for blank in model_run.blanks),
            )
        ids = model_run.inputs[-1]
        following = ids[1:] if model_run.end_id is None else (*ids[1:], model_run.end_id)
        has_written = model_run.architecture == "encoder_decoder" or len(following) >= model_run.n_given
        first = model_run.n_given - 1 if model_run.architecture == "decoder_only" and has_written else 0
        places = tuple(range(first, len(following)))
        return cls(
            positions=places,
            tokens=tuple(following[first:]),
            labels=model_run.following[first : len(following)],
        )


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Log-probabilities of an output, token by token, without and with a change; all in nats."""

    before: Float[np.ndarray, " token"]  # log-probability of each output token
    after: Float[np.ndarray, " token"]  # the same with the change
    kl: Float[np.ndarray, " token"]  # KL(before || after) of the whole distributions at these positions

    @property
    def change(self) -> Float[np.ndarray, " token"]:
        """After minus before: below 0 where the change makes a token less probable."""
        return self.after - self.before

    @property
    def losses(self) -> tuple[float, float]:
        """The mean negative log-probability per output token, before and after."""
        return float(-self.before.mean()), float(-self.after.mean())


@torch.inference_mode()
def output_log_probs(
    model: Transformer, inputs: Sequence[Sequence[int]], positions: Sequence[int]
) -> Float[Tensor, "token vocab"]:
    """Run the model and return the log-probabilities, in nats, of all tokens at some positions of its output.

    Args:
        model: in evaluation mode, with whatever is changed in it at the moment.
        inputs: as for `final_states`.
        positions: at least one.

    Raises:
        NotFiniteError: an output is NaN or infinite.
    """

    def logits() -> Tensor:
        return model.logits_of(final_states(model, inputs)[:, list(positions)])[0].float()

    outputs = logits()
    refuse_not_finite(model, outputs, logits)
    return outputs.log_softmax(dim=-1)


def effect(
    before: Float[Tensor, "token vocab"], after: Float[Tensor, "token vocab"], tokens: Sequence[int] | None
) -> Effect:
    """Compare two runs of a model over the same tokens.

    KL(p || q) = sum over the vocabulary of p (log p - log q)

    Args:
        before: log-probabilities of the unchanged model, in nats.
        after: those with the change, at the same positions.
        tokens: the output; None: at each position the most probable token of `before`.

    Source: Kullback and Leibler 1951, eq. (2.4).
    """
    chosen: Int[Tensor, "token 1"] = (
        before.argmax(dim=-1) if tokens is None else torch.tensor(tokens, device=before.device)
    )[:, None]
    divergence = (before.exp() * (before - after)).nan_to_num(0.0).sum(dim=-1)  # 0 log 0 is 0
    return Effect(
        before=before.gather(-1, chosen)[:, 0].cpu().numpy(),
        after=after.gather(-1, chosen)[:, 0].cpu().numpy(),
        kl=divergence.clamp(min=0).cpu().numpy(),
    )


@dataclass(frozen=True, kw_only=True)
class Metric:
    """The main metric of an intervention, in nats; larger means more of `token`.

    With `other`: logit(token) - logit(other), which is log p(token) - log p(other). It is linear in the residual
    stream, up to the last normalization, and ignores a change that shifts both logits equally.
    Without: log p(token).

    Source: Zhang and Nanda 2024, "Towards best practices of activation patching", sec. 4, for the choice.
    """

    position: int  # among the tokens of the decoder's input, or of an encoder's text
    token: int
    other: int | None = None  # None: the log-probability of `token` alone

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.position < 0 or self.token < 0 or (self.other is not None and self.other < 0):
            raise ConfigError("positions and token ids are whole numbers from 0 on; got {metric}", metric=self)
        if self.token == self.other:
            raise ConfigError(
                "a logit difference needs two different tokens; got token {token} twice", token=self.token
            )

    def of(self, row: Float[Tensor, " vocab"]) -> float:
        """Return the metric of logits, or of log-probabilities, at the position."""
        return float(self.of_tensor(row))

    def of_tensor(self, row: Float[Tensor, " vocab"]) -> Float[Tensor, ""]:
        """Return the metric as a tensor, for gradients."""
        if self.other is None:
            return row.log_softmax(dim=-1)[self.token]
        return row[self.token] - row[self.other]


def ranks(log_probs: Float[Tensor, "*when token vocab"], tokens: Sequence[int]) -> Int[np.ndarray, "*when token"]:
    """Return, for each given token, how many tokens are more probable; 0: it is the most probable.

    Args:
        log_probs: or logits.
        tokens: one for each place.
    """
    ids = torch.tensor(tokens, dtype=torch.long, device=log_probs.device)[:, None]
    chosen = log_probs.gather(-1, ids.expand(*log_probs.shape[:-1], 1))
    return (log_probs > chosen).sum(dim=-1).cpu().numpy()
