"""What every head looked at, in parts: the same numbers as the activations of a watched forward."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.trace import attention_maps as attention_maps_module
from headlight.analysis.trace.attention_maps import AttentionMaps
from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from headlight.analysis.trace.cells import strongest_cell
from headlight.analysis.trace.traced_forward import TracedForward
from tests.model.building import varied_model
from transformer_core.errors import SiteError
from transformer_core.instrument import lazy
from transformer_core.model.attention import MultiHeadAttention

N_SRC, N_TGT = 9, 7
KINDS = ["the paper's", "decoder, alibi, window", "decoder, rotary", "encoder, buckets, groups"]
KINDS += ["encoder, windows and none", "windows of one and none"]


def build(kind: str) -> tc.Transformer:
    if kind == "windows of one and none":
        windows = {"sliding_window": 1, "layers_without_window": (0, 2)}
        return varied_model("encoder, windows and none", n_encoder_layers=3, **windows)
    return varied_model(kind)


@pytest.fixture(params=KINDS)
def seen(request: pytest.FixtureRequest) -> tuple[tc.Transformer, Mapping[str, AttentionMaps], tc.Activations]:
    """A model, what it attended to, and all activations of the same forward, watched."""
    model = build(request.param)
    tokens = [torch.randint(1, 30, (1, n), generator=torch.Generator().manual_seed(n)) for n in (N_SRC, N_TGT)]
    tokens = tokens if model.config.architecture == "encoder_decoder" else tokens[:1]
    with torch.inference_mode(), tc.capture(model, "*") as acts:
        model(*tokens)
    with torch.inference_mode():
        return model, TracedForward(model, *tokens).attention_maps, acts


@pytest.fixture(params=["short", "long"], autouse=True)
def length(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text is once short, so that patterns are written out, and once too long for that, or for all at a time."""
    if request.param == "long":
        monkeypatch.setattr(attention_maps_module, "WRITTEN_OUT_BYTES", 0)
        monkeypatch.setattr(lazy, "_FLAT_ROWS", 2)
        monkeypatch.setattr(lazy, "_CHUNK_BYTES", 4 * 2 * 2 * N_SRC)  # 2 rows of 2 heads at a time


def site(acts: tc.Activations, name: str, layer: int, stem: str) -> np.ndarray:
    return acts[ATTENTIONS[name].site(layer, stem)][0].numpy()


def test_each_part_is_that_of_the_activations(seen: tuple[tc.Transformer, dict[str, AttentionMaps], tc.Activations]):
    model, by_name, acts = seen
    assert by_name.keys() == attentions_of(model.config).keys()
    for name, attention_maps in by_name.items():
        n_layers, n_heads, n_queries, n_keys = attention_maps.shape
        by_hand = np.stack([site(acts, name, layer, "hook_pattern") for layer in range(n_layers)])
        masks = [
            np.broadcast_to(site(acts, name, layer, "hook_mask")[0], (n_queries, n_keys)) for layer in range(n_layers)
        ]
        close: dict[str, Any] = {"rtol": 0, "atol": 1e-6}
        assert by_hand.shape == attention_maps.shape
        np.testing.assert_allclose(attention_maps.full(), by_hand, **close)
        np.testing.assert_array_equal(attention_maps.masks, masks)
        np.testing.assert_allclose(attention_maps.row(2), by_hand[:, :, 2], **close)
        np.testing.assert_allclose(attention_maps.cell(3, 1), by_hand[:, :, 3, 1], **close)
        np.testing.assert_allclose(attention_maps.mean_by_layer, by_hand.mean(axis=1), **close)
        for layer, head in np.ndindex(n_layers, n_heads):
            window = slice(1, 5), slice(0, 4)
            np.testing.assert_allclose(attention_maps.pattern(layer, head), by_hand[layer, head], **close)
            np.testing.assert_allclose(
                attention_maps.pattern(layer, head, *window), by_hand[layer, head, 1:5, :4], **close
            )
            scores = site(acts, name, layer, "hook_attn_scores")[head]
            np.testing.assert_allclose(attention_maps.scores(layer, head), scores, rtol=0, atol=1e-5)
            np.testing.assert_allclose(attention_maps.scores(layer, head, *window), scores[1:5, :4], rtol=0, atol=1e-5)
        for layer in range(n_layers):
            np.testing.assert_array_equal(attention_maps.mask(layer), masks[layer])
            some = attention_maps.mask(layer, slice(1, 3), slice(2, 4))
            np.testing.assert_array_equal(some, masks[layer][1:3, 2:4])
            rows = [*attention_maps.chunks(layer)]
            np.testing.assert_allclose(np.concatenate([part for _, part, _ in rows], axis=1), by_hand[layer], **close)
            np.testing.assert_array_equal(np.concatenate([part for _, _, part in rows]), masks[layer])


