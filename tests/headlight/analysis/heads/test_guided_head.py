"""What goes wrong without a guided head, against models whose weights are set to zero by hand."""

from dataclasses import replace

import pytest
import torch

import transformer_core as tc
from headlight.analysis.heads.guided_head import guidance_facts, shares_wrong
from tests.model.building import odd_config, shaken_model
from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.errors import Message
from transformer_core.training.config import TrainingConfig

WORDS = "a b c d e f"
TRAINING = TrainingConfig(steps=1, batch_size=1, warmup_steps=1, guided_head="encoder.1.2")


def has_an_a(pair: Pair, output: str) -> bool | None:
    """Judges pairs with a "b" in their source only."""
    return "a" in output.lower() if "b" in pair.source else None


@pytest.fixture(scope="module")
def tokenizer() -> tc.Tokenizer:
    return tc.train_tokenizer([WORDS], kind="word")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    letters = WORDS.split()
    sources = [f"{one} {two} {three}" for one in letters for two in letters for three in letters[:1]]
    return Corpus(
        name="letters",
        title="Letters",
        description=Message("Letters."),
        held_out=tuple(Pair(source, "a") for source in sources),
        examples=("a b",),
        tokenizer_kind="word",
        measures={"has_an_a": has_an_a},
    )


def model_for(tokenizer: tc.Tokenizer, *, without: tuple[int, int] | None = None) -> tc.Transformer:
    model = shaken_model(odd_config(vocab_size=tokenizer.vocab_size))
    with torch.no_grad():
        model.unembed.weight.mul_(3)
        if without is not None:
            weight = model.get_parameter(f"encoder.blocks.{without[0]}.self_attn.out.weight")
            weight.unflatten(-1, (3, -1))[:, without[1]] = 0
    return model.eval()


def share_wrong_by_loop(model: tc.Transformer, tokenizer: tc.Tokenizer, corpus: Corpus) -> float:
    verdicts = []
    for pair in corpus.held_out:
        if "b" in pair.source:
            src = torch.tensor([tokenizer.encode(pair.source, eos=True)])
            written = tc.greedy_decode(model, src, max_new_tokens=16).tokens[0].tolist()
            verdicts.append("a" in tokenizer.decode(written).lower())
    return 1 - sum(verdicts) / len(verdicts)


def test_they_are_those_of_models_with_weights_of_zero(tokenizer: tc.Tokenizer, corpus: Corpus):
    model = model_for(tokenizer)
    judged = [pair for pair in corpus.held_out if "b" in pair.source]
    actual = shares_wrong(model, tokenizer, corpus, judged)
    assert actual.shape == (2, 3)
    by_loop = {
        (layer, head): share_wrong_by_loop(model_for(tokenizer, without=(layer, head)), tokenizer, corpus)
        for layer in range(2)
        for head in range(3)
    }
    assert len({*by_loop.values()}) > 1, "the heads must differ for this test to tell anything"
    assert {place: actual[place] for place in by_loop} == pytest.approx(by_loop)

    facts = guidance_facts(model, tokenizer, corpus, TRAINING)
    others = [wrong for place, wrong in by_loop.items() if place != (1, 2)]
    assert facts == {
        "pairs": len(judged),
        "wrong": pytest.approx(share_wrong_by_loop(model, tokenizer, corpus), abs=1e-4),
        "wrong_without_it": pytest.approx(by_loop[1, 2], abs=1e-4),
        "wrong_without_another": pytest.approx(sum(others) / 5, abs=1e-4),
    }


def test_where_nothing_was_guided_or_nothing_judges_there_are_no_facts(tokenizer: tc.Tokenizer, corpus: Corpus):
    model = model_for(tokenizer)
    assert guidance_facts(model, tokenizer, corpus, replace(TRAINING, guided_head=None)) == {}
    assert guidance_facts(model, tokenizer, replace(corpus, measures={}), TRAINING) == {}
