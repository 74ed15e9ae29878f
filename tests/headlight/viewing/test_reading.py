"""The patterns of models of the `transformers` library, against a plain run of each class with eager attention."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from headlight.viewing.generated import read_generated
from headlight.viewing.patterns import PatternRecord
from headlight.viewing.reading import read_transformers
from tests.small_bert import save_small_bert
from transformer_core.errors import ArgumentError

SIZES = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 3, "intermediate_size": 20}
TEXT = SIZES | {"vocab_size": 40, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
T5 = {"vocab_size": 40, "d_model": 24, "d_kv": 8, "d_ff": 20, "num_layers": 2, "num_heads": 3}
WHISPER = {
    **{"vocab_size": 40, "d_model": 24, "num_mel_bins": 8, "max_source_positions": 30, "max_target_positions": 20},
    **{"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 3, "decoder_attention_heads": 3},
    **{"encoder_ffn_dim": 20, "decoder_ffn_dim": 20, "decoder_start_token_id": 1, "bos_token_id": 1},
    **{"pad_token_id": 0, "eos_token_id": 39, "suppress_tokens": None, "begin_suppress_tokens": None},
}
WAV2VEC2 = SIZES | {"conv_dim": (8, 8), "conv_kernel": (10, 3), "conv_stride": (5, 2), "num_conv_pos_embeddings": 4}
WAV2VEC2 |= {"num_conv_pos_embedding_groups": 2, "num_feat_extract_layers": 2}
IMAGE = SIZES | {"image_size": 12, "patch_size": 4}
LLAVA = {
    "vision_config": IMAGE | {"model_type": "clip_vision_model"},
    "text_config": TEXT | {"model_type": "llama", "num_key_value_heads": 1},
    **{"image_token_id": 38, "vision_feature_layer": -1},
}
HYBRID = TEXT | {"num_key_value_heads": 3, "layer_types": ["linear_attention", "linear_attention", "full_attention"]}
HYBRID |= {"linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 4, "head_dim": 8}
HYBRID |= {"linear_value_head_dim": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8}
IDS = torch.tensor([[5, 9, 7, 30, 5, 9, 21, 8, 11]])
PIXELS = torch.randn(1, 3, 12, 12, generator=torch.Generator().manual_seed(0))
SAMPLES = torch.randn(1, 200, generator=torch.Generator().manual_seed(0))
MEL = torch.randn(1, 8, 60, generator=torch.Generator().manual_seed(0))


def small(name: str, settings: dict[str, Any], *, kind: str = "Model", **of_config: Any) -> Any:
    """A small model with random weights, in training mode and with the usual attention of its class."""
    torch.manual_seed(3)
    config = getattr(transformers, f"{name}Config")(**settings, **of_config)
    model = getattr(transformers, f"{name}{kind}")(config).train()
    with torch.no_grad():
        for weights in model.parameters():
            if weights.ndim > 1:
                weights.mul_(4)
    return model


def state(model: Any) -> list[Any]:
    """All that a run must not change."""
    modules = [(m.training, [*m._forward_hooks], [*m._forward_pre_hooks]) for m in model.modules()]
    return [modules, model.config.to_dict(), model.config._attn_implementation, torch.get_rng_state().tolist()]


def plain(model: Any, inputs: dict[str, Any]) -> list[np.ndarray]:
    """All patterns [head, query, key] of a model that was built with eager attention."""
    eager = type(model)._from_config(model.config, attn_implementation="eager")
    eager.load_state_dict(model.state_dict())
    with torch.no_grad():
        output = eager.eval()(**inputs, output_attentions=True)
    inner = [part for part in output.values() if hasattr(part, "items")]
    fields = [value for part in (output, *inner) for name, value in part.items() if name.endswith("attentions")]
    return [layer[0].numpy() for layers in fields for layer in layers]


CASES: dict[str, tuple[Any, dict[str, Any], dict[str, tuple[str, str, int]]]] = {
    # the model's builder, its inputs, and for each attention the first and last key, and the number of layers
    "encoder": (lambda: small("Electra", TEXT, embedding_size=8), {"input_ids": IDS}, {"encoder": ("5", "11", 3)}),
    "decoder": (lambda: small("Falcon", TEXT, kind="ForCausalLM"), {"input_ids": IDS}, {"decoder": ("5", "11", 3)}),
    "window": (
        lambda: small("Mistral", TEXT, sliding_window=3, num_key_value_heads=1),
        {"input_ids": IDS},
        {"decoder": ("5", "11", 3)},
    ),
    "hybrid": (lambda: small("Qwen3Next", HYBRID), {"input_ids": IDS}, {"decoder": ("5", "11", 1)}),
    "encoder-decoder": (
        lambda: small("T5", T5, decoder_start_token_id=0),
        {"input_ids": IDS, "decoder_input_ids": IDS[:, 2:6]},
        {"encoder": ("5", "11", 2), "decoder": ("7", "9", 2), "cross": ("5", "11", 2)},
    ),
    "image": (lambda: small("ViT", IMAGE), {"pixel_values": PIXELS}, {"encoder": ("[CLS]", "2, 2", 3)}),
    "samples": (lambda: small("Wav2Vec2", WAV2VEC2), {"input_values": SAMPLES}, {"encoder": ("0.00 s", "0.01 s", 3)}),
    "frames": (
        lambda: small("Whisper", WHISPER),
        {"input_features": MEL, "decoder_input_ids": IDS[:, :3]},
        {"encoder": ("0.00 s", "0.58 s", 2), "decoder": ("5", "7", 2), "cross": ("0.00 s", "0.58 s", 2)},
    ),
    "image in a text": (
        lambda: small("Llava", LLAVA, kind="ForConditionalGeneration"),
        {"input_ids": torch.tensor([[5, *[38] * 9, 7, 8]]), "pixel_values": PIXELS},
        {"decoder": ("5", "8", 3), "vision_tower": ("[CLS]", "2, 2", 3)},
    ),
    "two towers": (
        lambda: small("CLIP", {"text_config": TEXT, "vision_config": IMAGE, "projection_dim": 8}),
        {"input_ids": IDS, "pixel_values": PIXELS},
        {"text": ("5", "11", 3), "vision": ("[CLS]", "2, 2", 3)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_patterns_are_those_of_the_class_itself_and_the_model_is_unchanged(name: str) -> None:
    build, inputs, expected = CASES[name]
    model = build()
    before = state(model)
    record = read_transformers(model, None, {"input_ids": IDS[0]} if name == "encoder" else inputs)
    assert state(model) == before
    shown = {k: (of.keys[0], of.keys[-1], len(of.layers)) for k, of in record.attentions.items()}
    assert shown == expected
    ours = [layer for attention in record.attentions.values() for layer in attention.patterns]
    theirs = plain(model, inputs)
    if name == "image in a text":  # the output has no patterns of the vision tower, which is run alone
        theirs += plain(model.model.vision_tower, {"pixel_values": PIXELS})
    assert len(ours) == len(theirs)
    for layer in ours:
        assert any(layer.shape == other.shape and (layer == other).all() for other in theirs)
        np.testing.assert_allclose(layer.sum(axis=-1), 1, atol=1e-5)
    assert str(record.computed_by).startswith("Computed by the transformers library")
    if name == "hybrid":
        assert record.attentions["decoder"].layers == (2,)
        assert [str(note)[:27] for note in record.notes] == [
            "1 of 3 layers have attentio",
            "It is a mixture of experts:",
        ]


def test_a_text_is_read_with_its_tokenizer_and_an_encoder_decoder_writes(tmp_path: Any) -> None:
    model, tokenizer = save_small_bert(tmp_path / "bert")
    record = read_transformers(model, tokenizer, ("the cat sat", "it is a dog"))
    queries = record.attentions["encoder"].queries
    assert list(queries)[:5] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    assert list(queries)[5].endswith("it")
    assert np.flatnonzero(record.attentions["encoder"].special or []).tolist() == [0, 4, 9]
    pair = small("T5", T5, kind="ForConditionalGeneration", decoder_start_token_id=0, eos_token_id=1)
    written = pair.eval().generate(IDS, max_new_tokens=6, do_sample=False)
    record = read_transformers(pair, None, {"input_ids": IDS}, max_new_tokens=6)
    assert list(record.attentions["decoder"].queries) == [str(i) for i in written[0, :-1].tolist()]


REFUSED = {
    "returned no attention patterns": (lambda: small("FNet", TEXT), {"input_ids": IDS}),
    "windows or blocks": (lambda: small("Longformer", TEXT, attention_window=4), {"input_ids": IDS}),
    "only one input can be read": (lambda: small("Electra", TEXT), {"input_ids": IDS.expand(2, -1)}),
    "cannot read these inputs": (lambda: small("Electra", TEXT), {"input_ids": IDS + 100}),
    "more than the 2 GiB allowed": (lambda: small("Electra", TEXT), {"input_ids": IDS.expand(1, -1).repeat(1, 2000)}),
    "it is on the meta device": (lambda: small("Electra", TEXT).to("meta"), {"input_ids": IDS}),
    "is not a model of the transformers library": (lambda: torch.nn.Linear(2, 2), {}),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_shown_is_refused_in_a_sentence_and_the_model_is_unchanged(why: str) -> None:
    build, inputs = REFUSED[why]
    model = build()
    before = state(model) if hasattr(model, "config") else None
    with pytest.raises(ArgumentError, match=why):
        read_transformers(model, None, inputs)
    assert before is None or state(model) == before


@pytest.mark.parametrize(
    ("tokenizer", "inputs", "why"),
    [
        (None, [1, 2], "inputs are given by name.*got list"),
        ("bert", "a text", "cannot read these inputs .*not callable"),
        (None, {"input_ids": None}, "cannot read these inputs"),
    ],
)
def test_inputs_of_another_kind_are_refused(tokenizer: Any, inputs: Any, why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        read_transformers(small("Bert", TEXT), tokenizer, inputs)


def test_bare_token_ids_are_the_input_and_a_record_is_one_line() -> None:
    model, ids = small("Bert", TEXT), torch.tensor([5, 7, 9])
    records = [read_transformers(model, None, one) for one in ({"input_ids": ids[None]}, ids, ids[None])]
    first, *others = (record.attentions["encoder"].patterns for record in records)
    assert all(np.array_equal(first, other) for other in others)
    n_layers, n_heads = first.shape[:2]
    assert repr(records[1]) == f"PatternRecord(BertModel: encoder: {n_layers} layers x {n_heads} heads, 3 x 3 tokens)"
    with pytest.raises(ArgumentError, match="or as a tensor of token ids; got Tensor"):
        read_transformers(model, None, ids.float())


def reread(model: Any, ids: list[int], **inputs: Any) -> PatternRecord:
    name = "decoder_input_ids" if inputs else "input_ids"
    return read_transformers(model, None, {**inputs, name: torch.tensor([ids])})


@pytest.mark.parametrize("is_pair", [False, True])
@pytest.mark.parametrize("n_beams", [1, 4])
def test_steps_and_beams_of_generate_are_the_patterns_of_the_whole_sequence(is_pair: bool, n_beams: int) -> None:
    model = (
        small("T5", T5, kind="ForConditionalGeneration", decoder_start_token_id=0, eos_token_id=1)
        if is_pair
        else small("Mistral", TEXT, kind="ForCausalLM", sliding_window=4, num_key_value_heads=1)
    ).eval()
    model.double()  # step by step and at once, single precision differs by more than 1e-5
    model.set_attn_implementation("eager")
    generated = model.generate(
        **{"input_ids": IDS, "max_new_tokens": 7, "num_beams": n_beams, "num_return_sequences": n_beams},
        **{"do_sample": False, "return_dict_in_generate": True, "output_attentions": True, "output_scores": True},
    )
    for sequence in range(n_beams):
        record = read_generated(generated, None, {"input_ids": IDS}, sequence=sequence)
        n = len(record.attentions["decoder"].queries)
        ids = generated.sequences[sequence, :n].tolist()
        whole = reread(model, ids, **({"input_ids": IDS} if is_pair else {}))
        for name, attention in record.attentions.items():
            np.testing.assert_allclose(attention.patterns, whole.attentions[name].patterns, atol=1e-5)
            assert list(attention.queries) == list(whole.attentions[name].queries)
            assert list(attention.keys) == list(whole.attentions[name].keys)
