"""What is said of heads: the cards that come with Headlight were written by other code, and say the same."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from headlight.analysis.heads.words import HeadScore

CARDS = sorted((Path(__file__).resolve().parents[4] / "checkpoints").glob("*/card.json"))
NAMES = [field.name for field in fields(HeadScore)]


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.parent.name)
def test_the_numbers_of_a_card_make_its_sentences(card: Path):
    for head in json.loads(card.read_text(encoding="utf-8"))["heads"]:
        assert str(HeadScore(**{name: head[name] for name in NAMES if name in head}).sentence()) == head["does"]
