"""Published configurations become the right models, and options that are not computed here are refused by name."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import transformer_core as tc
from tests.checkpoints import foreign
from transformer_core.checkpoints.families import FAMILIES
from transformer_core.checkpoints.family import CONSTANTS_IN_WEIGHTS
from transformer_core.checkpoints.options import Options
from transformer_core.checkpoints.rotary_options import attention_factor
from transformer_core.errors import CheckpointError, Message
from transformer_core.model.rotary import rotary_frequencies

GPT2: dict[str, Any] = {  # the smallest model
    **{"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1},
    **{"bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02},
    **{"layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12},
    **{"n_positions": 1024, "resid_pdrop": 0.1, "summary_activation": None, "summary_first_dropout": 0.1},
    **{"summary_proj_to_labels": True, "summary_type": "cls_index", "summary_use_proj": True, "vocab_size": 50257},
    "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
}
BERT: dict[str, Any] = {  # bert-base-uncased, and what the Chinese one has besides
    **{"architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1, "gradient_checkpointing": False},
    **{"hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02},
    **{"intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert"},
    **{"num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0, "position_embedding_type": "absolute"},
    **{"transformers_version": "4.6.0.dev0", "type_vocab_size": 2, "use_cache": True, "vocab_size": 30522},
    **{"directionality": "bidi", "pooler_fc_size": 768, "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3},
    **{"pooler_size_per_head": 128, "pooler_type": "first_token_transform"},
}
MODERNBERT: dict[str, Any] = {  # answerdotai/ModernBERT-base, December 2024
    **{"model_type": "modernbert", "architectures": ["ModernBertForMaskedLM"], "vocab_size": 50368},
    **{"hidden_size": 768, "intermediate_size": 1152, "num_hidden_layers": 22, "num_attention_heads": 12},
    **{"attention_bias": False, "attention_dropout": 0.0, "mlp_bias": False, "mlp_dropout": 0.0, "norm_bias": False},
    **{"classifier_activation": "gelu", "classifier_bias": False, "classifier_dropout": 0.0},
    **{"classifier_pooling": "mean", "decoder_bias": True, "deterministic_flash_attn": False},
    **{"embedding_dropout": 0.0, "hidden_activation": "gelu", "initializer_cutoff_factor": 2.0},
    **{"global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0},
    **{"local_attention": 128, "max_position_embeddings": 8192, "layer_norm_eps": 1e-5, "norm_eps": 1e-5},
    **{"position_embedding_type": "absolute", "tie_word_embeddings": True, "pad_token_id": 50283},
    **{"bos_token_id": 50281, "cls_token_id": 50281, "eos_token_id": 50282, "sep_token_id": 50282},
}
MARIAN: dict[str, Any] = {  # opus-mt-en-de
    **{"_num_labels": 3, "activation_dropout": 0.0, "activation_function": "swish", "add_bias_logits": False},
    **{"add_final_layer_norm": False, "architectures": ["MarianMTModel"], "attention_dropout": 0.0},
    **{"bad_words_ids": [[58100]], "bos_token_id": 0, "classif_dropout": 0.0, "classifier_dropout": 0.0},
    **{"d_model": 512, "decoder_attention_heads": 8, "decoder_ffn_dim": 2048, "decoder_layerdrop": 0.0},
    **{"decoder_layers": 6, "decoder_start_token_id": 58100, "decoder_vocab_size": 58101, "dropout": 0.1},
    **{"encoder_attention_heads": 8, "encoder_ffn_dim": 2048, "encoder_layerdrop": 0.0, "encoder_layers": 6},
    **{"eos_token_id": 0, "extra_pos_embeddings": 58101, "force_bos_token_to_be_generated": False},
    **{"forced_eos_token_id": 0, "init_std": 0.02, "is_encoder_decoder": True, "max_length": 512},
    **{"max_position_embeddings": 512, "model_type": "marian", "normalize_before": False},
    **{"normalize_embedding": False, "num_beams": 4, "num_hidden_layers": 6, "pad_token_id": 58100},
    **{"scale_embedding": True, "share_encoder_decoder_embeddings": True, "static_position_embeddings": True},
    **{"transformers_version": "4.22.0.dev0", "use_cache": True, "vocab_size": 58101},
}
T5: dict[str, Any] = {  # t5-small
    **{"architectures": ["T5ForConditionalGeneration"], "d_ff": 2048, "d_kv": 64, "d_model": 512},
    **{"decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1, "initializer_factor": 1.0},
    **{"is_encoder_decoder": True, "layer_norm_epsilon": 1e-06, "model_type": "t5", "n_positions": 512},
    **{"num_heads": 8, "num_layers": 6, "output_past": True, "pad_token_id": 0},
    **{"relative_attention_num_buckets": 32, "vocab_size": 32128},
    "task_specific_params": {"summarization": {"max_length": 200, "prefix": "summarize: "}},
}
FLAN: dict[str, Any] = {  # flan-t5-small
    **T5,
    **{"d_ff": 1024, "dense_act_fn": "gelu_new", "feed_forward_proj": "gated-gelu", "is_gated_act": True},
    **{"num_decoder_layers": 8, "num_heads": 6, "num_layers": 8, "relative_attention_max_distance": 128},
    "tie_word_embeddings": False,
}
SMOL: dict[str, Any] = {  # SmolLM-135M
    **{"architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 0},
    **{"eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576, "initializer_range": 0.02},
    **{"intermediate_size": 1536, "max_position_embeddings": 2048, "model_type": "llama", "num_attention_heads": 9},
    **{"num_hidden_layers": 30, "num_key_value_heads": 3, "pretraining_tp": 1, "rms_norm_eps": 1e-05},
    **{"rope_scaling": None, "rope_theta": 10000.0, "tie_word_embeddings": True, "torch_dtype": "bfloat16"},
    **{"use_cache": True, "vocab_size": 49152, "is_llama_config": True, "rope_interleaved": False},
}
QWEN: dict[str, Any] = {  # Qwen2.5-0.5B
    **{"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643},
    **{"eos_token_id": 151643, "hidden_act": "silu", "hidden_size": 896, "initializer_range": 0.02},
    **{"intermediate_size": 4864, "max_position_embeddings": 32768, "max_window_layers": 24, "model_type": "qwen2"},
    **{"num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06},
    **{"rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": True, "torch_dtype": "bfloat16"},
    **{"use_cache": True, "use_mrope": False, "use_sliding_window": False, "vocab_size": 151936},
}
LLAMA3 = {
    **{"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192},
    "rope_type": "llama3",
}
WINDOW = {"use_sliding_window": True, "max_window_layers": 0, "sliding_window": 100}


def config(published: Mapping[str, Any], **changes: Any) -> tc.ModelConfig:
    """The model of a published configuration with some other options."""
    values = {**published, **changes}
    return FAMILIES[values["model_type"]].config(values)


def test_they_are_the_presets():
    assert config(GPT2) == tc.presets.gpt2()
    assert config(T5) == tc.presets.t5_small()
    assert config(SMOL) == tc.presets.llama_like()
    bert = tc.presets.bert_base()  # only the tokenizer's files name [CLS] and [SEP]
    assert replace(config(BERT), bos_id=bert.bos_id, eos_id=bert.eos_id) == bert


def test_models_without_a_preset():
    flan, marian = config(FLAN), config(MARIAN)
    assert (flan.gated, flan.activation, flan.scale_logits) == (True, "gelu_tanh", False)
    assert (flan.n_heads, flan.d_head, flan.n_decoder_layers) == (6, 64, 8)
    assert (marian.d_model, marian.d_ff, marian.n_heads, marian.n_encoder_layers) == (512, 2048, 8, 6)
    assert (marian.positions, marian.activation, marian.norm_position) == ("sinusoidal_halves", "silu", "post")
    assert (marian.pad_id, marian.bos_id, marian.eos_id) == (58100, 58100, 0)
    assert (marian.tie_embeddings, marian.unembed_bias, marian.scale_embeddings) == ("three_way", True, True)
    qwen2 = config(QWEN)
    assert (qwen2.attention_bias, qwen2.rotary_base, qwen2.sliding_window, qwen2.qk_norm) == ("qkv", 1e6, None, False)
    assert config(GPT2, n_embd=24, n_inner=None).d_ff == 96  # four times the width
    assert config(QWEN, model_type="qwen3").d_head == 128
    several = config(SMOL, eos_token_id=[7, 8], bos_token_id=3, pad_token_id=9)
    assert (several.bos_id, several.eos_ids, several.pad_id) == (3, (7, 8), 9)
    assert config(SMOL, eos_token_id=[7, 8], pad_token_id=8).pad_id is None  # as Qwen2's generation config has it


BART_SIZES: dict[str, Any] = {
    **{"d_model": 48, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96},
    **{"encoder_attention_heads": 3, "decoder_attention_heads": 3, "is_encoder_decoder": True, "num_hidden_layers": 2},
}
BERT_SIZES: dict[str, Any] = {
    **{"hidden_size": 48, "intermediate_size": 96, "num_attention_heads": 3, "num_hidden_layers": 2},
}
PUBLISHED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # what files have beside sizes, and what it means
    "gptj": (
        {"n_embd": 48, "n_head": 3, "n_layer": 2, "rotary": True, "rotary_dim": 8, "scale_attn_weights": True},
        {
            "positions": "rotary_interleaved",
            "n_rotated": 8,
            "unembed_bias": True,
            "attention_bias": "none",
            "d_ff": 192,
        },
    ),
    "opt": (
        {"hidden_size": 48, "ffn_dim": 96, "num_attention_heads": 3, "num_hidden_layers": 2, "word_embed_proj_dim": 48}
        | {"_remove_final_layer_norm": True, "prefix": "</s>", "activation_dropout": 0.0, "layerdrop": 0.0},
        {"has_final_norm": False, "norm_position": "pre", "pad_id": 1, "activation": "relu"},
    ),
    "bloom": (
        {"n_embed": 48, "n_layer": 2, "num_attention_heads": 3, "n_inner": None, "offset_alibi": 100, "seq_length": 99}
        | {"masked_softmax_fusion": True, "attention_softmax_in_fp32": True, "bias_dropout_fusion": True},
        {"max_seq_len": 99, "d_ff": 192, "positions": "alibi", "alibi_scale": 1.0},
    ),
    "falcon": (
        {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "alibi": False, "multi_query": True}
        | {"new_decoder_architecture": True, "num_kv_heads": 2, "ff_factor": 4, "parallel_attn": True, "bias": False},
        {"n_kv_heads": 2, "parallel_residual": True, "d_ff": 256},
    ),
    "mpt": (
        {"d_model": 48, "n_heads": 3, "n_layers": 2, "norm_type": "low_precision_layernorm", "learned_pos_emb": True}
        | {"attn_config": {"alibi": True, "alibi_bias_max": 8, "attn_impl": "torch", "clip_qkv": None, "qk_ln": False}}
        | {"init_config": {"name": "kaiming_normal_"}, "emb_pdrop": 0, "embedding_fraction": 1.0, "no_bias": True},
        {"norm": "layer_without_bias", "feed_forward_bias": False, "positions": "alibi"},
    ),
    "gpt_bigcode": (
        {"n_embd": 48, "n_head": 3, "n_layer": 2, "inference_runner": 0, "pad_key_length": True, "multi_query": True}
        | {"attention_softmax_in_fp32": True, "scale_attention_softmax_in_fp32": True, "validate_runner_input": True},
        {"n_kv_heads": 1, "activation": "gelu_tanh"},
    ),
    "phi3": (
        {"hidden_size": 48, "intermediate_size": 96, "num_attention_heads": 3, "num_hidden_layers": 2}
        | {"max_position_embeddings": 131072, "original_max_position_embeddings": 4096, "sliding_window": 262144}
        | {"rope_scaling": {"type": "longrope", "short_factor": [1.0] * 6, "long_factor": [2.0] * 6}}
        | {"partial_rotary_factor": 0.75, "full_attn_mod": 1, "interpolate_factor": 1, "lm_head_bias": False},
        {"max_seq_len": 4096, "n_rotated": 12, "rotary_scaling": "longrope", "rotary_pair_factors": (1.0,) * 6},
    ),
    "smollm3": (
        {"hidden_size": 48, "intermediate_size": 96, "num_attention_heads": 4, "num_hidden_layers": 8}
        | {"max_position_embeddings": 65536, "max_window_layers": 28, "use_sliding_window": False, "pretraining_tp": 2}
        | {"rope_theta": 5e6, "no_rope_layer_interval": 4, "layer_types": ["full_attention"] * 8},
        {"layers_without_rotation": (3, 7), "rotary_base": 5e6, "sliding_window": None, "tie_embeddings": "target"},
    ),
    "gemma": (
        {"hidden_size": 48, "intermediate_size": 96, "num_attention_heads": 4, "num_hidden_layers": 2}
        | {"max_position_embeddings": 8192, "head_dim": 256, "hidden_act": "gelu", "hidden_activation": None}
        | {"num_key_value_heads": 1},
        {"activation": "gelu_tanh", "d_head": 256, "scale_embeddings": True, "tie_embeddings": "target"},
    ),
    "gemma3_text": (
        {"hidden_size": 48, "intermediate_size": 96, "num_attention_heads": 4, "num_hidden_layers": 7}
        | {"max_position_embeddings": 32768, "sliding_window": 512, "sliding_window_pattern": 6, "rope_theta": 1e6}
        | {"rope_local_base_freq": 10000, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}
        | {"cache_implementation": "hybrid", "attn_logit_softcapping": None, "final_logit_softcapping": None},
        {"layers_without_window": (5,), "rotary_base": 1e6, "rotary_base_in_window": 1e4, "rotary_scaling": "linear"},
    ),
    "qwen2": (
        {"hidden_size": 48, "intermediate_size": 96, "num_attention_heads": 4, "num_hidden_layers": 2}
        | {"max_position_embeddings": 32768, "num_key_value_heads": 2}
        | {"rope_scaling": {"factor": 4.0, "original_max_position_embeddings": 32768, "type": "yarn"}},
        {"rotary_scaling": "yarn", "rotary_scaling_factor": 4.0, "rotary_high_freq_factor": 32.0},
    ),
    "bart": (  # bart-large-cnn
        BART_SIZES
        | {"add_bias_logits": False, "add_final_layer_norm": False, "normalize_before": False, "classif_dropout": 0.0}
        | {"normalize_embedding": True, "static_position_embeddings": False, "extra_pos_embeddings": 2, "prefix": " "}
        | {"force_bos_token_to_be_generated": True, "scale_embedding": False, "decoder_start_token_id": 2},
        {"norm_position": "post", "embedding_norm": True, "positions": "learned", "bos_id": 2, "unembed_bias": True},
    ),
    "mbart": (  # mbart-large-en-ro
        BART_SIZES
        | {"add_bias_logits": False, "add_final_layer_norm": True, "normalize_before": True, "scale_embedding": True}
        | {"normalize_embedding": True, "static_position_embeddings": False, "decoder_start_token_id": 50},
        {"norm_position": "pre", "embedding_norm": True, "scale_embeddings": True, "bos_id": 50, "pad_id": 1},
    ),
    "pegasus": (  # pegasus-xsum
        BART_SIZES
        | {"add_bias_logits": False, "add_final_layer_norm": True, "normalize_before": True, "scale_embedding": True}
        | {"normalize_embedding": False, "static_position_embeddings": True, "extra_pos_embeddings": 1},
        {"norm_position": "pre", "embedding_norm": False, "positions": "sinusoidal_halves", "bos_id": 0, "pad_id": 0},
    ),
    "m2m_100": (  # nllb-200-distilled-600M
        BART_SIZES | {"activation_function": "relu", "scale_embedding": True, "tokenizer_class": "NllbTokenizer"},
        {"norm_position": "pre", "positions": "learned", "activation": "relu", "unembed_bias": False, "bos_id": 2},
    ),
    "mt5": (
        {"d_ff": 96, "d_kv": 16, "d_model": 48, "num_heads": 3, "num_layers": 2, "feed_forward_proj": "gated-gelu"}
        | {"tie_word_embeddings": False, "is_gated_act": True, "dense_act_fn": "gelu_new", "output_past": True},
        {"gated": True, "activation": "gelu_tanh", "scale_logits": False, "bos_id": 0},
    ),
    "t5": (  # the encoder of t5-v1_1-xxl
        {"architectures": ["T5EncoderModel"], "d_ff": 96, "d_kv": 16, "d_model": 48, "num_heads": 3, "num_layers": 2}
        | {"feed_forward_proj": "gated-gelu", "is_encoder_decoder": True, "num_decoder_layers": 2},
        {"architecture": "encoder_only", "n_decoder_layers": 0, "unembed": False},
    ),
    "electra": (  # electra-small-generator
        BERT_SIZES | {"embedding_size": 16, "generator_size": "0.25", "summary_activation": "gelu"},
        {"d_embed": 16, "embedding_norm": True, "n_segments": 2, "layer_norm_eps": 1e-12},
    ),
    "albert": (  # albert-base-v2
        BERT_SIZES
        | {"embedding_size": 16, "down_scale_factor": 1, "gap_size": 0, "inner_group_num": 1, "num_hidden_groups": 1}
        | {"net_structure_type": 0, "num_memory_blocks": 0, "classifier_dropout_prob": 0.1, "hidden_act": "gelu_new"},
        {"d_embed": 16, "activation": "gelu_tanh", "n_encoder_layers": 2},
    ),
    "mpnet": (  # all-mpnet-base-v2
        BERT_SIZES | {"max_position_embeddings": 514, "relative_attention_num_buckets": 32, "layer_norm_eps": 1e-5},
        {"max_seq_len": 512, "relative_bias": True, "n_segments": 0, "pad_id": 1},
    ),
}


@pytest.mark.parametrize("model_type", PUBLISHED)
def test_options_of_published_files(model_type: str):
    values, expected = PUBLISHED[model_type]
    read = config({"model_type": model_type, "vocab_size": 99, "bos_token_id": 2, "eos_token_id": 2}, **values)
    assert {name: getattr(read, name) for name in expected} == expected


REFUSED_OF: list[tuple[str, dict[str, Any]]] = [
    ("gptj", {"rotary": False}),
    ("gptj", {"rotary_dim": 10**400}),
    ("opt", {"layer_norm_elementwise_affine": False}),
    ("bloom", {"apply_residual_connection_post_layernorm": True}),
    ("falcon", {"parallel_attn": False}),
    ("bart", {"normalize_before": True}),
    ("albert", {"num_hidden_groups": 2}),
    ("mpnet", {"hidden_act": "relu"}),
    ("falcon", {"new_decoder_architecture": False, "num_ln_in_parallel_attn": 2}),
    ("falcon", {"rope_scaling": {"rope_type": "yarn", "factor": 2.0}}),
    ("mpt", {"attn_config": {"clip_qkv": 6.0}}),
    ("mpt", {"attn_config": {"alibi_bias_max": 16}}),
    ("phi3", {"rope_scaling": {"type": "longrope", "short_factor": ["1"], "long_factor": [2.0]}}),
    ("smollm3", {"no_rope_layers": [1, 0]}),
]


@pytest.mark.parametrize(("model_type", "change"), REFUSED_OF)
def test_other_options_of_these_families_are_refused_by_name(model_type: str, change: dict[str, Any]):
    values = {"model_type": model_type, "vocab_size": 99, "bos_token_id": 2, "eos_token_id": 2}
    ((name, value),) = [*change.items()][-1:]
    names = (
        "rope_type|rotary_pair_factors"
        if name == "rope_scaling"
        else "|".join(value)
        if name == "attn_config"
        else name
    )
    with pytest.raises(CheckpointError, match=names):
        config({**values, **PUBLISHED[model_type][0]}, **change)


@pytest.mark.parametrize(
    ("model_type", "change"),
    [
        ("granite", {"residual_multiplier": 0}),
        ("granite", {"logits_scaling": -1.0}),
        ("cohere", {"logit_scale": 0.0}),
        ("gemma2", {"query_pre_attn_scalar": "256"}),
    ],
)
def test_a_constant_that_is_not_above_zero_is_refused_by_name(model_type: str, change: dict[str, Any]):
    (name,) = change
    with pytest.raises(CheckpointError, match=f"{name} = .* expected a number"):
        FAMILIES[model_type].of_file(change, where="config.json")


def test_constants_in_the_weights_are_noted():
    for model_type, is_noted in {"granite": True, "gemma": True, "llama": False}.items():
        notes: list[Message] = []
        FAMILIES[model_type].config({**SMOL, "model_type": model_type}, on_note=notes.append)
        assert (CONSTANTS_IN_WEIGHTS in notes) == is_noted


def test_modernbert():
    """Warner et al. 2024, table 4: every third layer sees everything, the others 128 tokens around."""
    model = config(MODERNBERT)
    at = [model.at_layer(i) for i in range(22)]
    assert [i for i, one in enumerate(at) if one.sliding_window is None] == [0, 3, 6, 9, 12, 15, 18, 21]
    assert {one.sliding_window for one in at} == {None, 65}  # itself, and 64 on either side
    assert [one.rotary_base for one in at[:3]] == [160_000, 10_000, 10_000]
    written = foreign.library().ModernBertConfig(**MODERNBERT).to_dict()
    assert "layer_types" in written and "rope_parameters" in written
    assert config(written) == model


def test_forms_of_the_feed_forward_network_of_t5():
    """The library's own class also writes them apart, as two options."""
    forms = {"relu": (False, "relu"), "gelu": (False, "gelu"), "gated-gelu": (True, "gelu_tanh")}
    for form, expected in (forms | {"gated-silu": (True, "silu")}).items():
        theirs = foreign.library().T5Config(feed_forward_proj=form).to_dict()
        for values in ({"feed_forward_proj": form}, {**theirs, "feed_forward_proj": None}):
            actual = config({**T5, **values})
            assert (actual.gated, actual.activation) == expected, form


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"rope_theta": 5e5}, {"rope_theta": 5e5, "rope_type": "default"}),
        ({"rope_theta": 5e5, "rope_scaling": LLAMA3}, {**LLAMA3, "rope_theta": 5e5}),
        ({"rope_scaling": {"type": "linear", "factor": 2}}, {"rope_type": "linear", "factor": 2, "rope_theta": 1e4}),
        ({}, None),
    ],
)
def test_rotation_is_read_from_both_places(older: Mapping[str, Any], newer: Mapping[str, Any] | None):
    bare = {name: value for name, value in SMOL.items() if name not in ("rope_theta", "rope_scaling")}
    actual = config(bare, **older)
    assert actual == config(bare, rope_parameters=newer)
    assert actual.rotary_base == (newer or {}).get("rope_theta", 1e4)
    if older.get("rope_scaling") is LLAMA3:
        assert (actual.rotary_scaling, actual.rotary_scaling_factor) == ("llama3", 32.0)
        assert (actual.rotary_low_freq_factor, actual.rotary_high_freq_factor) == (1.0, 4.0)


