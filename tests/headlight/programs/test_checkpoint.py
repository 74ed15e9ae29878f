"""A compiled model is a checkpoint like any other, and after loading its heads have their roles again."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import transformer_core as tc
from headlight.programs import roles
from headlight.programs.checkpoint import load_compiled, save_compiled
from tests.headlight.programs.compiled_examples import example
from transformer_core.errors import CheckpointError, ProgramError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_compiled(tmp_path / "induction", *example("induction"), title="Induction", examples=["a b c a b"])
    return tmp_path / "induction"


def test_roles_come_back_with_the_model(folder: Path):
    model, tokenizer = load_compiled(folder)
    original, _ = example("induction")
    assert roles(model) == roles(original)
    tokens = torch.tensor([tokenizer.encode_for("a b c a", "decoder_only")])
    with torch.inference_mode():
        assert torch.equal(model(tokens), original(tokens))
    assert tokenizer.tokens(model(tokens)[0].argmax(-1))[1:] == ["?", "?", "?", "b"]
    card = tc.read_card(folder)
    assert [head["does"][:7] for head in card["heads"]] == ["L0.H0: ", "L1.H0: "]
    assert card["parameters"] == sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    "about",
    [
        None,
        "tokens",
        {},
        {"source": "x = 1", "vocab": ["a"], "max_len": 12, "is_causal": True},
        {"source": "s = map(lambda x: x, tokens)", "vocab": ["a"], "max_len": 12, "is_causal": True},
        {"source": "s = map(lambda x: x, tokens)", "vocab": 3, "max_len": 12, "is_causal": True},
        {"source": "s = map(lambda x: x, tokens)", "vocab": ["a"], "max_len": "x", "is_causal": True},
    ],
)
def test_a_card_without_the_models_program_is_refused(folder: Path, about: Any):
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    (folder / "card.json").write_text(json.dumps(card | {"program": about}), encoding="utf-8")
    with pytest.raises(CheckpointError, match="does not contain the program that its model was compiled from"):
        load_compiled(folder)


def test_a_trained_model_is_no_compiled_one(tmp_path: Path):
    model, tokenizer = tc.load("checkpoints/induction")
    with pytest.raises(ProgramError, match="was not compiled"):
        save_compiled(tmp_path / "x", model, tokenizer, title="X", examples=[])
