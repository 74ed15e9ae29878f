"""What training minimizes: cross-entropy against smoothed targets."""

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.compiler import is_compiling
from torch.nn import functional as F

from transformer_core.corpora.batching import IGNORED
from transformer_core.errors import TextError


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
    if not is_compiling() and not (targets != IGNORED).any():
        raise TextError("this batch has no targets, so its loss is undefined; skip it")
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=IGNORED, label_smoothing=smoothing)


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
