"""A view and its address: which of the two is correct where they differ.

The address names what is not as usual, so one without parameters is a view, too.

Each run of a page ends by writing its view to the URL. Where the URL says something else then, a person may have gone
back, or followed a link, and the URL is correct. Or a person did something: a run that the act interrupted never ended,
and the browser may send the act before it has received what the last run wrote. Then the URL is the older one,
and the session is correct.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from pages.shared.private_streamlit import came_through_history, page_of_run

_PAGE = "shown-page"  # key of the session: the page whose address was followed or written last


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
        """The session was filled from the URL."""
        st.session_state[_PAGE] = page_of_run()
        st.session_state[self._key] = st.query_params.to_dict()

    def write(self, values: Mapping[str, str]) -> None:
        """Write the session's view to the URL; the end of every run.

        An act that was sent before the browser took in what was written last comes with the URL before that; where it
        leads back to just that view, the browser still has to hear of it.
        """
        last = st.session_state.get(self._key, values)
        if not st.query_params.to_dict() == last == values:
            st.query_params.from_dict(dict(values))
        st.session_state[_PAGE] = page_of_run()
        st.session_state[self._key] = dict(values)
