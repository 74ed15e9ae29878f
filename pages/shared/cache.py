"""The in-memory cache of all sessions: one size limit for everything, and each value computed once.

The least recently used value is evicted first, whatever its kind. The page Server shows the limit and how much of it
each kind takes. A key names everything that a value depends on, with the version of every file: `kept` derives it
from the lines of code that compute the value, `by_arguments` from the arguments of a function.
"""

import os
import re
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, update_wrapper
from hashlib import blake2b
from inspect import signature
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, Generic, ParamSpec, TypeVar

import streamlit as st

from pages.shared import forwards
from pages.shared.recipe import Expression, identity, through
from transformer_core.errors import ConfigError
from transformer_core.main_memory import main_memory

MIB = 1 << 20
VARIABLE = "HEADLIGHT_MEMORY"
SHARE = 0.5  # the rest is for trainings, current computations and other programs
_UNTOLD = 8 << 30  # bytes assumed for a machine that does not report its memory
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT])(i?)B?", re.IGNORECASE)
_PART = re.compile(r"(\d+(?:\.\d+)?) ?(%?)")
P = ParamSpec("P")
T = TypeVar("T")
Place = tuple[str, Hashable]
"""Kind and key of a thing."""


@dataclass(frozen=True)
class Use:
    """The memory that values of one kind take."""

    n_entries: int
    n_bytes: int
    n_evicted: int  # since the server started


