"""Scores by their sources: the parts make the whole, and each part is what it says."""

from functools import cache

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.flow.score_sources import ScoreSources, score_sources
from headlight.analysis.flow.stream_steps import SourceName
from tests.headlight.analysis.walkthrough.small_walks import each_place, inputs_of, model_of


@cache
def captured(kind: str) -> dict[str, np.ndarray]:
    with torch.inference_mode(), tc.capture(model_of(kind), "*") as acts:
        model_of(kind)(*(torch.tensor([tokens]) for tokens in inputs_of(kind)))
    return {site: acts[site][0].float().numpy() for site in acts if acts[site].is_floating_point()}


@cache
def sources_of(kind: str, attention: str, layer: int) -> ScoreSources:
    return score_sources(model_of(kind), inputs_of(kind), attention=attention, layer=layer, head=2)


@each_place
def test_the_parts_make_queries_keys_and_scores(kind: str, attention: str, layer: int):
    head, sources = 2, sources_of(kind, attention, layer)
    acts, config = captured(kind), model_of(kind).config
    module = {"cross": "decoder.blocks.{}.cross_attn"}.get(attention, f"{attention}.blocks.{{}}.self_attn").format(
        layer
    )
    q, k = acts[f"{module}.hook_q"][head], acts[f"{module}.hook_k"][head * config.n_kv_heads // config.n_heads]
    assert np.allclose(sources.parts_q.sum(axis=0), q, rtol=1e-4, atol=1e-5)
    assert np.allclose(sources.parts_k.sum(axis=0), k, rtol=1e-4, atol=1e-5)
    scores = acts[f"{module}.hook_attn_scores"][head]
    largest = float(np.abs(scores[np.isfinite(scores)]).max())
    assert sources.largest_error <= 1e-4 * largest
    for query, key in np.argwhere(np.isfinite(scores))[::5].tolist():
        bias = 0 if sources.bias is None else sources.bias[query, key]
        score = sources.cell(query, key).sum() + bias
        score = score if sources.cap is None else sources.cap * np.tanh(score / sources.cap)
        assert score == pytest.approx(scores[query, key], abs=1e-4 * largest)
        assert sources.cell(query, key).shape == (len(sources.sources_of_query), len(sources.sources_of_key))


@each_place
def test_each_source_is_there_once_and_wrote_before(kind: str, attention: str, layer: int):
    config, sources = model_of(kind).config, sources_of(kind, attention, layer)
    of_memory = attention == "cross"
    for names, is_query in ((sources.sources_of_query, True), (sources.sources_of_key, False)):
        stack = "encoder" if attention == "encoder" or (of_memory and not is_query) else "decoder"
        n_before = config.n_encoder_layers if of_memory and not is_query else layer
        heads = [(name.layer, name.head, name.attention) for name in names if name.kind == "head"]
        own = [(i, h, stack) for i in range(n_before + (of_memory and is_query)) for h in range(config.n_heads)]
        crossed = [(i, h, "cross") for i in range(n_before) for h in range(config.n_heads)]
        assert sorted(heads) == sorted(own + (crossed if stack == "decoder" and config.has_encoder else []))
        assert [name.layer for name in names if name.kind == "feed_forward"] == [*range(n_before if config.d_ff else 0)]
        assert len({*names}) == len(names)


@pytest.mark.parametrize("kind", ["the paper's", "decoder"])
def test_a_part_is_the_change_when_its_source_is_taken_away_with_norms_frozen(kind: str):
    """By torch's own derivative: with each norm's divisor held, the query is linear in what a head wrote."""
    model, inputs = model_of(kind), inputs_of(kind)
    attention, stack = ("encoder", "encoder") if kind == "the paper's" else ("decoder", "decoder")
    sources = score_sources(model, inputs, attention=attention, layer=1, head=0)
    acts, config = captured(kind), model.config
    source = SourceName(kind="head", layer=0, head=1, attention=attention)
    part = sources.parts_q[sources.sources_of_query.index(source)]
    block = f"{stack}.blocks.0"
    w_out = model.get_parameter(f"{block}.self_attn.out.weight").detach().numpy()
    d_head = config.d_head
    written = acts[f"{block}.self_attn.hook_z"][1].astype(np.float64) @ w_out[:, d_head : 2 * d_head].T

    def frozen(x: np.ndarray, inside: np.ndarray, module: str) -> np.ndarray:
        weight = model.get_parameter(f"{module}.weight").detach().numpy()
        deviation = np.sqrt(inside.astype(np.float64).var(-1, keepdims=True) + config.layer_norm_eps)
        return (x - x.mean(-1, keepdims=True)) / deviation * weight

    if config.norm_position == "post":
        written = frozen(written, acts[f"{block}.hook_resid_mid"], f"{block}.ln1")
        written = frozen(written, acts[f"{block}.hook_resid_post"], f"{block}.ln2")
    else:
        written = frozen(written, acts[f"{stack}.blocks.1.hook_resid_pre"], f"{stack}.blocks.1.ln1")
    module = f"{stack}.blocks.1.self_attn"
    expected = written @ model.get_parameter(f"{module}.q.weight").detach().numpy()[:d_head].T
    assert np.allclose(part, expected, atol=1e-5)
    assert sources.has_frozen_norms


def test_kinds_split_all_cells_without_rest():
    sources = score_sources(model_of("encoder"), inputs_of("encoder"), attention="encoder", layer=1, head=0)
    kinds = ("token", "position", "segment", "head", "feed_forward", "bias")
    whole = sources.by_kind(None, None)
    pairs = [sources.by_kind(a, b) for a in kinds for b in kinds]
    assert np.allclose(sum(pairs), whole, atol=1e-10)
    ij = sources.sources_of_query.index(SourceName(kind="position"))
    assert sources.by_kind("position", "position")[2, 3] == pytest.approx(sources.cell(2, 3)[ij, ij])
    assert whole[2, 3] == pytest.approx(sources.cell(2, 3).sum())


def test_what_the_distance_adds_is_a_source_of_its_own():
    """ALiBi's first head of 3 falls by 1/16 a token."""
    sources = score_sources(model_of("alibi"), inputs_of("alibi"), attention="encoder", layer=1, head=0)
    assert sources.bias is not None
    assert sources.bias[1].tolist() == pytest.approx([-1 / 16, 0, -1 / 16, -2 / 16, -3 / 16, -4 / 16])
    assert score_sources(model_of("alibi"), inputs_of("alibi"), attention="cross", layer=1, head=0).bias is None
