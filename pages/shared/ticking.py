"""A fragment that draws itself again from time to time, as long as something in it is still being made.

Streamlit loses messages of a fragment that lies in another one, so no part of a page has its own clock: the
fragment of the page has one.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

from pages.shared.view.fields import Kept

P = ParamSpec("P")
_PERIOD = Kept("page-looks-again-after")  # s; None: nothing is awaited


def fragment(draw: Callable[P, None]) -> Callable[P, None]:
    """Make a function the fragment of its page; whatever it draws may ask to `look_again`."""

    @wraps(draw)
    def page(*args: P.args, **options: P.kwargs) -> None:
        period = _PERIOD.value

        @wraps(draw)
        def drawn(*args: P.args, **options: P.kwargs) -> None:
            _PERIOD.set(None)
            draw(*args, **options)
            if _PERIOD.value != period:
                st.rerun()  # the page as a whole, which alone can set the clock

        st.fragment(drawn, run_every=period)(*args, **options)

    return page


def look_again(*, after: float) -> None:
    """Have the fragment drawn again after this many seconds: what is drawn now is not finished."""
    _PERIOD.set(min(after, _PERIOD.value or after))
