"""The page Server: memory, trainings, times of pages, and failures, as they are now."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from headlight.language import localized, say
from pages.shared import cache, health, prose, runs
from pages.shared.page import pages
from transformer_core.errors import mark

LEAD = mark("For server administrators: memory, trainings, response times, errors.")
TIME = "%Y-%m-%d %H:%M:%S"


def memory() -> None:
    """Show how much of the budget is used, and for what."""
    resident = health.resident_mib()
    taken = "" if resident is None else say("{mib:,.0f} MiB in this process", mib=resident)
    prose.subheading(say("Memory"), taken)
    kept, most = cache.shared().use(), cache.shared().most_bytes
    used = sum(use.n_bytes for use in kept.values())
    prose.caption(
        say(
            "{used:,.0f} of {most:,.0f} MiB cached. When the budget is full, the least recently used entries are "
            "evicted first. The environment variable {variable} sets the budget, as a share of the machine’s memory "
            "or as a size.",
            used=used / cache.MIB,
            most=most / cache.MIB,
            variable=cache.VARIABLE,
        )
    )
    if not kept:
        prose.caption(say("Nothing is cached yet."))
        return
    table(
        {
            say("store"): [say(name) for name in kept],
            say("entries"): [use.n_entries for use in kept.values()],
            say("MiB"): [use.n_bytes / cache.MIB for use in kept.values()],
            say("evicted"): [use.n_evicted for use in kept.values()],
        },
        decimals=1,
    )


def trainings() -> None:
    """Show which trainings are running."""
    prose.subheading(say("Trainings"))
    results = [run for run in runs.available().values() if run.is_at_work]
    if not results:
        prose.caption(say("None is running."))
        return
    for run in results:
        link = {"run": run.name}
        st.page_link(
            pages()["train"].script, label=prose.plain(f"{run.title}, {localized(run.step)}"), query_params=link
        )


def times() -> None:
    """Show the duration of full runs of each page."""
    prose.subheading(say("Response times"), say("whole page runs, in seconds; last {n} per page", n=health.MOST_RUNS))
    measured = {page: list(seconds) for page, seconds in health.health().seconds.items()}
    if not measured:
        prose.caption(say("No page has been drawn yet."))
        return
    middle, late = ([np.quantile(seconds, share) for seconds in measured.values()] for share in (0.5, 0.95))
    table(
        {
            say("page"): [say(pages()[page].title) for page in measured],
            say("runs"): [len(seconds) for seconds in measured.values()],
            say("median"): [float(value) for value in middle],
            say("95%"): [float(value) for value in late],
            say("longest"): [max(seconds) for seconds in measured.values()],
        },
        decimals=2,
    )


def failures() -> None:
    """Show the unexpected errors."""
    prose.subheading(say("Failures"), say("last {n}; see the log for details", n=health.MOST_FAILURES))
    results = list(health.health().failures)
    if not results:
        prose.caption(say("None since the server started."))
        return
    table(
        {
            say("time (UTC)"): [failure.at.strftime(TIME) for failure in results],
            say("error"): [failure.what for failure in results],
            say("where"): [failure.where for failure in results],
        }
    )


def table(columns: Mapping[str, object], *, decimals: int = 0) -> None:
    """Draw a table with room for the names in its first column, and with `decimals` for numbers that are not whole."""
    frame = pd.DataFrame(columns)
    numbers = dict.fromkeys(frame.select_dtypes("float"), lambda number: localized(number, f",.{decimals}f"))
    config = {next(iter(columns)): st.column_config.Column(width="medium")}
    st.dataframe(frame.style.format(numbers), hide_index=True, column_config=config)


prose.heading(say("Server"), say(LEAD))
st.button(say("Refresh"), icon=":material/refresh:")
with st.container(key="hl-server"):
    left, right = st.columns(2, gap="large")
with left:
    memory()
    trainings()
with right:
    times()
    failures()
