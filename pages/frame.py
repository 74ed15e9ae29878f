"""The frame around every page: navigation, the one place to choose model and text, and what the model says to it."""

import streamlit as st

from pages.shared import (
    bar,
    compare_state,
    decoding_state,
    heads_state,
    machine,
    models,
    run_state,
    state,
    style,
    tongue,
)

OWN_FIELDS = {  # of a view, beside model and text
    "heads": heads_state.FIELDS,
    "decoding": decoding_state.FIELDS,
    "compare": compare_state.FIELDS,
}

st.set_page_config(page_title="Headlight", page_icon=style.ICON, layout="wide", initial_sidebar_state=260)
style.apply()
tongue.seed()

heads = st.Page("explore/heads.py", title="Heads", icon=":material/grid_view:", url_path="heads")
decoding = st.Page("explore/decoding.py", title="Decoding", icon=":material/edit_note:", url_path="decoding")
compare = st.Page("explore/compare.py", title="Compare", icon=":material/compare:", url_path="compare")
models_page = st.Page("models/models.py", title="Models", icon=":material/inventory_2:", url_path="models")
train = st.Page("train/train.py", title="Train", icon=":material/model_training:", url_path="train")
film = st.Page("train/film.py", title="Film", icon=":material/movie:", url_path="film")
front_door = st.Page(lambda: None, title="Headlight", url_path="start", default=True, visibility="hidden")
sections = {"": [front_door], "Explore": [heads, decoding, compare], "Train": [train, film], "Models": [models_page]}
navigation = st.navigation(sections)
if navigation == front_door:
    st.switch_page(heads, query_params=st.query_params.to_dict())

cards = models.available()
if navigation in (train, film):  # a run stands in the place of a model
    bar.brand()
    run_state.seed()
    navigation.run()
    run_state.publish()
    st.stop()
if not cards:
    bar.no_models()
    if navigation == models_page:
        navigation.run()
    st.stop()
notes = state.seed(cards, OWN_FIELDS.get(navigation.url_path, ()))
bar.sidebar(cards[state.current().model])
is_usable = bar.model_and_text(cards, notes)
machine.choose()
if is_usable or navigation == models_page:  # where a damaged model can be deleted
    navigation.run()
state.publish()
