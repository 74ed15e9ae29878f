"""A small BERT of transformers with its tokenizer, whose two segments differ strongly."""

from pathlib import Path
from typing import Any

import torch

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat dog ##s on mat a is it .".split()


def save_small_bert(folder: Path) -> tuple[Any, Any]:
    """Write model and tokenizer to a folder, and return both."""
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    tokenizer = BertTokenizer(str(folder / "vocab.txt"))
    sizes: Any = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    torch.manual_seed(3)
    config = BertConfig(vocab_size=len(WORDS), **sizes, max_position_embeddings=32, initializer_range=0.5)
    config._attn_implementation = "eager"
    model = BertForMaskedLM(config).eval()
    with torch.no_grad():
        model.bert.embeddings.token_type_embeddings.weight.normal_(0, 2)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer
