"""A view and its address, and which of the two takes precedence if they differ.

The address names only what differs from the default, so an address without parameters is a view, too.

Each run of a page ends by writing its view to the URL. If the URL differs at the next run, the user may have gone
back or followed a link, and the URL is correct. Or the user acted on the page: the action interrupted a run before it
wrote its view, or the browser sent the action before it received the last run's URL. Then the URL is the older one,
and the session is correct.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from pages.shared.private_streamlit import came_through_history, page_of_run

_PAGE = "shown-page"  # key of the session: the page whose address was followed or written last


@dataclass(frozen=True)
class Address:
    """The URL's parameters from the perspective of one kind of view."""

    name: str  # of the kind of view

    @property
    def _key(self) -> str:
        return f"{self.name}-address"

    @property
    def is_known(self) -> bool:
        """Whether the session was already filled from a URL."""
        return self._key in st.session_state

    def is_from_outside(self) -> bool:
        """Return whether the URL is correct: at first, after Back or Forward, and where a link led to another page.

        Where another page was opened from this by its name, there are no parameters, and the session is correct.
        """
        if not self.is_known or came_through_history():
            return True
        return bool(st.query_params.to_dict()) and self.is_arrival()

    def is_arrival(self) -> bool:
        """Return whether another page was shown before this run."""
        return bool(st.session_state.get(_PAGE) != page_of_run())

    def follow(self) -> None:
        """Record that the session was filled from the URL."""
        st.session_state[_PAGE] = page_of_run()
        st.session_state[self._key] = st.query_params.to_dict()

    def write(self, values: Mapping[str, str]) -> None:
        """Write the session's view to the URL; call at the end of every run.

        An action that the browser sent before it received the last URL comes with the previous one; if the action
        restores exactly that view, the URL must still be written to the browser.
        """
        last = st.session_state.get(self._key, values)
        if not st.query_params.to_dict() == last == values:
            st.query_params.from_dict(dict(values))
        st.session_state[_PAGE] = page_of_run()
        st.session_state[self._key] = dict(values)
