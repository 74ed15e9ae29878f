"""A chapter's part in the browser: its beginning comes into sight when it is opened, and its answers are kept there."""

from collections.abc import Sequence

from pages.components.mounting import component
from pages.learn.tour import view_fields
from pages.shared.view.fields import sent

KEY = "tour-chapter"


def keep(name: str, answers: Sequence[str | None]) -> None:
    """Bring the page's beginning into sight when this is another chapter than before, and keep its answers.

    They are in the browser's storage, from which a new session, as after a reload, restores them.

    Args:
        name: of the chapter that is open.
        answers: to its questions, in their order; None: shown without one.
    """
    data = {"name": name, "answers": list(answers), "restored": view_fields.is_restored()}
    component(__file__, "chapter", isolated=True)(key=KEY, data=data, height=1, on_kept_change=_restore)


def _restore() -> None:
    view_fields.restore(sent(KEY, "kept"))
