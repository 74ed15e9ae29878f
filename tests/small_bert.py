"""Small encoders of transformers that read two texts, with their tokenizer; BERT's two segments differ strongly."""

from pathlib import Path
from typing import Any

import torch

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat dog ##s on mat a is it .".split()
SIZES: dict[str, Any] = {"vocab_size": len(WORDS), "max_position_embeddings": 32, "initializer_range": 0.5}
USUAL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
OTHERS: dict[str, dict[str, Any]] = {  # what each class has beside these sizes
    "Bert": USUAL,
    "DistilBert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 16},  # no segments
    "Roberta": USUAL | {"type_vocab_size": 1, "pad_token_id": 0},
    "ModernBert": USUAL | {"local_attention": 4, "pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3},
}


def save_small_bert(folder: Path, family: str = "Bert") -> tuple[Any, Any]:
    """Write model and tokenizer to a folder, and return both."""
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"))
    if family == "Roberta":
        from tokenizers.processors import TemplateProcessing

        single, pair = "[CLS] $A [SEP]", "[CLS] $A [SEP] [SEP] $B [SEP]"
        template = TemplateProcessing(single=single, pair=pair, special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
        tokenizer.backend_tokenizer.post_processor = template
    torch.manual_seed(3)
    config = getattr(transformers, f"{family}Config")(**SIZES, **OTHERS[family])
    config._attn_implementation = "eager"
    model = getattr(transformers, f"{family}ForMaskedLM")(config).eval()
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "token_type" in name:
                weights.normal_(0, 2)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer
