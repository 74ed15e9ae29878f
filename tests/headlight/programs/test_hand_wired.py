"""Interventions on models whose every head is known; the numbers are closed forms, or of an independent computation."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import transformer_core as tc
from headlight.programs.hand_wired import copying_pair, induction_model, or_model
from tests.headlight.programs.texts import N_RANDOM, VOCAB_SIZE, loss, repeated_texts
from transformer_core.instrument.intervene import Intervention

pytestmark = pytest.mark.usefixtures("without_gradients")
H = induction_model().model
TEXTS = repeated_texts()
HEADS = [(0, 0), (0, 1), (1, 0), (1, 1)]


def name(stem: str, layer: int) -> str:
    return tc.site(stem, layer=layer, attention="decoder")


def acts_of(model: tc.Transformer, texts: Tensor, *sites: str) -> tc.Activations:
    with tc.capture(model, *(sites or ("*",))) as acts:
        model(texts)
    return acts


def logits_with(model: tc.Transformer, texts: Tensor, interventions: dict[str, Any]) -> Tensor:
    with tc.intervene(model, interventions):
        return model(texts)


def loss_change(interventions: dict[str, Any]) -> float:
    return loss(logits_with(H, TEXTS, interventions), TEXTS) - loss(H(TEXTS), TEXTS)


# Where the heads of the induction circuit look


def test_where_the_heads_look():
    acts = acts_of(H, TEXTS)
    assert loss(H(TEXTS), TEXTS) == pytest.approx(0.0005, abs=5e-5)
    queries = torch.arange(1, 2 * N_RANDOM + 1)
    closed_form = sum(math.exp(12) / (math.exp(12) + q) for q in range(1, 21)) / 20
    for layer, head in [(0, 0), (1, 1)]:  # the decoy looks exactly like the previous-token head
        pattern = acts[name("pattern", layer)][:, head]
        assert float(pattern[:, queries, queries - 1].mean()) == pytest.approx(closed_form, abs=1e-6)
    queries = torch.arange(N_RANDOM + 1, 2 * N_RANDOM)
    induced = acts[name("pattern", 1)][:, 0, queries, queries - N_RANDOM + 1]
    assert float(induced.mean()) == pytest.approx(0.9999, abs=5e-5)
    even = torch.ones(21, 21).tril() / torch.arange(1, 22)[:, None]
    torch.testing.assert_close(acts[name("pattern", 0)][:, 1], even.expand(200, -1, -1))


# Effects of the heads, in nats

EFFECTS = {
    (0, 0): (2.771, 2.712, 8.378),
    (0, 1): (0.0, 0.0, 0.0),
    (1, 0): (2.504, 2.431, 9.058),
    (1, 1): (0.0, 0.0, 0.0),
}


@pytest.mark.parametrize("layer, head", HEADS)
def test_what_a_head_that_is_ablated_costs(layer: int, head: int):
    site = name("z", layer)
    z = acts_of(H, TEXTS, site)[site]
    ablations: tuple[Intervention, ...] = (
        tc.zero(heads=[head]),
        tc.replace(z.mean(dim=0), heads=[head]),  # a mean for each position
        tc.patch({site: z.roll(-1, dims=0)}, heads=[head]),  # each text gets what the next one had
    )
    costs = [loss_change({site: ablation}) for ablation in ablations]
    assert costs == pytest.approx(EFFECTS[layer, head], abs=5e-4)
    if (layer, head) == (1, 1):
        assert costs == [0, 0, 0]


# Paths between heads


def composition(model: tc.Transformer) -> np.ndarray:
    """The scores of Elhage et al. 2021 through queries, keys and values, of heads in layer 0 with those in layer 1."""
    writers, readers = (
        [tc.weights(model, layer, head, "decoder") for head in range(model.config.n_heads)] for layer in (0, 1)
    )

    def score(written: torch.Tensor, read: torch.Tensor) -> float:
        written, read = written.double(), read.double()
        norms = float(written.norm() * read.norm())
        return float((written @ read).norm()) / norms if norms else 0.0

    return np.array([[[score(a.ov, m) for m in (b.qk, b.qk.T, b.ov)] for b in readers] for a in writers]).T


def test_one_head_composes_with_one_other_and_through_its_keys_alone():
    q, k, v = composition(H).transpose(0, 2, 1)
    assert k[0, 0] == pytest.approx(1 / math.sqrt(VOCAB_SIZE), abs=1e-9)
    assert [*q.flat, *k.flat[1:], *v.flat] == [0.0] * 11


@pytest.mark.parametrize("head", [0, 1])
@pytest.mark.parametrize("stem", ["q", "k", "v"])
def test_only_that_path_carries_a_patch(stem: str, head: int):
    """Path patching: a reader gets the input that it has where the writer alone is that of another text."""
    site = name("z", 0)
    z = acts_of(H, TEXTS, site)[site]
    other_writer = {site: tc.patch({site: z.roll(-1, dims=0)}, heads=[0])}
    with tc.intervene(H, other_writer), tc.capture(H, name(stem, 1)) as acts:
        H(TEXTS)
    cost = loss_change({name(stem, 1): tc.patch(acts, heads=[head])})
    assert cost == (pytest.approx(8.378, abs=5e-4) if (stem, head) == ("k", 0) else 0)


# Redundant heads: an OR

TWICE = torch.tensor([[0, 5, 5, 3, 7, 2, 2, 1], [0, 9, 9, 9, 1, 1, 4, 11]])


def nats(logits: Tensor, texts: Tensor) -> float:
    """Mean loss of the token at position 1 as the next one of each position from 2 on."""
    right = texts[:, 1, None, None].expand(-1, texts.shape[1] - 2, 1)
    return -float(logits.double().log_softmax(dim=-1)[:, 2:].gather(-1, right).mean())


def test_an_or_of_two_heads_hides_each_of_them():
    model, site = or_model().model, name("z", 0)
    off = [nats(logits_with(model, TWICE, {site: tc.zero(heads=heads)}), TWICE) for heads in ([], [0], [1], [0, 1])]
    one_off = math.log(math.exp(4) + 11) - 4
    assert off == pytest.approx([math.log(math.exp(8) + 11) - 8, one_off, one_off, math.log(12)], abs=1e-6)


def test_a_backup_head_has_an_effect_only_where_the_first_head_is_off():
    model = copying_pair().model
    first, backup = {name("z", 0): tc.zero(heads=[0])}, {name("z", 1): tc.zero(heads=[0])}
    whole, silent = math.log(math.exp(4) + 11) - 4, math.log(12)
    off: list[dict[str, Any]] = [{}, first, backup, first | backup]
    assert [nats(logits_with(model, TWICE, each), TWICE) for each in off] == pytest.approx(
        [whole, whole, whole, silent], abs=1e-6
    )
    assert torch.equal(acts_of(model, TWICE)[name("result", 1)][:, 0, 1:], torch.zeros(2, 7, model.config.d_model))


# Redundant keys: attention repairs itself

QUERY = 5
BOS, A, B = (0, QUERY, 0), (0, QUERY, 1), (0, QUERY, 2)


def written(cells: Intervention, site: str) -> Tensor:
    """What L0.H0 of the copying pair adds to the logits at one query."""
    model = copying_pair().model
    result = name("result", 0)
    with tc.intervene(model, {site: cells}), tc.capture(model, result) as acts:
        model(TWICE)
    return model.unembed(acts[result][:, 0, QUERY])


@pytest.mark.parametrize("stem", ["attn_scores", "mask", "pattern"])
def test_one_of_two_equal_keys_can_be_knocked_out_at_no_cost(stem: str):
    def without(*cells: tuple[int, int, int]) -> Tensor:
        is_before = stem != "pattern"
        knock_out = tc.knock_out(cells) if is_before else tc.zero(cells=cells, renormalize=True)
        return written(knock_out, name(stem, 0))

    one_hot = torch.nn.functional.one_hot(TWICE, 12).float()
    copied, rest = 4 * one_hot[:, 1], 4 * one_hot[:, 3 : QUERY + 1].mean(dim=1)
    for cells, expected in (((), copied), ((A,), copied), ((B,), copied), ((A, B), 0 * copied), ((A, B, BOS), rest)):
        torch.testing.assert_close(without(*cells), expected, rtol=0, atol=1e-5)


def test_after_the_softmax_each_key_counts_half():
    copied = 4 * torch.nn.functional.one_hot(TWICE[:, 1], 12).float()
    for cells, share in (((), 1), ((A,), 0.5), ((B,), 0.5), ((A, B), 0)):
        actual = written(tc.zero(cells=cells), name("pattern", 0))
        torch.testing.assert_close(actual, share * copied, rtol=1e-5, atol=1e-6)
