"""A reading: the same numbers as the model run by hand, with a label for every row and column."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import transformer_core as tc
from transformer_core.analysis import ATTENTIONS, Reading, read_translation, strongest_cell

TEXTS = ("The cat sees the dog.", "The dog doesn't see the cat.", "L'animal voit le chat.")


@pytest.fixture(scope="module")
def tokenizer() -> tc.Tokenizer:
    return tc.train_tokenizer(TEXTS, kind="word")


@pytest.fixture(scope="module")
def model(tokenizer: tc.Tokenizer) -> tc.Transformer:
    config = tc.ModelConfig(
        vocab_size=tokenizer.vocab_size,
        d_model=16,
        d_ff=32,
        n_heads=2,
        n_encoder_layers=1,
        n_decoder_layers=3,
        max_seq_len=20,
    )
    return tc.build(config, seed=1).eval()


@pytest.fixture(scope="module")
def reading(model: tc.Transformer, tokenizer: tc.Tokenizer) -> Reading:
    return read_translation(model, tokenizer, TEXTS[0])


def test_patterns_are_those_of_the_model(reading: Reading, model: tc.Transformer, tokenizer: tc.Tokenizer):
    src = torch.tensor([tokenizer.encode(TEXTS[0], eos=True)])
    tgt = tc.greedy_decode(model, src, max_new_tokens=19).tokens[:, :-1]
    with torch.inference_mode(), tc.capture(model, "*.hook_pattern") as acts:
        log_probs = model(src, tgt).log_softmax(-1)[0]
    for name, attention in ATTENTIONS.items():
        for layer, pattern in enumerate(reading.patterns[name]):
            np.testing.assert_allclose(pattern, acts[attention.site(layer)][0].numpy(), atol=1e-6)
    np.testing.assert_allclose(reading.log_probs, log_probs.max(-1).values.numpy(), atol=1e-5)


def test_there_is_a_label_for_every_row_and_column(reading: Reading):
    n_layers = {"encoder": 1, "decoder": 3, "cross": 3}
    for name, patterns in reading.patterns.items():
        queries, keys = reading.labels(name)
        assert patterns.shape == (n_layers[name], 2, len(queries), len(keys))
        assert reading.masks[name].shape == patterns.shape[2:]
    assert reading.source == ("The", "cat", "sees", "the", "dog", ".", "<eos>")
    assert reading.target[0] == "<bos>"
    assert reading.target[1:] == reading.predicted[:-1]
    assert len(reading.log_probs) == len(reading.predicted)


def test_rows_sum_to_1_and_keep_to_the_mask(reading: Reading):
    for name, patterns in reading.patterns.items():
        np.testing.assert_allclose(patterns.sum(axis=-1), 1, atol=1e-5)
        assert (patterns[..., ~reading.masks[name]] == 0).all()
    n_target = len(reading.target)
    np.testing.assert_array_equal(reading.masks["decoder"], np.tril(np.ones((n_target, n_target), dtype=bool)))
    assert reading.masks["encoder"].all() and reading.masks["cross"].all()


def test_unknown_words_keep_what_was_typed(model: tc.Transformer, tokenizer: tc.Tokenizer):
    reading = read_translation(model, tokenizer, "The Zebra sees the zebu, <b>!")
    assert reading.source[:5] == ("The", "<unk> Zebra", "sees", "the", "<unk> zebu")
    assert {"Zebra", "zebu", "<", ">"} <= set(reading.unknown)


def test_a_long_text_is_read_as_far_as_there_is_room(model: tc.Transformer, tokenizer: tc.Tokenizer):
    reading = read_translation(model, tokenizer, "the cat " * 5000, max_tokens=9)
    assert reading.source == (*["the", "cat"] * 4, "<eos>")
    assert reading.n_left_out == 10_000 - 8
    assert len(reading.target) <= 9


def test_an_output_without_an_end_says_so(model: tc.Transformer, tokenizer: tc.Tokenizer):
    reading = read_translation(model, tokenizer, TEXTS[0], max_tokens=3)
    assert reading.is_complete == (reading.predicted[-1] == "<eos>")


@settings(max_examples=30)
@given(text=st.text(min_size=1, max_size=40))
def test_any_text_can_be_read(model: tc.Transformer, tokenizer: tc.Tokenizer, text: str):
    reading = read_translation(model, tokenizer, text)
    assert len(reading.source) == reading.patterns["encoder"].shape[-1]
    assert all(np.isfinite(patterns).all() for patterns in reading.patterns.values())


def test_strongest_cell_by_hand():
    pattern = np.array([[1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [0.1, 0.8, 0.1]], dtype=np.float32)
    causal = np.tril(np.ones((3, 3), dtype=bool))
    cell = strongest_cell(pattern, causal)  # row 0 had no choice
    assert (cell.query, cell.key, pytest.approx(cell.value)) == (2, 1, 0.8)
    assert strongest_cell(pattern, np.ones((3, 3), dtype=bool)).query == 0


def test_strongest_cell_where_no_query_had_a_choice():
    cell = strongest_cell(np.ones((1, 1), dtype=np.float32), np.ones((1, 1), dtype=bool))
    assert (cell.query, cell.key, cell.value) == (0, 0, 1.0)
