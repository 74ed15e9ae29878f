"""The models in checkpoints/ are what their cards say."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import transformer_core as tc

ROOT = Path(__file__).resolve().parents[1]
EN_FR = ROOT / "checkpoints" / "en-fr"

# In a process of its own: run-time checks of every shape would make 2,000 translations take minutes.
MEASURE = """
import json
import transformer_core as tc
from transformer_core.corpora import load_corpus
from transformer_core.training.evaluate import evaluate

corpus = load_corpus("en-fr")
model, tokenizer = tc.load("checkpoints/en-fr")
metrics = evaluate(model, tokenizer, corpus, corpus.held_out)
print(json.dumps({"metrics": metrics, "fingerprint": corpus.fingerprint, "n_held_out": len(corpus.held_out)}))
"""


@pytest.fixture(scope="module")
def card() -> dict[str, Any]:
    return tc.read_card(EN_FR)


def test_en_fr_is_small_and_holds_no_pickle():
    assert {path.name for path in EN_FR.iterdir()} == {
        "card.json",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    }
    assert sum(path.stat().st_size for path in EN_FR.iterdir()) <= 4_000_000


def test_en_fr_s_card_tells_its_size_and_how_to_make_it_again(card: dict[str, Any]):
    model, _ = tc.load(EN_FR)
    assert card["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    assert card["trained"]["command"].startswith("python -m transformer_core train --corpus en-fr --preset tiny")
    assert card["trained"]["minutes"] <= 5


@pytest.mark.parametrize(
    ("english", "french"),
    [
        (
            "The animal didn't cross the street because it was too tired.",
            "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
        ),
        (
            "The animal didn't cross the street because it was too wide.",
            "L'animal n'a pas traversé la rue parce qu'elle était trop large.",
        ),
    ],
)
def test_en_fr_knows_what_it_means(english: str, french: str):
    """Two sentences that were held out from its training."""
    model, tokenizer = tc.load(EN_FR)
    src = torch.tensor([tokenizer.encode(english, eos=True)])
    assert tokenizer.decode(tc.greedy_decode(model, src).tokens[0].tolist()) == french


@pytest.mark.training
def test_en_fr_is_as_good_as_its_card_says(card: dict[str, Any]):
    """Free-running greedy decoding of every held-out sentence."""
    answer = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True, cwd=ROOT)
    measured = json.loads(answer.stdout)
    assert measured["fingerprint"] == card["corpus"]["fingerprint"]
    assert measured["n_held_out"] == 2000
    for measure in ("exact_match", "pronoun"):
        assert measured["metrics"][measure] >= 0.99
        assert measured["metrics"][measure] == pytest.approx(card["metrics"][measure], abs=0.002)
