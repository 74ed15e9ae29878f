"""What lies beside the shipped checkpoints is what these models compute, and is read without torch."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import transformer_core as tc
from headlight.analysis.blueprint.capture import CapturedText
from headlight.analysis.stage import first_view
from headlight.analysis.stage.generating import generate
from tests.conftest import ROOT
from transformer_core.config import ModelConfig

SHIPPED = ("en-fr", "dates", "stories", "induction", "fill-in")


WITHOUT_TORCH = """
import json, sys
from pathlib import Path
from headlight.analysis.stage import first_view
from transformer_core.config import ModelConfig
folder = Path(sys.argv[1])
view = first_view.read(folder, ModelConfig.from_dict(json.loads((folder / "config.json").read_text())))
assert view is not None and view.values("hook_logits").ndim == 2
assert "torch" not in sys.modules, "torch was loaded"
"""


def config_of(folder: Path) -> ModelConfig:
    return ModelConfig.from_dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_first_view_is_what_the_model_computes(name: str):
    folder = ROOT / "checkpoints" / name
    view = first_view.read(folder, config_of(folder))
    assert view is not None, "run `python -m transformer_core first-view` on it"
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    assert view.prompt == card["examples"][0]
    model, tokenizer = tc.load(folder)
    assert view.text == generate(model, tokenizer, view.prompt)
    captured = CapturedText(model, view.text.inputs)
    assert {*view.activations} == {*first_view.sites(model.config)}
    for site, values in view.activations.items():
        np.testing.assert_allclose(values, captured.values(site), atol=2e-5, err_msg=site)
    for token, label in view.candidates.items():
        assert label == tokenizer.target.labels([token])[0]


def test_it_is_read_without_torch():
    command = [sys.executable, "-c", WITHOUT_TORCH, str(ROOT / "checkpoints/en-fr")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "checkpoints/induction", tmp_path / "induction"))


def test_of_other_weights_there_is_none(folder: Path):
    assert first_view.read(folder, config_of(folder)) is not None
    weights = folder / "model.safetensors"
    whole = bytearray(weights.read_bytes())
    whole[-1] ^= 1
    weights.write_bytes(whole)
    assert first_view.read(folder, config_of(folder)) is None


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x05\x06" + 18 * b"\0"])
def test_a_damaged_file_counts_as_missing(folder: Path, content: bytes):
    (folder / first_view.FILE).write_bytes(content)
    assert first_view.read(folder, config_of(folder)) is None
    (folder / first_view.FILE).unlink()
    assert first_view.read(folder, config_of(folder)) is None
