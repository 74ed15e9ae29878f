"""NaN and infinities: the weights that contain them, and the first site where they occur in a forward pass."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_core.errors import Message, NotFiniteError
from transformer_core.hooks import Handler, active_hooks, named_hook_points

_MOST_SCORES = 4096 * 4096  # per head; above this, scores and patterns are not checked
_SCORES = ("hook_attn_scores", "hook_pattern")
_NOT_READ = ("hook_mask", "hook_result")  # masks are boolean; hook_attn_out reveals the same values as hook_result


def not_finite_weights(model: nn.Module) -> dict[str, int]:
    """Return the number of NaN and infinite values of each weight that has any; about 0.1 s per GB."""
    counts = {}
    for name, weight in model.named_parameters():
        if not weight.detach().sum().isfinite():  # fast, but a sum may overflow although all numbers are finite
            counts[name] = int(weight.numel() - weight.isfinite().sum())
    return {name: n for name, n in counts.items() if n}


def note_on_weights(counts: dict[str, int]) -> Message | None:
    """Return a sentence on the weights that `not_finite_weights` returned; None if there are none."""
    if not counts:
        return None
    (name, n), *others = counts.items()
    first = f"{name} ({n:,})"
    if not others:
        return Message("NaN or infinite weights: {first}.", first=first)
    return Message("NaN or infinite weights: {first} and {n} more.", first=first, n=len(others))


class _NotFiniteFoundError(Exception):
    """Stops a forward pass at the first site that is not finite."""


def first_not_finite(model: nn.Module, forward: Callable[[], object], *, n_scores: int = 0) -> str | None:
    """Return the name of the first site of a forward pass with NaN or infinite values; None if there is none.

    Scores of -inf, which masks produce, count as finite.

    Args:
        model: to check.
        forward: runs the model; interrupted at that site.
        n_scores: number of queries times keys, where it may be very large.
    """

    def checking(name: str) -> Handler:
        def check(value: Tensor) -> Tensor:
            checked = value.nan_to_num(nan=torch.nan, neginf=0.0) if name.endswith("hook_attn_scores") else value
            if not checked.isfinite().all():
                raise _NotFiniteFoundError(name)
            return value

        return check

    unread = (*_NOT_READ, *(_SCORES if n_scores > _MOST_SCORES else ()))
    points = {name: point for name, point in named_hook_points(model).items() if not name.endswith(unread)}
    try:
        with torch.no_grad(), active_hooks({point: checking(name) for name, point in points.items()}):
            forward()
    except _NotFiniteFoundError as error:
        return str(error)
    return None


def refuse_not_finite(model: nn.Module, values: Tensor, forward: Callable[[], object], *, n_scores: int = 0) -> None:
    """Check that outputs can be compared or chosen from; a vector may contain -inf, but not only -inf.

    Args:
        model: that computed the values.
        values: logits, log-probabilities or final states.
        forward: computes them again.
        n_scores: as for `first_not_finite`.

    Raises:
        NotFiniteError: a value is NaN or infinite.
    """
    if not (values.amax(dim=-1).isfinite().all() if values.numel() else True):
        raise refusal(model, forward, n_scores=n_scores)


def refusal(model: nn.Module, forward: Callable[[], object], *, n_scores: int = 0) -> NotFiniteError:
    """Return the error for outputs that are not finite; it names the first such site, see `first_not_finite`."""
    return not_finite_from(first_not_finite(model, forward, n_scores=n_scores))


def not_finite_from(site: str | None) -> NotFiniteError:
    """Return the error that names the first site with NaN or infinite values; None: they did not recur."""
    if site is None:
        return NotFiniteError("the outputs are not finite numbers; use other weights or interventions")
    return NotFiniteError(
        "the outputs are not finite numbers; NaN or infinity first occurs at {site}; use other weights or "
        "interventions, or an earlier snapshot if the training diverged",
        site=site,
    )
