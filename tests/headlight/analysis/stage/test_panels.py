"""What the stage shows at each zoom level, against a plain capture of the model and sums worked out here."""

from itertools import pairwise

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.blueprint.capture import CapturedText
from headlight.analysis.blueprint.plan import blueprint_of
from headlight.analysis.stage.panels import Lane, Panel, Zoom, lanes_of, sites_of
from tests.model.building import VARIATIONS, odd_config, varied_model
from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError
from transformer_core.instrument.sites import site_names

INPUTS = {"encoder_decoder": ([3, 5, 8, 13, 2], [1, 9, 4]), "decoder_only": ([3, 5, 8],), "encoder_only": ([3, 5, 8],)}


def zooms(config: ModelConfig) -> list[Zoom]:
    boxes = blueprint_of(config).boxes
    names = [name for name, box in boxes.items() if box.kind in ("layer", "attention")]
    return [Zoom(), *map(Zoom.of, names)]


def panels(lanes: tuple[Lane, ...]) -> list[Panel]:
    return [panel for lane in lanes for panel in lane.panels]


@pytest.mark.parametrize("variation", [*VARIATIONS])
def test_every_panel_shows_what_passes_its_hook_point_in_the_shape_that_it_says(variation: str):
    model = varied_model(variation)
    config, inputs = model.config, INPUTS[model.config.architecture]
    captured = CapturedText(model, inputs)
    n = {"source": len(inputs[0]), "target": len(inputs[-1])}
    for zoom in zooms(config):
        lanes = lanes_of(config, zoom, has_dropout=True)
        assert {*sites_of(lanes)} <= {*site_names(model)}, zoom
        for panel in panels(lanes):
            values = captured.values(panel.site)
            match panel.shape:
                case "vectors":
                    assert values.shape[0] == n[panel.rows] and values.ndim == 2, panel
                case "heads":
                    assert values.shape == (config.n_heads, n[panel.rows], n[panel.columns]), panel
                    allowed = np.broadcast_to(captured.values(panel.mask), values.shape)
                    assert not values[~allowed].any() and allowed.any(axis=-1).all()
                case "head vectors":
                    assert values.shape[1:] == (n[panel.rows], config.d_head), panel
        keys = [panel.key for panel in panels(lanes)]
        assert len(keys) == len({*keys})


@pytest.mark.parametrize("variation", [*VARIATIONS])
def test_the_overview_goes_from_the_embeddings_to_the_logits(variation: str):
    model = varied_model(variation)
    inputs = [torch.tensor([tokens]) for tokens in INPUTS[model.config.architecture]]
    lanes = lanes_of(model.config, Zoom())
    assert [lane.stack for lane in lanes] == [*blueprint_of(model.config).stacks]
    assert all(lane.panels[0].site == f"{lane.stack}.hook_embed" for lane in lanes)
    for lane in lanes:  # a block reads the stream before it, and writes the stream after it
        streams = [panel.group for panel in lane.panels if panel.is_stream]
        assert streams == ["", *dict.fromkeys(panel.group for panel in lane.panels if panel.group)]
    with torch.inference_mode(), tc.capture(model, "*") as acts:
        output = model(*inputs) if model.config.unembed else model.final_states(*inputs)
        torch.testing.assert_close(acts[lanes[-1].panels[-1].site], output)
        if len(lanes) == 2:
            torch.testing.assert_close(acts[lanes[0].panels[-1].site], model.encode(inputs[0]))


@pytest.mark.parametrize("variation", [*VARIATIONS])
def test_in_a_block_each_sum_is_what_was_read_and_what_the_sub_layer_gave(variation: str):
    model = varied_model(variation)
    config = model.config
    captured = CapturedText(model, INPUTS[config.architecture])
    for zoom in (one for one in zooms(config) if one.level == "block"):
        shown = panels(lanes_of(config, zoom))
        values = {panel.site: captured.values(panel.site) for panel in shown}
        assert shown[0].is_stream and shown[-1].is_stream
        stream = values[shown[0].site]
        for before, panel in pairwise(shown):
            if panel.is_stream and not before.is_stream:
                np.testing.assert_allclose(values[panel.site], stream + values[before.site], atol=1e-5)
            if panel.is_stream:
                stream = values[panel.site]


def dropped(zoom: str, **rates: float) -> list[tuple[str, float]]:
    """The hook points after which a small encoder-decoder has dropout at a zoom level, with the rates."""
    lanes = lanes_of(odd_config(**rates), Zoom.of(zoom), has_dropout=True)
    return [(panel.site.rpartition(".")[2], panel.rate) for panel in panels(lanes) if panel.name == "dropout"]


def test_dropout_is_where_the_configuration_has_it_or_else_at_the_papers_rate():
    rates = {"dropout": 0.2, "dropout_pattern": 0.3}
    outputs = ["hook_attn_out", "hook_attn_out", "hook_mlp_out"]
    assert dropped("", **rates) == [("hook_resid_pre", 0.2)] * 2
    assert dropped("decoder.0", **rates) == [(site, 0.2) for site in outputs]
    assert dropped("decoder.0.cross_attn", **rates) == [("hook_pattern", 0.3)]
    assert dropped("decoder.0.cross_attn", dropout=0.2, dropout_pattern=0.0) == [("hook_attn_out", 0.2)]
    assert dropped("encoder.0", dropout=0.0, dropout_pattern=0.3) == []
    assert dropped("decoder.0", dropout=0.0, dropout_pattern=0.0) == [(site, 0.1) for site in outputs]


@pytest.mark.parametrize("name", ["", "encoder.0", "decoder.1.cross_attn", "decoder.0.self_attn.3"])
def test_a_zoom_is_read_as_it_is_written(name: str):
    zoom = Zoom.of(name)
    assert str(zoom) == name
    parts = name.split(".") if name else []
    assert [str(one) for one in zoom.path] == ["", *(".".join(parts[:n]) for n in range(2, len(parts) + 1))]


@pytest.mark.parametrize("name", ["encoder", "encoder.x", "encoder.0.mlp", "decoder.0.cross_attn.", "a" * 200])
def test_what_is_no_zoom_level_is_refused(name: str):
    with pytest.raises(ConfigError, match="is not a zoom level"):
        Zoom.of(name)


@pytest.mark.parametrize("name", ["encoder.0", "decoder.9", "decoder.0.cross_attn", "decoder.0.self_attn.99"])
def test_a_model_is_not_zoomed_in_on_what_it_has_not(name: str):
    config = varied_model("decoder, rotary").config
    with pytest.raises(ConfigError, match="this model has no"):
        Zoom.of(name, config)
