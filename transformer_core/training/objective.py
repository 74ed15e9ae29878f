"""What training minimizes: cross-entropy against smoothed targets."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.compiler import is_compiling
from torch.nn import functional as F

from transformer_core.corpora.batching import IGNORED
from transformer_core.errors import TextError
from transformer_core.language import say


def label_smoothed_cross_entropy(
    logits: Float[Tensor, "batch pos vocab"],
    targets: Int[Tensor, "batch pos"],
    *,
    smoothing: float = 0.1,
) -> Float[Tensor, ""]:
    """Return the mean, over the targets that count, of the cross-entropy H(smoothed target, model).

    The smoothed target gives 1 - smoothing to the right token and spreads smoothing evenly over the vocabulary (the
    right token has its share of that too): loss = log sum exp(logits) - (1 - smoothing) * logits[target] - smoothing *
    mean(logits).

    Args:
        logits: unnormalized log-probabilities.
        targets: the right tokens, and `IGNORED` where nothing counts: at padding, at tokens that are not masked.
        smoothing: in [0, 1).

    Returns:
        nats a target that counts.

    Raises:
        TextError: there is none. (Compiled, it cannot look, and returns nan.)

    Source: Szegedy et al. 2016, sec. 7; Vaswani et al. 2017, sec. 5.4.
    """
    if is_compiling():  # which joins the loss with the last layer, and looks at no numbers
        logits, targets = logits.flatten(0, -2), targets.flatten()
        return F.cross_entropy(logits, targets, ignore_index=IGNORED, label_smoothing=smoothing)
    counts = targets != IGNORED
    if not counts.all():
        logits, targets = logits[counts], targets[counts]
    if not targets.numel():
        raise TextError(say("no target counts, so there is no loss to take the mean of; leave such a batch out"))
    return _SmoothedCrossEntropy.apply(logits.flatten(0, -2), targets.flatten(), smoothing)


class TrainingLoss(nn.Module):
    """A model with its loss at the end: a batch in, one number out, so that all of it can be compiled together."""

    def __init__(self, model: nn.Module, *, smoothing: float) -> None:
        """Keep the model, whose parameters are those of this module, and the smoothing of its targets."""
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(
        self, inputs: tuple[Int[Tensor, "batch _"], ...], targets: Int[Tensor, "batch pos"]
    ) -> Float[Tensor, ""]:
        """Return the mean loss, nats a target that counts.

        Args:
            inputs: what the model reads.
            targets: as for `label_smoothed_cross_entropy`.

        Raises:
            TextError: no target counts.
        """
        logits = self.model(*inputs)  # [batch, pos, vocab]
        return label_smoothed_cross_entropy(logits.float(), targets, smoothing=self.smoothing)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The mean loss over tokens, with its gradient softmax(logits) - smoothed target written where the softmax was.

    Left to autograd, a vocabulary-sized tensor is allocated three times more, and fresh memory is what costs.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
        """Return the mean loss; `logits` is [token, vocab], `targets` is [token]."""
        probabilities = logits.softmax(dim=-1)  # [token, vocab]
        highest, argmax = logits.max(dim=-1, keepdim=True)  # [token, 1]
        log_normalizer = highest - probabilities.gather(-1, argmax).log()  # [token, 1]; p at the maximum is never tiny
        right = logits.gather(-1, targets[:, None])  # [token, 1]
        mean = logits.mean(dim=-1, keepdim=True)  # [token, 1]
        ctx.save_for_backward(probabilities, targets)
        ctx.smoothing = smoothing
        return (log_normalizer - (1 - smoothing) * right - smoothing * mean).mean()

    @staticmethod
    def backward(ctx: Any, grad_loss: Tensor) -> tuple[Tensor, None, None]:
        """Return the gradient of the logits."""
        if torch.is_grad_enabled():  # create_graph=True; the gradient below has no graph, and would pass for a constant
            raise RuntimeError("this loss can be differentiated once only; leave out create_graph")
        grad, targets = ctx.saved_tensors
        n_tokens, vocab_size = grad.shape
        grad.sub_(ctx.smoothing / vocab_size)
        grad.scatter_add_(-1, targets[:, None], grad.new_full((n_tokens, 1), ctx.smoothing - 1))
        return grad.mul_(grad_loss / n_tokens), None, None
