"""A paused or finished training: save its model, show the command that reproduces it, or delete it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from headlight.language import say
from pages.models import model_store
from pages.shared import code_expander, models, owners, prose, run_commands, run_readings
from pages.shared.runs import Run
from pages.shared.view import run_state
from pages.shared.view.fields import Kept
from transformer_core.errors import HeadlightError


@dataclass
class _Request:
    """A click on "Save as model" and its result, in one object, since each access to the session may end a script."""

    name: str
    next_step: Literal["save", "describe", "none"] = "save"
    kept: model_store.KeptModel | None = None
    trouble: str = ""


def offer(run: Run, step: int) -> None:
    """Offer to save the model of an inactive run at its last saved step, and show the run's command."""
    prose.subheading(say("Save as model"), say("with the weights of step {step:,}; available on every page", step=step))
    # The page may be redrawn at any moment, as when the training ends: a click records the request before anything
    # is drawn, each step is done once, and the result is shown until the next click.
    name, request = Kept(f"keep-name-{run.name}"), Kept(f"keep-request-{run.name}-{run_readings.version(run)}")
    with st.form("keep-model", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(say("Name"), value=run.name, max_chars=60, key=name.key)
        st.form_submit_button(
            say("Save as model"),
            type="primary",
            icon=":material/inventory_2:",
            on_click=lambda: request.set(_Request(" ".join(name.value.split()) or run.name)),
        )
    if request.value:
        _answer(request.value, run)
    if run.request:
        command = str(run.request["command"])
        code_expander.command(say("Reproduce from the command line"), lambda: command)


def _answer(request: _Request, run: Run) -> None:
    """Save a model and measure its heads, unless already done, and report the result."""
    from headlight.cli.describing import describe_heads

    if request.next_step == "save":
        try:
            request.kept, request.next_step = model_store.keep_run(run.path, request.name), "describe"
        except HeadlightError as error:
            request.trouble, request.next_step = say("The model was not saved: {error}.", error=error), "none"
    if request.kept and request.kept.name in models.available():
        name, title, step = request.kept
        prose.success(say("Saved as “{name}”, after step {step:,}.", name=title, step=step))
        if st.button(say("Look at its heads"), icon=":material/grid_view:", key="open-kept"):
            st.switch_page("explore/heads/page.py", query_params={"model": name})
        if request.next_step == "describe":
            with st.spinner(say("Saved. Measuring its heads for the model card …"), show_time=True):
                try:
                    describe_heads(run.path, models.folder() / name)
                except HeadlightError as error:
                    request.trouble = say("The model is saved, but {error}.", error=error)
                request.next_step = "none"
    if request.trouble:
        prose.warning(request.trouble)


def put_away(run: Run) -> None:
    """Offer to delete an inactive run of this visitor."""
    if not owners.is_mine(run.path):
        return
    gone = say("Deletes its weights, snapshots and measurements. Models saved from it stay.")

    def delete() -> None:
        run_commands.delete(run)
        run_state.choose_run("")

    offer_deletion(say("Delete this training …"), run.name, gone, delete, key="delete-run")


def offer_deletion(title: str, name: str, about: str, delete: Callable[[], None], *, key: str) -> None:
    """Draw a folded button that deletes an object or, if that fails, shows the reason."""

    def on_click() -> None:
        try:
            delete()
        except HeadlightError as error:
            run_state.NOTE.set(say("It was not deleted: {error}.", error=error))

    with st.popover(prose.plain(title), type="tertiary", icon=":material/delete:", key=key):
        prose.small(about)
        st.button(prose.plain(say("Delete {name}", name=name)), key=f"{key}-really", type="primary", on_click=on_click)
