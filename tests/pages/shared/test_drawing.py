"""What goes with a picture: the same numbers in both files, lines that run, and the pages that name the selection."""

import hashlib
import io
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pages.shared import drawing, models
from pages.shared.view.long_texts import packed

VIEW = {"packed": packed("Zürich"), "packed-second-text": packed("Bern"), "head": "0"}
ARRAYS = {"values": np.arange(6.0).reshape(2, 3), "labels": np.array(["é", "<b>"])}


def files(**more: Any) -> dict[str, bytes]:
    result = drawing.files(
        name="a-b", csv=lambda: "row,é\n", arrays=lambda: ARRAYS, code="print(1)\n", words=VIEW, **more
    )
    return dict(result)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model's folder, below the project's root."""
    monkeypatch.setattr(models, "ROOT", tmp_path)
    folder = tmp_path / "checkpoints" / "mine"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "card.json").write_text(json.dumps({"trained": {"seed": 7}}))
    return folder


def model_told(path: str) -> dict[str, Any]:
    return dict(json.loads(files(model=path)["state.json"])["model"])


def test_four_files_hold_the_table_the_arrays_the_lines_and_the_view():
    result = files()
    assert [*result] == ["a-b.csv", "a-b.npz", "redraw.py", "state.json"]
    assert result["a-b.csv"].decode() == "row,é\n"
    with np.load(io.BytesIO(result["a-b.npz"]), allow_pickle=False) as arrays:
        assert {name: arrays[name].tolist() for name in arrays.files} == {
            name: of.tolist() for name, of in ARRAYS.items()
        }
    assert result["redraw.py"].decode().splitlines()[1:] == ["print(1)"]
    text = json.loads(result["state.json"])
    assert (
        text["view"] == {"text": "Zürich", "second-text": "Bern", "head": "0"}
        and "model" not in text
        and "Zürich" in result["state.json"].decode()
    )
    assert text["versions"]["torch"] == version("torch")


def test_a_model_is_told_by_its_weights_and_the_seed_of_its_training_as_far_as_its_folder_says(model: Path):
    wanted = {"path": "checkpoints/mine", "sha256": hashlib.sha256(b"weights").hexdigest(), "seed": 7}
    assert model_told("checkpoints/mine") == wanted
    assert model_told(str(model))["path"] == "mine"  # where a folder lies on this machine is nobody's business
    (model / "model.safetensors").write_bytes(b"other weights")
    assert model_told("checkpoints/mine")["sha256"] == hashlib.sha256(b"other weights").hexdigest()
    for card in ("{}", "no card"):
        (model / "card.json").write_text(card)
        assert [*model_told("checkpoints/mine")] == ["path", "sha256"]
    (model / "model.safetensors").unlink()
    assert model_told("checkpoints/mine") == {"path": "checkpoints/mine"}
