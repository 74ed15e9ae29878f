"""`decode`: a line a text, warnings beside them."""

import io
import json
from pathlib import Path

import pytest
import torch

from headlight.cli.main import main
from transformer_core.checkpoints.checkpoint import save
from transformer_core.config import ModelConfig
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.model.transformer import Transformer, build
from transformer_core.text.tokenizer import OwnTokenizer, train_tokenizer

SIZES = {"d_model": 8, "d_ff": 8, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1, "max_seq_len": 12}
ENCODER = {"architecture": "encoder_only", "n_decoder_layers": 0, "tie_embeddings": "target"}


def saved(folder: Path, tokenizer: OwnTokenizer, **choices: object) -> Transformer:
    """Save a small model, and return it."""
    config = ModelConfig.from_dict({"vocab_size": tokenizer.vocab_size, **SIZES, **choices})
    model = build(config, seed=5).eval()
    save(folder, model, tokenizer)
    return model


def test_a_line_per_text(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    tokenizer = train_tokenizer(["a b c"], kind="word")
    model = saved(tmp_path, tokenizer)
    expected = []
    for text in ("a b c", "c", "b b"):
        src = torch.tensor([tokenizer.encode(text, eos=True)])
        expected.append(tokenizer.decode(greedy_decode(model, src).tokens[0].tolist()))
    assert len({*expected}) > 1
    monkeypatch.setattr("sys.stdin", io.StringIO("c\n\n   \nb b"))
    assert main(["decode", str(tmp_path), "a b c", "-"]) == 0
    assert capsys.readouterr().out.splitlines() == expected
    assert main(["decode", str(tmp_path), "a zebra b <script>"]) == 0
    assert "warning: the model does not know zebra, <, script, >" in capsys.readouterr().err
    for least, is_warned in ((0.0, False), (1.0, True), ("often", False)):
        (tmp_path / "card.json").write_text(json.dumps({"usual": {"least_probability": least}}))
        assert main(["decode", str(tmp_path), "a b c"]) == 0
        assert ("unlike the training data" in capsys.readouterr().err) == is_warned
    assert main(["decode", str(tmp_path), "a  c"]) == 0
    assert "the model ignores some spaces" in capsys.readouterr().err
    for arguments, why in ((["  "], "no tokens"), (["a b c " * 9], "28"), (["--device", "tpu", "a"], "'tpu'")):
        assert main(["decode", str(tmp_path), *arguments]) == 2
        message = capsys.readouterr().err
        assert message.startswith("error: ") and why in message


def test_a_decoder_continues_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tokenizer = train_tokenizer(["a b c"], kind="word")
    model = saved(tmp_path, tokenizer, architecture="decoder_only", n_encoder_layers=0, tie_embeddings="target")
    prompt = torch.tensor([[tokenizer.bos_id, *tokenizer.encode("b a")]])
    expected = tokenizer.decode(greedy_decode(model, prompt, max_new_tokens=3).tokens[0])
    assert main(["decode", str(tmp_path), "--tokens", "3", "--device", "cpu", "b a"]) == 0
    shown = capsys.readouterr()
    assert shown.out == expected + "\n"
    assert shown.out.lower().startswith("b a")
    assert shown.err == ""  # three tokens were requested, so nothing was cut off
    assert main(["decode", str(tmp_path), "--tokens", "99", "b a"]) == 2
    assert "max_new_tokens (99) must be from 1 to 9" in capsys.readouterr().err


def test_an_encoder_fills_in_the_gaps(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tokenizer = train_tokenizer(["a b c d e f"], kind="word", mask=True)
    model = saved(tmp_path, tokenizer, **ENCODER)
    filled = tokenizer.encode_for("a ____ b <mask>", "encoder_only")
    likeliest = model(torch.tensor([filled])).argmax(dim=-1)[0]
    for place in (2, 4):  # after <bos>
        assert filled[place] == tokenizer.mask_id
        filled[place] = int(likeliest[place])
    assert main(["decode", str(tmp_path), "a ____ b <mask>"]) == 0
    assert capsys.readouterr().out == tokenizer.decode(filled) + "\n"
    assert main(["decode", str(tmp_path), "a b"]) == 2
    assert "no blank; type ____" in capsys.readouterr().err
    saved(tmp_path, train_tokenizer(["a b c"], kind="word"), **ENCODER)
    assert main(["decode", str(tmp_path), "a b"]) == 2
    assert "no mask token" in capsys.readouterr().err
