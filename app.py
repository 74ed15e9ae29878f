"""Headlight's server. Start it with `streamlit run app.py`."""

import streamlit as st

from pages.shared import cache, owners, private_streamlit, server
from transformer_core.errors import ConfigError
from transformer_core.process import let_waiting_threads_sleep

let_waiting_threads_sleep()
private_streamlit.keep_waiting_acts()
try:
    cache.budget()
    if owners.is_shared():
        private_streamlit.serve_strangers(owners.MOST_UPLOAD)
except ConfigError as error:
    raise SystemExit(f"Headlight did not start: {error}.") from None
app = st.App(
    server.FRAME,
    middleware=server.MIDDLEWARE,
    routes=server.ROUTES,
    lifespan=server.lifespan,
    on_script_error=server.on_error,
)
