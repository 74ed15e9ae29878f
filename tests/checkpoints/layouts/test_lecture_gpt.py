"""Variants of the model in the lecture "Let's build GPT", its characters, and its earlier parts."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.checkpoints.further_programs import lecture
from tests.checkpoints.programs import LAYERS, VOCAB
from transformer_core.checkpoints.layout import UndecidedError
from transformer_core.errors import CheckpointError

CHARACTERS = [chr(33 + i) for i in range(VOCAB)]


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, dict[str, Tensor]]:
    torch.manual_seed(0)
    path, _, _ = lecture(tmp_path)
    return path, torch.load(path)


@pytest.mark.parametrize(
    "content",
    [
        {"chars": CHARACTERS},
        {"chars": "".join(CHARACTERS)},
        {"itos": dict(enumerate(CHARACTERS))},
        {"stoi": {character: i for i, character in enumerate(CHARACTERS)}},
    ],
)
def test_characters_in_the_file(content: dict[str, Any], saved: tuple[Path, dict[str, Tensor]]):
    path, weights = saved
    torch.save({"model": weights, **content}, path)
    tokenizer = tc.load(path)[1]
    assert tokenizer.kind == "character" and tokenizer.encode_for("#!", "decoder_only") == [2, 0]


def test_characters_of_the_text_beside_it(saved: tuple[Path, dict[str, Tensor]]):
    path, weights = saved
    (path.parent / "input.txt").write_text("".join(CHARACTERS[::-1]) * 2)
    assert tc.load(path)[1].encode_for("#!", "decoder_only") == [2, 0]
    for text in (b"another text", b"\xff"):
        (path.parent / "input.txt").write_bytes(text)
        assert tc.load(path)[1].kind == "ids"
    for other in ({"chars": 3}, {"vocab": {"a": [1]}}, {"stoi": {"a": 0}}, {"itos": {0: 1}}):
        torch.save({"model": weights, **other}, path)
        assert tc.load(path)[1].kind == "ids"


def test_biases_that_are_not_there(saved: tuple[Path, dict[str, Tensor]]):
    path, weights = saved
    zero = {key: weight * 0 if key.endswith("bias") else weight for key, weight in weights.items()}
    torch.save(zero, path)
    tokens = torch.randint(VOCAB, (1, 20))
    expected = tc.load(path)[0](tokens)
    kept = [key for key in zero if not key.endswith("bias") or ".ln" in key or "ln_f" in key]
    torch.save({key: zero[key] for key in reversed(kept)}, path)  # the order of the heads is in their names
    model = tc.load(path)[0]
    assert (model.config.attention_bias, model.config.unembed_bias) == ("none", False)
    torch.testing.assert_close(model(tokens), expected)
    torch.save({key: weight for key, weight in weights.items() if not key.endswith("bias")}, path)
    with pytest.raises(UndecidedError, match="do not determine norm"):
        tc.load(path)


def test_earlier_parts_of_the_lecture(saved: tuple[Path, dict[str, Tensor]]):
    path, weights = saved
    embeddings = {key: weight for key, weight in weights.items() if "embedding" in key}
    for content, match in (
        ({"token_embedding_table.weight": torch.ones(65, 65)}, "bigram model of the lecture"),
        ({**embeddings, "sa_heads.heads.0.key.weight": torch.ones(8, 48)}, "before blocks with residual connections"),
        ({key: weight for key, weight in weights.items() if ".sa.proj." not in key}, r"'blocks\.0\.sa\.proj\.weight'"),
        ({key: weight for key, weight in weights.items() if "heads.3.key" not in key}, "key.weight' is"),
    ):
        torch.save(content, path)
        with pytest.raises(CheckpointError, match=match):
            tc.load(path)


def test_a_choice_that_changes_only_the_weights(saved: tuple[Path, dict[str, Tensor]]):
    path, _ = saved
    notes: list[Any] = []
    models = [
        tc.load(path, options={"score_scale": width}, on_note=notes.append)[0].state_dict()
        for width in ("d_head", "d_model")
    ]
    assert "score_scale is d_model, as chosen." in map(str, notes)
    for name in models[0]:
        factor = 0.5 if ".q." in name else 1.0  # 4 heads
        torch.testing.assert_close(models[1][name], factor * models[0][name])
    assert sum(".q.weight" in name for name in models[0]) == LAYERS
    with pytest.raises(CheckpointError, match="score_scale must be one of d_head, d_model; got 8"):
        tc.load(path, options={"score_scale": 8})
