"""Cached arrays: made once, made again if they are damaged, and in memory if the cache cannot be written."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from transformer_core.corpora.storage import kept_arrays as module
from transformer_core.corpora.storage.kept_arrays import (
    Sink,
    cache_folder,
    found_bytes,
    kept_arrays,
    kept_bytes,
)
from transformer_core.errors import CorpusError

pytestmark = pytest.mark.usefixtures("cache")

DTYPES: dict[str, np.dtype[Any]] = {"small": np.dtype(np.uint16), "large": np.dtype(np.int64)}


class Maker:
    """Makes two arrays, and counts how often it had to."""

    def __init__(self) -> None:
        self.n_calls = 0

    def fill(self, sinks: Mapping[str, Sink]) -> None:
        self.n_calls += 1
        for start in range(0, 100, 10):
            sinks["small"].append(np.arange(start, start + 10))
            sinks["large"].append(np.arange(start, start + 10) * 2**40)


def get(maker: Maker, *made_from: str) -> dict[str, np.ndarray[Any, Any]]:
    arrays = kept_arrays("numbers", made_from, DTYPES, maker.fill)
    assert {name: array.dtype for name, array in arrays.items()} == DTYPES
    assert arrays["small"].tolist() == list(range(100))
    assert arrays["large"].tolist() == [i * 2**40 for i in range(100)]
    return arrays


def only_folder(cache: Path) -> Path:
    [folder] = cache.iterdir()
    return folder


def test_they_are_made_once():
    maker = Maker()
    for _ in range(3):
        arrays = get(maker, "a", "b")
    assert maker.n_calls == 1
    with pytest.raises(ValueError, match="read-only"):
        arrays["small"][0] = 1


def test_what_they_are_made_from_tells_them_apart(cache: Path):
    maker = Maker()
    for made_from in (("a", "b"), ("ab",), ("a", "b", ""), ("b", "a")):
        get(maker, *made_from)
    assert maker.n_calls == 4 == len(list(cache.iterdir()))


def cut_off(folder: Path) -> None:
    os.truncate(folder / "large", 400)


def change_a_byte(folder: Path) -> None:
    raw = (folder / "small").read_bytes()
    (folder / "small").write_bytes(raw[:7] + bytes([raw[7] ^ 1]) + raw[8:])


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut off": cut_off,
    "a changed byte": change_a_byte,
    "a lost array": lambda folder: (folder / "small").unlink(),
    "half of the contents": lambda folder: (folder / "contents.json").write_text('{"small": {"by'),
    "wrong types": lambda folder: (folder / "contents.json").write_text('{"small": 3, "large": null}'),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_ones_are_made_again(cache: Path, damage: str):
    maker = Maker()
    get(maker)
    DAMAGES[damage](only_folder(cache))
    get(maker)
    get(maker)
    assert maker.n_calls == 2
    assert len(list(cache.iterdir())) == 1


def test_a_fill_that_fails_leaves_nothing_behind(cache: Path):
    def fill(sinks: Mapping[str, Sink]) -> None:
        sinks["small"].append(np.arange(3))
        raise CorpusError("line 7 is wrong")

    with pytest.raises(CorpusError, match="line 7 is wrong"):
        kept_arrays("numbers", (), DTYPES, fill)
    assert not list(cache.iterdir())


def test_where_another_process_was_faster_its_arrays_are_taken(cache: Path):
    late, fast = Maker(), Maker()

    def fill(sinks: Mapping[str, Sink]) -> None:
        get(fast, "same")
        (only_visible(cache) / "note").write_text("its arrays may be in use by now")
        late.fill(sinks)

    assert kept_arrays("numbers", ("same",), DTYPES, fill)["small"].tolist() == list(range(100))
    assert (only_folder(cache) / "note").exists()


@pytest.fixture
def unwritable(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder cannot be made inside a file, for any user."""
    cache.write_text("a file")
    monkeypatch.setenv("HEADLIGHT_CACHE", str(cache / "inside"))


@pytest.mark.usefixtures("unwritable")
def test_where_nothing_can_be_kept_small_arrays_lie_in_memory_and_large_ones_are_refused(
    monkeypatch: pytest.MonkeyPatch,
):
    maker = Maker()
    get(maker)
    get(maker)
    assert maker.n_calls == 2
    monkeypatch.setattr(module, "_MOST_IN_MEMORY", 799)
    with pytest.raises(CorpusError, match=r"inside cannot be written \(Not a directory\).* set HEADLIGHT_CACHE"):
        get(Maker())


def test_the_folder_is_in_the_home_folder_where_there_is_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/of-somebody")
    for named, expected in (("~/elsewhere", "elsewhere"), ("", ".cache/headlight")):
        monkeypatch.setenv("HEADLIGHT_CACHE", named)
        assert cache_folder() == Path("/home/of-somebody", expected)
    monkeypatch.setattr(Path, "expanduser", Mock(side_effect=RuntimeError("Could not determine home directory.")))
    with pytest.raises(OSError, match="no home folder"):
        cache_folder()
    get(Maker())


def test_what_was_not_used_for_long_is_deleted_and_nothing_else(cache: Path):
    maker = Maker()
    get(maker, "old")
    get(maker, "used")
    by_age = sorted(cache.iterdir(), key=lambda folder: (folder / "contents.json").stat().st_mtime_ns)
    left_over = cache / f".{by_age[0].name}.abcdef"
    broken = cache / f"numbers-{'0' * 32}"  # without contents.json
    left_over.mkdir()
    broken.mkdir()
    foreign = [cache / "notes", cache / ".git", cache / "numbers-2024"]
    for folder in foreign:
        folder.mkdir()
    long_ago = time.time() - 61 * 24 * 3600
    for path in (by_age[0] / "contents.json", by_age[1] / "contents.json", left_over, broken, *foreign):
        os.utime(path, (long_ago, long_ago))
    get(maker, "used")  # is used today
    get(maker, "new")
    kept = {folder.name for folder in cache.iterdir()}
    assert not {by_age[0].name, left_over.name, broken.name} & kept
    assert by_age[1].name in kept and {folder.name for folder in foreign} <= kept
    assert maker.n_calls == 3


def test_bytes_are_kept_like_arrays():
    for name, raw in (("nothing", b""), ("all", bytes(range(256)) * 99)):
        make = Mock(return_value=raw)
        assert found_bytes("text", [name]) is None
        assert [kept_bytes("text", [name], make) for _ in range(3)] == [raw] * 3
        assert found_bytes("text", [name]) == raw
        assert make.call_count == 1


def only_visible(cache: Path) -> Path:
    [folder] = (folder for folder in cache.iterdir() if not folder.name.startswith("."))
    return folder
