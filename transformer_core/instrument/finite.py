"""Numbers that are not finite, NaN and infinities: which weights have some, and where a forward meets the first."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_core.errors import Message, NotFiniteError
from transformer_core.hooks import Handler, active_hooks, named_hook_points

_MOST_SCORES = 4096 * 4096  # of one head; where there are more, the first site may be one behind scores and pattern
_SCORES = ("hook_attn_scores", "hook_pattern")
_NOT_READ = ("hook_mask", "hook_result")  # one is of booleans; what W_O makes of z is seen in hook_attn_out


def not_finite_weights(model: nn.Module) -> dict[str, int]:
    """Return how many numbers of each weight are NaN or infinite, by name, of those that have any.

    A sum tells of most weights, at the speed of reading them: 0.1 s for 1 GB.
    """
    counts = {}
    for name, weight in model.named_parameters():
        if not weight.detach().sum().isfinite():  # a sum may be infinite where no number is
            counts[name] = int(weight.numel() - weight.isfinite().sum())
    return {name: n for name, n in counts.items() if n}


def note_on_weights(counts: dict[str, int]) -> Message | None:
    """Return in one sentence which weights are not finite, from `not_finite_weights`; None where all are."""
    if not counts:
        return None
    (name, n), *others = counts.items()
    first = f"{name} ({n:,})"
    if not others:
        return Message("NaN or infinite weights: {first}.", first=first)
    return Message("NaN or infinite weights: {first} and {n} more.", first=first, n=len(others))


class _FoundError(Exception):
    """Ends a forward pass at the first site that is not finite."""


def first_not_finite(model: nn.Module, forward: Callable[[], object], *, n_scores: int = 0) -> str | None:
    """Return the name of the first site, in the order of computing, where a value is NaN or infinite; None without any.

    Scores of -inf are what a mask makes of them, and count as finite.

    Args:
        model: whose sites are meant.
        forward: runs the model; it is left at that site.
        n_scores: queries times keys, where there may be very many.
    """
    found: list[str] = []

    def looking(name: str) -> Handler:
        def look(value: Tensor) -> Tensor:
            seen = value.nan_to_num(nan=torch.nan, neginf=0.0) if name.endswith("hook_attn_scores") else value
            if not seen.isfinite().all():
                found.append(name)
                raise _FoundError
            return value

        return look

    unread = (*_NOT_READ, *(_SCORES if n_scores > _MOST_SCORES else ()))
    points = {name: point for name, point in named_hook_points(model).items() if not name.endswith(unread)}
    try:
        with torch.no_grad(), active_hooks({point: looking(name) for name, point in points.items()}):
            forward()
    except _FoundError:
        return found[0]
    return None


def refuse_not_finite(model: nn.Module, values: Tensor, forward: Callable[[], object], *, n_scores: int = 0) -> None:
    """Check that what is to be compared or chosen from is a number everywhere; -inf may be among it.

    Args:
        model: that gave the values.
        values: logits, log-probabilities or final states.
        forward: as for `refusal`.
        n_scores: as for `first_not_finite`.

    Raises:
        NotFiniteError: a value is NaN or infinite.
    """
    if not (values.amax(dim=-1).isfinite().all() if values.numel() else True):
        raise refusal(model, forward, n_scores=n_scores)


def refusal(model: nn.Module, forward: Callable[[], object], *, n_scores: int = 0) -> NotFiniteError:
    """Return the error of a model whose outputs are not finite, which names the first site and weights that are not.

    Args:
        model: whose outputs are not finite.
        forward: gives these outputs again.
        n_scores: as for `first_not_finite`.
    """
    return not_finite_from(first_not_finite(model, forward, n_scores=n_scores))


def not_finite_from(site: str | None) -> NotFiniteError:
    """Return the error that says from which site on values are NaN or infinite; None: it was not found again."""
    if site is None:
        return NotFiniteError("the outputs are not finite numbers; use other weights or interventions")
    return NotFiniteError(
        "the outputs are not finite numbers; NaN or infinity first occurs at {site}; use other weights or "
        "interventions, or an earlier snapshot if the training diverged",
        site=site,
    )
