"""At most as many models run at once as there are cores; nobody waits for ever."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore, Event, Lock

import pytest

from pages.shared import devices, forwards
from pages.shared.cache import Cache

N_THREADS = 12


@pytest.mark.parametrize("most", [1, 3])
def test_so_many_run_at_once_and_no_more_also_after_a_fault(most: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forwards, "_places", BoundedSemaphore(most))
    lock, now, at_once = Lock(), 0, list[int]()
    with pytest.raises(ZeroDivisionError), devices.on(devices.CPU):
        1 / 0  # noqa: B018

    def forward(_: int) -> None:
        nonlocal now
        with devices.on(devices.CPU), devices.on(devices.CPU):  # within itself it counts once
            with lock:
                now += 1
                at_once.append(now)
            time.sleep(0.02)
            with lock:
                now -= 1

    with ThreadPoolExecutor(N_THREADS) as threads:
        list(threads.map(forward, range(N_THREADS)))
    assert max(at_once) == most and len(at_once) == N_THREADS and now == 0


def test_who_waits_for_another_s_result_gives_its_place_away(monkeypatch: pytest.MonkeyPatch):
    """One has begun to make something and wants to run a model; another runs one, and waits for that thing."""
    monkeypatch.setattr(forwards, "_places", BoundedSemaphore(1))
    cache, is_making, is_waiting = Cache(1 << 20), Event(), Event()

    def make() -> str:
        is_making.set()
        is_waiting.wait(10)
        with devices.on(devices.CPU):
            return "made"

    def wait() -> str:
        is_making.wait(10)
        with devices.on(devices.CPU):
            is_waiting.set()
            return cache.get("texts", "a", lambda: "made twice")

    with ThreadPoolExecutor(2) as threads:
        both = threads.submit(cache.get, "texts", "a", make), threads.submit(wait)
        assert [one.result(timeout=20) for one in both] == ["made", "made"]
