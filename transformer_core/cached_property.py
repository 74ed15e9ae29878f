"""`functools.cached_property`, on Python 3.11 without its lock.

That lock is one for all instances of a class: while a session computes a property of one, no other session gets the
same property of another. Since Python 3.12 there is none. Two threads that ask the same instance at once both compute;
both get the value of the one that was first.
"""

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):
        """A property that is computed once for each instance, and kept in its `__dict__`."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Return the value, computed where it is asked for first."""
            if instance is None:
                return self
            kept = instance.__dict__
            if self.attrname not in kept:
                kept.setdefault(self.attrname, self.func(instance))
            return kept[self.attrname]


__all__ = ["cached_property"]
