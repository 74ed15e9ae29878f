"""Generated corpora that are kept: the same as drawn ones, drawn once, and again whenever that is needed."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from transformer_core.corpora import CORPORA, Corpus, Pair, Text
from transformer_core.corpora.storage import kept_corpora
from transformer_core.corpora.storage.kept_corpora import kept_corpus
from transformer_core.corpora.tasks.generated import GeneratedCorpus
from transformer_core.errors import Message

pytestmark = pytest.mark.usefixtures("cache")

ROOT = Path(__file__).resolve().parents[3]

COMPARE = """
import json, sys
from transformer_core.corpora import CORPORA, load_corpus
name = sys.argv[1]
drawn = CORPORA[name](seed=0)
tell = lambda items: [(repr(item), repr(item.alignment)) for item in items]
same = []
for _ in range(2):
    kept = load_corpus(name)
    same += [tell(kept.train) == tell(drawn.train), tell(kept.held_out) == tell(drawn.held_out)]
    same += [kept.fingerprint == drawn.fingerprint, kept.is_pairs == drawn.is_pairs]
json.dump(same, sys.stdout)
"""


class Draws:
    """A small corpus, and how often it was drawn."""

    def __init__(self, *, texts: bool = False) -> None:
        self.texts = texts
        self.n_draws = 0

    def draw(self, seed: int) -> tuple[list[Any], list[Any]]:
        self.n_draws += 1
        rng = random.Random(seed)
        numbers = [f"{i}: {rng.random():.3f}" for i in range(30)]
        if self.texts:
            items: list[Any] = [Text(number) for number in numbers]
        else:
            items = [Pair(number, number[::-1], ((i,), (0, i))) for i, number in enumerate(numbers)]
        return items[5:], items[:5]

    def corpus(self) -> GeneratedCorpus:
        about = Corpus(
            name="numbers",
            title="Numbers",
            description=Message("Some."),
            examples=("1",),
            tokenizer_kind="character",
            vocab_size=77,
            measures={"short": lambda pair, output: len(output) < 3},
            text_measures={"short": lambda text, output: len(output) < 3},
            prompt_of=lambda text: text.text[:1],
        )
        return GeneratedCorpus(about=about, draw=self.draw)


def told(corpus: Corpus) -> list[Any]:
    return [(repr(item), item.alignment) for part in (corpus.train, corpus.held_out) for item in part]


def assert_same(kept: Corpus, drawn: Corpus) -> None:
    assert told(kept) == told(drawn)
    assert (len(kept.train), len(kept.held_out)) == (len(drawn.train), len(drawn.held_out))
    assert kept.fingerprint == drawn.fingerprint
    assert kept.is_pairs == drawn.is_pairs
    for each in fields(Corpus):
        if each.name not in ("train", "held_out", "known_fingerprint"):
            assert getattr(kept, each.name) == getattr(drawn, each.name)


@pytest.mark.parametrize("texts", [False, True])
def test_what_is_kept_is_what_was_drawn_and_it_is_drawn_once(texts: bool):
    draws = Draws(texts=texts)
    generated = draws.corpus()
    drawn = generated(seed=3)
    for _ in range(3):
        assert_same(kept_corpus(generated, seed=3), drawn)
    assert draws.n_draws == 2


def test_another_seed_other_code_or_another_name_is_drawn_anew(monkeypatch: pytest.MonkeyPatch):
    draws = Draws()
    generated = draws.corpus()
    assert kept_corpus(generated, seed=0).fingerprint != kept_corpus(generated, seed=1).fingerprint
    kept_corpus(replace(generated, about=replace(generated.about, name="others")), seed=0)
    assert draws.n_draws == 3
    monkeypatch.setattr(kept_corpora, "CODE_OF_CORPORA", "0" * 64)
    kept_corpus(generated, seed=0)
    assert draws.n_draws == 4
    corpus = kept_corpus(generated, seed=0)
    assert corpus.train.fingerprint != corpus.held_out.fingerprint  # type: ignore[attr-defined]


@pytest.fixture
def processes(cache: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    begun: list[subprocess.Popen[str]] = []

    def begin(program: str) -> subprocess.Popen[str]:
        environment = os.environ | {"HEADLIGHT_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
        begun.append(
            subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
        )
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


@pytest.mark.faults
def test_a_process_that_is_killed_on_the_way_leaves_nothing_that_is_taken_for_whole(
    cache: Path, processes: Callable[[str], subprocess.Popen[str]]
):
    program = "import os, signal\nfrom transformer_core.corpora import load_corpus\n"
    program += "from transformer_core.corpora.storage import kept_corpora\n"
    program += "write = kept_corpora.write_items\n"
    program += "def write_and_die(items, sinks):\n    write(items, sinks)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    program += "kept_corpora.write_items = write_and_die\nload_corpus('copy')"
    assert processes(program).wait(timeout=300) != 0
    assert [path.name[0] for path in cache.iterdir()] == ["."]
    process = processes("from transformer_core.corpora import load_corpus\nprint(load_corpus('copy').fingerprint)")
    assert process.communicate(timeout=300)[0].strip() == CORPORA["copy"]().fingerprint


@pytest.mark.parametrize("name", CORPORA)
def test_each_corpus_is_kept_as_it_is_drawn(name: str, few: Callable[[str], GeneratedCorpus]):
    generated = few(name)
    drawn = generated(seed=0)
    for _ in range(2):
        assert_same(kept_corpus(generated, seed=0), drawn)


@pytest.mark.full
@pytest.mark.parametrize("name", CORPORA)
def test_each_whole_corpus_is_kept_as_it_is_drawn(name: str, answer: Callable[..., bytes]):
    assert json.loads(answer(COMPARE, name)) == [True] * 8
