"""What is kept in memory: bounded, each thing made once however many ask, and nothing of what failed."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pages.shared import cache
from pages.shared.cache import MIB, Cache, Use, size_of
from transformer_core.errors import ConfigError

N_THREADS = 10


def never() -> Any:
    raise AssertionError("this was made before")


def a_cache(most_mib: float = 4) -> Cache:
    return Cache(int(most_mib * MIB))


@dataclass
class Thing:
    """Something that says how much it takes."""

    n_bytes: int


def mebibytes(n: float) -> Callable[[], Thing]:
    return lambda: Thing(int(n * MIB))


def keys_of(store: Cache, *keys: str, kind: str = "texts") -> list[str]:
    """Which of these are kept, not asking for any: that would count as use."""
    return [key for key in keys if (kind, key) in store]


def mib_of(store: Cache) -> float:
    return sum(use.n_bytes for use in store.use().values()) / MIB


def n_of(store: Cache) -> int:
    return sum(use.n_entries for use in store.use().values())


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


@given(st.lists(st.tuples(st.sampled_from(("texts", "models")), st.integers(0, 5), st.integers(0, 5)), max_size=20))
def test_all_that_is_kept_is_never_more_than_the_budget_but_for_one_large_thing(requests: list[tuple[str, int, int]]):
    """Against a list in the order of use, whatever the kinds are."""
    store, in_order, evicted = a_cache(4), dict[tuple[str, int], int](), list[str]()
    for kind, key, n in requests:
        n = in_order.pop((kind, key), n)
        assert store.get(kind, key, mebibytes(n)).n_bytes == n * MIB
        in_order[kind, key] = n
        while sum(in_order.values()) > 4 and len(in_order) > 1:
            oldest = next(iter(in_order))
            evicted.append(oldest[0])
            del in_order[oldest]
        use = store.use()
        for name in ("texts", "models"):
            sizes = [n for (of, _), n in in_order.items() if of == name]
            actual = use.get(name, Use(0, 0, 0))
            assert actual == Use(len(sizes), sum(sizes) * MIB, evicted.count(name))


def test_a_thing_that_grows_makes_others_go():
    store = a_cache(4)
    thing = store.get("texts", "growing", mebibytes(1))
    store.get("texts", "other", mebibytes(2))
    thing.n_bytes = 3 * MIB
    assert mib_of(store) == 3  # nobody has told yet
    store.measure("texts", "growing")
    assert keys_of(store, "growing", "other") == ["growing"] and mib_of(store) == 3
    store.measure("texts", "other")  # which is gone
    for n_mib in (1, 3, 2):
        store.put("texts", "growing", mebibytes(n_mib)())
    assert n_of(store) == 1 and mib_of(store) == 2, "a replaced value counts once"


def test_a_thing_is_made_once_when_ten_ask_at_once():
    store, makers, go_on = a_cache(), count(), Event()

    def make() -> Thing:
        next(makers)
        go_on.wait(0.05)  # so that the others come meanwhile
        return Thing(MIB)

    first, *others = at_once(lambda i: store.get("texts", "a", make))
    assert next(makers) == 1
    assert isinstance(first, Thing) and all(other is first for other in others)
    together = Barrier(N_THREADS)  # which all pass only when all are making
    numbers = at_once(lambda i: store.get("texts", i, lambda: (together.wait(10), Thing(0))[1]))
    assert all(isinstance(thing, Thing) for thing in numbers)


def test_an_error_is_raised_to_all_who_wait_and_kept_for_nobody():
    store, makers, go_on = a_cache(), count(), Event()

    def fail() -> Thing:
        next(makers)
        go_on.wait(0.3)  # so that all others have come, on a busy machine too
        raise ValueError("no such text")

    raised = at_once(lambda i: store.get("texts", "a", fail))
    assert next(makers) == 1
    assert all(isinstance(error, ValueError) and str(error) == "no such text" for error in raised)
    assert n_of(store) == 0 and not store._making
    assert store.get("texts", "a", mebibytes(1)) == Thing(MIB)  # a later call tries again


def test_where_the_maker_is_called_off_another_who_waits_makes_it():
    """As when a page is left while it computes: Streamlit ends its script by an exception that is not an error."""
    store, makers, go_on = a_cache(), count(), Event()

    class Stopped(BaseException):
        pass

    def make() -> Thing:
        is_first = next(makers) == 0
        go_on.wait(0.05)
        if is_first:
            raise Stopped
        return Thing(MIB)

    got = at_once(lambda i: store.get("texts", "a", make))
    assert next(makers) == 2
    assert sum(isinstance(thing, Stopped) for thing in got) == 1
    assert len({id(thing) for thing in got if isinstance(thing, Thing)}) == 1 and not store._making


def test_a_thing_that_cannot_be_measured_holds_nobody_up():
    class Odd:
        @property
        def n_bytes(self) -> int:
            raise TypeError

    store = a_cache()
    for _ in range(2):
        with pytest.raises(TypeError):
            store.get("texts", "a", Odd)
    assert store.get("texts", "a", lambda: b"") == b""


def test_things_say_their_size_or_their_parts_do():
    array, model = np.zeros((100, 10)), torch.nn.Linear(10, 100)
    model.register_buffer("table", torch.zeros(50))

    @dataclass
    class Part:
        values: np.ndarray
        text: str

    for value, n_bytes in (
        ({"values": array, "labels": ("a", "b")}, 8000),
        ([(array, 1.0, None), {array.tobytes()}], 16000),
        (Part(array, "x" * 1000), 9000),
        ((model, "tokenizer"), 4 * (1000 + 100 + 50)),
    ):
        assert n_bytes <= size_of(value) < n_bytes + 1000


def test_what_is_shared_is_counted_once_and_walked_once():
    """Fifty pairs, each of the same pair twice: as a tree they have 2 ** 50 leaves."""
    value: Any = np.zeros(MIB, np.uint8)
    for _ in range(50):
        value = (value, value)
    assert MIB <= size_of(value) < MIB + 50 * 100
    circle: list[Any] = [value]
    circle.append(circle)
    assert MIB <= size_of(circle) < MIB + 50 * 100 + 200
    deep: Any = ()
    for _ in range(100_000):
        deep = (deep,)
    assert size_of(deep) > 100_000 * 40


def test_a_version_is_another_one_whenever_a_file_is(tmp_path: Path):
    weights, card = tmp_path / "weights", tmp_path / "card"
    weights.write_text("1234")
    versions = {cache.version(weights, card), cache.version(weights, card)}
    card.write_text("card")
    versions.add(cache.version(weights, card))
    was = weights.stat()
    weights.unlink()
    weights.write_text("5678")
    os.utime(weights, ns=(was.st_atime_ns, was.st_mtime_ns))  # as copied with its times
    versions.add(cache.version(weights, card))
    card.unlink()
    versions.add(cache.version(weights, card))
    assert len(versions) == 4


@pytest.mark.usefixtures("fresh_caches")
def test_all_sessions_share_one_cache_with_the_budget(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_MEMORY", "2MiB")
    caches = at_once(lambda i: cache.shared())
    assert len({id(one) for one in caches}) == 1 and caches[0].most_bytes == 2 * MIB
    thing = cache.get("texts", "a", mebibytes(1))
    assert caches[0].get("texts", "a", never) is thing


def test_a_function_is_kept_under_all_its_arguments_and_apart_from_others(monkeypatch: pytest.MonkeyPatch):
    store = a_cache(8)
    monkeypatch.setattr(cache, "shared", lambda: store)

    @cache.by_arguments("texts")
    def kept(letter: str, times: int = 1, *, color: str = "red") -> Thing:
        return Thing(times * MIB)

    @cache.by_arguments("texts")
    def other(letter: str, times: int = 1, *, color: str = "red") -> Thing:
        return Thing(0)

    once = kept("a")
    assert once is kept("a", 1) is kept(times=1, letter="a") is kept("a", color="red")
    assert len({id(thing) for thing in (once, kept("b"), kept("a", 2), kept("a", color="blue"))}) == 4
    assert n_of(store) == 4
    other.put(once, "c")  # which was made with others
    assert other("c", times=1) is once and other.holds("c", 1) and not other.holds("c", 2) and not kept.holds("c", 1)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 10,000 bytes that says nothing of a budget."""
    monkeypatch.delenv("HEADLIGHT_MEMORY", raising=False)
    monkeypatch.setattr(cache, "main_memory", lambda: 10_000)


