"""A built model: which matrices it shares, how it starts, and what it refuses to read."""

import copy

import pytest
import torch

import transformer_core as tc
from tests.model.building import odd_config, random_tokens
from transformer_core.errors import TextError

SAME_STORAGE = {
    "three_way": {"source and target": True, "target and unembed": True},
    "target": {"source and target": False, "target and unembed": True},
    "none": {"source and target": False, "target and unembed": False},
}


def shared(model: tc.Transformer) -> dict[str, bool]:
    source, target, unembed = (
        weight.data_ptr() for weight in (model.encoder.embed.weight, model.decoder.embed.weight, model.unembed.weight)
    )
    return {"source and target": source == target, "target and unembed": target == unembed}


@pytest.mark.parametrize("tie_embeddings", SAME_STORAGE)
def test_tying_shares_storage(tie_embeddings: str):
    model = tc.build(odd_config(tie_embeddings=tie_embeddings))
    assert shared(model) == SAME_STORAGE[tie_embeddings]
    assert shared(copy.deepcopy(model)) == SAME_STORAGE[tie_embeddings]
    model.load_state_dict(tc.build(model.config, seed=1).state_dict())
    assert shared(model.double()) == SAME_STORAGE[tie_embeddings]


def test_a_shared_matrix_learns_from_all_its_places():
    """The gradient of the one matrix is the sum of those of three separate ones."""
    tied, separate = (tc.build(odd_config(tie_embeddings=tying)).eval() for tying in ("three_way", "none"))
    separate.load_state_dict(tied.state_dict())
    src, tgt = random_tokens([7, 4], vocab_size=37), random_tokens([3, 5], vocab_size=37, seed=1)
    for model in (tied, separate):
        model(src, tgt).square().mean().backward()
    parts = [
        weight.grad
        for weight in (separate.encoder.embed.weight, separate.decoder.embed.weight, separate.unembed.weight)
    ]
    assert tied.unembed.weight.grad is not None
    torch.testing.assert_close(tied.unembed.weight.grad, sum(parts), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("changes", [{}, {"tie_embeddings": "none", "positions": "learned"}], ids=["tied", "not tied"])
def test_the_same_seed_gives_the_same_bits(changes: dict[str, str]):
    config = odd_config(**changes)
    first = tc.build(config, seed=3).state_dict()
    torch.manual_seed(99)  # the seed alone decides
    again, other = tc.build(config, seed=3).state_dict(), tc.build(config, seed=4).state_dict()
    for name, value in first.items():
        assert torch.equal(value, again[name]), name
        is_constant = value.std() == 0  # biases, and the norms' weights
        assert torch.equal(value, other[name]) == is_constant, name


def test_building_takes_no_number_from_the_common_generator():
    """A model built, or loaded, between two draws leaves what is drawn as it is."""
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    tc.build(odd_config())
    assert torch.equal(torch.rand(3), expected)


def test_it_starts_as_it_says():
    config = odd_config(vocab_size=997, d_model=96, d_ff=200, tie_embeddings="none", positions="learned")
    for name, value in tc.build(config).state_dict().items():
        if value.ndim == 1:
            assert torch.equal(value, torch.full_like(value, float("ln" in name and name.endswith("weight")))), name
        elif "embed" in name:  # token embeddings, learned positions and the last layer: normal
            assert value.std().item() == pytest.approx(96**-0.5, rel=0.05), name
            assert value.mean().abs() < 5 * 96**-0.5 / value.numel() ** 0.5, name
        else:  # uniform in +-sqrt(6 / (fan_in + fan_out)); Glorot and Bengio 2010, eq. (16)
            bound = (6 / sum(value.shape)) ** 0.5
            assert 0.99 * bound < value.abs().max() <= bound, name
            assert value.std().item() == pytest.approx(bound / 3**0.5, rel=0.05), name


def test_too_long_or_empty_is_refused_with_the_numbers():
    model = tc.build(odd_config())
    fits, too_long, empty = (random_tokens([n], vocab_size=37) for n in (24, 1025, 0))
    for src, tgt in ((too_long, fits), (fits, too_long)):
        with pytest.raises(TextError, match=r"^1,025 tokens are more than the 24 that this model takes; shorten"):
            model(src, tgt)
    for src, tgt in ((empty, fits), (fits, empty)):
        with pytest.raises(TextError, match="give at least one"):
            model(src, tgt)


def test_the_sinusoidal_table_is_in_no_checkpoint():
    state = tc.build(odd_config()).state_dict()
    assert not any("pos_embed" in name for name in state)
    assert any("pos_embed" in name for name in tc.build(odd_config(positions="learned")).state_dict())
