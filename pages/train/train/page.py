"""Train: how does a model learn this corpus, now, before my eyes?"""

from collections.abc import Sequence
from importlib import import_module
from threading import Thread

import streamlit as st

from headlight.language import say
from pages.shared import prose, runs
from pages.shared.view import run_state
from pages.train.train import setup, watch
from transformer_core.errors import mark

LEAD = mark(
    "Train your own model and watch its heads form. A training runs as a separate process: it continues when you "
    "close this page, and you can return to it."
)
NEW = ""  # in place of a run's name: the next one


def page() -> None:
    """Draw the page: the setup of a new training, or a training that has begun."""
    result = runs.available()
    if run_state.ENDED.value is None:
        run_state.ENDED.set([])
    ended = run_state.ENDED.value  # a list that stays the same: a script may end at any other write
    ended += runs.ended_since_last_visit(result)
    name = run_state.RUN.value
    if name and name not in result:
        run_state.NOTE.set(say("There is no training “{name}”; start a new one or choose another.", name=name))
        run_state.choose_run(NEW)
    elif not name and not run_state.IS_HERE.value and not run_state.NEW_CHOSEN.value:
        _come_back(result, ended)
    run_state.IS_HERE.set(True)
    left, right = st.columns([8, 4], vertical_alignment="bottom")
    with left:
        prose.heading(say("Train"), say(LEAD))
    if result:
        with right:
            choose(result)
    if note := run_state.NOTE.pop():
        prose.info(note)
    _offer(result, ended)
    if run_state.RUN.value:
        watch.page(result[run_state.RUN.value])
    else:
        runs.launcher().warm_up()
        _import_what_watching_takes()
        setup.page()


def _come_back(all_runs: dict[str, runs.Run], ended: Sequence[str]) -> None:
    """Open the training at work, or else one that ended since the last visit."""
    candidates = [run for run in all_runs.values() if run.is_at_work or run.name in ended]
    if not candidates:
        return
    opened, *others = [run for run in candidates if run.is_at_work] or candidates
    run_state.choose_run(opened.name)
    if not opened.is_at_work:
        run_state.NOTE.set(say("While you were away: {trainings}.", trainings=opened.title))
    elif others:
        titles = ", ".join(run.title for run in others)
        run_state.NOTE.set(say("Also in this list: {trainings}.", trainings=titles))


def _offer(all_runs: dict[str, runs.Run], ended: list[str]) -> None:
    """Offer to open the trainings that ended since the last visit and were not opened yet."""
    chosen = run_state.RUN.value
    ended[:] = [name for name in all_runs if name in ended and name != chosen and not all_runs[name].is_at_work]
    if not ended:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="hl-train-ended"):
        prose.small(say("Finished since your last visit:"))
        for name in ended:
            st.button(
                prose.plain(all_runs[name].title), key=f"open-{name}", on_click=run_state.choose_run, args=(name,)
            )


@st.cache_resource(show_spinner=False)
def _import_what_watching_takes() -> Thread:
    """Import in the background the modules that the first view of a training would otherwise wait for."""
    names = (
        "analysis.training.curves",
        "analysis.training.head_history",
        "figures.curves.training",
        "figures.curves.heads_over_time",
    )
    thread = Thread(target=lambda: [*map(import_module, (f"headlight.{name}" for name in names))], daemon=True)
    thread.start()
    return thread


def choose(all_runs: dict[str, runs.Run]) -> None:
    """Choose a training, or a new one."""
    run_state.RUN.selectbox(
        say("Training"),
        [NEW, *all_runs],
        name=lambda name: all_runs[name].title if name in all_runs else say("A new training …"),
        take=lambda name: run_state.on_run(name, [NEW, *all_runs]),
    )


page()
