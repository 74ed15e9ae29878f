"""`train --keep`: the model of any corpus is kept, at once, before anything is measured of it; and of any run."""

import re
import signal
from pathlib import Path

import pytest
import torch

from headlight.cli.main import main
from tests.training.forked import Command, until
from transformer_core.checkpoints.checkpoint import read_card
from transformer_core.checkpoints.load import load
from transformer_core.training.run.directory import RunDirectory

PAIRS = [
    (f"My {who} {does} in the {where}, doesn't {one}?", f"Mon {qui} {fait} dans {ou}, n'est-ce pas ?")
    for who, one, qui in (("aunt", "she", "oncle"), ("Cat", "it", "chat"), ("dog", "it", "chien"))
    for does, fait in (("sleeps", "dort"), ("eats", "mange"), ("sings", "chante"), ("waits", "attend"))
    for where, ou in (("Garden", "le Jardin"), ("house", "la maison"), ("street", "la rue"), ("USA", "les É.-U."))
]
SMALL = """
    --steps 2 --set d_model=8 --set d_ff=8 --set n_heads=2 --set batch_size=4 --set evaluate_pairs=2
    --set film_megabytes=0
""".split()


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Pairs without a known alignment, and texts, each in an own file."""
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    files = {"pairs": tmp_path / "my pairs.tsv", "texts": tmp_path / "mine.txt"}
    files["pairs"].write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), encoding="utf-8")
    files["texts"].write_text("".join(f"{source} {target}\n" for source, target in PAIRS), encoding="utf-8")
    return files


def train(file: Path, run: Path, *more: str) -> int:
    preset = "tiny-one-layer" if file.suffix == ".tsv" else "tiny-decoder"
    return main(["train", "--corpus", str(file), "--preset", preset, "--run", str(run), *SMALL, *more])


def weights(folder: Path) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in load(folder)[0].parameters()])


@pytest.mark.training
@pytest.mark.parametrize(("kind", "tokens"), [("pairs", "word"), ("texts", "character")])
def test_a_model_of_one_s_own_corpus_is_kept(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, tokens: str
):
    run, kept = tmp_path / "run", tmp_path / "kept"
    assert train(files[kind], run, "--keep", str(kept), "--set", f"tokens={tokens}") == 0
    output = capsys.readouterr()
    assert output.err == ""
    assert "could not be measured" not in output.out
    assert torch.equal(weights(kept), weights(run / "last"))
    card, saved = read_card(kept), read_card(run / "last")
    measured = {"heads", "usual"} if kind == "pairs" else {"heads"}
    assert {name: value for name, value in card.items() if name not in measured} == saved | {"name": "kept"}
    assert kind == "texts" or 0 < card["usual"]["least_probability"] < 1
    for head in card.get("heads", ()):
        assert all(value is None or 0 <= value <= 1 for value in (head["aligned"], head["previous"], head["first"]))


@pytest.mark.training
def test_without_the_corpus_the_heads_are_not_described_and_the_model_is_kept(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    run, kept = tmp_path / "run", tmp_path / "kept"
    assert train(files["texts"], run) == 0
    files["texts"].unlink()
    capsys.readouterr()
    assert main(["train", "--run", str(run), "--keep", str(kept)]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    assert re.search(r"Note: head scores could not be measured \(.*mine\.txt", output.out)
    assert torch.equal(weights(kept), weights(run / "last"))
    assert "heads" not in read_card(kept)


@pytest.mark.training
def test_a_stopped_run_is_kept_as_it_was_saved_and_can_still_go_on(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    run, kept = tmp_path / "a run", tmp_path / "kept"
    words = ["train", "--corpus", str(files["pairs"]), "--preset", "tiny-one-layer", "--run", str(run), *SMALL]
    command = Command(tmp_path / "log", *words, "--steps", "100000", "--set", "log_every=1")
    until((run / "metrics.jsonl").exists)
    assert main(["train", "--run", str(run), "--keep", str(kept)]) == 2
    assert "has not saved any weights yet" in capsys.readouterr().err
    assert not kept.exists()
    command.signal(signal.SIGINT)
    _, out, _ = command.wait()
    assert f"train --run '{run}' --keep 'checkpoints/a run'" in out

    progress = RunDirectory.open(run).progress()
    assert progress is not None
    assert main(["train", "--run", str(run), "--keep", str(kept)]) == 0
    assert f"The model of step {progress.step:,} is saved in {kept}" in capsys.readouterr().out
    assert torch.equal(weights(kept), weights(run / "last"))
    assert read_card(kept)["trained"]["steps"] == progress.step
    assert RunDirectory.open(run).progress() == progress


@pytest.mark.training
@pytest.mark.faults
def test_killed_while_its_heads_are_measured_the_model_is_complete(files: dict[str, Path], tmp_path: Path):
    """The model has this many layers and heads that measuring them takes minutes."""
    run, kept = tmp_path / "run", tmp_path / "kept"
    assert train(files["texts"], run, "--set", "n_decoder_layers=40", "--set", "n_heads=8") == 0
    command = Command(tmp_path / "log", "train", "--run", str(run), "--keep", str(kept))
    until(lambda: "Scoring" in command.out)
    command.signal(signal.SIGKILL)
    assert command.wait()[0] == -signal.SIGKILL
    assert torch.equal(weights(kept), weights(run / "last"))
    assert read_card(kept) == read_card(run / "last") | {"name": "kept"}
