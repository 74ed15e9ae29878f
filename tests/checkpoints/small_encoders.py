"""Small encoder-only and encoder-decoder models of families with other embeddings, norms or heads."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from tests.checkpoints.small import EOS, MAX_POSITIONS, PAD, TOKENS, VOCAB_SIZE, Small, encoder, two_stacks

BART: Mapping[str, Any] = {
    **TOKENS,
    **{"d_model": 36, "encoder_layers": 2, "decoder_layers": 1, "encoder_ffn_dim": 50, "decoder_ffn_dim": 50},
    **{"encoder_attention_heads": 3, "decoder_attention_heads": 3, "max_position_embeddings": MAX_POSITIONS},
    **{"decoder_start_token_id": PAD, "forced_eos_token_id": None},
}
M2M100: Mapping[str, Any] = {**BART, "decoder_start_token_id": EOS}  # its <pad> has no position
T5: Mapping[str, Any] = {
    **{"vocab_size": VOCAB_SIZE, "d_model": 36, "d_kv": 10, "d_ff": 50, "num_layers": 2, "num_decoder_layers": 1},
    **{"num_heads": 3, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 9},
    **{"pad_token_id": PAD, "eos_token_id": EOS, "decoder_start_token_id": PAD, "initializer_factor": 0.3},
}
_bart = partial(two_stacks, task="ForConditionalGeneration", values=BART)

BERT: Mapping[str, Any] = {
    **{"vocab_size": VOCAB_SIZE, "hidden_size": 36, "num_hidden_layers": 2, "num_attention_heads": 3},
    **{"intermediate_size": 50, "max_position_embeddings": MAX_POSITIONS, "pad_token_id": PAD},
}
_STACK: Mapping[str, Any] = {**BERT, "type_vocab_size": 3, "model_type": "bert"}
BERT2BERT: Mapping[str, Any] = {
    "encoder": {**_STACK, "vocab_size": VOCAB_SIZE + 4},
    "decoder": {**_STACK, "num_hidden_layers": 1, "is_decoder": True, "add_cross_attention": True},
    **{"pad_token_id": PAD, "eos_token_id": EOS, "decoder_start_token_id": PAD},
}
MPNET: Mapping[str, Any] = {**BERT, "max_position_embeddings": MAX_POSITIONS + 2, "relative_attention_num_buckets": 32}

SMALL: Mapping[str, Small] = {
    "encoder-decoder": Small("EncoderDecoderConfig", "EncoderDecoderModel", BERT2BERT, ("encoder", "decoder")),
    "electra": encoder("Electra", "ForMaskedLM", BERT, embedding_size=20),
    "electra-discriminator": encoder("Electra", "ForPreTraining", BERT, embedding_size=36),
    "albert": encoder("Albert", "ForMaskedLM", BERT, embedding_size=20),
    "albert-bare": encoder("Albert", "Model", BERT, embedding_size=36, hidden_act="relu"),
    "mpnet": encoder("MPNet", "ForMaskedLM", MPNET),
    "bart": _bart("Bart", scale_embedding=True),
    "mbart": _bart("MBart", activation_function="relu"),
    "pegasus": _bart("Pegasus"),
    "m2m_100": two_stacks("M2M100", "ForConditionalGeneration", M2M100),
    "mt5": two_stacks("MT5", "ForConditionalGeneration", T5),
    "t5-encoder": Small("T5Config", "T5EncoderModel", T5, ("encoder",)),
}
