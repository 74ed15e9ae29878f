"""Weights that are not finite are named, decoding is refused at the first site that is not, and files say so."""

import math
from functools import partial
from pathlib import Path

import pytest
import torch

import transformer_core as tc
from headlight.cli.main import main
from tests.model.building import DECODER, ENCODER, small_config
from transformer_core.checkpoints.bring_in import bring_in
from transformer_core.decoding.beam_tree import search_beams
from transformer_core.decoding.filling import FillingTree
from transformer_core.errors import NotFiniteError
from transformer_core.instrument.finite import first_not_finite, not_finite_weights
from transformer_core.text.ids import IdTokenizer

TEXT = torch.tensor([[5, 6, 7, 4]])
WAYS = (
    tc.greedy_decode,
    partial(tc.beam_search, n_beams=2),
    lambda model, src: tc.DecodingSession(model, src, sampling=tc.Sampling(top_k=3)).to_end(),
    lambda model, src: search_beams(tc.DecodingTree(model, src)),
)
FAULTS = {  # a weight, a number in it, and the first site that is not finite
    "encoder.blocks.0.self_attn.q.weight": (math.nan, "encoder.blocks.0.self_attn.hook_q"),
    "encoder.blocks.0.mlp.down.bias": (-math.inf, "encoder.blocks.0.hook_mlp_out"),
    "decoder.blocks.0.cross_attn.k.bias": (math.nan, "decoder.blocks.0.cross_attn.hook_k"),
    "decoder.blocks.0.cross_attn.v.weight": (math.inf, "decoder.blocks.0.cross_attn.hook_v"),
    "decoder.blocks.0.mlp.up.bias": (3e38, "decoder.blocks.0.hook_mlp_out"),  # a finite weight; activations overflow
    "unembed.weight": (math.nan, "hook_logits"),
}


@pytest.mark.parametrize("weight", FAULTS)
def test_every_way_of_decoding_names_the_first_site_that_is_not_finite(weight: str):
    model = tc.build(small_config(tie_embeddings="none"), seed=1).eval()
    number, site = FAULTS[weight]
    parameter = model.get_parameter(weight)
    parameter.data.copy_(torch.full_like(parameter, number) if number == 3e38 else parameter)
    parameter.data.view(-1)[-1] = number
    assert not_finite_weights(model) == ({} if math.isfinite(number) else {weight: 1})
    for decode in WAYS:
        with pytest.raises(NotFiniteError) as raised:
            decode(model, TEXT)
        assert raised.value.message.values["site"] == site
    assert first_not_finite(tc.build(small_config()), lambda: None) is None


def test_what_was_written_before_is_kept_and_blanks_are_not_filled():
    model = tc.build(small_config(**DECODER | {"positions": "learned", "tie_embeddings": "none"}), seed=1).eval()
    model.get_parameter("decoder.pos_embed.table").data[4] = math.nan
    with pytest.raises(NotFiniteError) as raised:
        tc.greedy_decode(model, TEXT)
    assert len(raised.value.written[0]) == 5
    encoder = tc.build(small_config(**ENCODER)).eval()
    encoder.get_parameter("encoder.blocks.0.self_attn.k.bias").data[0] = math.nan
    with pytest.raises(NotFiniteError, match="hook_k"):
        FillingTree(encoder, TEXT, mask_id=7).fill_all()


def test_a_model_that_is_not_finite_is_noted_where_it_is_opened_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    model = tc.build(small_config(**DECODER))
    model.get_parameter("decoder.blocks.0.mlp.up.weight").data[2, 1] = math.nan
    tc.save(tmp_path / "a", model, IdTokenizer.of(model.config), {"tokenizer": "ids"})
    notes: list[object] = []
    tc.load(tmp_path / "a", on_note=notes.append)
    assert "decoder.blocks.0.mlp.up.weight (1)" in str(notes)
    assert bring_in(str(tmp_path / "a"), tmp_path / "b")["notes"] == [notes[0].as_json()]  # type: ignore[attr-defined]
    capsys.readouterr()
    assert main(["decode", str(tmp_path / "b"), "5 6"]) == 2
    out, err = capsys.readouterr()
    assert not out and "decoder.blocks.0.mlp.hook_pre" in err and "(1)" in err
