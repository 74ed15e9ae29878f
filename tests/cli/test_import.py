"""`import`: a model from elsewhere becomes a checkpoint folder, by the same environment as the Hub's own tools."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import transformer_core as tc
from tests.checkpoints import foreign
from tests.checkpoints.local_hub import LocalHub, commit_of
from tests.checkpoints.test_load import add_tokenizer
from transformer_core.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("import") / "small-gpt2"
    foreign.save_small("gpt2", folder)
    return add_tokenizer(folder)


@pytest.fixture
def hub(folder: Path) -> Iterator[LocalHub]:
    hub = LocalHub()
    hub.serve("small-models/gpt2", folder)
    yield hub
    hub.stop()


def same(one: Path, other: Path) -> bool:
    tokens = torch.tensor([[5, 6, 7, 8]])
    return torch.equal(tc.load(one)[0](tokens), tc.load(other)[0](tokens))


def test_a_model_of_the_hub(hub: LocalHub, folder: Path, tmp_path: Path):
    """In a process of its own, which takes the address, the cache and offline mode from its environment."""
    environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-m", "transformer_core", "import", "small-models/gpt2", str(tmp_path / "gpt2")]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith(f"small-models/gpt2 is in {tmp_path / 'gpt2'}: decoder-only, ")
    assert same(tmp_path / "gpt2", folder)
    assert tc.read_card(tmp_path / "gpt2")["source"] == {"name": "small-models/gpt2", "commit": commit_of(folder)}
    assert list((tmp_path / "hf" / "hub").glob("models--small-models--gpt2"))


def test_a_folder_without_a_tokenizer(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """It comes in all the same, and `decode` takes and prints token ids."""
    bare, mine = tmp_path / "bare", tmp_path / "checkpoints" / "mine"
    shutil.copytree(folder, bare)
    (bare / "tokenizer.json").unlink()
    assert main(["import", str(bare), str(mine)]) == 0
    model, _ = tc.load(bare)
    shown = capsys.readouterr()
    n_parameters = sum(parameter.numel() for parameter in model.parameters())
    assert shown.out == f"{bare} is in {mine}: decoder-only, {n_parameters:,} parameters\n"
    assert shown.err == ""  # it took no time worth a word
    assert main(["import", str(mine), str(bare)]) == 2
    assert f"error: {bare} contains files that are not a checkpoint" in capsys.readouterr().err
    assert main(["import", str(tmp_path / "nowhere"), str(tmp_path / "new")]) == 2
    assert "error: there is no folder" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    expected = tc.greedy_decode(model, torch.tensor([[5, 6, 7]]), max_new_tokens=4).tokens[0].tolist()
    for place in (bare, mine):
        assert main(["decode", str(place), "--tokens", "4", "5, 6 7"]) == 0
        assert capsys.readouterr().out == " ".join(map(str, expected)) + "\n"
    assert main(["decode", str(bare), "5 1000"]) == 2
    assert "token id 1000 is out of range; this model has the ids 0 to 60" in capsys.readouterr().err
