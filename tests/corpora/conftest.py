"""Small generated corpora of the tasks, and a cache of the tests' own."""

import functools
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from transformer_core.corpora import CORPORA, Corpus, GeneratedCorpus

TASKS = "copy reverse sort addition dates brackets induction".split()


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache folder for all tests of this room."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder for one test; it does not exist yet."""
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def sample() -> Callable[[str], Corpus]:
    """Return a function that draws a sample of the corpus of a task: 2,000 items for training, 300 held out."""

    @functools.cache
    def make(name: str) -> Corpus:
        with pytest.MonkeyPatch.context() as patch:
            return resized(patch, name, 2_000, 300)(seed=0)

    return make


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], GeneratedCorpus]:
    """Return a function that resizes a generated corpus to 60 training and 20 held-out items for one test."""
    return lambda name: resized(monkeypatch, name, 60, 20)


def resized(patch: pytest.MonkeyPatch, name: str, n_train: int, n_held_out: int) -> GeneratedCorpus:
    """Return a generated corpus with these numbers of items."""
    module = import_module(f"transformer_core.corpora.tasks.{'tasks' if name in ('copy', 'reverse', 'sort') else name}")
    patch.setattr(module, "N_TRAIN", n_train)
    patch.setattr(module, "N_HELD_OUT", n_held_out)
    return CORPORA[name]
