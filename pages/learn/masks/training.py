"""Train with the wrong mask, a part of the Masks page: the loss cheats, the decoding collapses."""

from typing import TYPE_CHECKING

from headlight.figures.curves.experiment import variant_hues
from headlight.language import percent, say
from pages.learn import experiments
from pages.learn.experiment_runs import Experiment
from pages.learn.experiments import Laboratory
from pages.shared import prose
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.training.curves import ExperimentReading

CLAIM = mark(
    "A wrong mask in training does not raise an error: it looks like success. A decoder that sees the token it has to "
    "predict learns to copy it, and its loss falls almost to 0, below that of the correct model. But at generation "
    "time the future does not exist yet, and the model fails."
)
VARIANTS = {
    "look_ahead": mark("correct mask"),
    "no_mask": mark("no causal mask"),
    "not_shifted": mark("targets not shifted"),
}
LOOK_FOR = mark(
    "the worst models have the lowest training loss. On held-out data, with the causal mask in place as in "
    "generation, their loss rises far above that of random guessing, and none of their output is correct. A loss "
    "that is too good to be true is the first sign of leakage."
)

REMARKS = mark(
    "Losses are in nats per token; the training loss is the mean over the last few batches. Held-out loss is always "
    "measured with the correct mask and shifted targets, as in generation. “No causal mask” changes only decoder "
    "self-attention; padding stays masked."
)


def show() -> None:
    """Draw this part of the page."""
    prose.html("<p class='hl-lead'>{}</p>", say(CLAIM))
    experiments.show(LABORATORY)


def _samples(experiment: Experiment, reading: "ExperimentReading") -> None:
    """Draw sample outputs of each variant next to input and target, then their losses."""
    assert experiment.request is not None, "measurements have a request"
    names = LABORATORY.names(experiment.request)
    title, aside = say("Output of each model"), say("after step {step:,}, free-running", step=reading.measured_at)
    prose.subheading(title, aside)
    hues = variant_hues([*names])
    named = {
        variant: prose.markup("<i style='background:{}'></i>{}", hues[variant], name) for variant, name in names.items()
    }
    rows = [
        (source, target, prose.each("{}", (_output(written[place], target) for written in reading.outputs.values())))
        for place, (source, target) in enumerate(reading.samples)
    ]
    heads = (say("input"), say("target"), *(named[variant] for variant in names if variant in reading.outputs))
    lines = prose.each("<tr><td><bdi>{}</bdi></td><td><bdi>{}</bdi></td>{}</tr>", rows)
    prose.html("{}", prose.table(heads, lines, "hl-experiment-samples"))
    right, losses = reading.last("exact_match"), reading.last("loss")
    results = [
        (named[variant], reading.smoothed_losses()[variant].values[-1], losses[variant], percent(right[variant]))
        for variant in names
        if variant in right and variant in reading.losses
    ]
    if results:
        titles = ("", say("training loss"), say("held-out loss"), say("exact match (free-running)"))
        lines = prose.each("<tr><td>{}</td><td>{:.3f}</td><td>{:.3f}</td><td>{}</td></tr>", results)
        prose.html("{}", prose.table(titles, lines, "hl-experiment-results"))


def _output(output: str, target: str) -> prose.Markup:
    if output == target:
        return prose.markup("<td class='hl-right'><bdi>{}</bdi> ✓</td>", output)
    if not output:
        return prose.markup("<td class='hl-wrong'><i>{}</i></td>", say("nothing"))
    return prose.markup("<td class='hl-wrong'><bdi>{}</bdi></td>", output)


LABORATORY = Laboratory(
    kind="masks",
    variants=VARIANTS,
    variants_title=mark("Runs"),
    draw=_samples,
    look_for=lambda _: say(LOOK_FOR),
    remarks=lambda _: say(REMARKS),
    has_held_out_losses=True,
)
