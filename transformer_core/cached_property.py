"""`functools.cached_property`, without the lock that it has in Python 3.11.

That lock is shared by all instances of a class, so one session would wait while another computes the same property of
another instance. Without it, two threads may both compute a property of one instance; both get the first value.
"""

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):
        """A property that is computed once per instance, and kept in its `__dict__`."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            kept = instance.__dict__
            if self.attrname not in kept:
                kept.setdefault(self.attrname, self.func(instance))
            return kept[self.attrname]


__all__ = ["cached_property"]
