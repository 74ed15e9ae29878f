"""The browser side of a chapter: scrolls to its top when it is opened, and stores its answers."""

from collections.abc import Sequence

from pages.components.mounting import component
from pages.learn.tour import view_fields
from pages.shared.view.fields import sent

KEY = "tour-chapter"


def keep(name: str, answers: Sequence[str | None]) -> None:
    """Scroll to the top of the page when the chapter has changed, and store its answers in the browser.

    A new session, such as after a reload, restores them from the browser's storage.

    Args:
        name: of the chapter that is open.
        answers: to its questions, in order; None: the answer was revealed without a guess.
    """
    data = {"name": name, "answers": list(answers), "restored": view_fields.is_restored()}
    component(__file__, "chapter", isolated=True)(key=KEY, data=data, height=1, on_kept_change=_restore)


def _restore() -> None:
    view_fields.restore(sent(KEY, "kept"))
