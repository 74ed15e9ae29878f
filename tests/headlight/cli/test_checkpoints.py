"""`compile`: from a program to a checkpoint; `first-view`: it writes what the app reads."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import transformer_core as tc
from headlight.analysis.stage import first_view
from headlight.cli.main import main
from headlight.programs import roles
from headlight.programs.checkpoint import load_compiled
from tests.conftest import ROOT
from transformer_core.config import ModelConfig


def test_an_example_becomes_a_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", "histogram", str(tmp_path / "histogram")]) == 0
    assert "L0.H0  count = selector_width(same)" in capsys.readouterr().out
    model, _ = load_compiled(tmp_path / "histogram")
    assert roles(model)[0, 0].kind == "same_token"
    card = tc.read_card(tmp_path / "histogram")
    assert card["title"] == "Histogram" and len(card["examples"]) == 4


def test_a_file_with_a_vocabulary_and_a_length(tmp_path: Path):
    file = tmp_path / "two_back.txt"
    file.write_text("s = aggregate(select(indices, indices, lambda key, query: key == query - 2), tokens, 'x')\n")
    arguments = ["compile", str(file), str(tmp_path / "two"), "--causal", "--vocab", "up down", "--max-len", "6"]
    assert main(arguments) == 0
    model, tokenizer = load_compiled(tmp_path / "two")
    assert (model.config.architecture, model.config.max_seq_len) == ("decoder_only", 8)
    assert roles(model)[0, 0].offset == 2
    assert {token for text in tc.read_card(tmp_path / "two")["examples"] for token in text.split()} <= {"up", "down"}
    assert tokenizer.encode("up down", bos=True) == [1, 4, 5]


@pytest.mark.parametrize(
    ("program", "why"),
    [("nothing", "is neither an example nor a file"), ("wrong.txt", "line 1: write name = expression")],
)
def test_what_is_no_program_is_refused_in_a_sentence(
    program: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("wrong.txt").write_text("tokens", encoding="utf-8")
    assert main(["compile", program, "there"]) == 2
    assert why in capsys.readouterr().err
    assert not Path("there").exists()


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