def test_the_original_length_of_rotation_defaults_to_that_of_the_model():
    rope = {name: value for name, value in LLAMA3.items() if not name.startswith("original")}
    options: dict[str, Any] = {"original_max_position_embeddings": 8192}
    for inside, beside, expected in (
        (options, {}, 8192),
        ({}, options, 8192),
        ({}, {}, SMOL["max_position_embeddings"]),
    ):
        assert config(SMOL, rope_scaling={**rope, **inside}, **beside).rotary_original_len == expected


def test_a_window_in_every_layer_or_in_some_is_read():
    mistral = {**SMOL, "model_type": "mistral"}
    for options, window in (({}, 4096), ({"sliding_window": None}, None), ({"sliding_window": 7}, 7)):
        assert config(mistral, **options).sliding_window == window
    qwen = {**QWEN, **WINDOW}
    assert config(qwen).sliding_window == 100
    assert config(qwen, layer_types=["sliding_attention"] * 24).sliding_window == 100
    assert config(qwen, max_window_layers=24).sliding_window is None
    usual = {name: value for name, value in qwen.items() if name != "max_window_layers"}  # 28
    assert config(usual, num_hidden_layers=28).sliding_window is None
    some = config(qwen, max_window_layers=22)
    assert (some.sliding_window, some.layers_without_window, some.rotary_base_in_window) == (100, (*range(22),), 1e6)
    assert config(usual, num_hidden_layers=29).layers_without_window == (*range(28),)
    kinds = ["full_attention", "sliding_attention"] * 12
    assert config(qwen, layer_types=kinds).layers_without_window == (*range(0, 24, 2),)
    for changes in (
        *({"layer_types": value} for value in (kinds[:3], ["chunked_attention"] * 24, "full_attention")),
        {"layer_types": kinds, "use_sliding_window": False},
        {"layer_types": kinds, "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
    ):
        with pytest.raises(CheckpointError, match=r"layer_types = .* each layer|rope_parameters = .* in some layers"):
            config(qwen, **changes)


REFUSED: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [  # the option is named
    (GPT2, [{"scale_attn_by_inverse_layer_idx": 1}, {"add_cross_attention": True}, {"activation_function": "mish"}]),
    (GPT2, [{"n_embd": "768"}, {"n_layer": None}, {"n_head": 5}, {"n_inner": 10**400}]),
    (BERT, [{"position_embedding_type": "relative_key"}, {"is_decoder": True}]),
    (BERT, [{"hidden_act": "tanh"}, {"embedding_size": 128}]),
    (MODERNBERT, [{"layer_types": ["sliding_attention"] * 21}, {"classifier_activation": "relu"}]),
    (MODERNBERT, [{"hidden_activation": "relu"}]),
    ({**BERT, "model_type": "roberta"}, [{"hidden_act": "relu"}]),
    (MODERNBERT, [{"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, {"classifier_bias": True}]),
    (MARIAN, [{"share_encoder_decoder_embeddings": False}, {"tie_word_embeddings": False}]),
    (MARIAN, [{"static_position_embeddings": False}, {"normalize_embedding": True}, {"normalize_before": True}]),
    (MARIAN, [{"decoder_vocab_size": 60000}, {"decoder_ffn_dim": 1024}, {"decoder_attention_heads": 4}]),
    (T5, [{"feed_forward_proj": "gated-mish"}, {"dense_act_fn": "tanh"}, {"is_decoder": True}]),
    (T5, [{"scalable_attention": True}]),
    ({"model_type": "gpt_neo", "vocab_size": 99, "hidden_size": 8}, [{"attention_types": 3}]),
    (SMOL, [{"rope_parameters": {"full_attention": {"rope_theta": 1e4}}}, {"rope_scaling": 2.0}]),
    (SMOL, [{"partial_rotary_factor": 0.5}, {"rope_interleaved": True}, {"hidden_act": "mish"}]),
    (SMOL, [{"rms_norm_eps": "x"}, {"tie_word_embeddings": "yes"}, {"eos_token_id": "x"}]),
    (SMOL, [{"residual_multiplier": 0.2}, {"quantization_config": {"bits": 4}}]),
]


@pytest.mark.parametrize(("published", "changes"), REFUSED)
def test_what_is_not_computed_here_is_refused(published: dict[str, Any], changes: list[dict[str, Any]]):
    for change in changes:
        (name,) = change
        with pytest.raises(CheckpointError, match=name):
            config(published, **change)


YARN = {"rope_type": "yarn", "rope_theta": 500.0, "factor": 4.0, "original_max_position_embeddings": 64}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"mscale": 0.7, "mscale_all_dim": 1.2},
        {"mscale": 0.7},
        {"attention_factor": 1.3, "beta_fast": 4.0, "beta_slow": 0.5},
        {"factor": 0.5},
        {"original_max_position_embeddings": 4},  # all pairs turn less than once
        {"original_max_position_embeddings": 10**6, "factor": 2.0},
        {"beta_fast": 1.001},  # one pair
    ],
)
def test_yarn_has_the_frequencies_and_the_factor_of_the_library(changes: dict[str, float]):
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    theirs = foreign.library().LlamaConfig(hidden_size=64, num_attention_heads=2, rope_parameters={**YARN, **changes})
    frequencies, factor = ROPE_INIT_FUNCTIONS["yarn"](theirs)
    values = theirs.to_dict()
    assert rotary_frequencies(config(values)).tolist() == pytest.approx(frequencies.tolist(), rel=1e-5)
    assert attention_factor(Options(values, where="")) == {"attention_factor": pytest.approx(factor)}


def test_dynamic_scaling_is_none_up_to_the_length_in_training():
    dynamic, plain = ({"rope_type": kind, "rope_theta": 500.0, "factor": 4.0} for kind in ("dynamic", "default"))
    assert config(SMOL, rope_scaling=dynamic) == config(SMOL, rope_scaling=plain)


def test_kinds_of_rotation_that_are_not_known():
    for rope, message in (
        ({"type": "longrope", "factor": 2.0}, "type = 'longrope' is not supported"),
        ({"rope_type": "axial", "factor": 2.0}, "supported are default, linear, llama3, yarn, dynamic"),
        ({"rope_type": "yarn", "factor": 2.0, "truncate": False}, "truncate = False is not supported"),
        ({"type": "linear"}, "rope_scaling lacks factor"),
    ):
        with pytest.raises(CheckpointError, match=message):
            config(SMOL, rope_scaling=rope)
