"""Who may attend to whom. Masks are boolean, True = may attend; this is the one place where they are built.

A mask broadcasts to [batch, head, query, key]. Padding and look-ahead combine by `&`:

>>> tokens = torch.tensor([[5, 6, 0]])
>>> (padding_mask(tokens, pad_id=0) & look_ahead_mask(3)).int()
tensor([[[[1, 0, 0],
          [1, 1, 0],
          [1, 1, 0]]]], dtype=torch.int32)
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def padding_mask(tokens: Int[Tensor, "batch key"], pad_id: int | None) -> Bool[Tensor, "batch 1 1 key"]:
    """Allow every key that is a real token.

    Args:
        tokens: the sequence that the keys come from.
        pad_id: the token that fills up shorter sequences; None where there is none, and everything is allowed.
    """
    is_real = torch.ones_like(tokens, dtype=torch.bool) if pad_id is None else tokens != pad_id
    return is_real[:, None, None, :]


def look_ahead_mask(
    n_queries: int, n_earlier: int = 0, device: torch.device | None = None
) -> Bool[Tensor, "query key"]:
    """Allow each position itself and everything before it ("subsequent positions" are hidden).

    Args:
        n_queries: positions that ask.
        n_earlier: positions before the first query, whose keys are there already (a cache): all of them allowed.
        device: where the mask is made.

    Returns:
        [query, n_earlier + n_queries], True where key <= n_earlier + query.

    Source: Vaswani et al. 2017, sec. 3.2.3, third point.
    """
    n_keys = n_earlier + n_queries
    return torch.ones(n_queries, n_keys, dtype=torch.bool, device=device).tril(diagonal=n_earlier)
