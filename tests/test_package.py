"""What `pip install .` gives: the library with its types, the command, and the app with the models that come along."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import transformer_core as tc
from headlight.cli import console
from pages.shared import models
from tests import installed
from tests.conftest import ROOT
from transformer_core import shipped
from transformer_core.cli import main

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OURS = ("headlight", "transformer_core", "pages")
DISTRIBUTIONS = {"markdown_it": "markdown-it-py", "PIL": "pillow", "yaml": "PyYAML"}  # by module
IN_NOTEBOOKS = {"IPython", "anywidget", "traitlets"}  # of the extra `notebook`, and what comes with it
SHIPPED = [f"checkpoints/{name}" for name in models.SHIPPED]
SENTENCE = "The animal didn't cross the street because it was too tired."


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the working tree."""
    return installed.build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def commands(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment that Headlight was installed in."""
    return installed.install(wheel, tmp_path_factory.mktemp("environment"))


def run(*command: str | Path, place: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with nothing that points to the checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    return subprocess.run([*map(str, command)], cwd=place, env=environment, capture_output=True, text=True)


def files(*places: str) -> set[str]:
    """The files of the checkout that are one of the places, or lie there."""
    files = (path for place in places for path in ((ROOT / place), *(ROOT / place).rglob("*")) if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}


def test_the_wheel_holds_all_that_is_read_at_run_time_and_nothing_of_ones_own(wheel: Path):
    held = set(zipfile.ZipFile(wheel).namelist())
    library, app = files("transformer_core", "headlight"), files("app.py", "pages", ".streamlit/config.toml", *SHIPPED)
    for kind in ("transformer_core/py.typed", "/languages/de/errors.po", "card.json", "model.safetensors"):
        assert any(path.endswith(kind) for path in library | app), kind
    assert {path.rpartition(".")[2] for path in app} >= {"py", "js", "css", "svg", "md", "po", "toml", "safetensors"}
    about = {path for path in held if ".dist-info/" in path}
    assert held - about == library | {f"headlight/app/{path}" for path in app}


@pytest.mark.full
def test_it_is_imported_and_asked_in_an_empty_folder(commands: Path, tmp_path: Path):
    code = "import json, importlib.metadata as m, transformer_core as tc; card = tc.load('checkpoints/induction')[0]\n"
    code += "print(json.dumps([tc.__version__, m.version('headlight'), tc.__file__, m.requires('headlight')]))"
    process = run(commands / "python", "-c", code, place=tmp_path)
    assert process.returncode == 0, process.stderr
    version, of_package, file, required = json.loads(process.stdout)
    assert version == of_package == tc.__version__
    assert Path(file).is_relative_to(commands.parent)
    assert len(required) > len(PROJECT["project"]["dependencies"])
    helped = run(commands / "headlight", "--help", place=tmp_path)
    assert (helped.returncode, helped.stderr) == (0, "")
    assert helped.stdout.startswith("usage: headlight") and "Without a command, the app starts." in helped.stdout
    decoded = run(commands / "headlight", "decode", "checkpoints/en-fr", SENTENCE, place=tmp_path)
    assert decoded.stdout == "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.\n", decoded.stderr
    assert [*tmp_path.iterdir()] == []


@pytest.mark.full
def test_its_types_are_seen(commands: Path, tmp_path: Path):
    """By a checker that follows one module of it and nothing else, such as torch, which would take a minute."""
    (tmp_path / "mine.py").write_text("from transformer_core.shipped import shipped_model as f\nreveal_type(f)\n")
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nfollow_imports = skip\n[mypy-transformer_core.shipped]\nfollow_imports = silent\n"
    )
    checked = run(sys.executable, "-m", "mypy", f"--python-executable={commands / 'python'}", "mine.py", place=tmp_path)
    assert checked.returncode == 0, checked.stdout
    assert re.search(r'Revealed type is "def \(path: .* -> pathlib\.Path \| None"', checked.stdout), checked.stdout


@pytest.mark.parametrize("options", [[], ["--server.port", "9000"], ["--shared", "--server.port=9000"]])
def test_without_a_command_the_server_takes_the_place_of_it(monkeypatch: pytest.MonkeyPatch, options: list[str]):
    monkeypatch.setenv("HEADLIGHT_SHARED", "")
    started: list[str] = []

    def start(program: str, words: list[str]) -> None:
        started.extend(words)
        raise SystemExit  # this process is the server's from here on

    monkeypatch.setattr(os, "execv", start)
    monkeypatch.setattr(sys, "argv", ["headlight", *options])
    with pytest.raises(SystemExit):
        console.headlight()
    passed_on = [option for option in options if option != "--shared"]
    assert started[2:] == ["-m", "streamlit", "run", str(ROOT / "app.py"), *passed_on]
    assert os.environ["HEADLIGHT_SHARED"] == ("1" if "--shared" in options else "")


def test_an_unknown_command_is_told_by_the_name_that_was_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(main, "keep_freed_memory", lambda: None)
    monkeypatch.setattr(sys, "argv", ["headlight", "dance"])
    assert console.headlight() == 2
    assert "no command 'dance'" in (message := capsys.readouterr().err) and "`headlight --help`" in message


def test_a_shipped_model_is_found_from_everywhere_and_one_that_is_here_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    model, _ = tc.load("checkpoints/induction")
    assert model.config.architecture == "decoder_only"
    tokenizer = tc.train_tokenizer(["abc"], kind="character")
    tc.save(tmp_path / "checkpoints" / "induction", tc.build(tc.presets.tiny(tokenizer.vocab_size)), tokenizer)
    model, _ = tc.load("checkpoints/induction")
    assert model.config.architecture == "encoder_decoder"
    for path in ("en-fr", "checkpoints", "checkpoints/nothing", "checkpoints/en-fr/card.json", "../checkpoints/en-fr"):
        assert shipped.shipped_model(path) is None


def test_every_pin_satisfies_its_bound():
    extras = PROJECT["project"]["optional-dependencies"]
    bounds = [Requirement(line) for lines in (PROJECT["project"]["dependencies"], *extras.values()) for line in lines]
    pins = {
        (pin := Requirement(line)).name: str(pin.specifier).removeprefix("==")
        for file in ROOT.glob("requirements*.txt")
        for line in file.read_text().splitlines()
        if line and not line.startswith(("#", "-r"))
    }
    assert set(pins) <= {bound.name for bound in bounds}
    assert [str(bound) for bound in bounds if bound.name in pins and pins[bound.name] not in bound.specifier] == []


def test_the_models_that_come_along_are_those_that_the_app_lists_first():
    forced = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert {path for path in forced if path.startswith("checkpoints/")} == {*SHIPPED}
    assert all(target == f"headlight/app/{path}" for path, target in forced.items())


def imports_in(node: ast.AST) -> Iterator[str]:
    """The modules that statements import, wherever in a file."""
    for statement in ast.iter_child_nodes(node):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and not statement.level:
            yield statement.module or ""
        elif isinstance(statement, ast.stmt | ast.ExceptHandler):
            yield from imports_in(statement)


def imported_packages(folder: Path) -> set[str]:
    """The packages of others that the files of a folder import, without Python's own."""
    files = (path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    names = {module.partition(".")[0] for text in files for module in imports_in(ast.parse(text))}
    return {DISTRIBUTIONS.get(name, name) for name in names - {*sys.stdlib_module_names, *OURS}}


def test_all_that_is_imported_is_declared_and_nothing_else():
    declared = {Requirement(line).name for line in PROJECT["project"]["dependencies"]}
    core, laboratory, app = (imported_packages(ROOT / room) for room in ("transformer_core", "headlight", "pages"))
    assert not core & {"plotly", "streamlit", "pandas"} and not laboratory & {"streamlit"}
    assert (core | laboratory | app) - IN_NOTEBOOKS - {"pyarrow"} == declared  # pyarrow comes with Streamlit
