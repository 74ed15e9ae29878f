"""The generated corpora, made once a test run and without the run-time checks, which make them many times slower."""

import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from filelock import FileLock

from transformer_core.corpora import Corpus, Pair
from transformer_core.corpora.grammars.en_fr import pronoun
from transformer_core.errors import Message

ROOT = Path(__file__).resolve().parents[2]

PRINT_CORPUS = """
import json, sys
from transformer_core.corpora import load_corpus
corpus = load_corpus("en-fr")
train = [[pair.source, pair.target, None] for pair in corpus.train]
held_out = [[pair.source, pair.target, pair.alignment, pair.antecedents] for pair in corpus.held_out]
json.dump([corpus.name, corpus.description.as_json(), train, held_out, corpus.examples, corpus.fingerprint], sys.stdout)
"""
PICKLE_CORPUS = """
import pickle, sys
from transformer_core.corpora import load_corpus
pickle.dump(load_corpus(sys.argv[1]), sys.stdout.buffer)
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what reads a whole corpus as slow."""
    for item in items:
        if "answer" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the tests of this room keep is kept for them alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., bytes]:
    """Give what a program prints, which runs once in a test run: workers that ask for the same share the answer."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent

    @cache
    def ask(program: str, *arguments: str) -> bytes:
        path = folder / hashlib.sha256("\0".join((program, *arguments)).encode()).hexdigest()
        with FileLock(f"{path}.lock"):
            if not path.exists():
                environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)}
                environment["HEADLIGHT_CACHE"] = str(folder / "cache")
                command = [sys.executable, "-c", program, *arguments]
                path.write_bytes(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
        return path.read_bytes()

    return ask


@pytest.fixture(scope="session")
def en_fr(answer: Callable[..., bytes]) -> Corpus:
    """load_corpus("en-fr"), with the alignments and antecedents of what is held out."""
    name, description, train, held_out, examples, fingerprint = json.loads(answer(PRINT_CORPUS))
    corpus = Corpus(
        name=name,
        title="English to French",
        description=Message.from_json(description),
        train=tuple(Pair(source, target) for source, target, _ in train),
        held_out=tuple(
            Pair(source, target, tuple(map(tuple, sources)), tuple(map(tuple, nouns)))
            for source, target, sources, nouns in held_out
        ),
        examples=tuple(examples),
        tokenizer_kind="word",
        measures={"pronoun": pronoun},
    )
    assert corpus.fingerprint == fingerprint
    return corpus


@pytest.fixture(scope="session")
def made(answer: Callable[..., bytes]) -> Callable[[str], Corpus]:
    """Give load_corpus(name), for any small generated corpus."""

    @cache
    def make(name: str) -> Corpus:
        corpus = pickle.loads(answer(PICKLE_CORPUS, name))
        assert isinstance(corpus, Corpus)
        return corpus

    return make
