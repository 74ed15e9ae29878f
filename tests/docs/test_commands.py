"""The commands in README and docs/ work: run unchanged, or for two steps where they take minutes."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torch.distributed.run import get_args_parser

import transformer_core as tc
from headlight.cli.main import add_commands, main
from headlight.programs import EXAMPLES
from tests.checkpoints import foreign
from tests.checkpoints.local_hub import LocalHub
from tests.checkpoints.test_load import add_tokenizer
from tests.conftest import ROOT
from tests.corpora.written import chapter
from tests.docs import WRITTEN
from transformer_core.checkpoints.hub import HubId
from transformer_core.cli.main import make_parser
from transformer_core.cli.settings import READING_FIELDS, parse_settings
from transformer_core.corpora import CORPORA
from transformer_core.model.presets import PRESETS

TEXT = "\n".join(WRITTEN.values())
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)  # each with its language
COMMANDS = [
    shlex.split(re.sub(r"^[A-Z_]+=\S+ ", "", command), comments=True)  # without variables of the environment
    for language, block in BLOCKS
    if language == "sh"
    for command in block.replace("\\\n", " ").splitlines()
]
OURS = ["python", "-m", "transformer_core"]
SENTENCE = "The animal didn't cross the street because it was too tired."
TWO_STEPS = ["--steps", "2"]  # at the end of a training of minutes


def parsed(words: list[str]) -> Namespace:
    """Parse the words after `transformer_core` as the program does; an unknown option ends the test."""
    return make_parser(add_commands=add_commands)[0].parse_args(words)


def of(name: str) -> list[list[str]]:
    """Return the words after `transformer_core` of each such command without torchrun, in the order of the text."""
    return [command[3:] for command in COMMANDS if command[:4] == [*OURS, name]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """A function that runs a command of `transformer_core` in this process, in `tmp_path`, and returns its output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))

    def run_command(*words: str) -> str:
        assert main([*words]) == 0
        return capsys.readouterr().out

    return run_command


