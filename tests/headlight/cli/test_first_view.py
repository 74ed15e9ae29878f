"""`first-view`: it writes what the app reads."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from headlight.analysis.stage import first_view
from headlight.cli.main import main
from tests.conftest import ROOT
from transformer_core.config import ModelConfig


def test_it_writes_the_view_of_the_first_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = Path(shutil.copytree(ROOT / "checkpoints/induction", tmp_path / "induction"))
    (folder / first_view.FILE).unlink()
    assert main(["first-view", str(folder)]) == 0
    config = ModelConfig.from_dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    view = first_view.read(folder, config)
    shipped = first_view.read(ROOT / "checkpoints/induction", config)
    assert view is not None and shipped is not None and view.text == shipped.text
    np.testing.assert_allclose(view.values("hook_logits"), shipped.values("hook_logits"), atol=2e-5)
    (folder / "card.json").write_text("{}")
    assert main(["first-view", str(folder)]) == 2
    assert "has no example in its card; add one to card.json" in capsys.readouterr().err
