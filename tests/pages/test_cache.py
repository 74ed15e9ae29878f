"""What is kept in memory: bounded, each thing made once however many ask, and nothing of what failed."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier, BrokenBarrierError, Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.shared import cache
from pages.shared.cache import MIB, Store

N_THREADS = 10


def never() -> Any:
    raise AssertionError("this was made before")


def a_store(most_mib: int = 4) -> Store[bytes]:
    return Store(most_mib=most_mib, n_bytes=len)


def mebibytes(n: float) -> Callable[[], bytes]:
    return lambda: bytes(int(n * MIB))


def keys_of(store: Store[bytes], *keys: str) -> list[str]:
    """Which of these are kept, not asking for any: that would count as use."""
    return [key for key in keys if store._place(key) is not None]


def at_once(ask: Callable[[int], Any]) -> list[Any]:
    """What each of ten threads gets, or the exception; all of them ask at the same moment."""
    barrier = Barrier(N_THREADS)

    def one(i: int) -> Any:
        barrier.wait(10)
        try:
            return ask(i)
        except BaseException as error:
            return error

    with ThreadPoolExecutor(N_THREADS) as threads:
        return [*threads.map(one, range(N_THREADS))]


def test_a_thing_is_made_once_and_is_the_same_for_all():
    store = a_store()
    made = store.get("a", mebibytes(1))
    assert store.get("a", never) is made
    assert len(store) == 1 and store.mib == 1


def test_what_was_not_asked_for_longest_is_left_out_first():
    store = a_store(3)
    for key in ("a", "b", "c"):
        store.get(key, mebibytes(1))
    store.get("a", never)  # now b is the oldest
    store.get("d", mebibytes(1))
    assert keys_of(store, "a", "b", "c", "d") == ["a", "c", "d"]
    store.get("e", mebibytes(2))
    assert keys_of(store, "a", "b", "c", "d", "e") == ["d", "e"] and store.mib == 3


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 5)), max_size=20))
def test_all_that_is_kept_is_never_more_than_the_store_holds_but_for_one_large_thing(asked: list[tuple[int, int]]):
    """Against a list in the order of use."""
    store, in_order, large = a_store(4), list[tuple[int, int]](), list[tuple[int, int]]()
    for key, n in asked:
        known = dict(in_order + large)
        got = store.get(key, mebibytes(n))
        assert len(got) == known.get(key, n) * MIB
        if key in dict(in_order):
            in_order = [*(kept for kept in in_order if kept[0] != key), (key, known[key])]
        elif key not in dict(large):
            if n > 4:
                large = [(key, n)]
            else:
                in_order.append((key, n))
                while sum(size for _, size in in_order) > 4:
                    in_order.pop(0)
        assert len(store) == len(in_order) + len(large)
        assert store.mib == sum(size for _, size in in_order + large)


def test_of_things_larger_than_the_store_the_last_is_kept_beside_the_others():
    store = a_store(2)
    store.get("small", mebibytes(1))
    store.get("large", mebibytes(3))
    assert keys_of(store, "small", "large") == ["small", "large"] and store.mib == 4
    store.get("large", never)
    store.get("larger", mebibytes(5))
    assert keys_of(store, "small", "large", "larger") == ["small", "larger"]
    store.get("full", mebibytes(2))  # as large as the store: no exception
    assert keys_of(store, "small", "larger", "full") == ["larger", "full"]


def test_a_thing_is_made_once_when_ten_ask_at_once():
    store, makers, go_on = a_store(), count(), Event()

    def make() -> bytes:
        next(makers)
        go_on.wait(0.05)  # so that the others come meanwhile
        return bytes(MIB)

    first, *others = at_once(lambda i: store.get("a", make))
    assert next(makers) == 1
    assert isinstance(first, bytes) and all(other is first for other in others)


def test_things_of_other_keys_are_made_at_the_same_time():
    store, together = a_store(16), Barrier(N_THREADS)

    def make() -> bytes:
        together.wait(10)  # only when all are making
        return bytes(MIB)

    assert not [got for got in at_once(lambda i: store.get(i, make)) if isinstance(got, BrokenBarrierError)]
    assert len(store) == N_THREADS


def test_an_error_is_raised_to_all_who_wait_and_kept_for_nobody():
    store, makers, go_on = a_store(), count(), Event()

    def fail() -> bytes:
        next(makers)
        go_on.wait(0.3)  # so that all others have come, on a busy machine too
        raise ValueError("no such text")

    raised = at_once(lambda i: store.get("a", fail))
    assert next(makers) == 1
    assert all(isinstance(error, ValueError) and str(error) == "no such text" for error in raised)
    assert len(store) == 0 and not store._making
    assert store.get("a", mebibytes(1)) == bytes(MIB)  # who asks later tries again


def test_where_the_maker_is_called_off_another_who_waits_makes_it():
    """As when a page is left while it computes: Streamlit ends its script by an exception that is no error."""
    store, makers, go_on = a_store(), count(), Event()

    class Stopped(BaseException):
        pass

    def make() -> bytes:
        is_first = next(makers) == 0
        go_on.wait(0.05)
        if is_first:
            raise Stopped
        return bytes(MIB)

    got = at_once(lambda i: store.get("a", make))
    assert next(makers) == 2
    assert sum(isinstance(thing, Stopped) for thing in got) == 1
    assert len({id(thing) for thing in got if isinstance(thing, bytes)}) == 1 and not store._making


def test_a_thing_that_cannot_be_measured_holds_nobody_up():
    store: Store[Any] = Store(most_mib=1, n_bytes=len)
    for _ in range(2):
        with pytest.raises(TypeError):
            store.get("a", object)
    assert store.get("a", lambda: b"") == b""


def test_all_sessions_share_the_stores():
    assert cache.stores() == {}
    texts, models = (cache.store(name, most_mib=most, n_bytes=len) for name, most in (("texts", 8), ("models", 2048)))
    assert cache.store("texts", most_mib=8, n_bytes=len) is texts
    texts.get("a", mebibytes(1.6))
    texts.get("b", mebibytes(2))
    models.get("large", mebibytes(1))
    assert {name: (len(store), store.mib, store.most_mib) for name, store in cache.stores().items()} == {
        "texts": (2, pytest.approx(3.6, abs=1e-3), 8),
        "models": (1, pytest.approx(1, abs=1e-3), 2048),
    }


def test_ten_who_ask_for_a_store_at_once_share_it():
    stores = at_once(lambda i: cache.store("texts", most_mib=1, n_bytes=len))
    assert len({id(store) for store in stores}) == 1