def run(*words: str, place: Path, **variables: str) -> str:
    """Run a command in a separate process, in a folder; return its output."""
    variables |= {"PYTHONPATH": str(ROOT), "HEADLIGHT_CACHE": str(place / "cache"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *OURS[1:], *words]
    done = subprocess.run(command, cwd=place, env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_commands_are_of_the_kinds_checked_here():
    kinds = {tuple(command[: 4 if command[0] == "python" else 1]) for command in COMMANDS}
    ours = {(*OURS, name) for name in ("train", "decode", "inspect", "import", "compile")}
    assert kinds == ours | {("make",), ("torchrun",), ("pip",), ("headlight",), ("docker",)}  # see test_container.py


def test_every_make_target_is_documented():
    inline = [shlex.split(words) for words in re.findall(r"`(make [a-z-]+)`", TEXT)]
    targets = {command[1] for command in COMMANDS + inline if command[0] == "make"}
    assert targets == {"run", "test", "test-all", "mutants", "check", "docs", "bench"}
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony and targets == set(phony[1].split())


@pytest.mark.training
def test_a_model_is_trained_saved_and_decoded(tmp_path: Path, call: Callable[..., str]):
    trained, (decode,) = of("train")[0], of("decode")
    kept = parsed(trained).keep
    assert str(kept) == decode[1]
    (tmp_path / "short.tsv").write_text("".join(f"the cat sees {n} dogs\tle chat voit {n} chiens\n" for n in range(99)))
    assert "step 2 of 2" in call(*("short.tsv" if word == "en-fr" else word for word in trained), *TWO_STEPS)
    assert (tmp_path / kept / "card.json").is_file()
    assert call(*decode).count("\n") == 1


def test_the_extras_exist_and_the_installed_command_decodes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """For the command in an environment where it is installed, see tests/test_package.py."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pip, torch, pinned = (command for command in COMMANDS if command[0] == "pip")
    assert torch[2] in (ROOT / "requirements.txt").read_text().splitlines()
    assert pinned[::2] == ["pip", "-r", "-c"] and all((ROOT / name).is_file() for name in pinned[3::2])
    assert pip == ["pip", "install", "."]
    assert {*re.findall(r"`\[(\w+)\]`", TEXT)} <= set(project["optional-dependencies"])
    start, (_, *words), shown, *shared = (command for command in COMMANDS if command[0] == "headlight")
    assert shown[1] == "show" and parsed(shown[1:]).text == SENTENCE  # see tests/headlight/cli/test_show.py
    assert start == ["headlight"] and start[0] in project["scripts"]
    assert [command[1] for command in shared] == ["--shared", "--shared"]  # see tests/test_package.py
    monkeypatch.chdir(ROOT.parent)
    assert main(words) == 0
    assert capsys.readouterr().out == "L'animal n'a pas traversé la rue parce qu'elle était trop large.\n"


def test_a_program_is_compiled(tmp_path: Path, call: Callable[..., str]):
    (compiled,) = of("compile")
    assert "L0.H0  length = selector_width(" in call(*compiled)
    assert (tmp_path / parsed(compiled).folder / "card.json").is_file()


@pytest.mark.training
def test_inspect_and_train_read_the_same_corpus(tmp_path: Path, call: Callable[..., str]):
    (inspected,), trained = of("inspect"), of("train")[1]
    readings = [parse_settings(parsed(words).set).reading for words in (inspected, trained)]
    assert readings[0] == readings[1]
    (tmp_path / parsed(inspected).corpus).write_text(chapter(seed=3, n_paragraphs=60), encoding="utf-8")
    stats = json.loads(call(*inspected, "--json"))
    assert "a character; there are" in call(*inspected)
    call(*trained, *TWO_STEPS)
    _, tokenizer = tc.load(tmp_path / parsed(trained).keep)
    assert tokenizer.vocab_size == stats["vocab_size"]


def test_every_corpus_preset_and_setting_exists():
    """Those of the commands, and those that the text names."""
    ours = [command[command.index("transformer_core") + 1 :] for command in COMMANDS if "transformer_core" in command]
    for words in ours:
        options = parsed(words)
        if words[0] == "train":
            assert options.preset in PRESETS
        if words[0] in ("train", "inspect"):
            is_program = options.corpus.removeprefix("program:") in EXAMPLES
            assert options.corpus in CORPORA or is_program or options.corpus == "my-book.txt"
            parse_settings(options.set)
        if words[0] == "import":
            assert HubId.read(options.source)
    settings = re.findall(r"--set\s([\w.]+=[\w.]+)", TEXT)
    assert len(settings) >= 9
    for setting in settings:
        is_of_corpus = bool(parse_settings([setting]).reading)
        assert is_of_corpus == (setting.split("=")[0] in READING_FIELDS)
    for preset in re.findall(r"`--preset ([a-z-]+)`|`(tiny-[a-z-]+)`", TEXT):
        assert "".join(preset) in PRESETS
    named = re.search(r"takes a name \((.*?) hold pairs; (.*?) hold texts\)", TEXT, re.DOTALL)
    assert named and set(re.findall(r"`([\w-]+)`", named[0])) == set(CORPORA)


def test_torchrun_accepts_its_commands():
    commands = [command[1:] for command in COMMANDS if command[0] == "torchrun"]
    assert len(commands) == 2
    for words in commands:
        options = get_args_parser().parse_args(words)
        assert options.module and options.nproc_per_node == "4"
        given = [word for word in (options.training_script, *options.training_script_args) if word != "--"]
        assert given[0] == "transformer_core"
        assert parsed(given[1:]).device == "cuda"


def test_a_model_of_the_hub_is_imported(tmp_path: Path):
    """From a local Hub, which has a small model of that family under that name."""
    ((_, name, place),) = of("import")
    foreign.save_small("gpt2", tmp_path / "small")
    hub = LocalHub()
    hub.serve(name, add_tokenizer(tmp_path / "small"))
    try:
        variables = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "0"}
        output = run("import", name, place, place=tmp_path, **variables)
    finally:
        hub.stop()
    assert output.startswith(f"{name} is in {place}: decoder-only, ")
    assert tc.load(tmp_path / place)[0].config.architecture == "decoder_only"


def test_the_config_of_a_torch_transformer_is_read(tmp_path: Path):
    (described,) = (block for language, block in BLOCKS if language == "json")
    values = json.loads(described)
    layers = nn.TransformerEncoderLayer(16, values["n_heads"], 32, batch_first=True)
    model = nn.ModuleDict(
        {
            "embed": nn.Embedding(61, 16),
            "encoder": nn.TransformerEncoder(layers, 1, enable_nested_tensor=False),
            "out": nn.Linear(16, 61),
        }
    )
    (tmp_path / "config.json").write_text(described)
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    add_tokenizer(tmp_path)
    loaded, _ = tc.load(tmp_path)
    assert loaded.config.n_heads == values["n_heads"] and loaded.config.scale_embeddings
    assert loaded(torch.tensor([[5, 6, 7]])).shape == (1, 3, 61)


def test_the_environment_variables_are_used():
    code = "".join(
        path.read_text() for room in ("pages", "headlight", "transformer_core") for path in (ROOT / room).rglob("*.py")
    )
    names = set(re.findall(r"`(HEADLIGHT_\w+)`", TEXT))
    assert len(names) == 7 and all(f'"{name}"' in code for name in names)


@pytest.mark.full
def test_the_missing_texts_of_a_language_are_printed():
    (command,) = re.findall(r"`python (-m pages\.languages \w+)`", TEXT)
    one = [*command.split(), "pages/frame.py"]
    done = subprocess.run([sys.executable, *one], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("#: pages/frame.py:") and "msgid" in done.stdout
