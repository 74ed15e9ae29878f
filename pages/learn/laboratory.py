"""What a page with a trial tries, and in which words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pages.shared.trials import Trial
from transformer_core.errors import mark
from transformer_core.language import say
from transformer_core.training.trial.trial import TrialKind, TrialRequest

if TYPE_CHECKING:
    from transformer_core.analysis.training.trial_reading import TrialReading

NOTE = "trial-note"  # session key: what went wrong at a click, to be said at the next run
TASK_NAMES = {
    "reverse": mark("Reverse letters"),
    "copy": mark("Copy letters"),
    "sort": mark("Sort letters"),
    "dates": mark("Write dates anew"),
}


@dataclass(frozen=True, kw_only=True)
class Laboratory:
    """What one page tries."""

    kind: TrialKind
    arms: Mapping[str, str]  # all that may be tried, as they are called
    arms_title: str
    draw: Callable[[Trial, "TrialReading"], None]  # what stands beside the curves
    look_for: Callable[[TrialRequest], str]
    remarks: Callable[[TrialRequest], str]  # what must be known to read the numbers right
    has_held_out_losses: bool = False

    def names(self, request: TrialRequest) -> dict[str, str]:
        """Return the names of a trial's arms, in their order, in the reader's language."""
        return {arm: say(self.arms[arm]) for arm in request.arms}