@pytest.mark.usefixtures("machine")
def test_a_budget_that_can_be_asked_for(monkeypatch: pytest.MonkeyPatch):
    for wanted, n_bytes in (
        *(("", 5_000), ("0.25", 2_500), ("1", 10_000), ("30%", 3_000), ("100%", 10_000)),
        *(("8GB", 8_000_000_000), ("8 GiB", 8 << 30), ("1.5g", 1_500_000_000), (" 512MiB ", 512 << 20), ("2k", 2_000)),
    ):
        monkeypatch.setenv("HEADLIGHT_MEMORY", wanted)
        assert cache.budget() == n_bytes, wanted
    monkeypatch.setattr(cache, "main_memory", lambda: None)
    monkeypatch.delenv("HEADLIGHT_MEMORY")
    assert cache.budget() == 4 << 30, "of a machine that says nothing"


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("wanted", ["lots", "0", "-1", "1.5", "120%", "8", "0GB", "8GBB", "0.5GB or more", "nan"])
def test_a_budget_that_cannot(wanted: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_MEMORY", wanted)
    with pytest.raises(ConfigError, match=f"such as 8GB.*got {wanted!r}"):
        cache.budget()


def test_a_server_says_in_one_sentence_what_is_wrong():
    command = (sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", "0", "--server.headless", "true")
    env = os.environ | {"HEADLIGHT_MEMORY": "lots"}
    ended = subprocess.run(command, cwd=Path(__file__).parents[2], env=env, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    (sentence,) = [line for line in ended.stderr.splitlines() if line.strip()]
    assert sentence.startswith("Headlight did not start: HEADLIGHT_MEMORY must be") and "got 'lots'" in sentence
