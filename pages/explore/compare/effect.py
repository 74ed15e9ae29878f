"""The effect on the output: how probable B finds what A wrote, token by token, and what B writes by itself."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pages.explore.compare.code import changed, opening
from pages.explore.compare.data import Arrays, ComparisonData
from pages.shared import models, prose
from pages.shared.answer import NO_HEAD
from pages.shared.glossary.links import definitions
from pages.shared.style import theme
from transformer_core.analysis.heads.table import matrix_csv
from transformer_core.errors import mark
from transformer_core.figures.bars.label_bars import label_bars
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.analysis.flow.effect import Effect, OutputTokens

HEIGHT = 320  # px
LOOK_FOR = mark(
    "bars below zero: tokens that B finds less probable than A does. Both are teacher-forced on A’s output, so "
    "every token has the same context."
)
CODE = """
from transformer_core.analysis.flow.effect import OutputTokens, effect, output_log_probs

output = OutputTokens.of(a, tokenizer_a.eos_id)
{before}
{after}
found = effect(before, after, output.tokens)
print(found.change)  # [token], nats, B minus A
print(found.losses)  # nats per token, A and B
print(found.kl.mean())  # nats, KL(A || B)
"""


def applies(data: ComparisonData) -> bool:
    """Whether the two sides are one model on one text, with something changed in it."""
    a, b = data.a, data.b
    return a.source != b.source and a.source.path == b.source.path and a.text == b.text


def summarise(data: ComparisonData) -> None:
    """Say in one line what the change does to the output."""
    if not applies(data) or (found := _effect(data)) is None:
        return
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
    found = _effect(data)
    if not data.model_runs[0].predicts:
        prose.note(say(NO_HEAD))
        return
    if found is None:
        prose.note(say("This text has no blanks, so there is no output to compare; type ____ where a word is missing."))
        return
    labels = _output(data).labels
    figure = label_bars(
        {"": found.change},
        labels,
        title=say("Change in log-probability per output token, B − A"),
        label_name=say("output token of A"),
        value_name=say("change in log-probability (nats)"),
        theme=theme(),
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


def code(data: ComparisonData) -> str:
    """Return the lines that compute what is shown."""
    if not applies(data):
        return opening(data.a, data.b)
    lines = {
        name: "\n".join(
            changed(side, f"{name} = output_log_probs(model_{side.letter.lower()}, a.inputs, output.positions)")
        )
        for name, side in (("before", data.a), ("after", data.b))
    }
    return opening(data.a, data.b) + CODE.format(**lines)


def _effect(data: ComparisonData) -> "Effect | None":
    """Return the effect, worked out once for all sessions; None where there is no output."""
    from transformer_core.analysis.flow.effect import Effect

    if not _output(data).positions:
        return None
    return Effect(**data.kept("effect", None, lambda: _compared(data)))


def _compared(data: ComparisonData) -> Arrays:
    from transformer_core.analysis.flow.effect import effect, output_log_probs

    output = _output(data)
    runs = []
    for side in (data.a, data.b):
        model, _ = side.source.load()
        with models.on(side.source.device), side.source.changed(model):
            runs.append(output_log_probs(model, data.model_runs[0].inputs, output.positions))
    before, after = runs
    return dict(vars(effect(before, after, output.tokens)))


def _output(data: ComparisonData) -> "OutputTokens":
    from transformer_core.analysis.flow.effect import OutputTokens

    return OutputTokens.of(data.model_runs[0], data.a.weights.config.eos_id)


def _own_output(data: ComparisonData) -> str:
    """Return what B writes when it is not made to write what A writes."""
    own = replace(data.b, target=None).read().output.strip()
    if own == data.model_runs[0].output.strip():
        return say("generates the same")
    return say("generates “{output}”", output=own or "…")
