"""One measure of every head over the steps of a training, as the Train and Film pages draw it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headlight.language import say, say_message
from pages.shared import prose, run_readings, runs
from pages.shared.run_figures import draw_heads
from pages.shared.runs import Run
from pages.shared.ticking import throttled
from pages.shared.view import run_state
from pages.shared.view.fields import Kept
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.training.head_history import Appearance, HeadHistory
    from headlight.figures import Figure

MEASURES = {
    "relative_entropy": mark("Entropy"),
    "diagonality": mark("Diagonality"),
    "previous": mark("Previous-token score"),
    "induction": mark("Induction score"),
    "aligned": mark("Alignment score"),
}
UNITS = {"relative_entropy": mark("of maximum entropy"), "diagonality": mark("diagonal")}
UNIT = mark("of its attention")  # of the other measures
HABITS = {
    "previous": (mark("a previous-token head"), mark("the previous token")),
    "induction": (mark("an induction head"), mark("the token after an earlier occurrence of the same token")),
    "aligned": (mark("an alignment head"), mark("the token that determines the next one")),
}
BECOMES = mark(
    "{head} becomes {kind} at step {step:,}: it puts {score:.2f} of its attention on "
    "{where}; shuffled tokens: {chance:.2f}."
)
IS_ALREADY = mark(
    "{head} is already {kind} at step {step:,}: it puts {score:.2f} of its attention on "
    "{where}; shuffled tokens: {chance:.2f}."
)


def history_of(run: Run) -> "tuple[HeadHistory, list[Appearance]]":
    """Return the measurements of the heads, and when heads specialized.

    Raises:
        HeadlightError: they cannot be read.
    """
    from headlight.analysis.training.head_history import HeadHistory, appearances

    history = HeadHistory.from_records(runs.read_records(run_readings.film(run).heads.path))
    return history, appearances(history) if history.heads else []


def draw(
    run: Run,
    history: "HeadHistory",
    events: "Sequence[Appearance]",
    *,
    page: str,
    about: str,
    key: str,
    chosen: tuple[str, int, int] | None,
    snapshot: int | None = None,
    width: int = 560,
    seen: tuple[object, ...] | None = None,
) -> None:
    """Draw one line for each head, and marks where heads specialized, if there are measurements.

    The line of the `chosen` head is strong, and the step `snapshot` is marked; without a snapshot, the first measure is
    selected by default. `page` is the prefix of the widgets' keys, and `seen` is the source for `throttled` if the
    figure is redrawn each second.
    """
    from headlight.analysis.training.head_history import HABITS, LEAST_SHARE
    from headlight.figures import heads_over_time

    measures = [measure for measure in MEASURES if history.heads and history.by_attention(measure)]
    if not measures:
        return
    prose.subheading(say("Heads over time"), about)
    common = max(measures, key=[event.measure for event in events].count)
    chosen_measure = Kept(f"{page}-measure", measures[0] if snapshot is None else common)
    measure = chosen_measure.value if chosen_measure.value in measures else chosen_measure.usual
    chosen_measure.segmented(say("Measure"), measures, name=lambda name: say(MEASURES[name]), shown=measure)
    is_habit = measure in HABITS

    def drawn() -> "Figure":
        return heads_over_time(
            history.steps,
            history.by_attention(measure),
            chances=history.by_attention(measure, "chance") if is_habit else None,
            unit=UNITS.get(measure, UNIT),
            threshold=LEAST_SHARE if is_habit else None,
            chosen=chosen,
            appearances=[
                ((event.name.attention, event.name.layer, event.name.head), event.step, appeared(event))
                for event in events
                if event.measure == measure
            ],
            snapshot=snapshot,
            n_steps=run.n_steps,
            width=width,
        )

    figure = drawn() if seen is None else throttled(f"{key}-figure", (*seen, measure, chosen), drawn)
    name = f"{run.name}-heads-{measure}"
    draw_heads(figure, history, measure, run.path, name=name, key=key, view=run_state.in_words)


def appeared(appearance: "Appearance") -> str:
    """Return a sentence on a head that became specialized."""
    kind, where = map(say, HABITS[appearance.measure])
    return say(
        IS_ALREADY if appearance.is_from_start else BECOMES,
        head=say_message(appearance.name.in_words()),
        kind=kind,
        step=appearance.step,
        score=appearance.score,
        where=where,
        chance=appearance.chance,
    )
