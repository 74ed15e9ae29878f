"""What the browser keeps from one session to the next, since a session ends with a reload."""

from collections.abc import Callable, Mapping
from typing import Any

from pages.components.mounting import component
from pages.shared.view.fields import Kept, sent


def keep(store: str, parts: Mapping[str, Any], restore: Callable[[object], None]) -> None:
    """Store parts in the browser, in addition to those stored before; call it at the end of a page: it takes no room.

    Args:
        store: the name under which the browser keeps them.
        parts: each part as JSON, by its name.
        restore: called once with the unchecked parts stored before this session; not called if there are none.
    """
    is_restored, key = Kept(f"{store}-restored", False), f"{store}-kept"

    def take() -> None:
        if not is_restored.value and (kept := sent(key, "kept")) is not None:
            is_restored.set(True)
            restore(kept)

    data = {"store": store, "parts": dict(parts), "isRestored": is_restored.value}
    component(__file__, "browser_storage", isolated=True)(key=key, data=data, height=1, on_kept_change=take)
