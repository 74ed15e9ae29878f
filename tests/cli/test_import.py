"""`import`: a model from elsewhere becomes a checkpoint folder; README's command asks a Hub in a process."""

from pathlib import Path

import pytest
import torch

import transformer_core as tc
from headlight.cli.main import main
from tests.checkpoints import foreign


def test_a_folder_without_a_tokenizer(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """It comes in all the same, and `decode` takes and prints token ids."""
    bare, mine = tmp_path / "bare", tmp_path / "checkpoints" / "mine"
    foreign.save_small("gpt2", bare)
    assert main(["import", str(bare), str(mine)]) == 0
    model, _ = tc.load(bare)
    shown = capsys.readouterr()
    n_parameters = sum(parameter.numel() for parameter in model.parameters())
    assert shown.out == f"{bare} is in {mine}: decoder-only, {n_parameters:,} parameters\n"
    assert shown.err == ""  # it took no time worth a word
    assert main(["import", str(mine), str(bare)]) == 2
    assert f"error: {bare} contains files that are not a checkpoint" in capsys.readouterr().err
    assert main(["import", str(tmp_path / "nowhere"), str(tmp_path / "new")]) == 2
    assert "error: there is no folder" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    expected = tc.greedy_decode(model, torch.tensor([[5, 6, 7]]), max_new_tokens=4).tokens[0].tolist()
    for place in (bare, mine):
        assert main(["decode", str(place), "--tokens", "4", "5, 6 7"]) == 0
        assert capsys.readouterr().out == " ".join(map(str, expected)) + "\n"
    assert main(["decode", str(bare), "5 1000"]) == 2
    assert "token id 1000 is out of range; this model has the ids 0 to 60" in capsys.readouterr().err
