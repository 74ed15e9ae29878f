"""The effect on the output: the probability of each token of A's output in B, and B's own output."""

from typing import TYPE_CHECKING

import numpy as np

from headlight.analysis.heads.table import matrix_csv
from headlight.figures.bars.label_bars import label_bars
from headlight.language import say
from pages.explore.compare.data import ComparisonData, kept
from pages.shared import prose
from pages.shared.answer import NO_HEAD
from pages.shared.glossary.links import definitions
from pages.shared.lines import output_in_a_line
from pages.shared.predictions.prediction import PredictedEdit
from pages.shared.recipe import Expression, Print, call, literal, named, value_of
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.interventions.effect import Effect

HEIGHT = 320  # px
LOOK_FOR = mark(
    "bars below zero: tokens that are less probable in B than in A. Both are teacher-forced on A’s output, so every "
    "token has the same context."
)


def applies(data: ComparisonData) -> bool:
    """Whether both sides are the same model on the same text, with different weights or interventions."""
    a, b = data.a, data.b
    return a.source != b.source and a.source.path == b.source.path and a.text == b.text


def edit(data: ComparisonData) -> PredictedEdit | None:
    """Return the effect of B's interventions on A's output, for a person to predict; None if there is no effect."""
    a, b = data.a, data.b
    if a.change == b.change or not b.change.enabled or not a.model_run.predicts or not _is_known(data):
        return None
    on_output, labels = value_of((_effect(data), _output(data).labels))
    return PredictedEdit(
        of=repr(("heads", a.source, b.source, a.text, a.target)),
        labels=labels,
        before=np.exp(on_output.before),
        after=np.exp(on_output.after),
    )


def summarise(data: ComparisonData) -> None:
    """Say in one line what the change does to the output."""
    if not data.a.model_run.predicts or not _is_known(data):
        return
    on_output: Effect = value_of(_effect(data))
    before, after = on_output.losses
    words = say(
        "Effect of B’s change on A’s output: loss {before:.3f} → {after:.3f} nats per token ({change:+.3f}), mean "
        "KL(A ‖ B) {kl:.3f} nats. Free-running, B {output}",
        before=before,
        after=after,
        change=after - before,
        kl=float(on_output.kl.mean()),
        output=_own_output(data),
    )
    prose.note(words)


def show(data: ComparisonData) -> None:
    """Draw the change of each output token's log-probability."""
    if not applies(data):
        prose.note(
            say(
                "The effect is measured between two versions of one model on the same text. Ablate heads in B, or "
                "choose two snapshots of one training run."
            )
        )
        return
    if not data.a.model_run.predicts:
        prose.note(say(NO_HEAD))
        return
    if not _is_known(data):
        prose.note(say("This text has no blanks, so there is no output to compare; type ____ where a word is missing."))
        return
    on_output, labels = value_of((_effect(data), _output(data).labels))
    figure = label_bars(
        {"": on_output.change},
        labels,
        title=say("Change in log-probability per output token, B − A"),
        label_name=say("output token of A"),
        value_name=say("change in log-probability (nats)"),
        width=1100,
        height=HEIGHT,
    )
    numbers = np.stack([on_output.before, on_output.after, on_output.change, on_output.kl])
    data.draw(
        figure,
        name="effect",
        key="compare-effect",
        csv=lambda: matrix_csv(
            numbers.T, "token", labels, "quantity", ("log_prob_a", "log_prob_b", "change", "kl"), "nats"
        ),
        arrays=lambda: {"log_prob_a": on_output.before, "log_prob_b": on_output.after, "kl": on_output.kl},
        code=code(data),
    )
    prose.look_for(say(LOOK_FOR), definitions("kl-divergence", "cross-entropy", "teacher-forcing", "zero-ablation"))


def code(data: ComparisonData) -> list[Print]:
    """Return the lines that print what is shown."""
    if not _is_known(data):
        return data.outputs
    on_output = _effect(data)
    return [
        *data.outputs,
        Print(on_output.change, "[token], nats, B minus A"),
        Print(on_output.losses, "nats per token, A and B"),
        Print(on_output.kl.mean(), "nats, KL(A || B)"),
        Print(_free_running(data).output),
    ]


def _is_known(data: ComparisonData) -> bool:
    """Whether there is an effect: the sides are versions of one model, and A has an output."""
    return applies(data) and bool(value_of(_output(data)).positions)


def _effect(data: ComparisonData) -> Expression:
    from headlight.analysis.interventions.effect import effect, output_log_probs

    output, inputs = _output(data), data.a.recipe.inputs
    log_probs = (side.forward("log_probs", output_log_probs, inputs, output.positions) for side in data.sides)
    compared = kept(call(effect, *log_probs, output.tokens), waiting=say("Running the models …"))
    return named("on_output", compared)


def _output(data: ComparisonData) -> Expression:
    from headlight.analysis.interventions.effect import OutputTokens

    return named("output", literal(OutputTokens).of(data.a.recipe))


def _free_running(data: ComparisonData) -> Expression:
    """Return B's model run without A's output forced on it, as code."""
    return data.b.run("free_running_b", None)


def _own_output(data: ComparisonData) -> str:
    """Return B's output in words when A's output is not forced on it."""
    own = value_of(_free_running(data).output)
    if own == data.a.model_run.output:
        return say("generates the same")
    return say("generates “{output}”", output=output_in_a_line(own) or "…")
