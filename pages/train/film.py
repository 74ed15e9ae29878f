"""Film: when did this head come about? Any text at any moment of the training."""

import html
from collections.abc import Mapping, Sequence

import streamlit as st

from pages.shared import run_readings, run_state, runs
from pages.shared.runs import Run
from pages.train import film_stage
from pages.train.film_scene import calm
from transformer_core.analysis import attentions_of
from transformer_core.config import ModelConfig
from transformer_core.errors import HeadlightError

LEAD = (
    "When did this head come about? A training keeps snapshots of itself, dense early and thinning out. Read any text "
    "with the weights of any of these moments, and watch the heads take shape."
)
CHOSEN_RUN = "film-chosen-run"  # key of the choice
TICK = 3.0  # seconds between two looks at a film that grows


def page() -> None:
    """Draw the page: the choice of the training, then its film."""
    found = runs.available()
    notes = [note for note in [st.session_state.pop(run_state.NOTE, "")] if note]
    run = _run(found, notes)
    left, right = st.columns([8, 4], vertical_alignment="bottom")
    left.html(f"<h1 class='hl-title'>Film</h1><p class='hl-lead'>{html.escape(LEAD)}</p>")
    if run is None:
        calm("There is no training here yet; the film of the first one begins with its first step.")
        return
    with right:
        _choose(found, run)
    try:
        config, moments = runs.configurations(run)[0], run_readings.film(run).moments()
    except (HeadlightError, OSError) as error:
        begins = f"{run.name} is about to begin; its film begins with its first step."
        calm(begins if run.is_at_work else f"This film cannot be read: {error}.")
        _grows(run, 0)
        return
    _facts(run, moments)
    _grows(run, len(moments))
    if len(moments) < 2:
        return
    notes += _within(config, moments)
    with st.container(key="hl-film-notes"):
        if notes:
            calm(" ".join(notes))
    film_stage.show(run.name, tuple(moments))


def _run(found: Mapping[str, Run], notes: list[str]) -> Run | None:
    """Return the wanted run; without one, the newest with a film; none where there are no runs."""
    wanted = run_state.current().run
    if wanted in found:
        return found[wanted]
    if not found:
        return None
    nearest = next(
        (run for run in found.values() if len(run_readings.film(run).moments()) > 1), next(iter(found.values()))
    )
    if wanted:
        notes.append(f"There is no training “{wanted[:60]}” here, so you see {nearest.name}.")
        run_state.choose_run(nearest.name)
    st.session_state[run_state.RUN] = nearest.name
    return nearest


def _choose(found: Mapping[str, Run], run: Run) -> None:
    st.session_state[CHOSEN_RUN] = run.name
    st.selectbox(
        "Training",
        [*found],
        key=CHOSEN_RUN,
        format_func=lambda name: found[name].title,
        on_change=lambda: run_state.choose_run(st.session_state[CHOSEN_RUN]),
    )


def _facts(run: Run, moments: list[int]) -> None:
    """Say how long and how large the film is; one that cannot be played, in one sentence."""
    limit = int(run.request["training"]["film_megabytes"]) if run.request else 0
    if not moments:
        why = (
            "its first snapshot comes with its first step" if run.is_at_work else "its snapshots are not there any more"
        )
        why = why if limit else "it was asked for none (film_megabytes is 0)"
        calm(f"{run.name} has no film; {why}.")
        return
    size = run_readings.film(run).n_bytes() / 1e6
    if len(moments) == 1:
        more = "the next one comes soon" if run.is_at_work else "a film needs two; let this training go on, or another"
        calm(f"The film of {run.name} has one moment, step {moments[0]:,} ({size:,.1f} MB); {more}.")
        return
    st.html(
        f"<p class='hl-small'>{len(moments)} moments from step {moments[0]:,} to {moments[-1]:,}, "
        f"{size:,.0f} MB of at most {limit:,} MB. Where a film is full, the moments closest to others are left out.</p>"
    )


def _grows(run: Run, n_known: int) -> None:
    """Say when a training that goes on has new moments, and take them in when a person asks."""
    with st.container(key="hl-film-grows"):  # which stays when the training ends: what is below keeps its place
        if run.is_at_work:
            st.fragment(_new_moments, run_every=TICK)(run.name, n_known)


def _new_moments(name: str, n_known: int) -> None:
    run = runs.find(name)
    if run is None:
        st.rerun()
    n_now = len(run_readings.film(run).moments())
    if (n_known < 2 <= n_now) or not run.is_at_work:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        far = f"step {run.step:,} of {run.n_steps:,}" if run.n_steps else "it begins"
        st.html(f"<p class='hl-small'>{html.escape(name)} is being trained: {far}.</p>", width="content")
        if n_now > n_known:
            new = f"Take in {n_now - n_known} new moment{'s' if n_now > n_known + 1 else ''}"
            if st.button(new, key="film-take-in", type="tertiary", icon=":material/add_photo_alternate:"):
                st.session_state[run_state.MOMENT] = None
                st.rerun()


def _within(config: ModelConfig, moments: Sequence[int]) -> list[str]:
    """Keep the view within what there is, and say where that is not what was asked for."""
    view, attentions, notes = run_state.current(), attentions_of(config), []
    wanted = view.moment
    if wanted is not None and wanted not in moments:
        nearest = min(moments, key=lambda moment: abs(moment - wanted))
        notes.append(f"The film has no moment at step {str(wanted)[:20]}, so you see step {nearest:,}.")
        st.session_state[run_state.MOMENT] = nearest
    if view.attention and view.attention not in attentions:
        notes.append(f"There is no attention “{view.attention}” in this model; it has {', '.join(attentions)}.")
    run_state.fit(config)
    now = run_state.current()
    if (view.layer, view.head) != (now.layer, now.head):
        notes.append(
            f"There is no layer {str(view.layer)[:20]}, head {str(view.head)[:20]}, so you see layer {now.layer}, "
            f"head {now.head}."
        )
    return notes


page()
