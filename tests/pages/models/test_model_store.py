"""The tables of a model: its parameters against the weights themselves, its tokens against its tokenizer."""

from pathlib import Path

import pytest

import transformer_core as tc
from pages.models import model_store
from pages.shared import models

pytestmark = pytest.mark.usefixtures("checkpoints")


def test_shares_are_percents_of_all_the_parameters_that_its_weights_have(two_models: Path):
    model, _ = tc.load(two_models / "en-fr")
    table = model_store.parameter_table(models.available()["en-fr"])
    n = sum(weights.numel() for weights in model.parameters())
    assert table["parameters"].sum() == n and table["share"].sum() == pytest.approx(100)
    assert table["share"].tolist() == pytest.approx([100 * of_part / n for of_part in table["parameters"]])


def test_a_token_is_found_by_any_part_in_any_case_or_by_its_whole_number(
    two_models: Path, monkeypatch: pytest.MonkeyPatch
):
    _, tokenizer = tc.load(two_models / "en-fr")
    card, labels = models.available()["en-fr"], tokenizer.labels(range(tokenizer.vocab_size))
    every, n = model_store.token_table(card)
    assert every["token"].tolist() == labels and every["number"].tolist() == [*range(n)] and n == len(labels)
    for wanted in ("CAT", " at ", "12", "("):
        part = wanted.strip()
        expected = [i for i, label in enumerate(labels) if part.lower() in label.lower() or part == str(i)]
        assert model_store.token_table(card, wanted)[0]["number"].tolist() == expected
    monkeypatch.setattr(model_store, "MAX_TOKENS_SHOWN", 3)
    table, n_found = model_store.token_table(card)
    assert (table["number"].tolist(), n_found) == ([0, 1, 2], n), "the first few, and how many there are"
    roles = {role: number for number, role in enumerate(every["role"]) if role}
    assert roles["padding"] == tokenizer.pad_id and roles["unknown"] == tokenizer.unk_id
    assert roles["begin of sequence"] == tokenizer.bos_id and roles["end of sequence"] == tokenizer.eos_id
