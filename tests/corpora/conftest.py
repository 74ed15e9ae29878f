"""The generated corpora, drawn once per test run: samples of a few thousand items, and whole where tests are full."""

import functools
import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from filelock import FileLock

from transformer_core.corpora import CORPORA, Corpus, GeneratedCorpus

ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    **{"en-fr": "grammars.en_fr", "stories": "grammars.stories"},
    **dict.fromkeys(("copy", "reverse", "sort"), "tasks.tasks"),
}
"""Where a corpus says how many items it has; the others are in tasks, under their names."""

DRAW_EN_FR = """
import pickle, sys
from importlib import import_module
module = import_module("transformer_core.corpora.grammars.en_fr")
if sys.argv[1:]:
    module.N_TRAIN, module.N_HELD_OUT = map(int, sys.argv[1:])
pickle.dump(module.en_fr(seed=0), sys.stdout.buffer)
"""


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the tests of this room keep is kept for them alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder for one test alone; it is not there yet."""
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., bytes]:
    """Give what a program prints; it runs once per test run, without the run-time checks of shapes.

    Workers that ask for the same share the answer.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent

    @functools.cache
    def ask(program: str, *arguments: str) -> bytes:
        path = folder / hashlib.sha256("\0".join((program, *arguments)).encode()).hexdigest()
        with FileLock(f"{path}.lock"):
            if not path.exists():
                environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)}
                command = [sys.executable, "-c", program, *arguments]
                path.write_bytes(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
        return path.read_bytes()

    return ask


@pytest.fixture(scope="session", params=["sample", pytest.param("whole", marks=pytest.mark.full)])
def en_fr(request: pytest.FixtureRequest, answer: Callable[..., bytes]) -> Corpus:
    """The English-French corpus, or 6,000 pairs of it for training and 500 held out."""
    corpus = pickle.loads(answer(DRAW_EN_FR, *(["6000", "500"] if request.param == "sample" else [])))
    assert isinstance(corpus, Corpus)
    return corpus


@pytest.fixture(scope="session")
def made() -> Callable[[str], Corpus]:
    """Give a sample of the corpus of a task: 2,000 items for training, 300 held out."""

    @functools.cache
    def make(name: str) -> Corpus:
        with pytest.MonkeyPatch.context() as patch:
            return resized(patch, name, 2_000, 300)(seed=0)

    return make


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], GeneratedCorpus]:
    """Give a generated corpus that has 60 items for training and 20 held out, for as long as the test lasts."""
    return lambda name: resized(monkeypatch, name, 60, 20)


def resized(patch: pytest.MonkeyPatch, name: str, n_train: int, n_held_out: int) -> GeneratedCorpus:
    """Return a generated corpus that draws so many items."""
    module = import_module(f"transformer_core.corpora.{MODULES.get(name, f'tasks.{name}')}")
    patch.setattr(module, "N_TRAIN", n_train)
    patch.setattr(module, "N_HELD_OUT", n_held_out)
    return CORPORA[name]
