"""Ablate the encoding, a part of the Positions page: one task and seed under several encodings, side by side."""

from typing import TYPE_CHECKING

import pandas as pd

from headlight.experiments.experiment import LONGEST_TRAINED, LONGEST_TRIED, ExperimentRequest
from headlight.language import say
from pages.learn import experiment_runs, experiments
from pages.learn.experiment_runs import Experiment
from pages.learn.experiments import Laboratory
from pages.shared import prose
from pages.shared.drawing import draw_figure
from pages.shared.recipe import Print, literal, script
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.training.curves import ExperimentReading

CLAIM = mark(
    "What is a positional encoding worth? Train the same small model with different encodings: same initialization, "
    "same data in the same order, nothing else differs. Each model is trained on up to {trained} letters and tested "
    "on up to {tried}, which shows how well it extrapolates."
)
VARIANTS = {
    "sinusoidal_interleaved": mark("sinusoidal"),
    "sinusoidal_halves": mark("sinusoidal, halves"),
    "learned": mark("learned"),
    "rotary_halves": mark("rotary"),
    "rotary_interleaved": mark("rotary, interleaved"),
    "alibi": mark("ALiBi"),
    "relative_buckets": mark("T5 buckets"),
    "none": mark("no positions"),
}
SHORTEST = 3  # length of the shortest training text, in letters
LOOK_FOR = {
    "reverse": mark(
        "without positions, the loss stays far above the others: the model knows which letters occur, but not where. "
        "Beyond the training lengths, absolute encodings (sinusoidal, learned) fail at once; relative ones degrade "
        "more slowly."
    ),
    "copy": mark(
        "without positions, the loss stays far above the others: the model knows which letters occur, but not their "
        "order. Beyond the training lengths all encodings degrade, but not in the same order as in the reversal task: "
        "good extrapolation in one task need not transfer to another."
    ),
    "sort": mark(
        "here the encodings differ little, and even no encoding does nearly as well: to sort letters, a model needs "
        "to know which letters occur, not where. Other tasks need positions."
    ),
}
HONEST = mark(
    "Only encodings added to the embeddings reach cross-attention; RoPE, ALiBi and T5 buckets act within each stack’s "
    "self-attention. A token counts as correct if it is the most probable one under teacher forcing. These are small "
    "models after a few hundred steps with one seed each; try another seed."
)
LEARNED = mark(
    "The table of learned positions has {rows} rows, so that longer texts can be tested at all, but training never "
    "went beyond row {last}: later rows are still at their initialization."
)


def show() -> None:
    """Draw this part of the page."""
    claim = say(CLAIM, trained=LONGEST_TRAINED, tried=LONGEST_TRIED)
    prose.html("<p class='hl-lead'>{}</p>", claim)
    experiments.show(LABORATORY)


def _lengths(experiment: Experiment, reading: "ExperimentReading") -> None:
    from headlight.figures.curves.experiment import experiment_lengths

    assert experiment.request is not None, "measurements have a request"
    names = LABORATORY.names(experiment.request)
    figure = experiment_lengths(
        names,
        reading.lengths,
        reading.by_length,
        trained=(SHORTEST, LONGEST_TRAINED),
        unit=say("letters"),
        step=reading.measured_at,
    )
    recipe = experiment_runs.reading_recipe(experiment)
    shares = literal({variant: recipe.by_length[variant] for variant in reading.by_length})
    draw_figure(
        figure,
        name="experiment-lengths",
        key="positions-experiment-lengths",
        csv=lambda: _csv(reading),
        arrays=lambda: {"lengths": reading.lengths, **reading.by_length},
        code=lambda: script(Print(recipe.lengths, "[length]"), Print(shares, "by encoding: [length]")),
        model=None,
        view=lambda: experiment_runs.in_words(experiment),
        about="",  # of small models that are trained here
    )


def _remarks(request: ExperimentRequest) -> str:
    learned = [say(LEARNED, rows=LONGEST_TRIED + 1, last=LONGEST_TRAINED)] if "learned" in request.variants else []
    return " ".join([say(HONEST), *learned])


LABORATORY = Laboratory(
    kind="positions",
    variants=VARIANTS,
    variants_title=mark("Encodings"),
    draw=_lengths,
    look_for=lambda request: say(LOOK_FOR[request.task]),
    remarks=_remarks,
)


def _csv(reading: "ExperimentReading") -> str:
    table = pd.DataFrame(reading.by_length, index=pd.Index(reading.lengths, name="length"))
    return table.to_csv(float_format="%.4f", na_rep="nan")