class Cache:
    """Values by kind and key, up to a total number of bytes; a value larger than that is kept alone."""

    def __init__(self, most_bytes: int) -> None:
        """Start empty."""
        self.most_bytes = most_bytes
        self._things: OrderedDict[Place, tuple[Any, int]] = OrderedDict()  # with sizes in bytes; the latest used last
        self._n_bytes = 0
        self._making: dict[Place, Future[Any]] = {}
        self._evicted: Counter[str] = Counter()
        self._lock = Lock()

    def __contains__(self, place: Place) -> bool:
        """Return whether the value of a kind and key is kept."""
        with self._lock:
            return place in self._things

    def get(self, kind: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key; while one caller computes it, all others wait for it.

        Args:
            kind: what the page Server calls it; marked.
            key: what it was made from.
            make: computes it; it may request other values.

        Raises:
            Exception: whatever `make` raises, in every waiting caller. Nothing is kept; the next call tries again.
        """
        place = (kind, key)
        while True:
            with self._lock:
                if place in self._things:
                    self._things.move_to_end(place)
                    return self._things[place][0]
                being_made = self._making.get(place)
                if being_made is None:
                    own: Future[T] = Future()
                    self._making[place] = own
                    break
            try:
                with forwards.let_others_go_first():  # the maker may be waiting for this thread's place
                    return being_made.result()
            except CancelledError:
                continue  # its maker was cancelled, as when a page is left
        return self._make(place, make, own)

    def put(self, kind: str, key: Hashable, thing: Any) -> None:
        """Keep a value that was computed together with others rather than by `get`."""
        self._keep((kind, key), thing)

    def measure(self, kind: str, key: Hashable) -> None:
        """Update the size of a value that grows as it is used, evicting others if necessary."""
        with self._lock:
            thing, _ = self._things.get((kind, key), (None, 0))
        if thing is not None:
            self._keep((kind, key), thing)

    def use(self) -> dict[str, Use]:
        """Return the memory use of each kind that has been cached."""
        with self._lock:
            things, evicted = {place: n for place, (_, n) in self._things.items()}, Counter(self._evicted)
        kinds = dict.fromkeys((*(kind for kind, _ in things), *evicted))
        sizes = {kind: [n for (of, _), n in things.items() if of == kind] for kind in kinds}
        return {kind: Use(len(sizes[kind]), sum(sizes[kind]), evicted[kind]) for kind in kinds}

    def _make(self, place: Place, make: Callable[[], T], promised: Future[T]) -> T:
        """Make a value and pass it to all waiting callers."""
        try:
            thing = make()
            self._keep(place, thing)
        except BaseException as error:
            del self._making[place]  # before those who wait continue
            if isinstance(error, Exception):
                promised.set_exception(error)
            else:
                promised.cancel()
            raise
        del self._making[place]
        promised.set_result(thing)
        return thing

    def _keep(self, place: Place, thing: Any) -> None:
        """Keep a value, evicting others to make room for it."""
        n_bytes = size_of(thing)
        with self._lock:
            self._n_bytes += n_bytes - self._things.pop(place, (None, 0))[1]
            self._things[place] = thing, n_bytes
            while self._n_bytes > self.most_bytes and len(self._things) > 1:
                (kind, _), (_, n_freed) = self._things.popitem(last=False)
                self._n_bytes -= n_freed
                self._evicted[kind] += 1


def size_of(thing: Any) -> int:
    """Return the approximate size of a value in bytes, counting shared parts once."""
    n_bytes, seen, waiting = 0, dict[int, Any](), [thing]  # seen parts are held, so that no id is reused
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        own = next((own for name in ("n_bytes", "nbytes") if isinstance(own := getattr(part, name, None), int)), None)
        n_bytes += sys.getsizeof(part) if own is None else own
        if own is not None:
            continue
        if isinstance(part, Mapping):
            waiting += chain(part, part.values())
        elif isinstance(part, tuple | list | set | frozenset):
            waiting += part
        elif is_dataclass(part):
            waiting += (getattr(part, field.name) for field in fields(part))
        elif hasattr(part, "parameters"):  # a model
            waiting += chain(part.parameters(), part.buffers())
    return n_bytes


def version(*paths: Path) -> str:
    """Return a key that changes whenever one of these files is written or replaced."""
    stamps = []
    for path in paths:
        with suppress(OSError):
            stat = path.stat()
            stamps += [path.name, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino]
    return blake2b(repr(stamps).encode(), digest_size=12).hexdigest()


def budget() -> int:
    """Return the size limit of the cache in bytes.

    Raises:
        ConfigError: HEADLIGHT_MEMORY is neither a share nor a size.
    """
    wanted = os.environ.get(VARIABLE, "").strip() or str(SHARE)
    n_bytes = 0.0
    if match := _SIZE.fullmatch(wanted):
        number, unit, is_binary = float(match[1]), match[2].upper(), bool(match[3])
        n_bytes = number * (1024 if is_binary else 1000) ** (" KMGT".index(unit))
    elif (match := _PART.fullmatch(wanted)) and (share := float(match[1]) / (100 if match[2] else 1)) <= 1:
        n_bytes = share * (main_memory() or _UNTOLD)
    if n_bytes < 1:
        raise ConfigError(
            "{variable} must be a share of the machine’s memory, such as 0.5, or a size, such as 8GB; got {wanted!r}",
            variable=VARIABLE,
            wanted=wanted,
        )
    return int(n_bytes)


@st.cache_resource(show_spinner=False)
def shared() -> Cache:
    """Return the one cache of this server."""
    return Cache(budget())


def get(kind: str, key: Hashable, make: Callable[[], T]) -> T:
    """Return a value that is kept for all sessions, as `Cache.get` does."""
    return shared().get(kind, key, make)


def kept(kind: str, value: Expression) -> Expression:
    """Return the same expression with its value cached for all sessions, keyed by all that its code depends on."""
    return through(value, lambda make: get(kind, identity(value), make))


def measure(kind: str, value: Expression) -> None:
    """Update the size of a value that is `kept`, as `Cache.measure` does."""
    shared().measure(kind, identity(value))


class ByArguments(Generic[P, T]):
    """A function whose values are cached for all sessions by its arguments."""

    def __init__(self, kind: str, function: Callable[P, T]) -> None:
        """Keep what a function returns, which depends on its arguments alone."""
        self._kind, self._function, self._signature = kind, function, signature(function)
        self._name = f"{function.__module__}.{function.__qualname__}"  # of one kind there may be several
        update_wrapper(self, function)

    def __call__(self, *arguments: P.args, **named_arguments: P.kwargs) -> T:
        """Return the function's value."""
        make = partial(self._function, *arguments, **named_arguments)
        return get(*self._place(*arguments, **named_arguments), make)

    def holds(self, *arguments: P.args, **named_arguments: P.kwargs) -> bool:
        """Return whether the value for these arguments is cached."""
        return self._place(*arguments, **named_arguments) in shared()

    def put(self, thing: T, *arguments: P.args, **named_arguments: P.kwargs) -> None:
        """Keep a value that was computed together with others, as if the function had returned it."""
        shared().put(*self._place(*arguments, **named_arguments), thing)

    def _place(self, *arguments: P.args, **named_arguments: P.kwargs) -> Place:
        bound = self._signature.bind(*arguments, **named_arguments)
        bound.apply_defaults()
        return self._kind, (self._name, bound.args, *bound.kwargs.items())


def by_arguments(kind: str) -> Callable[[Callable[P, T]], ByArguments[P, T]]:
    """Cache the values of a function for all sessions as one kind; every argument is part of the key.

    Args:
        kind: what the page Server calls them; marked.
    """
    return partial(ByArguments, kind)
