"""Ablate the encoding, a part of the page Positions: the same task and seed under chosen encodings, side by side."""

import html
from typing import TYPE_CHECKING

import streamlit as st

from pages.components.figures import live_figure
from pages.learn import experiments
from pages.learn.laboratory import Laboratory
from pages.shared.experiments import Experiment
from pages.shared.style import theme
from transformer_core.errors import mark
from transformer_core.language import say
from transformer_core.training.experiments.experiment import LONGEST_TRAINED, LONGEST_TRIED, ExperimentRequest

if TYPE_CHECKING:
    from transformer_core.analysis.training.experiment_reading import ExperimentReading

CLAIM = mark(
    "What is an encoding of positions worth? Swap it and train again: the same small model, the same first weights, "
    "the same letters in the same order, and nothing else differs. Trained on up to {trained} letters, each model is "
    "then asked for up to {tried}: that is how far it carries."
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
SHORTEST = 3  # letters that are trained on
LOOK_FOR = {
    "reverse": mark(
        "without positions the loss stops far above the others: the model knows which letters there are, but not "
        "where. Beyond the trained lengths those encodings fall at once whose numbers a model has not seen there "
        "(sinusoidal, learned); those that tell distances give way more slowly."
    ),
    "copy": mark(
        "without positions the loss stops far above the others: the model knows which letters there are, but not in "
        "which order. Beyond the trained lengths all of them give way, and not in the same order as when letters are "
        "reversed: what carries far in one task need not in another."
    ),
    "sort": mark(
        "here the encodings differ little, and none at all does nearly as well: to sort letters, a model must know "
        "which ones there are, and not where they stand. Choose another task, and it must."
    ),
}
HONEST = mark(
    "Only what a table adds to the embeddings reaches cross-attention; rotary, ALiBi and T5 buckets act within each "
    "stack, and the letters must bring what was learned there along. A token counts as right if it is the most "
    "probable one with the right ones before it. These are small models after a few hundred steps, one seed each: try "
    "another."
)
LEARNED = mark(
    "The table of learned positions has {rows} rows here, so that long texts can be asked for at all, but no text of "
    "the training reached beyond row {last}: the rows behind it hold what they began with."
)


def show() -> None:
    """Draw this part of the page."""
    claim = say(CLAIM, trained=LONGEST_TRAINED, tried=LONGEST_TRIED)
    st.html(f"<p class='hl-lead'>{html.escape(claim)}</p>")
    experiments.show(LABORATORY)


def _lengths(experiment: Experiment, reading: "ExperimentReading") -> None:
    """Draw how far each encoding carries."""
    from transformer_core.figures.curves.experiment_lengths import experiment_lengths

    assert experiment.request is not None, "what was measured was asked for"
    names = LABORATORY.names(experiment.request)
    figure = experiment_lengths(
        names,
        reading.lengths,
        reading.by_length,
        trained=(SHORTEST, LONGEST_TRAINED),
        unit=say("letters"),
        step=reading.measured_at,
        theme=theme(),
    )
    live_figure(
        figure,
        name="experiment-lengths",
        csv=_csv(reading),
        key="positions-experiment-lengths",
        about="",  # of small models that are trained here
        height=figure.layout.height,
    )


def _csv(reading: "ExperimentReading") -> str:
    """Return the share of right tokens as a table, a line a length."""
    lines = [",".join(["length", *reading.by_length])]
    lines += [
        ",".join([str(length), *(f"{values[place]:.4f}" for values in reading.by_length.values())])
        for place, length in enumerate(reading.lengths.tolist())
    ]
    return "\n".join(lines) + "\n"


def _look_for(request: ExperimentRequest) -> str:
    return say(LOOK_FOR[request.task])


def _remarks(request: ExperimentRequest) -> str:
    learned = [say(LEARNED, rows=LONGEST_TRIED + 1, last=LONGEST_TRAINED)] if "learned" in request.variants else []
    return " ".join([say(HONEST), *learned])


LABORATORY = Laboratory(
    kind="positions",
    variants=VARIANTS,
    variants_title=mark("Encodings"),
    draw=_lengths,
    look_for=_look_for,
    remarks=_remarks,
)
