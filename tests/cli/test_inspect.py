"""`inspect` from outside: a table for people, JSON for programs, sentences for mistakes."""

import json
from pathlib import Path

import pytest

from transformer_core.cli.main import main
from transformer_core.corpora import CorpusReading
from transformer_core.corpora.corpus_stats import CorpusStats, kept_stats

LINES = "".join(f"Mia has {i} old hats.\n" for i in range(40))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def lines(tmp_path: Path) -> str:
    (tmp_path / "hats.txt").write_text(LINES)
    return str(tmp_path / "hats.txt")


def test_a_table_for_people(lines: str, capsys: pytest.CaptureFixture[str]):
    assert main(["inspect", "--corpus", lines]) == 0
    shown = capsys.readouterr().out.splitlines()
    found = kept_stats(lines, CorpusReading(), "decoder_only")
    assert found is not None
    rows = {line[2:24].strip(): line[26:] for line in shown if line.startswith("  ") and "  " in line.strip()}
    assert shown[0].startswith("Hats: 38 lines, from hats.txt (")
    assert rows["for"] == "a decoder"
    assert rows["training set"] == f"38 texts, {found.n_train_tokens:,} tokens"
    assert rows["validation set"] == f"2 texts, {found.n_held_out_tokens:,} tokens"
    assert f"{found.unigram_loss:.3f} nats" in rows["unigram baseline"]
    assert f"{found.bigram_loss:.3f} nats" in rows["bigram baseline"]
    assert rows["tokens of a text"].endswith(f"the longest {found.lengths['text'].longest}")
    end = shown.index("Worth knowing before it is trained on with --preset tiny-decoder:") - 1
    assert shown[end - 10 : end] == [f"  {text}" for [text] in found.samples]
    assert shown[end + 2].startswith("  The held-out set is very small (2)")


def test_json_for_programs_and_the_cache_for_a_training(lines: str, cache: Path, capsys: pytest.CaptureFixture[str]):
    arguments = ["--set", "tokens=character", "--set", "division=stream", "--architecture", "encoder_only", "--json"]
    assert main(["inspect", "--corpus", lines, *arguments]) == 0
    output = capsys.readouterr().out
    found = kept_stats(lines, CorpusReading(tokens="character", division="stream"), "encoder_only")
    assert found == CorpusStats.from_json(output)
    assert (found.items, found.tokenizer_kind) == ("stretches", "character")
    assert json.loads(output)["n_train_tokens"] == len(LINES) * 9 // 10
    assert {path.name.partition("-")[0] for path in cache.iterdir()} == {"statistics", "tokenizer"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--corpus", "klingon"], "error: there is no corpus 'klingon'"),
        (["--corpus", "LINES", "--set", "token=word"], "error: there is no setting 'token'; did you mean tokens"),
        (["--corpus", "LINES", "--set", "steps=3"], "error: steps is not a corpus setting; available are tokens"),
        (["--corpus", "LINES", "--set", "vocab_size=3"], "error: vocab_size must be a whole number from 6"),
        (["--corpus", "LINES", "--architecture", "encoder_decoder"], "error: this corpus consists of texts"),
    ],
)
def test_an_error_is_one_sentence_and_status_2(
    lines: str, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["inspect", *(lines if argument == "LINES" else argument for argument in arguments)]) == 2
    message = capsys.readouterr().err
    assert message.startswith(sentence) and message.count("\n") == 1


def test_bad_lines_are_one_calm_error_and_skipped_where_that_is_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    lines = [f"number {i}\tnombre {i}" if i % 4 else f"number {i}" for i in range(1, 41)]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(lines))
    assert main(["inspect", "--corpus", str(path)]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"error: {path}: 10 of 40 lines are not pairs (line 4 has only one column; line 8 ")
    assert "line 20 has only one column; and 5 more)" in shown and "skip_bad_lines=true" in shown
    assert main(["inspect", "--corpus", str(path), "--set", "skip_bad_lines=true"]) == 0
    assert "Skipped lines that are not pairs: 10." in capsys.readouterr().out
    run = tmp_path / "run"
    tiny = ["steps=1", "batch_size=4", "d_model=8", "n_heads=1", "d_ff=8", "skip_bad_lines=true"]
    settings = [word for setting in tiny for word in ("--set", setting)]
    assert main(["train", "--corpus", str(path), "--run", str(run), *settings]) == 0
    request = json.loads((run / "run.json").read_text())
    assert request["reading"]["skip_bad_lines"] is True
    assert "--set skip_bad_lines=true" in request["command"]
