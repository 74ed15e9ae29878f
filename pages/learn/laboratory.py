"""What a page with an experiment tries, and in which words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headlight.experiments.experiment import ExperimentKind, ExperimentRequest
from pages.learn.experiment_runs import Experiment
from pages.shared.view.fields import Kept
from transformer_core.errors import mark
from transformer_core.language import say

if TYPE_CHECKING:
    from headlight.analysis.training.experiment_reading import ExperimentReading

NOTE = Kept("experiment-note", "")  # what went wrong at a click, to be shown at the next run
TASK_NAMES = {
    "reverse": mark("Reverse letters"),
    "copy": mark("Copy letters"),
    "sort": mark("Sort letters"),
    "dates": mark("Reformat dates"),
}


@dataclass(frozen=True, kw_only=True)
class Laboratory:
    """What one page tries."""

    kind: ExperimentKind
    variants: Mapping[str, str]  # all that may be tried, as they are called
    variants_title: str
    draw: Callable[[Experiment, "ExperimentReading"], None]  # drawn beside the curves
    look_for: Callable[[ExperimentRequest], str]
    remarks: Callable[[ExperimentRequest], str]  # what must be known to read the numbers right
    has_held_out_losses: bool = False

    def names(self, request: ExperimentRequest) -> dict[str, str]:
        """Return the names of an experiment's variants, in their order, in the reader's language."""
        return {variant: say(self.variants[variant]) for variant in request.variants}
