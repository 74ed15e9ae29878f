"""A GPT-2 small as it comes from elsewhere: 12 layers of 12 heads, 50,257 tokens, random weights, no tokenizer."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from transformer_core.checkpoints.bring_in import bring_in


@contextmanager
def imported_gpt2() -> Iterator[Path]:
    """Bring the model into a folder for HEADLIGHT_CHECKPOINTS, for as long as the block lasts; give that folder."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory(prefix="headlight-bench-") as folder:
        GPT2LMHeadModel(GPT2Config()).save_pretrained(Path(folder, "gpt2-small"))
        bring_in(str(Path(folder, "gpt2-small")), Path(folder, "checkpoints", "gpt2-small"))
        yield Path(folder, "checkpoints")
