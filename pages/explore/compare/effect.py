"""The effect on the output: how probable B finds what A wrote, token by token, and what B writes by itself."""

from typing import TYPE_CHECKING

import numpy as np

from headlight.analysis.heads.table import matrix_csv
from headlight.figures.bars.label_bars import label_bars
from pages.explore.compare.data import ComparisonData, kept
from pages.shared import prose
from pages.shared.answer import NO_HEAD
from pages.shared.glossary.links import definitions
from pages.shared.lines import output_in_a_line
from pages.shared.predictions.prediction import Edit
from pages.shared.recipe import Expression, Print, call, literal, named, value_of
from transformer_core.errors import mark
from transformer_core.language import say

if TYPE_CHECKING:
    from headlight.analysis.interventions.effect import Effect

HEIGHT = 320  # px
LOOK_FOR = mark(
    "bars below zero: tokens that are less probable in B than in A. Both are teacher-forced on A’s output, so every "
    "token has the same context."
)


def applies(data: ComparisonData) -> bool:
    """Whether the two sides are one model on one text, with something changed in it."""
    a, b = data.a, data.b
    return a.source != b.source and a.source.path == b.source.path and a.text == b.text


def edit(data: ComparisonData) -> Edit | None:
    """Return what heads that are ablated in B do to A's output, to be predicted; None where none are."""
    a, b = data.a, data.b
    if a.change == b.change or not b.change.enabled or not data.model_runs[0].predicts or not _is_known(data):
        return None
    found, labels = value_of((_effect(data), _output(data).labels))
    return Edit(
        of=repr(("heads", a.source, b.source, a.text, a.target)),
        labels=labels,
        before=np.exp(found.before),
        after=np.exp(found.after),
    )


def summarise(data: ComparisonData) -> None:
    """Say in one line what the change does to the output."""
    if not _is_known(data):
        return
    found: Effect = value_of(_effect(data))
    before, after = found.losses
    words = say(
        "Effect of B’s change on A’s output: loss {before:.3f} → {after:.3f} nats per token ({change:+.3f}), mean "
        "KL(A ‖ B) {kl:.3f} nats. Free-running, B {output}",
        before=before,
        after=after,
        change=after - before,
        kl=float(found.kl.mean()),
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
    if not data.model_runs[0].predicts:
        prose.note(say(NO_HEAD))
        return
    if not _is_known(data):
        prose.note(say("This text has no blanks, so there is no output to compare; type ____ where a word is missing."))
        return
    found, labels = value_of((_effect(data), _output(data).labels))
    figure = label_bars(
        {"": found.change},
        labels,
        title=say("Change in log-probability per output token, B − A"),
        label_name=say("output token of A"),
        value_name=say("change in log-probability (nats)"),
        width=1100,
        height=HEIGHT,
    )
    numbers = np.stack([found.before, found.after, found.change, found.kl])
    data.draw(
        figure,
        name="effect",
        key="compare-effect",
        csv=lambda: matrix_csv(
            numbers.T, "token", labels, "quantity", ("log_prob_a", "log_prob_b", "change", "kl"), "nats"
        ),
        arrays=lambda: {"log_prob_a": found.before, "log_prob_b": found.after, "kl": found.kl},
        code=code(data),
        height=HEIGHT,
    )
    prose.look_for(say(LOOK_FOR), definitions("kl-divergence", "cross-entropy", "teacher-forcing", "zero-ablation"))


def code(data: ComparisonData) -> list[Print]:
    """Return the lines that print what is shown."""
    if not _is_known(data):
        return data.outputs
    found = _effect(data)
    return [
        *data.outputs,
        Print(found.change, "[token], nats, B minus A"),
        Print(found.losses, "nats per token, A and B"),
        Print(found.kl.mean(), "nats, KL(A || B)"),
        Print(_free_running(data).output),
    ]


def _is_known(data: ComparisonData) -> bool:
    """Whether there is an effect: the sides are versions of one model, and A has an output."""
    return applies(data) and bool(value_of(_output(data)).positions)


def _effect(data: ComparisonData) -> Expression:
    """Return the effect as code."""
    from headlight.analysis.interventions.effect import effect, output_log_probs

    output, inputs = _output(data), data.recipes[0].inputs
    log_probs = (side.forward("log_probs", output_log_probs, inputs, output.positions) for side in (data.a, data.b))
    found = kept(call(effect, *log_probs, output.tokens), waiting=say("Running the models …"))
    return named("on_output", found)


def _output(data: ComparisonData) -> Expression:
    """Return what A wrote as code."""
    from headlight.analysis.interventions.effect import OutputTokens

    return named("output", literal(OutputTokens).of(data.recipes[0]))


def _free_running(data: ComparisonData) -> Expression:
    """Return B's model run where it is not made to write what A writes, as code."""
    return data.b.run("free_running_b", None)


def _own_output(data: ComparisonData) -> str:
    """Return what B writes when it is not made to write what A writes."""
    own = value_of(_free_running(data).output)
    if own == data.model_runs[0].output:
        return say("generates the same")
    return say("generates “{output}”", output=output_in_a_line(own) or "…")
