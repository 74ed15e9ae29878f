"""What weights without a config.json are, by the names that a project gives them, and what would open them."""

import json
import re
from collections.abc import Mapping

from torch import Tensor

from transformer_core.checkpoints.families import nanogpt, raschka
from transformer_core.errors import Message

_SAMPLE_STD = Message("its normalization divides by the sample standard deviation")
_OTHERS: tuple[tuple[str, str, Message], ...] = (
    (r"residual_connections\.\d+\.norm\.alpha", "github.com/hkproj/pytorch-transformer", _SAMPLE_STD),
    (r"sublayer\.\d+\.norm\.a_2", "The Annotated Transformer", _SAMPLE_STD),
    (
        r"slf_attn\.w_qs\.",
        "github.com/jadore801120/attention-is-all-you-need-pytorch",
        Message("it normalizes the embeddings in stacks that are post-norm"),
    ),
    (r"attention\.w_concat\.", "github.com/hyunwoongko/transformer", Message("its positions are not in the file")),
    (r"attn_layers\.layers\.\d+\.", "x-transformers", Message("its layers depend on options that are not in the file")),
    (
        r"blocks\.\d+\.attn\.W_Q$",
        "TransformerLens",
        Message("its weights may be folded; import the original model instead"),
    ),
    (r"attn\.c_q\.weight$", "nanochat", Message("it uses constants that are not in the file")),
    (r"attn\.qkv\.weight$", "LitGPT", Message("convert it with litgpt convert_from_litgpt, and import the result")),
    (r"^layer\d+\.attn_wq$", "microGPT", Message("it has no normalization before the last layer")),
)


def layout_of(weights: Mapping[str, Tensor]) -> Message | None:
    """Return what is to be said of weights without a config.json, after what they are called; None where unknown."""
    for name, values in (
        ("nanoGPT or minGPT", nanogpt.sizes_of(weights)),
        ("Raschka's GPTModel", raschka.sizes_of(weights)),
    ):
        if values:
            return Message(
                "has the layout of {name}, but not its number of heads; write a {config} next to the weights, with a "
                "number for ?: {example}",
                name=name,
                config="config.json",
                example=_with_heads(values),
            )
    for pattern, name, why in _OTHERS:
        if any(re.search(pattern, key) for key in weights):
            return Message("has the layout of {name}, which is not supported: {why}", name=name, why=why)
    return None


def _with_heads(values: Mapping[str, object]) -> str:
    n_heads = "n_head" if values["model_type"] == nanogpt.MODEL_TYPE else "n_heads"
    return json.dumps({n_heads: "?", **values}).replace('"?"', "?")
