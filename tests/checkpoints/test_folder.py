"""A folder that is replaced is never seen half written, whatever happens in the middle."""

import json
from pathlib import Path

import pytest

from transformer_core.checkpoints.folder import reading, replacing, settle, write_json


def put(folder: Path, content: str) -> None:
    """Replace the folder by one of two files, which belong together."""
    with replacing(folder) as new:
        for name in ("a", "b"):
            (new / name).write_text(content)


def content(folder: Path) -> tuple[str, ...]:
    return tuple((folder / name).read_text() for name in ("a", "b"))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path / "models" / "x", "old")
    return tmp_path / "models" / "x"


def test_a_replacement(folder: Path, tmp_path: Path):
    assert content(folder) == ("old", "old")
    (tmp_path / "link").symlink_to(folder)
    for place in (folder, tmp_path / "link"):  # a link is followed
        with replacing(place) as new:
            (new / "a").write_text("new")
            assert content(folder) == content(place)
            assert new.parent == folder.parent  # on the same disk, so that it can be renamed
            (new / "b").write_text("new")
        assert content(folder) == content(place) == ("new", "new")
        assert names(folder.parent) == {"x"}
    assert (tmp_path / "link").is_symlink()
    cut_off(folder, after="first rename")
    assert reading(tmp_path / "link", content) == ("new", "new")
    settle(tmp_path / "no" / "where")
    with pytest.raises(FileNotFoundError):
        reading(tmp_path / "no" / "where", content)


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_after_an_exception_it_is_as_it_was(folder: Path, error: type[BaseException], monkeypatch: pytest.MonkeyPatch):
    """While it is filled, or between the two renames."""
    with pytest.raises(error), replacing(folder) as new:
        (new / "a").write_text("new")
        raise error
    assert content(folder) == ("old", "old")
    assert names(folder.parent) == {"x"}
    rename = Path.rename

    def fail_for_the_new_one(path: Path, target: Path) -> Path:
        if path.name.endswith(".new"):
            raise error
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail_for_the_new_one)
    with pytest.raises(error):
        put(folder, "new")
    assert content(folder) == ("old", "old")
    assert names(folder.parent) == {"x"}


def cut_off(folder: Path, *, after: str) -> None:
    """Leave what a process leaves behind that is killed after one of the steps of a replacement."""
    new = folder.with_name(f".{folder.name}.{'0' * 32}.new")
    new.mkdir()
    (new / "a").write_text("new")
    if after == "filling":
        return
    (new / "b").write_text("new")
    folder.rename(folder.with_name(f".{folder.name}.former"))
    if after == "first rename":
        return
    new.rename(folder)


@pytest.mark.parametrize(("step", "kept"), [("filling", "old"), ("first rename", "old"), ("second rename", "new")])
def test_a_process_that_was_killed(folder: Path, step: str, kept: str):
    cut_off(folder, after=step)
    assert reading(folder, content) == (kept, kept)
    left_over = names(folder.parent)
    assert left_over > {".x.former"} or ".x.former" not in left_over  # reading leaves all as it is
    for _ in range(2):
        settle(folder)
        assert content(folder) == (kept, kept)
        assert names(folder.parent) == {"x"}
    cut_off(folder, after=step)
    put(folder, "newer")  # clears up, too
    assert content(folder) == ("newer", "newer")
    assert names(folder.parent) == {"x"}


@pytest.mark.parametrize("step", ["filling", "first rename", "second rename"])
def test_a_neighbor_is_left_alone(tmp_path: Path, step: str):
    """`x.y` and `x[1]` are other places than `x`, whatever their names look like in a pattern."""
    for name in ("x", "x.y", "x[1]", "x1"):
        put(tmp_path / name, "old")
    cut_off(tmp_path / "x.y", after="filling")
    cut_off(tmp_path / "x1", after="filling")
    neighbors = names(tmp_path)
    for name in ("x", "x[1]"):
        cut_off(tmp_path / name, after=step)
        settle(tmp_path / name)
        assert names(tmp_path) == neighbors


def test_a_reader_in_the_middle_of_a_replacement_reads_again(folder: Path):
    seen: list[tuple[str, str]] = []

    def read(place: Path) -> tuple[str, str]:
        first = (place / "a").read_text()
        if len(seen) < 2:
            put(folder, f"new {len(seen)}")
        seen.append((first, (place / "b").read_text()))
        return seen[-1]

    assert reading(folder, read) == ("new 1", "new 1")
    assert seen == [("old", "new 0"), ("new 0", "new 1"), ("new 1", "new 1")]


def test_write_json(tmp_path: Path):
    path = tmp_path / "status.json"
    values = {"état": "été", "argument": "\udc80"}  # a path that is not UTF-8 reaches Python like this
    write_json(path, values)
    with pytest.raises(TypeError):
        write_json(path, {"n": object()})
    assert json.loads(path.read_text(encoding="utf-8")) == values and "été" in path.read_text(encoding="utf-8")
    assert names(tmp_path) == {"status.json"}
