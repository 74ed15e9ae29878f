"""The pages of the gallery: every other file of this folder, under its name."""

from pathlib import Path

import streamlit as st

from pages.shared import style

NOT_PAGES = ("app", "frame")

st.set_page_config(layout="wide")
style.apply()
files = [file for file in sorted(Path(__file__).parent.glob("*.py")) if file.stem not in NOT_PAGES]
first = st.Page(lambda: None, title="Gallery", default=True)  # the default page has no address but the server's
st.navigation([first, *(st.Page(file, title=file.stem) for file in files)], position="hidden").run()
