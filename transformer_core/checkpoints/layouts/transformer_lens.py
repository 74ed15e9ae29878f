"""State dicts of TransformerLens: one matrix per head, often with the normalizations' gains folded into the weights."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer_core.checkpoints.checkpoint import read_json
from transformer_core.checkpoints.describing import DECODER_ONLY, Computed, having, n_layers
from transformer_core.checkpoints.entries import Entry, in_layers
from transformer_core.checkpoints.family import Ignored, is_causal_mask
from transformer_core.checkpoints.layout import Convention, Description, Layout, Question, SavedModel
from transformer_core.checkpoints.options import Options
from transformer_core.checkpoints.rotary_tables import rotary_of_table
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, Message

_FILE = "cfg.json"
_HEAD, _NEVER = "unembed.W_U", -1e4  # a logit of probability 0
_NORMS = {"LN": "layer", "LNPre": "layer_without_bias", "RMS": "rms", "RMSPre": "rms", None: "none"}
_NAMES = {"n_ctx": "max_seq_len", "eps": "layer_norm_eps", "act_fn": "activation"}
_NAMES |= {"parallel_attn_mlp": "parallel_residual"}
_SUPPORTED: dict[str, tuple[object, ...]] = {  # options that change the computation, and their supported values
    **{"attention_dir": ("causal",), "use_attn_scale": (True,), "scale_attn_by_inverse_layer_idx": (False,)},
    "normalization_type": tuple(_NORMS),
    **{"use_local_attn": (False,), "positional_embedding_type": ("standard", "rotary", "alibi", "none")},
    **{"attn_scores_soft_cap": (-1.0, 0, None), "output_logits_soft_cap": (-1.0, 0, None)},
    **{"num_experts": (None,), "post_embedding_ln": (False,), "use_normalization_before_and_after": (False,)},
    **{"final_rms": (False,), "attn_types": (None,), "rotary_scaling_factor": (1.0,), "rotary_base_local": (None,)},
}


def settings(saved: SavedModel) -> Mapping[str, Any]:
    """Return the fields in a HookedTransformerConfig as JSON, in cfg.json or config.json, or in the file of weights.

    Raises:
        CheckpointError: the file is damaged, or has an unsupported option.
    """
    path = saved.folder / _FILE
    values: Any = saved.config or saved.other.get("cfg") or saved.other.get("config") or {}
    if path.is_file():
        values = read_json(saved.folder, _FILE)
    if not isinstance(values, dict):
        return {}
    options = Options(values, where=str(path))
    for name, supported in _SUPPORTED.items():
        if name in values and values[name] not in supported:
            raise options.error(name, Message("supported are {choices}", choices=", ".join(map(str, supported))))
    scale, d_head = (options.number(name, -1.0) for name in ("attn_scale", "d_head"))  # -1: the usual one
    if min(scale, d_head) > 0 and not math.isclose(scale, math.sqrt(d_head), rel_tol=1e-3):
        raise options.error("attn_scale", Message("scores must be divided by sqrt(d_head)"))
    own = {name: value for name, value in values.items() if name in ModelConfig.__dataclass_fields__}
    fields = {ours: values[theirs] for theirs, ours in _NAMES.items() if values.get(theirs) is not None}
    if "normalization_type" in values:
        fields["norm"] = _NORMS[values["normalization_type"]]
    return own | fields


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a HookedTransformer.

    Raises:
        CheckpointError: rotary positions that cannot be recomputed, or a part that is not supported.

    Source: the classes of transformer_lens.components, version 2 and 3.
    """
    weights = saved.weights
    (vocab_size, d_model), (n_heads, _, d_head) = weights["embed.W_E"].shape, weights["blocks.0.attn.W_Q"].shape
    has_ff, keys_values = "blocks.0.mlp.W_in" in weights, weights.get("blocks.0.attn._W_K")
    has_gain, has_shift = "blocks.0.ln1.w" in weights, "blocks.0.ln1.b" in weights
    if name := next((key for key in weights if ".mlp.ln." in key or ".experts." in key or "ln1_post" in key), None):
        raise CheckpointError("{name!r} is a part of TransformerLens that is not supported", name=name)
    questions, notes = [], []
    positions = _positions(weights)
    fields = {
        **DECODER_ONLY,
        **positions,
        "vocab_size": vocab_size,
        "d_model": d_model,
        "d_ff": weights["blocks.0.mlp.W_in"].shape[1] if has_ff else 0,
        "n_heads": n_heads,
        "d_head": d_head,
        "n_kv_heads": n_heads if keys_values is None else keys_values.shape[0],
        "n_decoder_layers": n_layers(weights, "blocks.", ".attn.W_Q"),
        "qk_norm": "blocks.0.attn.q_norm.w" in weights,
        "gated": "blocks.0.mlp.W_gate" in weights,
        "attention_bias": "all",
        "tie_embeddings": "none",
        "unembed_bias": True,
    }
    if has_gain:
        fields["norm"] = "layer" if has_shift else "rms"
    else:
        why = Message("Its normalizations have no weights: they were folded (LNPre, RMSPre), or do not exist.")
        questions.append(Question("norm", ("layer_without_bias", "rms", "none"), why))
    in_cfg = Message("It is in the model's HookedTransformerConfig, act_fn.")
    if has_ff:
        questions.append(Question("activation", ("gelu_tanh", "gelu", "relu", "silu"), in_cfg))
    if not positions:
        why = Message("It has neither learned nor rotary positions.")
        questions.append(Question("positions", ("none", "alibi"), why))
    if has_ff and positions.get("positions", "").startswith("rotary"):
        why = Message("It is in the model's HookedTransformerConfig, parallel_attn_mlp.")
        questions.append(Question("parallel_residual", (True, False), why))
    if (n_out := weights[_HEAD].shape[1]) < vocab_size:
        note = Message("Its output has {n} of the {vocab_size} tokens; the others are never predicted.")
        notes.append(Message(note, n=n_out, vocab_size=vocab_size))
    length = Message("Texts of up to {n:,} tokens are read; its files do not limit them.", n=2048)
    return Description(
        fields=fields,
        questions=questions,
        conventions=[] if "max_seq_len" in positions else [Convention("max_seq_len", 2048, length)],
        notes=notes,
        weights=_completed(weights, {**fields, **given}),
    )


