"""`decode`: a line a text, warnings beside them."""

import io
from pathlib import Path

import pytest
import torch

from transformer_core.checkpoints.checkpoint import save
from transformer_core.cli.main import main
from transformer_core.config import ModelConfig
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.model.transformer import Transformer, build
from transformer_core.text.tokenizer import OwnTokenizer, train_tokenizer

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


SIZES = {"d_model": 8, "d_ff": 8, "n_heads": 2, "max_seq_len": 12, "tie_embeddings": "target"}


def saved(folder: Path, tokenizer: OwnTokenizer, **choices: object) -> Transformer:
    """Save a small model of one stack, and return it."""
    config = ModelConfig.from_dict({"vocab_size": tokenizer.vocab_size, **SIZES, **choices})
    model = build(config, seed=5).eval()
    save(folder, model, tokenizer)
    return model


def test_a_decoder_goes_on_with_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tokenizer = train_tokenizer(["a b c"], kind="word")
    model = saved(tmp_path, tokenizer, architecture="decoder_only", n_encoder_layers=0, n_decoder_layers=1)
    prompt = torch.tensor([[tokenizer.bos_id, *tokenizer.encode("b a")]])
    expected = tokenizer.decode(greedy_decode(model, prompt, max_new_tokens=3).tokens[0])
    assert main(["decode", str(tmp_path), "--tokens", "3", "--device", "cpu", "b a"]) == 0
    shown = capsys.readouterr()
    assert shown.out == expected + "\n"
    assert shown.out.lower().startswith("b a")
    assert shown.err == ""  # three tokens were asked for, so nothing was cut off
    assert main(["decode", str(tmp_path), "--tokens", "99", "b a"]) == 2
    assert "max_new_tokens (99) must be from 1 to 9" in capsys.readouterr().err


def test_an_encoder_fills_in_the_gaps(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tokenizer = train_tokenizer(["a b c d e f"], kind="word", mask=True)
    model = saved(tmp_path, tokenizer, architecture="encoder_only", n_encoder_layers=1, n_decoder_layers=0)
    filled = tokenizer.encode_for("a ____ b <mask>", "encoder_only")
    likeliest = model(torch.tensor([filled])).argmax(dim=-1)[0]
    for place in (2, 4):  # behind <bos>
        assert filled[place] == tokenizer.mask_id
        filled[place] = int(likeliest[place])
    assert main(["decode", str(tmp_path), "a ____ b <mask>"]) == 0
    assert capsys.readouterr().out == tokenizer.decode(filled) + "\n"
    assert main(["decode", str(tmp_path), "a b"]) == 2
    assert "no blank; type ____" in capsys.readouterr().err


def test_an_encoder_without_a_token_for_gaps(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tokenizer = train_tokenizer(["a b c"], kind="word")
    saved(tmp_path, tokenizer, architecture="encoder_only", n_encoder_layers=1, n_decoder_layers=0)
    assert main(["decode", str(tmp_path), "a b"]) == 2
    assert "no mask token" in capsys.readouterr().err


def test_a_device_that_is_not_there(checkpoint: str, capsys: pytest.CaptureFixture[str]):
    assert main(["decode", checkpoint, "--device", "tpu", "a"]) == 2
    assert capsys.readouterr().err.startswith("error: there is no device 'tpu' on this machine; there is ")
