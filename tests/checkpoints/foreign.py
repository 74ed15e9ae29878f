"""Small models of the `transformers` library in odd sizes, saved as it saves them, and how ours are compared with them.

`SMALL` names a model for each family, and for each choice within a family that takes another way through our code.
"""

import json
import logging
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

import transformer_core as tc
from tests.checkpoints import small_decoders, small_encoders, small_residuals
from tests.checkpoints.small import (
    BOS,
    EOS,
    MAX_POSITIONS,
    PAD,
    TOKENS,
    VOCAB_SIZE,
    Small,
    decoder,
    encoder,
    two_stacks,
)
from tests.model.building import random_tokens
from transformer_core.checkpoints.convert import convert
from transformer_core.checkpoints.families import FAMILIES

LENGTHS, TGT_LENGTHS = (80, 9, 1), (9, 80, 2)  # of the texts in a batch; the longest but one is always padded
N_NEW = 8  # tokens that are written

GPT2 = {**TOKENS, "n_positions": MAX_POSITIONS, "n_embd": 36, "n_layer": 3, "n_head": 3, "n_inner": 50}
BERT = {
    **{"vocab_size": VOCAB_SIZE, "hidden_size": 36, "num_hidden_layers": 3, "num_attention_heads": 3},
    **{"intermediate_size": 50, "max_position_embeddings": MAX_POSITIONS, "type_vocab_size": 3, "pad_token_id": PAD},
}
MARIAN = {
    **{"vocab_size": VOCAB_SIZE, "d_model": 36, "encoder_layers": 3, "decoder_layers": 2, "encoder_ffn_dim": 50},
    **{"decoder_ffn_dim": 50, "encoder_attention_heads": 3, "decoder_attention_heads": 3, "pad_token_id": PAD},
    **{
        "max_position_embeddings": MAX_POSITIONS,
        "eos_token_id": EOS,
        "decoder_start_token_id": PAD,
        "scale_embedding": True,
    },
    **{"activation_function": "swish", "forced_eos_token_id": None},
}
T5 = {
    **{"vocab_size": VOCAB_SIZE, "d_model": 36, "d_kv": 10, "d_ff": 50, "num_layers": 3, "num_decoder_layers": 2},
    **{"num_heads": 3, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 9},
    **{"pad_token_id": PAD, "eos_token_id": EOS, "decoder_start_token_id": PAD, "initializer_factor": 0.3},
}
LLAMA = {
    **TOKENS,
    **{"hidden_size": 36, "intermediate_size": 50, "num_hidden_layers": 3, "num_attention_heads": 3},
    **{"num_key_value_heads": 1, "max_position_embeddings": MAX_POSITIONS},
}
ROBERTA = {**BERT, "max_position_embeddings": MAX_POSITIONS + 4, "pad_token_id": PAD}
DISTILBERT = {
    **{"vocab_size": VOCAB_SIZE, "dim": 36, "n_layers": 3, "n_heads": 3, "hidden_dim": 50, "pad_token_id": PAD},
    **{"max_position_embeddings": MAX_POSITIONS},
}
NEOX = {
    **TOKENS,
    **{"hidden_size": 36, "intermediate_size": 50, "num_hidden_layers": 3, "num_attention_heads": 3},
    **{
        "max_position_embeddings": MAX_POSITIONS,
        "rope_parameters": {"partial_rotary_factor": 0.34, "rope_theta": 300.0},
    },
}
MODERNBERT = {
    **TOKENS,
    **{"hidden_size": 36, "intermediate_size": 50, "num_hidden_layers": 4, "num_attention_heads": 3},
    **{"max_position_embeddings": MAX_POSITIONS, "local_attention": 6, "cls_token_id": BOS, "sep_token_id": EOS},
}
LLAMA3 = {
    **{"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "original_max_position_embeddings": 12,
}


_marian = partial(two_stacks, "Marian", "MTModel", MARIAN)
_t5 = partial(two_stacks, "T5", "ForConditionalGeneration", T5)


_gpt2 = partial(decoder, "GPT2", "LMHeadModel", GPT2)
_neox = partial(decoder, "GPTNeoX", "ForCausalLM", NEOX)


def _llama(family: str = "Llama", **changes: Any) -> Small:
    return decoder(family, "ForCausalLM", LLAMA, **changes)


_BIASES = {"norm_bias": True, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": False}
_EVERY_OTHER = ["full_attention", "sliding_attention"] * 2
SMALL = {
    "gpt2": _gpt2(),
    "gpt2-own-head": _gpt2(activation_function="relu", own_head=True),
    "gpt2-unscaled": _gpt2(scale_attn_weights=False, tie_word_embeddings=False),
    "bert": encoder("Bert", "ForMaskedLM", BERT),
    "bert-own-head": encoder("Bert", "ForMaskedLM", BERT, tie_word_embeddings=False),
    "bert-pretraining": encoder("Bert", "ForPreTraining", BERT, hidden_act="gelu_new"),
    "bert-bare": encoder("Bert", "Model", BERT),
    "bert-classifier": encoder("Bert", "ForSequenceClassification", BERT, num_labels=4),
    "bert-answers": encoder("Bert", "ForQuestionAnswering", BERT),
    "roberta": encoder("Roberta", "ForMaskedLM", ROBERTA),
    "roberta-classifier": encoder("Roberta", "ForSequenceClassification", ROBERTA, num_labels=4),
    "roberta-tokens": encoder("Roberta", "ForTokenClassification", ROBERTA),
    "xlm-roberta": encoder("XLMRoberta", "ForMaskedLM", ROBERTA),
    "camembert": encoder("Camembert", "ForMaskedLM", ROBERTA),
    "distilbert": encoder("DistilBert", "ForMaskedLM", DISTILBERT),
    "distilbert-own-head": encoder("DistilBert", "ForMaskedLM", DISTILBERT, tie_word_embeddings=False),
    "distilbert-classifier": encoder("DistilBert", "ForSequenceClassification", DISTILBERT),
    "modernbert": encoder("ModernBert", "ForMaskedLM", MODERNBERT),
    "modernbert-biases": encoder("ModernBert", "ForMaskedLM", MODERNBERT, layer_types=_EVERY_OTHER, **_BIASES),
    "modernbert-classifier": encoder("ModernBert", "ForSequenceClassification", MODERNBERT),
    "gpt_neox": _neox(),
    "gpt_neox-sequential": _neox(use_parallel_residual=False, tie_word_embeddings=True),
    "marian": _marian(),
    "marian-own-head": _marian(scale_embedding=False, activation_function="relu", own_head=True),
    "t5": _t5(),
    "t5-v1.1": _t5(feed_forward_proj="gated-gelu", tie_word_embeddings=False, own_head=True),
    "t5-unscaled": _t5(feed_forward_proj="gated-silu", tie_word_embeddings=False),
    "llama": _llama(),
    "llama-biases": _llama(attention_bias=True, mlp_bias=True, head_dim=10, tie_word_embeddings=True),
    "llama-3": _llama(rope_parameters=LLAMA3, num_key_value_heads=3),
    "llama-linear": _llama(rope_parameters={"rope_type": "linear", "rope_theta": 300.0, "factor": 2.5}),
    "mistral": _llama("Mistral", sliding_window=4, head_dim=14),
    "mistral-no-window": _llama("Mistral", sliding_window=None),
    "qwen2": _llama("Qwen2", tie_word_embeddings=True),
    "qwen2-window": _llama("Qwen2", use_sliding_window=True, sliding_window=5, max_window_layers=0),
    "qwen3": _llama("Qwen3", head_dim=14),
    **small_decoders.SMALL,
    **small_residuals.SMALL,
    **small_encoders.SMALL,
}
FAMILY_OF = {
    name: next(family for family in sorted(FAMILIES, reverse=True) if name.startswith(family)) for name in SMALL
}
LIBRARY = [*FAMILIES]
DECODERS = [name for name, small in SMALL.items() if "decoder" in small.stacks]


@cache
def library() -> Any:
    """The `transformers` module, quiet; it takes seconds to import."""
    import transformers

    transformers.utils.logging.set_verbosity(logging.CRITICAL)
    transformers.utils.logging.disable_progress_bar()
    return transformers


def save_small(name: str, folder: Path) -> None:
    """Save a small model with every weight random, none of its biases at 0 and no norm's weight at 1."""
    small = SMALL[name]
    config = getattr(library(), small.config_class)(**small.values)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        model = getattr(library(), small.model_class)(config)
        if small.own_head:
            model.lm_head.weight = torch.nn.Parameter(torch.randn(VOCAB_SIZE, 36) * 0.3)
        for parameter in model.parameters():
            if parameter.requires_grad:  # Marian's positions are a table that is not trained
                parameter.add_(torch.randn(parameter.shape) * 0.2)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_()
    model.save_pretrained(folder)


def theirs(name: str, folder: Path) -> Any:
    """The library's model of a folder, with attention written out."""
    model_class = getattr(library(), SMALL[name].model_class)
    return model_class.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """config.json and the weights of a folder."""
    return json.loads((folder / "config.json").read_text()), load_file(folder / "model.safetensors")


def ours(folder: Path) -> tc.Transformer:
    """Our model of the same folder."""
    return convert(*read(folder), where=folder.name)


def batch(name: str) -> tuple[Tensor, ...]:
    """Random tokens padded on the right: a text, and for two stacks a target that begins with the padding's token."""
    src = random_tokens(LENGTHS, vocab_size=VOCAB_SIZE, seed=1)
    if name == "mpnet":  # its positions skip token 1, whatever the padding token is
        src[src == 1] = EOS
    if len(SMALL[name].stacks) == 1:
        return (src,)
    tgt = random_tokens(TGT_LENGTHS, vocab_size=VOCAB_SIZE, seed=2)
    tgt[:, 0] = SMALL[name].values["decoder_start_token_id"]
    return src, tgt


def is_real(tokens: Tensor) -> Tensor:
    """Where a batch is no padding [batch, pos]; the first token always counts."""
    real = tokens != PAD
    real[:, 0] = True
    return real