@torch.inference_mode()
def test_a_key_is_a_sink_by_the_queries_that_have_a_choice_in_any_layer():
    """A layer where each token sees itself alone comes first; in the next, all of them look at key 4."""
    model = build("windows of one and none")
    attention = ATTENTIONS["encoder"]

    def on_key_4(pattern: torch.Tensor, *_: Any) -> torch.Tensor:
        return (torch.arange(N_SRC) == 4).float().expand_as(pattern).clone()

    edit = {attention.site(2): on_key_4}
    sites = "*.hook_pattern", "*.hook_v"
    with tc.intervene(model, edit), tc.capture(model, *sites, lazy=True) as acts:
        model.final_states(torch.arange(1, 1 + N_SRC)[None])
    attention_maps = AttentionMaps(
        [acts.patterns[attention.site(layer)] for layer in (1, 2)],
        [cast(torch.Tensor, acts[attention.site(layer, "hook_v")]) for layer in (1, 2)],
        [cast(MultiHeadAttention, model.get_submodule(attention.module.format(layer=layer))) for layer in (1, 2)],
    )
    assert np.flatnonzero(attention_maps.sinks).tolist() == [4]  # (1 / 9 + 1) / 2 > 0.3, where even attention is 1 / 9


def test_the_length_of_values_and_of_what_they_write(
    seen: tuple[tc.Transformer, dict[str, AttentionMaps], tc.Activations],
):
    """The written one against hook_result: what a head writes where all its attention is on one key."""
    model, by_name, acts = seen
    for name, attention_maps in by_name.items():
        for layer, head in np.ndindex(*attention_maps.shape[:2]):
            module = model.get_submodule(ATTENTIONS[name].module.format(layer=layer))
            group = model.config.n_heads // model.config.n_kv_heads
            v = torch.from_numpy(site(acts, name, layer, "hook_v")[head // group])
            columns = slice(head * v.shape[1], (head + 1) * v.shape[1])
            written = v @ module.get_parameter("out.weight")[:, columns].T
            np.testing.assert_allclose(attention_maps.value_norms[layer, head], v.norm(dim=-1).numpy(), rtol=1e-5)
            np.testing.assert_allclose(
                attention_maps.written_norms[layer, head], written.norm(dim=-1).detach().numpy(), rtol=1e-4
            )


@pytest.mark.parametrize("side", [2, 4, 100])
def test_an_overview_holds_the_largest_of_each_block(
    seen: tuple[tc.Transformer, dict[str, AttentionMaps], tc.Activations], side: int
):
    _, by_name, _ = seen
    for attention_maps in by_name.values():
        full, masks = attention_maps.full(), attention_maps.masks
        overview = attention_maps.overview(side)
        n_rows, n_columns = min(side, full.shape[2]), min(side, full.shape[3])
        assert overview.patterns.shape == (*full.shape[:2], n_rows, n_columns)
        for row, column in np.ndindex(n_rows, n_columns):
            queries = slice(row * full.shape[2] // n_rows, (row + 1) * full.shape[2] // n_rows)
            keys = slice(column * full.shape[3] // n_columns, (column + 1) * full.shape[3] // n_columns)
            largest = full[:, :, queries, keys].max(axis=(2, 3))
            np.testing.assert_allclose(overview.patterns[:, :, row, column], largest, rtol=0, atol=1e-6)
            np.testing.assert_array_equal(overview.mask[:, row, column], masks[:, queries, keys].any(axis=(1, 2)))
        for layer, head in np.ndindex(*full.shape[:2]):
            cell = strongest_cell(full[layer, head], masks[layer])
            assert [overview.queries[layer, head], overview.keys[layer, head]] == [cell.query, cell.key]
            assert overview.weights[layer, head] == pytest.approx(cell.value, abs=1e-6)
            pooled, pooled_mask = attention_maps.pooled(layer, head, side)
            np.testing.assert_allclose(pooled, overview.patterns[layer, head], rtol=0, atol=1e-6)
            np.testing.assert_array_equal(pooled_mask, overview.mask[layer])


def test_an_overview_that_is_kept_is_the_same_and_counted(
    seen: tuple[tc.Transformer, dict[str, AttentionMaps], tc.Activations], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(attention_maps_module, "WRITTEN_OUT_BYTES", 0)  # as of a long text
    _, by_name, _ = seen
    for attention_maps in by_name.values():
        result, n_bytes = attention_maps.overview(3), attention_maps.n_bytes
        attention_maps.keep_overview(3)
        assert attention_maps.overview(3) is attention_maps.overview(3)
        np.testing.assert_array_equal(attention_maps.overview(3).patterns, result.patterns)
        assert attention_maps.n_bytes == n_bytes + result.patterns.nbytes
        assert attention_maps.overview(2).patterns.shape[2] == 2


def test_an_edited_pattern_has_no_scores():
    model = build("decoder, rotary")
    uniform = {"decoder.blocks.1.self_attn.hook_pattern": tc.zero_heads([0])}
    with torch.inference_mode(), tc.intervene(model, uniform):
        attention_maps = TracedForward(model, torch.arange(1, 6)[None]).attention_maps["decoder"]
    assert not attention_maps.pattern(1, 0).any()
    assert np.isfinite(attention_maps.scores(0, 0)[attention_maps.mask(0)]).all()
    with pytest.raises(SiteError, match="edited"):
        attention_maps.scores(1, 0)
