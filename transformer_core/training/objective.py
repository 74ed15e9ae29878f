"""The training objective: cross-entropy with label smoothing."""

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.compiler import is_compiling
from torch.nn import functional as F

from transformer_core.corpora.batch_order import IGNORED
from transformer_core.errors import TextError


def label_smoothed_cross_entropy(
    logits: Float[Tensor, "batch pos vocab"],
    targets: Int[Tensor, "batch pos"],
    *,
    smoothing: float = 0.1,
) -> Float[Tensor, ""]:
    """Return the mean, over the targets that count, of the cross-entropy H(smoothed target, model).

    The smoothed target gives 1 - smoothing to the correct token and spreads smoothing evenly over the vocabulary:
    loss = log sum exp(logits) - (1 - smoothing) * logits[target] - smoothing * mean(logits).

    Args:
        logits: unnormalized log-probabilities.
        targets: the correct tokens, and `IGNORED` for those that do not count, such as padding.
        smoothing: in [0, 1).

    Returns:
        The loss in nats per target that counts.

    Raises:
        TextError: no target counts. (A compiled function returns nan instead.)

    Source: Szegedy et al. 2016, sec. 7; Vaswani et al. 2017, sec. 5.4.
    """
    if not is_compiling() and not (targets != IGNORED).any():
        raise TextError("this batch has no targets, so its loss is undefined; skip it")
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=IGNORED, label_smoothing=smoothing)


class TrainingLoss(nn.Module):
    """A model with its loss, so that both can be compiled together."""

    def __init__(self, model: nn.Module, *, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(
        self, inputs: tuple[Int[Tensor, "batch _"], ...], targets: Int[Tensor, "batch pos"]
    ) -> Float[Tensor, ""]:
        """Return the mean loss in nats per target that counts, as `label_smoothed_cross_entropy`."""
        logits = self.model(*inputs)  # [batch, pos, vocab]
        return label_smoothed_cross_entropy(logits.float(), targets, smoothing=self.smoothing)
