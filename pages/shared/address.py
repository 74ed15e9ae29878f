"""A view and its address: which of the two is right where they differ.

Each run of a page ends by writing its view to the URL. Where the URL says something else then, a person followed a link
or went back, and the URL is right. But a run that a person's act interrupts never comes to its end, and a browser may
send an act before it has taken in what the last run wrote: the URL that comes with an act is the one before it, and
there the session is right.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st


@dataclass(frozen=True)
class Address:
    """The URL's parameters as one kind of view knows them; the session holds which are older than itself."""

    name: str  # of the kind of view

    @property
    def _key(self) -> str:
        return f"{self.name}-address"

    @property
    def is_known(self) -> bool:
        """Whether the session was filled from a URL yet."""
        return self._key in st.session_state

    def is_from_outside(self) -> bool:
        """Return whether the URL is right; one without parameters says nothing: another page was opened from this."""
        wanted = st.query_params.to_dict()
        return not self.is_known or bool(wanted and wanted not in st.session_state[self._key])

    def follow(self) -> None:
        """The session was filled from the URL."""
        st.session_state[self._key] = [st.query_params.to_dict()]

    def act(self) -> None:
        """A person did something, and what the URL says now is what was there before."""
        known, url = st.session_state.get(self._key), st.query_params.to_dict()
        if known is not None and url not in known:
            known.append(url)

    def write(self, values: Mapping[str, str]) -> None:
        """Write the session's view to the URL; the end of every run.

        An act that was sent before the browser took in what was written last comes with the URL before that; where it
        leads back to just that view, the browser still has to hear of it.
        """
        last = st.session_state.get(self._key, [values])[0]
        if not st.query_params.to_dict() == last == values:
            st.query_params.from_dict(dict(values))
        st.session_state[self._key] = [dict(values)]
