"""Token ids in the form that a model takes."""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_core.model.transformer import Transformer


def tensor_of(ids: Sequence[int], model: nn.Module) -> Int[Tensor, "1 pos"]:
    """Return token ids as a batch of one, on the model's device."""
    return torch.tensor([ids], dtype=torch.long, device=next(model.parameters()).device)


def final_states(model: Transformer, inputs: Iterable[Sequence[int] | Tensor]) -> Float[Tensor, "1 pos d_model"]:
    """Return the final states of a model for one input.

    Args:
        model: in evaluation mode.
        inputs: the text's token ids; then, for an encoder-decoder, the decoder's token ids, or, for a pair of texts in
            an encoder, the segment of each token, which a model without segments ignores.
    """
    tokens, *others = (ids if isinstance(ids, Tensor) else tensor_of(ids, model) for ids in inputs)
    if model.config.architecture != "encoder_only":
        return model.final_states(tokens, *others)
    return model.final_states(tokens, segments=others[0] if others and model.config.n_segments else None)
