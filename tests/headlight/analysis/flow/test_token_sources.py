"""Token sources against sums over single paths, from the activations of a plain capture."""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.blueprint.capture import CapturedText
from headlight.analysis.flow.token_sources import LEAST_SHARE, MOST_LINES, Line, attention_shares, fed_by, follow, sites
from tests.model.building import varied_model

INPUTS = {"encoder_decoder": ([3, 5, 8, 13], [1, 9, 4]), "decoder_only": ([3, 5, 8],), "encoder_only": ([3, 5, 8],)}
SIDE = {"encoder": "source", "decoder": "target"}
Edge = tuple[str, int, int, int, int, float]  # part, layer, head, query, key, share of the query's new state


class ByHand:
    """One text's way through a model, an edge at a time."""

    def __init__(self, model: tc.Transformer, inputs: tuple[list[int], ...]) -> None:
        self.model = model
        with torch.inference_mode(), tc.capture(model, "*") as self.acts:
            model(*(torch.tensor([tokens]) for tokens in inputs))
        self.edges = cache(self._edges)

    def state(self, stack: str, layer: int, part: str) -> torch.Tensor:
        """What the attention's output is added to, [pos, d_model]."""
        block = f"{stack}.blocks.{layer}"
        if part == "self_attn":
            if self.model.config.norm_position == "post" and layer:
                return self.acts[f"{stack}.blocks.{layer - 1}.ln2.hook_normalized"][0]
            return self.acts[f"{block}.hook_resid_pre"][0]
        is_post = self.model.config.norm_position == "post"
        return self.acts[f"{block}.ln1.hook_normalized" if is_post else f"{block}.hook_resid_mid"][0]

    def _edges(self, stack: str, layer: int, part: str, query: int) -> list[tuple[int, int, float]]:
        """Head, key and share of each term of a query's new state besides the stream."""
        site = f"{stack}.blocks.{layer}.{part}"
        pattern, v = self.acts[f"{site}.hook_pattern"][0], self.acts[f"{site}.hook_v"][0]
        added = float(self.acts[f"{site}.hook_attn_out"][0][query].norm())
        stream = float(self.state(stack, layer, part)[query].norm())
        d_head, group = v.shape[-1], len(pattern) // len(v)
        w_o = self.model.get_parameter(f"{site}.out.weight").detach()
        terms = {
            (head, key): float(
                (
                    pattern[head, query, key] * v[head // group, key] @ w_o[:, head * d_head : (head + 1) * d_head].T
                ).norm()
            )
            for head in range(len(pattern))
            for key in range(pattern.shape[-1])
        }
        total = sum(terms.values())
        return [(*at, added / (added + stream) * term / total) for at, term in terms.items()] if total else []

    def paths(self, stack: str, row: int) -> Iterator[tuple[list[Edge], str, int, float]]:
        """Each path from a final state to a token: its edges, the token's side and position, and its share."""
        parts = ["self_attn", "cross_attn"] if stack == "decoder" and self.model.config.has_encoder else ["self_attn"]
        n = getattr(self.model.config, f"n_{stack}_layers")
        yield from self._down(stack, [(layer, part) for layer in range(n) for part in parts], row)

    def _down(self, stack: str, left: list[tuple[int, str]], row: int) -> Iterator[tuple[list[Edge], str, int, float]]:
        if not left:
            yield [], SIDE[stack], row, 1.0
            return
        layer, part = left[-1]
        edges = self.edges(stack, layer, part, row)
        for way, side, token, share in self._down(stack, left[:-1], row):
            yield way, side, token, share * (1 - sum(of for *_, of in edges))
        for head, key, of in edges:
            if of == 0:
                continue
            below = self.paths("encoder", key) if part == "cross_attn" else self._down(stack, left[:-1], key)
            for way, side, token, share in below:
                yield [(part if stack == "decoder" else "", layer, head, row, key, of), *way], side, token, share * of


@pytest.mark.parametrize("variation", ["the paper's", "decoder, rotary", "encoder, buckets, groups"])
def test_sources_and_lines_are_sums_over_paths(variation: str):
    model = varied_model(variation)
    inputs = INPUTS[model.config.architecture]
    by_hand, captured = ByHand(model, inputs), CapturedText(model, inputs)
    captured.keep(*sites(model.config))
    steps = attention_shares(model.config, captured.values)
    for stack in captured.lengths:
        n = captured.lengths[stack]
        sources = follow(steps, SIDE[stack], n)
        for row in range(n):
            expected = {side: np.zeros(of.shape[1]) for side, of in sources.tokens.items()}
            through: dict[tuple[object, ...], float] = {}
            for way, side, token, share in by_hand.paths(stack, row):
                expected[side][token] += share
                for *edge, _ in way:
                    through[tuple(edge)] = through.get(tuple(edge), 0) + share
            for side, of in sources.tokens.items():
                np.testing.assert_allclose(of[row], expected[side], atol=1e-5)
            assert sum(of[row].sum() for of in sources.tokens.values()) == pytest.approx(1)
            for place, step in enumerate(steps):
                part = {"encoder": "", "decoder": "self_attn", "cross": "cross_attn"}[step.attention.name]
                shares = {edge[2:]: share for edge, share in through.items() if edge[:2] == (part, step.layer)}
                lines = [line for line in sources.lines[row] if line.step == place]
                strongest = sorted(shares.values(), reverse=True)[:MOST_LINES]
                assert [line.share for line in lines] == pytest.approx(
                    [s for s in strongest if s >= LEAST_SHARE], abs=1e-5
                )
                for line in lines:
                    assert line.share == pytest.approx(shares[line.head, line.query, line.key], abs=1e-5)


def test_a_token_feeds_the_queries_that_take_most_from_it():
    model = varied_model("the paper's")
    captured = CapturedText(model, INPUTS["encoder_decoder"])
    steps = attention_shares(model.config, captured.values)
    for key, lines in enumerate(fed_by(steps, "source", 4)):
        for place, step in enumerate(steps):
            of = [line for line in lines if line.step == place]
            if step.attention.name == "decoder":
                assert not of
                continue
            others = [
                Line(place, head, query, key, float(step.shares[head, query, key]))
                for head, query in np.ndindex(step.shares.shape[:2])
                if not step.attention.is_self or query != key
            ]
            expected = sorted((line for line in others if line.share >= LEAST_SHARE), key=lambda line: -line.share)
            assert of == expected[:MOST_LINES]


def test_a_head_whose_output_is_replaced_brings_no_token():
    model = varied_model("decoder, rotary")
    with tc.intervene(model, {"decoder.blocks.0.self_attn.hook_z": tc.zero_heads([0])}):
        captured = CapturedText(model, INPUTS["decoder_only"])
        first, *_ = attention_shares(model.config, captured.values)
    assert not first.shares[0].any() and first.shares[1].any()


@pytest.mark.parametrize("variation", ["the paper's", "decoder, rotary", "encoder, buckets, groups"])
def test_an_attention_whose_output_is_replaced_brings_no_token(variation: str):
    model = varied_model(variation)
    inputs, stack = INPUTS[model.config.architecture], "decoder" if model.config.has_decoder else "encoder"
    site = f"{stack}.blocks.0.self_attn.hook_attn_out"
    with tc.intervene(model, {site: lambda output, _: output.mean(dim=1, keepdim=True).expand_as(output)}):
        captured = CapturedText(model, inputs)
        by_site = {step.site: step.shares for step in attention_shares(model.config, captured.values)}
    replaced = by_site.pop(f"{stack}.blocks.0.self_attn.hook_pattern")
    assert not replaced.any() and all(shares.any() for shares in by_site.values())


def test_numbers_that_are_not_finite_have_no_sources():
    model = varied_model("decoder, rotary")
    captured = CapturedText(model, INPUTS["decoder_only"])
    assert not attention_shares(model.config, lambda site: np.full_like(captured.values(site), np.nan))
