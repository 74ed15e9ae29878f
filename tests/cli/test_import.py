"""`import`: a model from elsewhere becomes a checkpoint folder; README's command asks a Hub in a process."""

from pathlib import Path

import pytest
import torch

import transformer_core as tc
from headlight.cli.main import main
from tests.checkpoints import foreign
from tests.checkpoints.layouts.test_nanogpt import weights_of
from transformer_core.checkpoints.bring_in import WITHOUT_TOKENIZER


def test_a_folder_without_a_tokenizer(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """It comes in all the same, and `decode` takes and prints token ids."""
    bare, mine = tmp_path / "bare", tmp_path / "checkpoints" / "mine"
    foreign.save_small("gpt2", bare)
    assert main(["import", str(bare), str(mine)]) == 0
    model, _ = tc.load(bare)
    shown = capsys.readouterr()
    n_parameters = sum(parameter.numel() for parameter in model.parameters())
    assert shown.out == f"{bare} is in {mine}: decoder-only, {n_parameters:,} parameters\n{WITHOUT_TOKENIZER}\n"
    assert shown.err == ""  # it took no time worth a word
    assert main(["import", str(mine), str(bare)]) == 2
    assert f"error: {bare} contains files that are not a checkpoint" in capsys.readouterr().err
    assert main(["import", str(tmp_path / "nowhere"), str(tmp_path / "new")]) == 2
    assert "error: there is no file or folder" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    expected = tc.greedy_decode(model, torch.tensor([[5, 6, 7]]), max_new_tokens=4).tokens[0].tolist()
    for place in (bare, mine):
        assert main(["decode", str(place), "--tokens", "4", "5, 6 7"]) == 0
        assert capsys.readouterr().out == " ".join(map(str, expected)) + "\n"
    assert main(["decode", str(bare), "5 1000"]) == 2
    assert "token id 1000 is out of range; this model has the ids 0 to 60" in capsys.readouterr().err


def test_weights_of_an_unknown_layout_come_in_with_a_mapping(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Its draft is written first."""
    weights = {name.replace("c_attn", "mix"): weight for name, weight in weights_of(bias=True).items()}
    torch.save(weights | {"more": torch.ones(2, 2, 2)}, tmp_path / "mine.pt")
    text, source, mine = tmp_path / "mine.txt", str(tmp_path / "mine.pt"), tmp_path / "mine"
    assert main(["import", source, str(mine)]) == 2
    assert "the nearest is nanoGPT" in (shown := capsys.readouterr().err) and "--map mine.txt" in shown
    command = ["import", source, str(mine), "--map", str(text), "--set", "n_heads=3", "--set", "norm_position=pre"]
    assert main(command) == 1
    assert f"The draft of a mapping is in {text}" in capsys.readouterr().out
    assert main(command) == 2
    assert "of the mapping: replace ? by a name of ours" in capsys.readouterr().err
    text.write_text(f"activation = gelu\n{text.read_text().replace('more = ?', 'more = -')}")
    assert main(command) == 0
    model, _ = tc.load(mine)
    assert model.config.n_heads == 3 and torch.equal(model.unembed.weight, weights["lm_head.weight"])


def test_a_model_of_another_family_can_be_viewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "config.json").write_text('{"model_type": "mamba"}')
    torch.save({"a": torch.ones(1)}, tmp_path / "pytorch_model.bin")
    assert main(["decode", str(tmp_path), "a"]) == 2
    shown = capsys.readouterr().err
    assert "'mamba', which is not supported\n" in shown and "headlight show MODEL" in shown
