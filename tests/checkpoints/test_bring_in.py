"""A model from elsewhere becomes a checkpoint of ours, with a card that says where it comes from."""

from pathlib import Path

import pytest
import torch

import transformer_core as tc
from tests.pages.small_gpt2 import save_small_gpt2
from transformer_core.checkpoints.bring_in import bring_in, card_of
from transformer_core.errors import CheckpointError


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere" / "small"
    save_small_gpt2(folder)
    return folder


def test_a_foreign_folder_gets_a_card_and_one_of_ours_keeps_its_own(foreign: Path, tmp_path: Path):
    card = bring_in(str(foreign), tmp_path / "mine")
    model, tokenizer = tc.load(tmp_path / "mine")
    tokens = torch.tensor([[1, 2, 3]])
    assert torch.equal(model(tokens), tc.load(foreign)[0](tokens))
    assert tc.read_card(tmp_path / "mine") == card
    assert (card["title"], card["kind"], card["source"]) == ("small", "decoder-only", {"name": str(foreign)})
    assert card["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    assert all(tokenizer.encode_for(example, "decoder_only") for example in card["examples"])

    tc.save(tmp_path / "ours", model, tokenizer, {"title": "Ours", "heads": [{"does": "Nothing."}]})
    card = bring_in(str(tmp_path / "ours"), tmp_path / "copy")
    assert (card["title"], card["heads"]) == ("Ours", [{"does": "Nothing."}])
    for name in ("owner/model", "owner/model@main", "/some/model/", "C:\\models\\model", "model", "model/ckpt.pt"):
        assert card_of(foreign, model, tokenizer, name=name)["title"] == "model"


def test_nothing_is_left_of_what_fails(foreign: Path, tmp_path: Path):
    (foreign / "model.safetensors").write_bytes(b"?")
    with pytest.raises(CheckpointError, match="damaged or truncated"):
        bring_in(str(foreign), tmp_path / "mine")
    with pytest.raises(CheckpointError, match="there is no file or folder"):
        bring_in(str(tmp_path / "no where"), tmp_path / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]
