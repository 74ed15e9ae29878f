"""Contrastive decoding: what an able model says more than a weak one, among what is plausible."""

import math

from jaxtyping import Float
from torch import Tensor

from transformer_core.errors import ConfigError


def contrasted(
    expert_logits: Float[Tensor, " vocab"], amateur_logits: Float[Tensor, " vocab"], *, plausibility: float = 0.1
) -> Float[Tensor, " vocab"]:
    """Return by how much an expert prefers each token to an amateur: log p_expert - log p_amateur, in nats.

    What both say alike, such as what was just said again, cancels; what only the expert knows stays. Where the expert
    itself finds a token improbable the difference says nothing, so only its plausible tokens are compared.

    Args:
        expert_logits: of the token that comes next; -inf for what is never written.
        amateur_logits: of the same token, after the same text; finite for all that is plausible.
        plausibility: the paper's alpha; tokens less probable to the expert than this share of its most probable one
            are left out.

    Returns:
        scores that take the place of logits; -inf for what is not plausible.

    Raises:
        ConfigError: a plausibility that is not above 0 and at most 1.

    Source: Li et al. 2023, "Contrastive Decoding", sec. 3.2 and 3.3.
    Differs: the amateur reads the whole text, at temperature 1; the paper's may read less, at temperature 0.5.
    """
    if not 0 < plausibility <= 1:
        raise ConfigError(
            "plausibility ({plausibility}) must be above 0 and at most 1; 0.1 is usual", plausibility=plausibility
        )
    expert, amateur = expert_logits.float().log_softmax(dim=-1), amateur_logits.float().log_softmax(dim=-1)
    is_implausible = expert < expert.max() + math.log(plausibility)
    return (expert - amateur).masked_fill(is_implausible, -math.inf)
