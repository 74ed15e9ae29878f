"""A limit on how many sessions run a model at once: as many as there are cores, however many ask."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, local

MOST = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

_places = BoundedSemaphore(MOST)
_of_thread = local()  # has_place: this thread has one


@contextmanager
def one_of_few() -> Iterator[None]:
    """Wait until fewer than `MOST` threads run a model, then hold a place among them; nested uses have no effect."""
    if getattr(_of_thread, "has_place", False):
        yield
        return
    with _places:
        _of_thread.has_place = True
        try:
            yield
        finally:
            _of_thread.has_place = False


@contextmanager
def let_others_go_first() -> Iterator[None]:
    """Release this thread's place while it waits for another thread, which may need one itself."""
    if not getattr(_of_thread, "has_place", False):
        yield
        return
    _of_thread.has_place = False
    _places.release()
    try:
        yield
    finally:
        _places.acquire()
        _of_thread.has_place = True
