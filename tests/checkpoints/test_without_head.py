"""A BERT without its masked-token head: brought in, handed out and taken in, with the same states each time."""

import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import transformer_core as tc
from headlight.analysis.trace.model_run import run_text
from headlight.cli.main import main
from tests.checkpoints import foreign
from tests.checkpoints.test_load import add_tokenizer
from transformer_core.checkpoints import archive
from transformer_core.decoding.filling import FillingTree
from transformer_core.errors import ConfigError


def test_it_goes_everywhere_a_model_goes_and_makes_no_predictions(
    folder_of: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    shutil.copytree(folder_of("roberta-classifier"), tmp_path / "theirs")
    add_tokenizer(tmp_path / "theirs")
    assert main(["import", str(tmp_path / "theirs"), str(tmp_path / "mine")]) == 0
    assert "encoder-only" in capsys.readouterr().out
    packed = io.BytesIO()
    archive.pack(tmp_path / "mine", packed)
    archive.unpack(packed, tmp_path / "again")
    tokens = foreign.batch("roberta-classifier")
    expected = tc.load(tmp_path / "theirs")[0].final_states(*tokens)
    for folder in ("mine", "again"):
        model, tokenizer = tc.load(tmp_path / folder)
        assert not model.config.unembed and "hook_logits" not in tc.site_names(model)
        assert torch.equal(model.final_states(*tokens), expected)
        assert not run_text(model, tokenizer, "w3 w4").predicts
    assert all("____" not in example for example in tc.read_card(tmp_path / "mine")["examples"])
    with pytest.raises(ConfigError, match="makes no predictions"):
        FillingTree(model, torch.tensor([[3, 4, 5]]), mask_id=4)
    assert main(["decode", str(tmp_path / "mine"), "w3 w4"]) != 0
    assert "no language-modeling head" in capsys.readouterr().err
