"""What heads look at, and what is lost without them, against loops over single cells and models with weights zeroed."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F

import transformer_core as tc
from headlight.analysis.heads.measures import HeadScore
from headlight.analysis.heads.scores import known_heads, score_heads
from headlight.figures.head_words import sentence
from tests.model.building import odd_config, shaken_model
from transformer_core.corpora.corpus import Pair, Text

CARDS = sorted((Path(__file__).resolve().parents[4] / "checkpoints").glob("*/card.json"))
NAMES = [field.name for field in fields(HeadScore)]
ALONE: dict[str, Any] = {"architecture": "decoder_only", "n_encoder_layers": 0, "tie_embeddings": "none"}
TEXTS = [Text("a b c d a b c d", ((), (), (), (), (), (1,), (2,), (3,))), Text("b a b", ((), (), ()))]
PAIRS = [Pair("a b c", "c b a", ((2,), (1,), (0,))), Pair("d a", "a d", ((1,), (0,)))]


@pytest.fixture(scope="module")
def tokenizer() -> tc.Tokenizer:
    return tc.train_tokenizer(["a b c d"], kind="word", mask=True)


def model_for(tokenizer: tc.Tokenizer, **changes: Any) -> tc.Transformer:
    model = shaken_model(odd_config(vocab_size=tokenizer.vocab_size, **changes))
    with torch.no_grad():
        model.unembed.weight.mul_(3)
    return model


def of(scores: list[HeadScore], attention: str, layer: int, head: int) -> HeadScore:
    (score,) = (s for s in scores if (s.attention, s.layer, s.head) == (attention, layer, head))
    return score


@torch.no_grad()
def test_a_decoder_cell_by_cell(tokenizer: tc.Tokenizer):
    model = model_for(tokenizer, **ALONE)
    scores = score_heads(model, tokenizer, TEXTS)
    assert len(scores) == 2 * 3
    previous, first, near, patterns = [], [], [], []
    for text in TEXTS:
        ids = tokenizer.encode(text.text, bos=True, eos=True)[:-1]
        with tc.capture(model, "decoder.blocks.1.self_attn.hook_pattern") as acts:
            model(torch.tensor([ids]))
        patterns.append(cells := acts["decoder.blocks.1.self_attn.hook_pattern"][0, 2])
        queries = range(2, len(ids))
        previous.append(sum(float(cells[q, q - 1]) for q in queries) / len(queries))
        first.append(sum(float(cells[q, 0]) for q in queries) / len(queries))
        near += [float(cells[q, q - 3 : q + 1].sum()) for q in range(4, len(ids))]  # none in the second text
    actual = of(scores, "decoder", 1, 2)
    # unit t is token t + 1: it is predicted at position t, and unit s is key s + 1
    aligned = float(patterns[0][5, 2] + patterns[0][6, 3] + patterns[0][7, 4]) / 3
    expected = [aligned, sum(previous) / 2, sum(first) / 2, sum(near) / 5]
    assert [actual.aligned, actual.previous, actual.first, actual.near] == pytest.approx(expected, rel=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("site, layer, head", [("encoder", 0, 1), ("decoder", 1, 0), ("cross", 0, 2)])
def test_the_effect_is_that_of_a_model_without_the_head(tokenizer: tc.Tokenizer, site: str, layer: int, head: int):
    model = model_for(tokenizer)
    modules = {"encoder": "encoder.{}.self_attn", "decoder": "decoder.{}.self_attn", "cross": "decoder.{}.cross_attn"}
    attention = model.get_submodule(modules[site].format(f"blocks.{layer}"))

    def loss() -> float:
        losses: list[float] = []
        for pair in PAIRS:
            src = torch.tensor([tokenizer.encode(pair.source, eos=True)])
            tgt = torch.tensor([tokenizer.encode(pair.target, bos=True, eos=True)])
            n_units = len(pair.target.split())  # all of them have a source; <eos> has not
            logits = model(src, tgt[:, :-1])[0, :n_units]
            losses += F.cross_entropy(logits, tgt[0, 1 : n_units + 1], reduction="none").tolist()
        return sum(losses) / len(losses)

    score = of(score_heads(model, tokenizer, PAIRS), site, layer, head)
    whole = loss()
    weight = attention.get_submodule("out").get_parameter("weight")
    weight[:, head * 16 : (head + 1) * 16] = 0  # d_model 48, 3 heads
    assert score.effect == pytest.approx(loss() - whole, abs=1e-5)
    assert (score.aligned is None) == (site != "cross") and (score.previous is None) == (site == "cross")


@torch.no_grad()
def test_an_encoder_is_measured_at_its_masks(tokenizer: tc.Tokenizer):
    model = model_for(tokenizer, architecture="encoder_only", n_decoder_layers=0, tie_embeddings="none")
    text = Text("a b c d a b c d a b c d")
    scores = score_heads(model, tokenizer, [text])
    ids = tokenizer.encode(text.text, bos=True, eos=True)
    places = [3, 10]
    seen = [tokenizer.mask_id if i in places else token for i, token in enumerate(ids)]
    targets = torch.tensor([ids[i] for i in places])
    with tc.capture(model, "encoder.blocks.1.self_attn.hook_pattern") as acts:
        whole = F.cross_entropy(model(torch.tensor([seen]))[0, places], targets)
    cells = acts["encoder.blocks.1.self_attn.hook_pattern"][0, 0]
    near = [float(cells[q, q - 3 : q + 4].sum()) for q in range(4, len(ids))]
    assert of(scores, "encoder", 1, 0).near == pytest.approx(sum(near) / len(near), rel=1e-4)
    with tc.intervene(model, {"encoder.blocks.1.self_attn.hook_z": tc.zero_heads([0])}):
        without = F.cross_entropy(model(torch.tensor([seen]))[0, places], targets)
    assert of(scores, "encoder", 1, 0).effect == pytest.approx(float(without - whole), abs=1e-5)
    assert all(score.aligned is None for score in scores)


@torch.no_grad()
def test_where_pronouns_look_cell_by_cell(tokenizer: tc.Tokenizer):
    """In the first pair the last word stands for both others, in the second the first one for the last."""
    model = model_for(tokenizer)
    pairs = [Pair("a b c", "c", None, ((2, 0), (2, 1))), Pair("d a", "a d", None, ((0, 1),)), Pair("b", "b", None, ())]
    shares = []
    for pair, cells in ((pairs[0], [(2, 0), (2, 1)]), (pairs[1], [(0, 1)])):
        with tc.capture(model, "encoder.blocks.1.self_attn.hook_pattern") as acts:
            model.encode(torch.tensor([tokenizer.encode(pair.source, eos=True)]))
        pattern = acts["encoder.blocks.1.self_attn.hook_pattern"][0, 2]
        shares.append(sum(float(pattern[cell]) for cell in cells))
    scores = score_heads(model, tokenizer, pairs)
    assert of(scores, "encoder", 1, 2).antecedent == pytest.approx(sum(shares) / 2, rel=1e-4)
    assert of(scores, "cross", 1, 2).antecedent is None and of(scores, "decoder", 1, 2).antecedent is None
    assert all(score.antecedent is None for score in score_heads(model, tokenizer, PAIRS))


def test_a_card_names_what_stands_out_the_most_needed_first():
    def score(head: int, **changes: Any) -> HeadScore:
        values: dict[str, Any] = {"aligned": None, "previous": 0.1, "first": 0.1, "near": 0.2, "effect": 0.0} | changes
        return HeadScore(attention="decoder", layer=1, head=head, **values)

    scores = [
        score(0),
        score(1, aligned=0.93, effect=0.5),
        score(2, effect=2.0),
        score(3, first=0.8),
        score(4, near=0.67, effect=-0.3),
        score(5, near=0.99, previous=0.5, effect=0.1),
        score(6, effect=0.2),
        score(7, effect=0.19),  # a third one that has no further scores
    ]
    known = known_heads(scores)
    assert [score.head for score in known] == [2, 1, 6, 5, 3, 4]
    assert "ablating it lowers the loss by 0.30 nats" in str(sentence(known[5]))


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.parent.name)
def test_the_numbers_of_a_card_make_its_sentences(card: Path):
    for head in json.loads(card.read_text(encoding="utf-8"))["heads"]:
        assert str(sentence(HeadScore(**{name: head[name] for name in NAMES if name in head}))) == head["does"]
