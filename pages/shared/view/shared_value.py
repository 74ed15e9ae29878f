"""A value that the user changes in a component and Python changes elsewhere on the page; see kit/shared_value.js.

Both sides write {revision, value}. Each change increments the highest revision that its side knows,
so that a component can discard an answer that is older than the user's latest change.
"""

import time
from dataclasses import dataclass
from typing import Any

from pages.shared.view.fields import Kept, sent

_UNKNOWN = "unknown"  # not a value of any component


@dataclass(frozen=True)
class SharedValue:
    """A component's value in JSON form: lists rather than tuples."""

    key: str  # of the component
    event: str  # the trigger that delivers the user's choice

    def heard(self) -> Any:
        """Return the user's choice before this run, unchecked, or None; call it in the callback."""
        match sent(self.key, self.event):
            case {"revision": int(revision), "value": value}:
                latest, _, payload = self._kept.value
                self._kept.set((max(revision, latest), value, payload))
                return value
        return None

    def payload(self, value: Any, *, echoes: bool = True) -> dict[str, Any]:
        """Return the data for the component.

        Args:
            value: the current value.
            echoes: whether to send a component its own value back; if False, the payload then stays unchanged,
                so that nothing is sent to a component that already shows the value.
        """
        revision, known, payload = self._kept.value
        is_change = value != known
        if is_change:
            revision = revision + 1 if revision else time.time_ns() // 1_000_000  # a page may outlive its session
        if is_change or echoes:
            payload = {"revision": revision, "value": value}
        self._kept.set((revision, value, payload))
        return payload

    def forget(self) -> None:
        """Resend the value as if it had changed, whatever the component shows."""
        revision, _, payload = self._kept.value
        self._kept.set((revision, _UNKNOWN, payload))

    @property
    def _kept(self) -> Kept:
        """The latest revision, the value that the component knows, and the value sent to it last."""
        return Kept(f"{self.key}-{self.event}-shared", (0, _UNKNOWN, None))
