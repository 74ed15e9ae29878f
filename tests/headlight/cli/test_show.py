"""`headlight show`: a file of a model's heads, of any model."""

from pathlib import Path

import pytest

from headlight.cli.main import main
from tests.checkpoints.foreign import library

SENTENCE = "The animal didn't cross the street because it was too tired."


def test_a_file_is_written_and_its_path_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "heads.html"
    assert main(["show", "checkpoints/en-fr", SENTENCE, "--output", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}\n"
    page = file.read_text(encoding="utf-8")
    assert 50_000 < len(page) < 1_500_000
    assert page.count('"traversé"') == 4  # query and key of the decoder, query of cross-attention, and a step
    assert main(["show", "checkpoints/en-fr", "x", "--output", str(tmp_path)]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_model_that_only_transformers_computes_is_shown_and_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    config = library().CodeGenConfig(
        vocab_size=67, n_embd=32, n_layer=1, n_head=4, rotary_dim=4, n_positions=32, bos_token_id=1, eos_token_id=2
    )
    library().CodeGenForCausalLM(config).save_pretrained(tmp_path / "codegen")
    assert main(["show", str(tmp_path / "codegen"), "5 6 7 8"]) == 0, capsys.readouterr().err
    (address,) = opened
    file = Path(capsys.readouterr().out.strip())
    assert address == file.as_uri() and "Computed by the transformers library" in file.read_text(encoding="utf-8")
