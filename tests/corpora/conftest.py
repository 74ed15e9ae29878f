"""The generated corpus, made once a test run and without the run-time checks, which make it many times slower."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from transformer_core.corpora import Corpus, Pair, exact_match
from transformer_core.corpora.en_fr import pronoun

ROOT = Path(__file__).resolve().parents[2]

PRINT_CORPUS = """
import json, sys
from transformer_core.corpora import load_corpus
corpus = load_corpus("en-fr")
parts = [[[pair.source, pair.target] for pair in part] for part in (corpus.train, corpus.held_out)]
json.dump([corpus.name, corpus.description, *parts, corpus.examples, corpus.fingerprint], sys.stdout)
"""


@pytest.fixture(scope="session")
def en_fr() -> Corpus:
    """load_corpus("en-fr")."""
    environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)}
    printed = subprocess.run(
        [sys.executable, "-c", PRINT_CORPUS], env=environment, capture_output=True, check=True
    ).stdout
    name, description, train, held_out, examples, fingerprint = json.loads(printed)
    corpus = Corpus(
        name=name,
        title="English to French",
        description=description,
        train=tuple(Pair(*texts) for texts in train),
        held_out=tuple(Pair(*texts) for texts in held_out),
        examples=tuple(examples),
        tokenizer_kind="word",
        measures={"exact_match": exact_match, "pronoun": pronoun},
    )
    assert corpus.fingerprint == fingerprint
    return corpus
