"""Train: how does a model learn this corpus, now, before my eyes?"""

from importlib import import_module
from threading import Thread

import streamlit as st

from pages.shared import prose, run_state, runs
from pages.train import setup, watch
from transformer_core.errors import mark
from transformer_core.language import say

LEAD = mark(
    "Train a model of your own and watch its heads form. A training is a process of its own: it goes on when this "
    "page is closed, and is found again when you come back."
)
_VISITED = "train-visited"  # session key: whether the page was drawn before
NEW = ""  # in place of a run's name: the next one


def page() -> None:
    """Draw the page: what is to be trained, or a training that was begun."""
    found = runs.available()
    is_first_visit = not st.session_state.get(_VISITED)
    st.session_state[_VISITED] = True
    name = run_state.current().run
    if name and name not in found:
        st.session_state[run_state.NOTE] = say(
            "There is no training “{name}” here; begin a new one, or choose another.", name=name
        )
        run_state.choose_run(NEW)
    elif not name and is_first_visit and not st.session_state[run_state.NEW_CHOSEN]:
        _come_back(found)
    left, right = st.columns([8, 4], vertical_alignment="bottom")
    with left:
        prose.heading(say("Train"), say(LEAD))
    if found:
        with right:
            choose(found)
    if note := st.session_state.pop(run_state.NOTE, ""):
        prose.info(note)
    if run_state.current().run:
        watch.page(found[run_state.current().run])
    else:
        runs.launcher().warm_up()
        _import_what_watching_takes()
        setup.page()


def _come_back(found: dict[str, runs.Run]) -> None:
    """Open what is being trained, or else what ended since anybody looked; and say what else there is."""
    at_work = [run for run in found.values() if run.is_at_work]
    ended = [run for run in found.values() if not run.is_at_work and runs.is_awaited(run)]
    if not at_work and not ended:
        return
    opened, *others = at_work or ended
    run_state.choose_run(opened.name)
    notes = []
    if ended:
        titles = ", ".join(run.title for run in ended)
        notes.append(say("While you were away: {trainings}.", trainings=titles))
    if at_work and others:
        notes.append(say("In this list, too: {trainings}.", trainings=", ".join(run.title for run in others)))
    st.session_state[run_state.NOTE] = " ".join(notes)


@st.cache_resource(show_spinner=False)
def _import_what_watching_takes() -> Thread:
    """Import beside the page what the first look at a training would wait for."""
    names = (
        "analysis.training.curves",
        "analysis.training.head_history",
        "figures.curves.training",
        "figures.curves.heads_over_time",
    )
    thread = Thread(target=lambda: [*map(import_module, (f"transformer_core.{name}" for name in names))], daemon=True)
    thread.start()
    return thread


def choose(found: dict[str, runs.Run]) -> None:
    """Choose a training, or a new one."""
    st.session_state[setup.CHOSEN_RUN] = run_state.current().run
    st.selectbox(
        say("Training"),
        [NEW, *found],
        key=setup.CHOSEN_RUN,
        format_func=lambda name: found[name].title if name in found else say("A new training …"),
        on_change=run_state.on_run,
        args=(setup.CHOSEN_RUN, [NEW, *found]),
    )


page()
