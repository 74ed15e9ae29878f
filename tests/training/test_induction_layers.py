"""A trained model of one attention layer cannot repeat words that it has seen; one of two layers learns to.

Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits": induction heads need two layers;
Sanford et al. 2024, arXiv 2408.14332: one layer needs a size that grows with the length.
"""

from dataclasses import replace

import pytest

import transformer_core as tc
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.tasks.induction import induction
from transformer_core.training.evaluate import evaluate
from transformer_core.training.loop import train
from transformer_core.training.presets import preset_training

pytestmark = [pytest.mark.training, pytest.mark.full]


def test_two_layers_repeat_words_and_one_layer_does_not():
    """On texts that repeat at least 30 words: on these the second layer learns within some hundred steps."""
    corpus = induction()
    known, held_out = (
        [text for text in part if len(text.determined) >= 30] for part in (corpus.train, corpus.held_out)
    )
    assert len(known) > 1000 and len(held_out) > 50
    tokenizer = tc.train_tokenizer([text.text for text in known], kind="word")
    training = replace(preset_training("tiny-attention", "induction"), steps=400, batch_size=32, warmup_steps=100)
    shares = []
    for n_layers in (1, 2):
        config = tc.presets.tiny_attention(tokenizer.vocab_size).changed(n_decoder_layers=n_layers, d_model=64)
        model = tc.build(config, seed=0)
        batches = batches_for(known, tokenizer, "decoder_only", max_seq_len=64, batch_size=32, seed=0)
        for _ in train(model, batches, training):
            pass
        shares.append(evaluate(model, tokenizer, corpus, held_out)["determined_accuracy"])
    assert shares[0] < 0.05
    assert shares[1] > 0.4
