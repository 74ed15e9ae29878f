"""Texts as a model reads them, and where their alignment lies among the tokens; all by hand."""

from typing import Any

import pytest

import transformer_core as tc
from headlight.analysis.trace.cases import case_of
from tests.model.building import DECODER, ENCODER, odd_config
from transformer_core.corpora.batch_order import IGNORED
from transformer_core.corpora.corpus import Labelled, Pair, Text

PAIR = Pair("a b c", "c b a", ((2,), (), (0, 1)))
TEXT = Text("a b a b", ((), (), (), (1,)))


@pytest.fixture(scope="module")
def tokenizer() -> tc.Tokenizer:
    return tc.train_tokenizer(["a b c d"], kind="word", mask=True)


def config(tokenizer: tc.Tokenizer, **changes: Any) -> tc.ModelConfig:
    return odd_config(vocab_size=tokenizer.vocab_size, **changes)


def test_of_a_pair_the_target_begins_with_bos_and_says_what_comes_next(tokenizer: tc.Tokenizer):
    case = case_of(config(tokenizer), tokenizer, PAIR)
    a, b, c = tokenizer.encode("a b c")
    assert case.inputs == ((a, b, c, tokenizer.eos_id), (tokenizer.bos_id, c, b, a))
    assert case.targets == (c, b, a, tokenizer.eos_id)
    assert (case.determined, case.sources) == ((0, 2), ((2,), (0, 1)))
    assert (case.side("source"), case.side("target")) == case.inputs
    assert case.aligned_attention == "cross"


def test_of_a_text_bos_moves_the_units_by_one(tokenizer: tc.Tokenizer):
    case = case_of(config(tokenizer, **DECODER), tokenizer, TEXT)
    a, b = tokenizer.encode("a b")
    assert case.inputs == ((tokenizer.bos_id, a, b, a, b),)
    assert case.targets == (a, b, a, b, tokenizer.eos_id)
    assert (case.determined, case.sources) == ((3,), ((2,),))  # the second "a" predicts the first "b"
    assert case.side("target") == case.inputs[0]
    assert case.aligned_attention == "decoder"


def test_of_what_is_too_long_the_beginning_is_read(tokenizer: tc.Tokenizer):
    """Source and target keep two tokens; the alignment keeps the links within both."""
    whole = case_of(config(tokenizer), tokenizer, PAIR)
    short = case_of(config(tokenizer), tokenizer, PAIR, max_tokens=3)
    assert short.inputs == tuple(tokens[:3] for tokens in whole.inputs)
    assert short.targets == whole.targets[:3]
    assert (short.determined, short.sources) == ((0, 2), ((2,), (0, 1)))
    shorter = case_of(config(tokenizer, max_seq_len=2), tokenizer, PAIR)
    assert shorter.inputs == tuple(tokens[:2] for tokens in whole.inputs)
    assert (shorter.determined, shorter.sources) == ((0, 1), ())


def test_an_encoder_gets_every_seventh_token_masked(tokenizer: tc.Tokenizer):
    case = case_of(config(tokenizer, **ENCODER), tokenizer, Text("a b c d a b c d a b c d"))
    ids = tokenizer.encode("a b c d a b c d a b c d", bos=True, eos=True)
    assert case.determined == (3, 10)
    assert case.inputs[0] == tuple(tokenizer.mask_id if i in (3, 10) else token for i, token in enumerate(ids))
    assert case.targets == tuple(ids)
    assert case.sources == ()


@pytest.mark.parametrize("stack", [DECODER, ENCODER])
def test_of_a_text_with_labels_the_targets_are_these(tokenizer: tc.Tokenizer, stack: dict[str, Any]):
    a, b, c = tokenizer.encode("a b c")
    case = case_of(config(tokenizer, **stack), tokenizer, Labelled("a b", labels=("c", "a")))
    end, ignored = ((tokenizer.eos_id,), (IGNORED,)) if stack is ENCODER else ((), ())
    assert case.inputs == ((tokenizer.bos_id, a, b, *end),)
    assert case.targets == (IGNORED, c, a, *ignored)
    assert (case.determined, case.sources) == ((1, 2), ())
