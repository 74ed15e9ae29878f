"""A server for the tests of single components, each on a page of its own, behind all that the app's server does."""

from pathlib import Path

import streamlit as st

from pages.shared import server

app = st.App(Path(__file__).with_name("frame.py"), middleware=server.MIDDLEWARE, routes=server.ROUTES)
