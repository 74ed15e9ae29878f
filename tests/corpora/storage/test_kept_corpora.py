"""Generated corpora that are kept: the same as drawn ones, drawn once, and again whenever that is needed."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tests.corpora.conftest import TASKS
from transformer_core.corpora import CORPORA, Corpus, load_corpus
from transformer_core.corpora.generated import GeneratedCorpus
from transformer_core.corpora.storage import kept_corpora
from transformer_core.corpora.storage.kept_corpora import kept_corpus

pytestmark = pytest.mark.usefixtures("cache")

ROOT = Path(__file__).resolve().parents[3]


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


def counted(generated: GeneratedCorpus) -> tuple[GeneratedCorpus, Mock]:
    """A generated corpus, and what counts how often it is drawn."""
    draw = Mock(side_effect=generated.draw)
    return replace(generated, draw=draw), draw


@pytest.mark.parametrize("name", TASKS)
def test_what_is_kept_is_what_was_drawn_and_it_is_drawn_once(name: str, few: Callable[[str], GeneratedCorpus]):
    generated, draw = counted(few(name))
    drawn = generated(seed=3)
    for _ in range(2):
        assert_same(kept_corpus(generated, seed=3), drawn)
    assert draw.call_count == 2


def test_another_seed_other_code_or_another_name_is_drawn_anew(
    few: Callable[[str], GeneratedCorpus], monkeypatch: pytest.MonkeyPatch
):
    generated, draw = counted(few("copy"))
    corpus = kept_corpus(generated, seed=0)
    assert corpus.fingerprint != kept_corpus(generated, seed=1).fingerprint
    assert corpus.train.fingerprint != corpus.held_out.fingerprint  # type: ignore[attr-defined]
    kept_corpus(replace(generated, about=replace(generated.about, name="others")), seed=0)
    assert draw.call_count == 3
    monkeypatch.setattr(kept_corpora, "CODE_OF_CORPORA", "0" * 64)
    for _ in range(2):
        kept_corpus(generated, seed=0)
    assert draw.call_count == 4


WRITE_AND_DIE = """
import os, signal
from transformer_core.corpora import load_corpus
from transformer_core.corpora.storage import kept_corpora
write = kept_corpora.write_items
def write_and_die(items, sinks):
    write(items, sinks)
    os.kill(os.getpid(), signal.SIGKILL)
kept_corpora.write_items = write_and_die
load_corpus("copy")
"""


@pytest.mark.faults
def test_a_process_that_is_killed_on_the_way_leaves_nothing_that_is_taken_for_whole(cache: Path):
    environment = os.environ | {"HEADLIGHT_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    killed = subprocess.run([sys.executable, "-c", WRITE_AND_DIE], env=environment, timeout=300)
    assert killed.returncode == -signal.SIGKILL
    assert [path.name[0] for path in cache.iterdir()] == ["."]
    assert load_corpus("copy").fingerprint == CORPORA["copy"]().fingerprint
