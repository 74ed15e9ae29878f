"""The frame around every page: navigation, the one place to choose model and text, and what the model says to it."""

import streamlit as st

from pages.shared import (
    architecture_state,
    compare_state,
    decoding_state,
    heads_state,
    locale,
    machine,
    masks_state,
    model_bar,
    models,
    positions_state,
    prose,
    run_state,
    state,
    steps_state,
    style,
    tour_state,
)
from transformer_core.language import say

OWN_FIELDS = {  # of a view, beside model and text
    "heads": heads_state.FIELDS,
    "decoding": decoding_state.FIELDS,
    "compare": compare_state.FIELDS,
    "tour": tour_state.FIELDS,
    "steps": steps_state.FIELDS,
    "positions": positions_state.FIELDS,
    "masks": masks_state.FIELDS,
    "architecture": architecture_state.FIELDS,
}

st.set_page_config(page_title="Headlight", page_icon=style.ICON, layout="wide", initial_sidebar_state=260)
style.apply()
locale.seed()

tour = st.Page("learn/tour.py", title=say("Tour"), icon=":material/menu_book:", url_path="tour")
steps = st.Page("learn/steps.py", title=say("Attention step by step"), icon=":material/footprint:", url_path="steps")
positions = st.Page("learn/positions.py", title=say("Positions"), icon=":material/straighten:", url_path="positions")
masks = st.Page("learn/masks.py", title=say("Masks"), icon=":material/grid_off:", url_path="masks")
architecture = st.Page(
    "learn/architecture.py", title=say("Architecture"), icon=":material/account_tree:", url_path="architecture"
)
heads = st.Page("explore/heads.py", title=say("Heads"), icon=":material/grid_view:", url_path="heads")
decoding = st.Page("explore/decoding.py", title=say("Decoding"), icon=":material/edit_note:", url_path="decoding")
compare = st.Page("explore/compare.py", title=say("Compare"), icon=":material/compare:", url_path="compare")
models_page = st.Page("models/models.py", title=say("Models"), icon=":material/inventory_2:", url_path="models")
train = st.Page("train/train.py", title=say("Train"), icon=":material/model_training:", url_path="train")
film = st.Page("train/film.py", title=say("Film"), icon=":material/movie:", url_path="film")
front_door = st.Page(lambda: None, title="Headlight", url_path="start", default=True, visibility="hidden")
sections = {
    "": [front_door],
    say("Learn"): [tour, steps, positions, masks, architecture],
    say("Explore"): [heads, decoding, compare],
    say("Train"): [train, film],
    say("Models"): [models_page],
}
navigation = st.navigation(sections)
if navigation == front_door:
    st.switch_page(heads, query_params=st.query_params.to_dict())

if navigation != train:
    run_state.leave_train()
cards = models.available(navigation.url_path)
if navigation in (train, film):  # a run stands in the place of a model
    model_bar.brand()
    run_state.seed()
    navigation.run()
    run_state.publish()
    st.stop()
if not cards:
    model_bar.no_models()
    if navigation == models_page:
        navigation.run()
    st.stop()
notes = state.seed(cards, OWN_FIELDS.get(navigation.url_path, ()))
if navigation == tour:  # its chapters speak of several models
    st.session_state[state.SUBJECT] = ()
    model_bar.brand()
else:
    model_bar.sidebar(cards[state.current().model])
is_usable = navigation == tour or model_bar.model_and_text(cards, notes)  # the tour brings its own texts
machine.choose()
if is_usable or navigation == models_page:  # where a damaged model can be deleted
    navigation.run()
if is_usable and not state.current().text and navigation not in (tour, positions, models_page):  # they need none
    prose.info(say("Type a text above, or choose an example, to see what the model does with it."))
state.publish()
