"""A training's end: a checkpoint with its card, what the heads do, and what goes wrong without a guided one."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headlight as hl
import transformer_core as tc
from headlight.analysis.heads.scores import score_heads
from headlight.cli import describing
from headlight.cli.describing import describe_heads, guidance_facts, shares_wrong, usual_output
from tests.model.building import odd_config, shaken_model
from transformer_core.checkpoints.checkpoint import read_card
from transformer_core.checkpoints.load import load
from transformer_core.corpora import load_corpus
from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.errors import CheckpointError, Message, RunError
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Tokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.run.begin import begin
from transformer_core.training.run.directory import keep_run
from transformer_core.training.run.request import Settings
from transformer_core.training.run.worker import work

SMALL = {"d_model": 16, "d_ff": 32, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1}


def test_kept_it_is_a_checkpoint_with_the_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
    settings = Settings(model=SMALL, training={"steps": 2, "evaluate_pairs": 2, "film_megabytes": 0})
    job = begin(tmp_path / "run", corpus_name="copy", preset="tiny", settings=settings)
    with pytest.raises(RunError, match="has not saved any weights yet"):
        keep_run(tmp_path / "run", tmp_path / "kept")
    for _ in work(job, stop_reason=lambda: "enough"):
        pass
    torch.set_flush_denormal(False)
    for _ in range(2):  # an older checkpoint is replaced
        assert keep_run(tmp_path / "run", tmp_path / "kept", title="Mine") == 1
    model, _ = load(tmp_path / "kept")
    assert all(torch.equal(parameter, job.model.get_parameter(name)) for name, parameter in model.named_parameters())
    card, saved = read_card(tmp_path / "kept"), read_card(tmp_path / "run" / "last")
    assert card == saved | {"name": "kept", "title": "Mine"}
    measured = []

    def watched(model: Transformer, tokenizer: Tokenizer, items: Sequence[Any]) -> Any:
        measured.append(items)
        return score_heads(model, tokenizer, items)

    monkeypatch.setattr(describing, "score_heads", watched)
    describe_heads(tmp_path / "run", tmp_path / "kept", n_scored=3, n_usual=4)
    assert [[*items] for items in measured] == [[*load_corpus("copy").held_out[:3]]]
    described = read_card(tmp_path / "kept")
    assert {name: value for name, value in described.items() if name not in ("heads", "usual")} == card
    results = []
    for pair in load_corpus("copy").held_out[:4]:
        source = torch.tensor([load(tmp_path / "kept")[1].encode_for(pair.source, "encoder_decoder")])
        written = greedy_decode(model, source).tokens
        log_probs = model(source, written[:, :-1])[0].detach().log_softmax(-1).gather(-1, written[0, 1:, None])
        results.append(float(log_probs.mean().exp()))
    low, high = sorted(results)[:2]
    expected = low + 0.03 * (high - low)  # at 1 % of the way through three steps
    assert described["usual"] == {"pairs": 4, "least_probability": pytest.approx(expected, abs=2e-4)}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        keep_run(tmp_path / "run", tmp_path / "other")


def test_the_usual_output_is_that_of_each_text_alone(monkeypatch: pytest.MonkeyPatch):
    """A batch has room for the longest source; the output of a shorter one ends where it ends alone."""
    tokenizer = tc.train_tokenizer([WORDS], kind="word")
    model = shaken_model(odd_config(vocab_size=tokenizer.vocab_size, max_seq_len=100)).eval()
    pairs = [Pair(" ".join([*WORDS.split() * 7][:n]), "a") for n in (1, 20, 40)]
    alone = [hl.run_text(model, tokenizer, pair.source, max_tokens=100).mean_probability for pair in pairs]
    for share in (0.0, 0.5, 1.0):
        monkeypatch.setattr(describing, "UNUSUAL", share)
        expected = {"pairs": 3, "least_probability": pytest.approx(np.quantile(alone, share), abs=1e-4)}
        assert usual_output(model, tokenizer, pairs) == expected
    with torch.no_grad():
        model.unembed.weight.fill_(torch.nan)
    assert usual_output(model, tokenizer, pairs) == {}


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
