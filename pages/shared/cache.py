"""What is kept in memory for all who look: stores bounded in MiB, in which each thing is made once.

What was not asked for longest is left out first. How full each store is stands on the page Server.
"""

from collections.abc import Callable, Hashable, MutableMapping
from concurrent.futures import CancelledError, Future
from threading import Lock
from typing import Generic, TypeVar

import streamlit as st
from cachetools import LRUCache

MIB = 1 << 20
T = TypeVar("T")


class Store(Generic[T]):
    """Things by key, of a number of bytes at most together."""

    def __init__(self, *, most_mib: int, n_bytes: Callable[[T], int]) -> None:
        """Start empty.

        Args:
            most_mib: that all things may take, in MiB; of those that are larger each by itself, the last is kept too.
            n_bytes: how much a thing takes.
        """
        self.most_mib = most_mib
        self._n_bytes = n_bytes
        self._things: LRUCache[Hashable, T] = LRUCache(most_mib * MIB, getsizeof=n_bytes)
        self._large: dict[Hashable, T] = {}  # one at most
        self._making: dict[Hashable, Future[T]] = {}
        self._lock = Lock()

    @property
    def mib(self) -> float:
        """How much is kept, in MiB."""
        return (self._things.currsize + sum(map(self._n_bytes, self._large.values()))) / MIB

    def __len__(self) -> int:
        """Return how many things are kept."""
        return len(self._things) + len(self._large)

    def __contains__(self, key: Hashable) -> bool:
        """Return whether the thing of a key is kept."""
        with self._lock:
            return self._place(key) is not None

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the thing of a key; who asks for it while another makes it waits for that.

        Raises:
            Exception: whatever `make` raises, in every waiting caller. Nothing is stored; the next call tries again.
        """
        while True:
            with self._lock:
                if (place := self._place(key)) is not None:
                    return place[key]
                being_made = self._making.get(key)
                if being_made is None:
                    own: Future[T] = Future()
                    self._making[key] = own
                    break
            try:
                return being_made.result()
            except CancelledError:
                continue  # who made it was called off, as when a page is left
        return self._make(key, make, own)

    def measure(self, key: Hashable) -> None:
        """Take notice of how much a thing takes now, one that grows as it is used; others may have to go for it."""
        with self._lock:
            place = self._place(key)
            if place is not None:
                self._keep(key, place.pop(key))

    def _make(self, key: Hashable, make: Callable[[], T], promised: Future[T]) -> T:
        """Make a thing, and give it to all who wait for it."""
        try:
            thing = make()
            with self._lock:
                self._keep(key, thing)
        except BaseException as error:
            del self._making[key]  # before those who wait go on
            if isinstance(error, Exception):
                promised.set_exception(error)
            else:
                promised.cancel()
            raise
        del self._making[key]
        promised.set_result(thing)
        return thing

    def _place(self, key: Hashable) -> MutableMapping[Hashable, T] | None:
        """Return where a thing is kept."""
        return next((place for place in (self._things, self._large) if key in place), None)

    def _keep(self, key: Hashable, thing: T) -> None:
        if self._n_bytes(thing) <= self._things.maxsize:
            self._things[key] = thing
        else:
            self._large = {key: thing}


def store(name: str, *, most_mib: int, n_bytes: Callable[[T], int]) -> Store[T]:
    """Return the store of this name, which all sessions share; made at the first call, as the arguments say."""
    stores = _stores()
    if name not in stores:
        stores.setdefault(name, Store(most_mib=most_mib, n_bytes=n_bytes))
    return stores[name]


def stores() -> dict[str, Store]:
    """Return all stores by their names, which are marked."""
    return dict(_stores())


@st.cache_resource(show_spinner=False)
def _stores() -> dict[str, Store]:
    return {}
