"""A BERT without its masked-token head: read, saved, handed out and brought in, with the same states each time."""

import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import transformer_core as tc
from tests.checkpoints import foreign
from tests.checkpoints.test_load import add_tokenizer
from transformer_core.analysis import run_text
from transformer_core.checkpoints import archive
from transformer_core.cli.main import main
from transformer_core.decoding.filling import FillingTree
from transformer_core.errors import ConfigError


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert-bare", "roberta-classifier", "distilbert-classifier"])
def test_it_goes_everywhere_a_model_goes(
    name: str, folder_of: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    shutil.copytree(folder_of(name), tmp_path / name)
    add_tokenizer(tmp_path / name)
    tokens = foreign.batch(name)
    inputs = {"input_ids": tokens[0], "attention_mask": foreign.is_real(tokens[0]).long()}
    with torch.inference_mode():
        expected = foreign.theirs(name, tmp_path / name)(**inputs, output_hidden_states=True).hidden_states[-1]
    assert main(["import", str(tmp_path / name), str(tmp_path / "mine")]) == 0
    assert "encoder-only" in capsys.readouterr().out
    packed = io.BytesIO()
    archive.pack(tmp_path / "mine", packed)
    archive.unpack(packed, tmp_path / "again")
    archive.unpack(zip_of(tmp_path / name), tmp_path / "from-a-zip")
    real = foreign.is_real(tokens[0])
    for folder in (name, "mine", "again", "from-a-zip"):
        model, _ = tc.load(tmp_path / folder)
        assert not model.config.unembed and "hook_logits" not in tc.site_names(model)
        torch.testing.assert_close(model.final_states(*tokens)[real], expected[real], rtol=1e-5, atol=1e-5)
        with pytest.raises(ConfigError, match="no language-modelling head, so it makes no predictions"):
            model(*tokens)
    assert all("____" not in example for example in tc.read_card(tmp_path / "mine")["examples"])


def test_whoever_wants_predictions_is_told_calmly(
    folder_of: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    shutil.copytree(folder_of("bert-bare"), tmp_path / "bare")
    model, tokenizer = tc.load(add_tokenizer(tmp_path / "bare"))
    with pytest.raises(ConfigError, match="makes no predictions"):
        FillingTree(model, torch.tensor([[3, 4, 5]]), mask_id=4)
    assert main(["decode", str(tmp_path / "bare"), "w3 w4"]) != 0
    assert "no language-modelling head" in capsys.readouterr().err
    assert not run_text(model, tokenizer, "w3 w4").predicts


def zip_of(folder: Path) -> io.BytesIO:
    """A zip file of a folder, made by another program than ours."""
    made = shutil.make_archive(str(folder.parent / f"zip-of-{folder.name}"), "zip", folder.parent, folder.name)
    return io.BytesIO(Path(made).read_bytes())
