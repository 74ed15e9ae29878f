"""A model is deleted, and nothing that is none, or that only a link leads to."""

from pathlib import Path

import pytest

from transformer_core.checkpoints.remove import remove
from transformer_core.errors import CheckpointError


def a_model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder


def test_a_model_goes_and_nothing_else_does(tmp_path: Path):
    folder = a_model(tmp_path / "small")
    remove(folder)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "thesis").mkdir()
    for place in (folder, tmp_path / "thesis"):
        with pytest.raises(CheckpointError, match=r"no model in .*, so nothing was deleted"):
            remove(place)
    assert (tmp_path / "thesis").is_dir()


def test_of_a_link_only_the_link_goes(tmp_path: Path):
    away = a_model(tmp_path / "away")
    (tmp_path / "thesis.txt").write_text("mine")
    (tmp_path / "link").symlink_to(away)
    remove(tmp_path / "link")
    assert not (tmp_path / "link").is_symlink()
    assert (away / "config.json").read_text() == "{}"
    (away / "deep").mkdir()
    (away / "deep" / "out").symlink_to(tmp_path)
    (away / "thesis.txt").symlink_to(tmp_path / "thesis.txt")
    remove(away)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
