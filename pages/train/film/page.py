"""Film: when did this head come about? Any text at any moment of the training."""

from collections.abc import Mapping, Sequence

import streamlit as st

from headlight.language import say, say_number
from pages.shared import prose, run_readings, runs
from pages.shared.runs import Run
from pages.shared.view import run_state
from pages.train.film import stage
from transformer_core.config import ModelConfig
from transformer_core.errors import HeadlightError, mark

LEAD = mark(
    "When did this head emerge? Each training keeps snapshots of its weights, dense early and sparser later. Run any "
    "text through any snapshot and watch the heads specialize."
)
TICK = 3.0  # seconds between two checks of a growing film


def page() -> None:
    """Draw the page: the choice of the training, then its film."""
    result = runs.available()
    notes = [note for note in [run_state.NOTE.pop()] if note]
    run = _run(result, notes)
    left, right = st.columns([8, 4], vertical_alignment="bottom")
    with left:
        prose.heading(say("Film"), say(LEAD))
    if run is None:
        prose.note(say("There is no training yet; snapshots appear here as soon as one has started."))
        return
    with right:
        run_state.RUN.selectbox(
            say("Training"),
            [*result],
            name=lambda name: result[name].title,
            take=lambda name: run_state.on_run(name, [*result]),
            part="film",
            label_visibility="collapsed",
        )
    try:
        config, snapshots = runs.configurations(run)[0], run_readings.film(run).snapshots()
    except (HeadlightError, OSError) as error:
        begins = say("{run} is about to start; its first snapshot comes with the first step.", run=run.name)
        prose.note(begins if run.is_at_work else say("These snapshots cannot be read: {error}.", error=error))
        _grows(run, 0)
        return
    if len(snapshots) < 2:
        _facts(run, snapshots)
        _grows(run, len(snapshots))
        return
    _grows(run, len(snapshots))
    notes += _within(config, snapshots)
    with st.container(key="hl-film-notes"):
        if notes:
            prose.note(" ".join(notes))
    stage.show(run.name, tuple(snapshots))
    _facts(run, snapshots)


def _run(runs: Mapping[str, Run], notes: list[str]) -> Run | None:
    """Return the wanted run, or by default the newest with a film; None if there are no runs."""
    wanted = run_state.RUN.value
    if wanted in runs:
        return runs[wanted]
    if not runs:
        return None
    nearest = next(
        (run for run in runs.values() if len(run_readings.film(run).snapshots()) > 1), next(iter(runs.values()))
    )
    if wanted:
        notes.append(
            say(
                "There is no training “{wanted}” here; {nearest} is shown instead.",
                wanted=wanted[:60],
                nearest=nearest.name,
            )
        )
        run_state.choose_run(nearest.name)
    run_state.RUN.set(nearest.name)
    return nearest


def _facts(run: Run, snapshots: list[int]) -> None:
    """Show the length and size of the film, or a sentence on why it cannot be played."""
    limit = int(run.request["training"]["film_megabytes"]) if run.request else 0
    if not snapshots:
        why = (
            say("its first snapshot comes with its first step")
            if run.is_at_work
            else say("its snapshots no longer exist")
        )
        why = why if limit else say("snapshots are turned off (film_megabytes is 0)")
        prose.note(say("{run} has no snapshots; {why}.", run=run.name, why=why))
        return
    size = run_readings.film(run).n_bytes() / 1e6
    if len(snapshots) == 1:
        more = (
            say("the next one comes soon")
            if run.is_at_work
            else say("at least two are needed; resume this training or choose another")
        )
        prose.note(
            say(
                "{run} has one snapshot, step {step:,} ({size:,.1f} MB); {more}.",
                run=run.name,
                step=snapshots[0],
                size=size,
                more=more,
            )
        )
        return
    facts = say(
        "{n} snapshots from step {first:,} to {last:,}, {size:,.0f} of {limit:,} MB. When the limit is reached, the "
        "most closely spaced snapshots are dropped.",
        n=len(snapshots),
        first=snapshots[0],
        last=snapshots[-1],
        size=size,
        limit=limit,
    )
    prose.small(facts)


def _grows(run: Run, n_known: int) -> None:
    """Announce new snapshots of a running training, and load them on request."""
    with st.container(key="hl-film-grows"):  # stays when the training ends, so that the content below does not move
        if run.is_at_work:
            st.fragment(_new_snapshots, run_every=TICK)(run.name, n_known)


def _new_snapshots(name: str, n_known: int) -> None:
    run = runs.find(name)
    if run is None:
        st.rerun()
    n_now = len(run_readings.film(run).snapshots())
    if (n_known < 2 <= n_now) or not run.is_at_work:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        trained = say("{run} is training: {far}.", run=name, far=run.far)
        prose.small(trained, width="content")
        if n_now > n_known:
            new = say_number(n_now - n_known, "Load {n} new snapshot", "Load {n} new snapshots")
            if st.button(
                prose.plain(new),
                key="film-take-in",
                type="tertiary",
                icon=":material/add_photo_alternate:",
                on_click=run_state.SNAPSHOT.set,  # also if the page is redrawn before it reaches the button
                args=(None,),
            ):
                st.rerun()


def _within(config: ModelConfig, snapshots: Sequence[int]) -> list[str]:
    """Clamp the view to existing snapshots and heads; return a sentence for each request that this changes."""
    wanted, notes = run_state.SNAPSHOT.value, []
    if wanted is not None and wanted not in snapshots:
        nearest = min(snapshots, key=lambda snapshot: abs(snapshot - wanted))
        notes.append(
            say(
                "There is no snapshot at step {step}; step {nearest:,} is shown instead.",
                step=str(wanted)[:20],
                nearest=nearest,
            )
        )
        run_state.SNAPSHOT.set(nearest)
    return notes + run_state.SHOWN_HEAD.fit(config)


page()