def _positions(weights: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return the fields of positions: those of a learned table, or of RoPE, whose base follows from its table."""
    if "pos_embed.W_pos" in weights:
        return {"positions": "learned", "max_seq_len": weights["pos_embed.W_pos"].shape[0]}
    sin, cos = (weights.get(f"blocks.0.attn.rotary_{name}") for name in ("sin", "cos"))
    if sin is None or cos is None:
        return {}
    return rotary_of_table(sin, cos, weights["blocks.0.attn.W_Q"].shape[2])


def _completed(weights: Mapping[str, Tensor], fields: Mapping[str, Any]) -> Mapping[str, Tensor]:
    """Return the tensors by the keys of the table: gains of 1 if they were folded, and one output per token."""
    computed: dict[str, Callable[[], Tensor]] = {}
    layers, gated = range(fields["n_decoder_layers"]), fields["gated"]
    for key in weights:
        if "._W_" in key or "._b_" in key:  # key-value heads that serve several query heads
            computed[key.replace("._", ".")] = partial(weights.__getitem__, key)
        elif ".ln1." in key and fields["d_ff"] and (other := key.replace(".ln1.", ".ln2.")) not in weights:
            computed[other] = partial(weights.__getitem__, key)  # one normalization for both sub-layers
    if "blocks.0.ln1.w" not in weights and fields.get("norm") != "none":
        names = [f"blocks.{i}.{norm}" for i in layers for norm in (("ln1", "ln2") if fields["d_ff"] else ("ln1",))]
        computed |= {f"{name}.w": partial(torch.ones, fields["d_model"]) for name in (*names, "ln_final")}
    if gated:
        for i in layers:
            mlp = f"blocks.{i}.mlp"
            computed[f"{mlp}.b_out"] = partial(_bias_of_product, weights, mlp)
            computed |= {f"{mlp}.b_{name}": partial(torch.zeros, fields["d_ff"]) for name in ("in", "gate")}
    computed["unembed.b_U"] = partial(_bias_of_output, weights, fields["vocab_size"])
    computed[_HEAD] = partial(_output, weights, fields["vocab_size"])
    return Computed(weights, computed, without=[key for key in weights if "._W_" in key or "._b_" in key])


def _bias_of_product(weights: Mapping[str, Tensor], mlp: str) -> Tensor:
    """Return the bias of a gated layer: TransformerLens also adds b_in after the product, before W_out."""
    outer, inner, matrix = (weights[f"{mlp}.{name}"].float() for name in ("b_out", "b_in", "W_out"))
    return outer + inner @ matrix


def _bias_of_output(weights: Mapping[str, Tensor], vocab_size: int) -> Tensor:
    """Return the bias of the logits; that of tokens without an output makes their probability 0."""
    n_out = weights[_HEAD].shape[1]
    bias = weights["unembed.b_U"] if "unembed.b_U" in weights else weights[_HEAD].new_zeros(n_out)
    return torch.cat([bias.float(), bias.new_full((vocab_size - n_out,), _NEVER, dtype=torch.float32)])


def _output(weights: Mapping[str, Tensor], vocab_size: int) -> Tensor:
    return F.pad(weights[_HEAD], (0, vocab_size - weights[_HEAD].shape[1]))


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a HookedTransformer, as `describe` completes it."""
    norm = {"none": {}, "layer": {"w": "weight", "b": "bias"}}.get(config.norm, {"w": "weight"})

    def norms(theirs: str, ours: str) -> list[Entry]:
        return [Entry(f"{theirs}.{part}", (f"{ours}.{our_part}",)) for part, our_part in norm.items()]

    layer = [
        *norms("ln1", "ln1"),
        *(norms("ln2", "ln2") if config.d_ff else []),
        Entry("attn.W_O", ("self_attn.out.weight",), lambda w: (w.flatten(0, 1).T,)),
        Entry("attn.b_O", ("self_attn.out.bias",)),
    ]
    for name in ("q", "k", "v"):
        rows = Entry(f"attn.W_{name.upper()}", (f"self_attn.{name}.weight",), lambda w: (w.mT.flatten(0, 1),))
        layer += [rows, Entry(f"attn.b_{name.upper()}", (f"self_attn.{name}.bias",), lambda b: (b.flatten(),))]
    layer += [Entry(f"attn.{name}.w", (f"self_attn.{name}.weight",)) for name in ("q_norm", "k_norm") if config.qk_norm]
    linear = {"in": "up", "out": "down", **({"gate": "gate"} if config.gated else {})} if config.d_ff else {}
    for theirs, ours in linear.items():
        layer += [Entry(f"mlp.W_{theirs}", (f"mlp.{ours}.weight",), _transposed)]
        layer += [Entry(f"mlp.b_{theirs}", (f"mlp.{ours}.bias",))]
    positions = [Entry("pos_embed.W_pos", ("decoder.pos_embed.table",))]
    return (
        Entry("embed.W_E", ("decoder.embed.weight",)),
        Entry(_HEAD, ("unembed.weight",), _transposed),
        Entry("unembed.b_U", ("unembed.bias",)),
        *norms("ln_final", "decoder.ln_final"),
        *(positions if config.positions == "learned" else []),
        *in_layers(config, "blocks.*", layer),
    )


def _transposed(weight: Tensor) -> tuple[Tensor]:
    return (weight.transpose(0, 1),)


LAYOUTS = (
    Layout(
        name="TransformerLens",
        model_type="transformer_lens",
        recognize=having("blocks.0.attn.W_Q", "blocks.0.attn.W_O", "embed.W_E", _HEAD),
        describe=describe,
        keys=keys,
        head=_HEAD,
        settings=settings,
        ignored=(
            Ignored(
                r"blocks\.\d+\.attn\.mask",
                Message("a causal mask, which is built here"),
                lambda mask, _: not mask.numel() or is_causal_mask(mask),
            ),
            Ignored(r"blocks\.\d+\.attn\.IGNORE", Message("the value of masked scores, which are excluded here")),
        ),
        described_in=_FILE,
    ),
)
