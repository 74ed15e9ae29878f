"""A property is computed once for each instance, and nobody waits for another instance's."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event

from transformer_core.cached_property import cached_property


@dataclass(frozen=True)
class Slow:
    """Its value waits for others."""

    wait: Event

    @cached_property
    def value(self) -> object:
        assert self.wait.wait(30)
        return object()


def test_it_is_computed_once_and_other_instances_do_not_wait():
    held, free = Slow(Event()), Slow(Event())
    free.wait.set()
    with ThreadPoolExecutor(2) as threads:
        waiting = threads.submit(lambda: held.value)
        assert threads.submit(lambda: free.value).result(20) is free.value
        held.wait.set()
        assert waiting.result(30) is held.value is held.value
    assert held.value is not free.value and isinstance(Slow.value, cached_property)
