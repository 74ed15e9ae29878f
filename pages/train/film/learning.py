"""The training around the chosen snapshot: its loss, the scores of its heads, and when heads specialized."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from headlight.language import localized, say, say_number
from pages.shared import prose, runs
from pages.shared.glossary.links import definitions
from pages.shared.heads import head_in_words
from pages.shared.recipe import call, named
from pages.shared.run_figures import draw_curves, records_of, weights_folder
from pages.shared.runs import Run
from pages.shared.view import run_state
from pages.train.film.film_readings import SnapshotData
from pages.train.heads_over_time import appeared
from transformer_core.errors import HeadlightError, mark

KINDS = {"previous": mark("previous token"), "induction": mark("induction"), "aligned": mark("alignment")}
RULE = mark(
    "A head counts as specialized from the first of {n} consecutive snapshots at which it "
    "puts at least {share} of its attention on the tokens that define its type, {spreads} or "
    "more standard deviations above the score on shuffled tokens."
)
NARROWEST = 350  # px: width of the loss column in the narrowest window with two columns

if TYPE_CHECKING:
    from headlight.analysis.training.curves import Curve
    from headlight.analysis.training.head_history import Appearance


def losses(run: Run) -> "dict[str, Curve]":
    """Return the training and held-out loss, as far as they were logged and can be read."""
    from headlight.analysis.training.curves import curves_of

    try:
        curves = curves_of(runs.records(run))
    except HeadlightError as error:
        prose.caption(say("The losses cannot be read: {error}.", error=error))
        return {}
    return {name: curve for name, curve in curves.items() if name in ("loss", "held_out_loss")}


def lines(data: SnapshotData) -> dict[str, tuple[list[float], tuple[float, float]]]:
    """Return the curves above the slider: the loss, and the probability of the target."""
    from headlight.analysis.training.curves import smoothed
    from headlight.analysis.training.film_reading import values_at

    reading, curve, result = data.read.reading, losses(data.run).get("loss"), {}
    if curve is not None:
        values = values_at(smoothed(curve), reading.steps).round(4).tolist()
        result[say("loss")] = values, (min(values), max(values))
    if reading.fixed.judged:
        result[say("probability")] = reading.mean_probability.round(4).tolist(), (0.0, 1.0)
    return result


def loss(data: SnapshotData, appearances: "Sequence[Appearance]") -> None:
    """Draw the loss with the chosen snapshot, and a mark where a head specialized."""
    from headlight.analysis.training.curves import curves_of
    from headlight.figures import training_curves

    prose.subheading(say("Loss"), say("and head emergence"), definitions("cross-entropy", "head-emergence"))
    curves = losses(data.run)
    figure = training_curves(
        curves,
        appearances=[(appearance.step, appeared(appearance)) for appearance in appearances],
        snapshot=data.step,
        n_steps=data.run.n_steps,
        width=NARROWEST,
    )
    recipe = named("of_training", call(curves_of, records_of(data.run.path, "metrics.jsonl")))
    of_loss = {kind: recipe[kind] for kind in curves}
    draw_curves(
        figure,
        curves,
        of_loss,
        name=f"{data.run.name}-loss",
        key=run_state.FILM_LOSS,
        view=run_state.in_words,
        model=weights_folder(data.run.path),
    )


def appearances(data: SnapshotData, events: "Sequence[Appearance]") -> None:
    """List when heads specialized, each with a button that goes to that snapshot and head."""
    from headlight.analysis.training.head_history import LEAST_SHARE, N_SNAPSHOTS, N_SPREADS

    reading = data.read.reading
    prose.subheading(say("Head emergence"), say_number(len(events), "{n} time", "{n} times") if events else "")
    terms = definitions("head-emergence", "previous-token-score", "induction-head", "alignment-score")
    prose.small(say(RULE, n=N_SNAPSHOTS, share=LEAST_SHARE, spreads=N_SPREADS), terms)
    if not events:
        prose.paragraph(say("No head of this training specialized in one of these roles."))
        return
    with st.container(key="hl-film-appearances", gap=None):
        for i, appearance in enumerate(events):
            when = say("step {step:,}", step=appearance.step)
            when = say("from the start") if appearance.is_from_start else when
            head, score = head_in_words(*appearance.name), localized(appearance.score, ".2f")
            st.button(
                f"**{prose.plain(when)}** {prose.plain(f'{say(KINDS[appearance.measure])}: {head}, {score}')}",
                key=f"film-appearance-{i}",
                type="tertiary",
                help=prose.plain(appeared(appearance)),
                on_click=run_state.go_to,
                args=(int(reading.steps[reading.place(appearance.step)]), *appearance.name),
            )


def marks(film_steps: Sequence[int], events: "Sequence[Appearance]") -> list[tuple[int, str]]:
    """Return the indices of the snapshots at which heads specialized, each with its sentences."""
    by_place: dict[int, list[str]] = {}
    for appearance in events:
        place = min(range(len(film_steps)), key=lambda i: abs(film_steps[i] - appearance.step))
        by_place.setdefault(place, []).append(appeared(appearance))
    return [(place, "\n".join(sentences)) for place, sentences in sorted(by_place.items())]
