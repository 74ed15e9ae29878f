"""`decode`: a line a text, warnings beside them."""

import io

import pytest
import torch

from transformer_core.cli.main import main
from transformer_core.config import ModelConfig
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.model.transformer import build
from transformer_core.text.tokenizer import train_tokenizer
from transformer_core.weights.checkpoint import save

TEXTS = ["a b c", "c", "b b"]


@pytest.fixture(scope="module")
def expected() -> list[str]:
    """What the model makes of the texts, filled in with the checkpoint."""
    return []


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory, expected: list[str]) -> str:
    tokenizer = train_tokenizer(["a b c"], kind="word")
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size,
        d_model=8,
        d_ff=8,
        n_heads=2,
        n_encoder_layers=1,
        n_decoder_layers=1,
        max_seq_len=8,
    )
    model = build(config, seed=3).eval()
    folder = tmp_path_factory.mktemp("decode") / "model"
    save(folder, model, tokenizer, {})
    for text in TEXTS:
        src = torch.tensor([tokenizer.encode(text, eos=True)])
        expected.append(tokenizer.decode(greedy_decode(model, src).tokens[0].tolist()))
    return str(folder)


def test_it_prints_a_line_a_text(checkpoint: str, expected: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["decode", checkpoint, *TEXTS]) == 0
    assert capsys.readouterr().out.splitlines() == expected


def test_it_reads_lines(
    checkpoint: str, expected: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stdin", io.StringIO("a b c\n\n   \nc\nb b"))
    assert main(["decode", checkpoint, "-"]) == 0
    assert capsys.readouterr().out.splitlines() == expected


def test_unknown_words_are_named(checkpoint: str, capsys: pytest.CaptureFixture[str]):
    assert main(["decode", checkpoint, "a zebra b <script>"]) == 0
    shown = capsys.readouterr()
    assert "warning: the model does not know zebra, <, script, >" in shown.err
    assert len(shown.out.splitlines()) == 1


@pytest.mark.parametrize(("text", "sentence"), [("  ", "the text is empty"), ("a b c " * 9, "28")])
def test_a_text_that_cannot_be_read_is_an_error(
    checkpoint: str, text: str, sentence: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["decode", checkpoint, text]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert sentence in message
