"""A view and its address: which of the two is right where they differ.

Each run of a page ends by writing its view to the URL. Where the URL says something else then, a person may have gone
back, or followed a link, and the URL is right. Or a person did something: a run that the act interrupted never came to
its end, and the browser may send the act before it has taken in what the last run wrote. Then the URL is the older one,
and the session is right.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx


@dataclass(frozen=True)
class Address:
    """The URL's parameters as one kind of view knows them."""

    name: str  # of the kind of view

    @property
    def _key(self) -> str:
        return f"{self.name}-address"

    @property
    def is_known(self) -> bool:
        """Whether the session was filled from a URL yet."""
        return self._key in st.session_state

    def is_from_outside(self) -> bool:
        """Return whether the URL is right: at first, after Back or Forward, and where a link led to another page.

        One without parameters says nothing: another page was opened from this.
        """
        if not self.is_known:
            return True
        page, _ = st.session_state[self._key]
        return bool(st.query_params.to_dict()) and (_came_through_history() or page != _page())

    def follow(self) -> None:
        """The session was filled from the URL."""
        st.session_state[self._key] = _page(), st.query_params.to_dict()

    def write(self, values: Mapping[str, str]) -> None:
        """Write the session's view to the URL; the end of every run.

        An act that was sent before the browser took in what was written last comes with the URL before that; where it
        leads back to just that view, the browser still has to hear of it.
        """
        _, last = st.session_state.get(self._key, (None, values))
        if not st.query_params.to_dict() == last == values:
            st.query_params.from_dict(dict(values))
        st.session_state[self._key] = _page(), dict(values)


def _came_through_history() -> bool:
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def _page() -> str:
    context = get_script_run_ctx()
    return "" if context is None else context.page_script_hash
