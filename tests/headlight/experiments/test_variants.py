"""The variants of an experiment differ in one thing, and are wrong in the intended way."""

import pytest
import torch

from headlight.experiments import variants
from headlight.experiments.experiment import LONGEST_TRAINED, LONGEST_TRIED, VARIANTS, ExperimentRequest
from transformer_core.corpora.batch_order import IGNORED, Batch
from transformer_core.corpora.batching import batches_for
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.training.loop import train

POSITIONS = ExperimentRequest(kind="positions", task="reverse", variants=VARIANTS["positions"][:6], seed=5, steps=20)
MASKS = ExperimentRequest(kind="masks", task="copy", variants=VARIANTS["masks"], seed=5, steps=20)


@pytest.fixture(scope="module")
def letters() -> variants.ExperimentData:
    return variants.ExperimentData.of(POSITIONS)


@pytest.fixture(scope="module")
def masked() -> variants.ExperimentData:
    return variants.ExperimentData.of(MASKS)


def test_all_begin_with_the_same_weights_but_for_their_positions(letters: variants.ExperimentData):
    models = {name: variants.Variant(name, POSITIONS, letters).model for name in VARIANTS["positions"]}
    common = dict(models["none"].named_parameters())
    for name, model in models.items():
        own = dict(model.named_parameters())
        assert {*common} <= {*own}
        assert all(torch.equal(own[weight], common[weight]) for weight in common), name
        assert model.config.positions == name


def test_what_is_trained_on_is_short_and_what_is_tried_is_new(letters: variants.ExperimentData):
    trained = {pair.source for pair in letters.corpus.train}
    assert {len(source) for source in trained} == set(range(3, LONGEST_TRAINED + 1))
    assert max(letters.by_length) == LONGEST_TRIED == 3 * LONGEST_TRAINED
    for n, pairs in letters.by_length.items():
        assert all(len(pair.source) == n and pair.target == pair.source[::-1] for pair in pairs)
        assert not trained & {pair.source for pair in pairs}
    assert not trained & {pair.source for pair in (*letters.held_out, *letters.samples)}
    assert variants.model_of("alibi", POSITIONS, letters.tokenizer).max_seq_len == LONGEST_TRIED + 1


def test_turns_change_nothing(masked: variants.ExperimentData):
    """Two variants by turns have the losses of each trained alone by the loop itself, on the corpus's own batches."""
    right, cheating = variants.Variant("look_ahead", MASKS, masked), variants.Variant("no_mask", MASKS, masked)
    by_turns = [(right.step().loss, cheating.step().loss) for _ in range(3)]
    batches = batches_for(
        masked.corpus.train, masked.tokenizer, "encoder_decoder", max_seq_len=64, batch_size=48, seed=MASKS.seed
    )
    alone = train(variants.Variant("look_ahead", MASKS, masked).model, batches, variants.training_of(MASKS))
    assert [loss for loss, _ in by_turns] == [next(alone).loss for _ in range(3)]
    assert by_turns[0][0] != by_turns[0][1]


def test_without_its_mask_a_variant_sees_the_future_while_it_trains_and_never_padding(masked: variants.ExperimentData):
    variant = variants.Variant("no_mask", MASKS, masked)
    variant.model.eval()
    src, tgt = variants.as_batch(masked.held_out[:6], masked.tokenizer, max_seq_len=64).inputs
    assert (tgt == masked.tokenizer.pad_id).any()
    last = (tgt != masked.tokenizer.pad_id).sum(dim=1) - 1
    later = tgt.clone()
    later[torch.arange(6), last] = (later[torch.arange(6), last] - 4 + 1) % 16 + 4  # another letter at the end
    longer = torch.cat([tgt, torch.full((6, 3), masked.tokenizer.pad_id)], dim=1)

    def first_logits(given: torch.Tensor) -> torch.Tensor:
        return variant.model(src, given)[:, 0]

    with torch.no_grad():
        torch.testing.assert_close(first_logits(later), first_logits(tgt))  # used: the future is hidden
        with variant.as_trained():
            assert ((first_logits(later) - first_logits(tgt)).abs().amax(dim=1) > 1e-4).all()
            torch.testing.assert_close(first_logits(longer), first_logits(tgt))
    used = greedy_decode(variant.model, src, max_new_tokens=6).tokens  # while it writes there is no future
    with variant.as_trained():
        assert torch.equal(greedy_decode(variant.model, src, max_new_tokens=6).tokens, used)


def test_targets_that_are_not_shifted_are_what_is_given():
    batch = Batch((torch.tensor([[5, 2]]), torch.tensor([[1, 7, 8, 0]])), torch.tensor([[7, 8, 2, IGNORED]]))
    (wrong,) = variants.not_shifted(iter([batch]), pad_id=0)
    assert torch.equal(wrong.inputs[0], batch.inputs[0])
    assert wrong.inputs[1].tolist() == [[7, 8, 2, 0]]
    assert torch.equal(wrong.targets, batch.targets)
