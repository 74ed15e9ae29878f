"""The frame around every page: navigation, the one place to choose model and text, and what the model says to it."""

from typing import Literal

import streamlit as st

from headlight.language import say
from pages.shared import health, interventions_sign, machine, model_bar, models, owners, presenter, prose, style
from pages.shared.page import SECTIONS, Page, pages
from pages.shared.view import locale, run_state, state, visits
from pages.shared.view.address import Address

SERVER = Address("server")
HOME = "start"  # the page at the server's root address


def show(page: Page) -> None:
    """Draw the frame of a page, and the page."""
    visits.arrive(page.url, is_explained=presenter.PRESENTER.value)
    if page.url != "train":  # the next visit of that page counts as a new one
        run_state.IS_HERE.pop()
        run_state.ENDED.pop()
    if page.subject == "server":
        model_bar.sidebar()
        navigation.run()
        SERVER.write(locale.published())
        return
    cards = models.available(page.url)
    if page.subject == "run":  # a training is chosen on the page itself, and no model
        model_bar.sidebar()
        run_state.seed()
        navigation.run()
        run_state.publish()
    elif cards:
        show_with_model(page, cards)
    else:
        model_bar.no_models(can_import=page.subject == "models")
        if page.subject == "models":
            navigation.run()


def show_with_model(page: Page, cards: dict[str, models.ModelCard]) -> None:
    """Draw a page of the models that are here."""
    notes = state.seed(cards, page.fields, page.usual_head)
    if page.subject == "lessons":
        state.SUBJECT.set(())
        model_bar.sidebar()
        if notes:
            prose.note(" ".join(notes))
    else:
        model_bar.sidebar(cards[state.current().model])
    is_shown = page.views or page.subject == "lessons" or not cards[state.current().model].is_viewed
    is_usable = page.subject == "lessons" or model_bar.model_and_text(
        cards, notes, reads=is_shown and page.subject != "stage", is_changed=not page.is_unchanged
    )
    if page.subject != "lessons" and not page.is_unchanged:
        interventions_sign.show(cards[state.current().model])
    if not presenter.PRESENTER.value:
        machine.choose()
    if not is_shown:
        prose.heading(say(page.title), say(model_bar.NEEDS_CORE))
    elif is_usable or page.subject == "models":  # where a damaged model can be deleted
        navigation.run()
    if is_shown and is_usable and page.subject in ("text", "stage") and not state.current().text:
        prose.info(say("Type a text above, or choose an example, to see what the model does with it."))
    state.publish()


def entry(page: Page) -> st.Page:
    """Return the navigation entry of a page."""
    is_hidden = page.subject == "server" and not owners.is_operator()
    return st.Page(
        page.script,
        title=say(page.title),
        icon=f":material/{page.icon}:",
        url_path=page.url,
        visibility="hidden" if is_hidden else "visible",
    )


st.set_page_config(page_title="Headlight", page_icon=style.ICON, layout="wide", initial_sidebar_state=260)
locale.seed()
presenter.seed()
style.apply()
if presenter.PRESENTER.value:
    with st.container(key="hl-presenter", horizontal=True, vertical_alignment="center", gap="medium"):
        locale.choose()
        presenter.choose()
front_door = st.Page(lambda: None, title="Headlight", url_path="home", default=True, visibility="hidden")
sections: dict[str, list[st.Page]] = {"": [front_door]}
for section, heading in SECTIONS.items():
    sections[say(heading)] = [
        entry(page)
        for page in pages().values()
        if page.section == section and not (page.subject == "server" and owners.is_shared())
    ]
position: Literal["top", "sidebar"] = "top" if presenter.PRESENTER.value else "sidebar"
navigation = st.navigation(sections, expanded=True, position=position)
if navigation == front_door:
    st.switch_page(pages()[HOME].script, query_params=st.query_params.to_dict())
with health.timed(navigation.url_path):
    show(pages()[navigation.url_path])
    visits.remember()
    presenter.remember()
