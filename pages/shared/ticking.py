"""A fragment that redraws itself while its content is incomplete, and slow parts that are redrawn less often.

Streamlit loses messages of a fragment nested in another one, so no part of a page has its own timer: only the
page's fragment has one.
"""

from collections.abc import Callable, Hashable
from functools import wraps
from time import perf_counter
from typing import ParamSpec, TypeVar

import streamlit as st

from pages.shared.view.fields import Kept

P = ParamSpec("P")
Value = TypeVar("Value")
_PERIOD = Kept("page-looks-again-after")  # s; None: nothing is awaited
_SHARE = 1 / 16  # share of the time that one slow part may take: the training comes first
_LONGEST = 4.0  # seconds that a result is reused at most: the first time takes longer than others


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
                st.rerun()  # rerun the whole page, since nothing else can set the timer

        st.fragment(drawn, run_every=period)(*args, **options)

    return page


def look_again(*, after: float) -> None:
    """Request a redraw of the fragment after this many seconds, because its current content is incomplete."""
    _PERIOD.set(min(after, _PERIOD.value or after))


def throttled(key: str, source: Hashable, make: Callable[[], Value]) -> Value:
    """Return `make()`, or its recent result: the longer it takes, the less often it is called.

    Args:
        key: of the result in the session.
        source: the user's choices that the result depends on; when it changes, the result is not reused.
        make: computes the result; if it raises, nothing is kept.
    """
    kept = Kept(key, (None, None, 0.0))  # source, result, and until when it is reused, on the clock of `perf_counter`
    start = perf_counter()
    last_source, value, until = kept.value
    if last_source == source and start < until:
        return value
    value = make()
    end = perf_counter()
    kept.set((source, value, end + min(_LONGEST, (end - start) / _SHARE)))
    return value
