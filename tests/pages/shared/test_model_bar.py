"""The vocabulary that is listed beside the text."""

import transformer_core as tc
from pages.shared.model_bar import vocabulary_of

TEXTS = ["the cat sees a dog .", "a dog , the cat"]


def test_a_vocabulary_of_words_is_listed_without_special_tokens():
    assert vocabulary_of(tc.train_tokenizer(TEXTS, kind="word")) == ["a", "cat", "dog", "sees", "the", ",", "."]


def test_a_vocabulary_that_splits_words_lists_none():
    assert vocabulary_of(tc.train_tokenizer(TEXTS, kind="byte_bpe", vocab_size=300)) == []
