"""The effect on the output: how probable B finds what A wrote, token by token, and what B writes by itself."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pages.explore.compare_code import changed, opening
from pages.explore.compare_scene import Arrays, Scene
from pages.shared import models, prose
from pages.shared.answer import NO_HEAD
from pages.shared.style import theme
from transformer_core.analysis.heads.table import matrix_csv
from transformer_core.errors import mark
from transformer_core.figures.bars.label_bars import label_bars
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.analysis.flow.effect import Effect, OutputTokens

HEIGHT = 320  # px
LOOK_FOR = mark(
    "bars below zero: tokens that B finds less probable than A. Both models read A's output, so each token is judged "
    "after the same tokens (teacher forcing)."
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


def applies(scene: Scene) -> bool:
    """Whether the two sides are one model on one text, with something changed in it."""
    a, b = scene.a, scene.b
    return a.source != b.source and a.source.path == b.source.path and a.text == b.text


def summarise(scene: Scene) -> None:
    """Say in one line what the change does to the output."""
    if not applies(scene) or (found := _effect(scene)) is None:
        return
    before, after = found.losses
    words = say(
        "Effect of B's change on A's output: loss {before:.3f} → {after:.3f} nats per token ({change:+.3f}), mean "
        "KL(A ‖ B) {kl:.3f} nats. By itself, B {output}",
        before=before,
        after=after,
        change=after - before,
        kl=float(found.kl.mean()),
        output=_own_output(scene),
    )
    prose.note(words)


def show(scene: Scene) -> None:
    """Draw the change of each output token's log-probability."""
    if not applies(scene):
        prose.note(
            say(
                "An effect is measured where A and B are the same model on the same text and one of them is changed. "
                "Switch heads off in B, or choose two steps of one training."
            )
        )
        return
    found = _effect(scene)
    if not scene.model_runs[0].predicts:
        prose.note(say(NO_HEAD))
        return
    if found is None:
        prose.note(say("This text has no blank, so there is no output to compare; write ____ where a word is to be."))
        return
    labels = _output(scene).labels
    figure = label_bars(
        {"": found.change},
        labels,
        title=say("Change of log-probability per output token, B − A"),
        label_name=say("output token of A"),
        value_name=say("change of log-probability, nats"),
        theme=theme(),
        width=1100,
        height=HEIGHT,
    )
    numbers = np.stack([found.before, found.after, found.change, found.kl])
    scene.draw(
        figure,
        name="effect",
        key="compare-effect",
        csv=lambda: matrix_csv(
            numbers.T, "token", labels, "quantity", ("log_prob_a", "log_prob_b", "change", "kl"), "nats"
        ),
        arrays=lambda: {"log_prob_a": found.before, "log_prob_b": found.after, "kl": found.kl},
        code=code(scene),
        height=HEIGHT,
    )
    prose.look_for(say(LOOK_FOR))


def code(scene: Scene) -> str:
    """Return the lines that compute what is shown."""
    if not applies(scene):
        return opening(scene.a, scene.b)
    lines = {
        name: "\n".join(
            changed(side, f"{name} = output_log_probs(model_{side.letter.lower()}, a.inputs, output.positions)")
        )
        for name, side in (("before", scene.a), ("after", scene.b))
    }
    return opening(scene.a, scene.b) + CODE.format(**lines)


def _effect(scene: Scene) -> "Effect | None":
    """Return the effect, worked out once for all sessions; None where there is no output."""
    from transformer_core.analysis.flow.effect import Effect

    if not _output(scene).positions:
        return None
    return Effect(**scene.kept("effect", None, lambda: _compared(scene)))


def _compared(scene: Scene) -> Arrays:
    from transformer_core.analysis.flow.effect import effect, output_log_probs

    output = _output(scene)
    runs = []
    for side in (scene.a, scene.b):
        model, _ = side.source.load()
        with models.on(side.source.device), side.source.changed(model):
            runs.append(output_log_probs(model, scene.model_runs[0].inputs, output.positions))
    before, after = runs
    return dict(vars(effect(before, after, output.tokens)))


def _output(scene: Scene) -> "OutputTokens":
    from transformer_core.analysis.flow.effect import OutputTokens

    return OutputTokens.of(scene.model_runs[0], scene.a.weights.config.eos_id)


def _own_output(scene: Scene) -> str:
    """Return what B writes when it is not made to write what A writes."""
    own = replace(scene.b, target=None).read().output.strip()
    if own == scene.model_runs[0].output.strip():
        return say("writes the same.")
    return say("writes “{output}”.", output=own or "…")
