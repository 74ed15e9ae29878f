"""The options of a model that the shapes of its mapped tensors determine, and questions for the others."""

import re
from collections.abc import Mapping
from typing import Any

from transformer_core.checkpoints.describing import heads_question, special_tokens
from transformer_core.checkpoints.layout import Convention, Description, Question
from transformer_core.checkpoints.mapping.rules import Shapes, TensorMapping
from transformer_core.errors import Message


def described(mapping: TensorMapping, shapes: Shapes, given: Mapping[str, Any]) -> Description:
    """Return the fields of ModelConfig that the shapes determine, and questions for the others.

    Args:
        mapping: of the tensors.
        shapes: of the tensors.
        given: fields that were given.
    """
    names = set(mapping.filled)
    stacks = [stack for stack in ("encoder", "decoder") if any(name.startswith(f"{stack}.") for name in names)]
    last = stacks[-1] if stacks else "decoder"

    def shape(part: str) -> tuple[int, ...]:
        return next((own for stack in reversed(stacks) if (own := mapping.shape(f"{stack}.{part}", shapes))), ())

    def size(part: str, axis: int = 0) -> int:
        return shape(part)[axis] if len(shape(part)) > axis else 0

    def has(*ends: str) -> bool:
        return any(name.endswith(ends) for name in names)

    queries, keys = size("blocks.0.self_attn.q.weight"), size("blocks.0.self_attn.k.weight")
    n_heads, d_head = (_count(given.get(name)) for name in ("n_heads", "d_head"))
    d_head = d_head or (queries // n_heads if n_heads else 0)
    width = size("embed.weight", 1) or 1
    sources = (mapping.shape("encoder.embed.weight", shapes) or (0,))[0] if len(stacks) == 2 else 0
    vocab_size = size("embed.weight") or 1
    has_final, has_input = has("ln_final.weight"), has("ln1.weight", "ln2.weight")
    positions = ("pre", "post") if has_final else ("post", "pre")
    is_pre = given.get("norm_position", positions[0]) == "pre"
    fields: dict[str, Any] = {
        "architecture": "_".join(stacks) if len(stacks) == 2 else f"{last}_only",
        "vocab_size": vocab_size,
        "src_vocab_size": sources if sources != vocab_size else 0,
        "d_model": size("embedding_projection.weight") or width,
        "d_embed": width if has("embedding_projection.weight") else 0,
        "d_ff": size("blocks.0.mlp.up.weight"),
        "d_head": d_head,
        "n_kv_heads": keys // d_head if d_head else 0,
        **{
            f"n_{stack}_layers": len({_layer(name, stack) for name in names} - {""}) for stack in ("encoder", "decoder")
        },
        **({"last_norm": has_final, "input_norm": has_input} if is_pre else {"final_norm": has_final}),
        **({"first_norm": f"{last}.blocks.0.ln1.weight" in names} if is_pre and has("ln1.weight") else {}),
        "output_norm": has("out_norm.weight"),
        "embedding_norm": has("embedding_norm.weight"),
        "gated": has("mlp.gate.weight"),
        "feed_forward_bias": has("mlp.up.bias", "mlp.gate.bias", "mlp.down.bias"),
        "attention_bias": "all"
        if has("_attn.out.bias")
        else "qkv"
        if has("_attn.q.bias", "_attn.k.bias", "_attn.v.bias")
        else "none",
        "qk_norm": has("q_norm.weight"),
        "n_segments": size("segment_embed.weight"),
        "scale_embeddings": False,
        **_output(names, last, has_own_source=len(stacks) < 2 or sources > 0),
        "dropout": 0.0,
        **dict.fromkeys(("pad_id", "bos_id", "eos_id")),
    }
    fields |= {} if queries else {"n_heads": 1}
    questions = [heads_question(queries)] if queries else []
    in_tensors = Message("It is not in the tensors.")
    questions.append(Question("norm_position", positions, in_tensors))
    if has("ln1.bias", "ln2.bias", "out_norm.bias"):
        fields["norm"] = "layer"
    elif has_input or has("out_norm.weight"):
        questions.append(Question("norm", ("rms", "layer_without_bias"), Message("Both have only a weight.")))
    else:
        fields["norm"] = "none"
    if d_head and size("blocks.0.self_attn.q_norm.weight") > d_head:
        questions.append(Question("qk_norm_scope", ("joint", "per_head"), Message("Both have a weight of this size.")))
    activations = ("silu", "gelu_tanh", "gelu") if fields["gated"] else ("gelu_tanh", "gelu", "relu", "silu")
    questions.append(Question("activation", activations, in_tensors))
    if has("pos_embed.table"):
        fields |= {"positions": "learned", "max_seq_len": size("pos_embed.table")}
    else:
        kinds = ("rotary_halves", "rotary_interleaved", "sinusoidal_interleaved", "sinusoidal_halves", "none")
        questions.append(Question("positions", kinds, Message("There is no table of positions.")))
    conventions = special_tokens(vocab_size) if len(stacks) == 2 else []
    if has_final or has_input or has("out_norm.weight"):
        note = Message("The eps of its norms is not in the tensors; read as 1e-5.")
        conventions.append(Convention("layer_norm_eps", 1e-5, note, (1e-6, 1e-8, 1e-12)))
    return Description(fields=fields, questions=questions, conventions=conventions)


def _output(names: set[str], last: str, *, has_own_source: bool) -> dict[str, Any]:
    """Return the fields of the output layer; a tied one has no separate matrix."""
    has_matrix, is_transformed = "unembed.weight" in names, "unembed_transform.linear.weight" in names
    has_output = has_matrix or is_transformed or "unembed.bias" in names or last == "decoder"
    tying = "none" if has_matrix or not has_output else "target" if has_own_source else "three_way"
    return {
        "unembed": has_output,
        "unembed_bias": "unembed.bias" in names,
        "unembed_transform": is_transformed,
        "tie_embeddings": tying,
    }


def _count(value: object) -> int:
    """Return a whole number above 0; 0 for anything else."""
    return value if type(value) is int and value > 0 else 0


def _layer(name: str, stack: str) -> str:
    """Return the number of the layer that a parameter belongs to; "" for others."""
    match = re.match(rf"{stack}\.blocks\.(\d+)\.", name)
    return match[1] if match else ""
