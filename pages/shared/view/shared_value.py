"""A value that a person changes in a component, and Python elsewhere on the page; see kit/shared_value.js.

Both sides write {revision, value}. Each change counts on from the highest revision that is known there,
so that a component can tell an answer that is older than what a person has done since.
"""

import time
from dataclasses import dataclass
from typing import Any

from pages.shared.view.fields import Kept, sent

_UNKNOWN = "unknown"  # no value that a component shows


@dataclass(frozen=True)
class SharedValue:
    """A value of a component, in the form in which JSON says it: lists, no tuples."""

    key: str  # of the component
    event: str  # the trigger that brings what a person chose

    def heard(self) -> Any:
        """Return the choice before this run, unchecked; None: none. To be called in the callback."""
        match sent(self.key, self.event):
            case {"revision": int(revision), "value": value}:
                latest, _, payload = self._kept.value
                self._kept.set((max(revision, latest), value, payload))
                return value
        return None

    def payload(self, value: Any, *, echoes: bool = True) -> dict[str, Any]:
        """Return the data for the component.

        Args:
            value: what holds now.
            echoes: say again what the component said itself; without it the payload stays as it was then, so that
                nothing new is sent to a component that has already gone there.
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
        """Say the value again as if it had changed, whatever the component shows."""
        revision, _, payload = self._kept.value
        self._kept.set((revision, _UNKNOWN, payload))

    @property
    def _kept(self) -> Kept:
        """The latest revision, the value that the component knows, and the value sent to it last."""
        return Kept(f"{self.key}-{self.event}-shared", (0, _UNKNOWN, None))
