"""`inspect` from outside: a table for people, JSON for programs, sentences for mistakes."""

import json
from pathlib import Path

import pytest

from headlight.cli.main import main
from headlight.corpora.corpus_stats import CorpusStats, kept_stats
from transformer_core.corpora import CorpusReading

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
    shown = capsys.readouterr().out
    stats = kept_stats(lines, CorpusReading(), "decoder_only")
    assert stats is not None
    for text in (
        *("Hats: 38 lines, from hats.txt (", f"38 texts, {stats.n_train_tokens:,} tokens", stats.samples[-1][0]),
        *(f"{stats.unigram_loss:.3f} nats", f"{stats.bigram_loss:.3f} nats", "The held-out set is very small (2)"),
    ):
        assert text in shown


def test_json_for_programs_and_the_cache_for_a_training(lines: str, cache: Path, capsys: pytest.CaptureFixture[str]):
    arguments = ["--set", "tokens=character", "--set", "division=stream", "--architecture", "encoder_only", "--json"]
    assert main(["inspect", "--corpus", lines, *arguments]) == 0
    output = capsys.readouterr().out
    stats = kept_stats(lines, CorpusReading(tokens="character", division="stream"), "encoder_only")
    assert stats == CorpusStats.from_json(output)
    assert (stats.items, stats.tokenizer_kind) == ("stretches", "character")
    assert json.loads(output)["n_train_tokens"] == len(LINES) * 9 // 10
    assert {path.name.partition("-")[0] for path in cache.iterdir()} == {"statistics", "tokenizer"}


def test_bad_lines_are_skipped_where_that_is_set_and_a_run_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    lines = [f"number {i}\tnombre {i}" if i % 4 else f"number {i}" for i in range(1, 41)]
    path, run = tmp_path / "pairs.tsv", tmp_path / "run"
    path.write_text("\n".join(lines))
    assert main(["inspect", "--corpus", str(path)]) == 2
    assert capsys.readouterr().err.startswith(
        f"error: {path}: 10 of 40 lines are not pairs (line 4 has only one column"
    )
    tiny = ["steps=1", "batch_size=4", "d_model=8", "n_heads=1", "d_ff=8", "skip_bad_lines=true"]
    settings = [word for setting in tiny for word in ("--set", setting)]
    assert main(["train", "--corpus", str(path), "--run", str(run), *settings]) == 0
    assert json.loads((run / "run.json").read_text())["reading"]["skip_bad_lines"] is True


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
