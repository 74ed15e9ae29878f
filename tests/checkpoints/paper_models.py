"""Encoder-decoders as well-known repositories write them, from their descriptions: the oracle of their layouts.

`Layout` says how a repository names its modules, and where its mathematics differs from the others'.
"""

import math
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from tests.model.building import shaken


class Norm(nn.Module):
    """(x - mean) / deviation * gain + shift, with the parameters named as in the repository.

    With `is_sample` the deviation divides by n - 1, and eps is added to it instead of to the variance.
    """

    def __init__(self, width: int, names: tuple[str, str], eps: float, *, is_sample: bool) -> None:
        super().__init__()
        for name, start in zip(names, (torch.ones(width), torch.zeros(width)), strict=True):
            self.register_parameter(name, nn.Parameter(start))
        self.eps, self.is_sample = eps, is_sample

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        squares = centred.pow(2).sum(-1, keepdim=True)
        gain, shift = self.parameters()
        if self.is_sample:
            return gain * centred / ((squares / (x.shape[-1] - 1)).sqrt() + self.eps) + shift
        return gain * centred / (squares / x.shape[-1] + self.eps).sqrt() + shift


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Names of modules, relative to their parent, and choices of the mathematics."""

    layer: str = "{stack}.layers.{i}"
    self_attn: tuple[str, str]  # of encoder and decoder
    cross_attn: str
    projections: tuple[str, str, str, str]  # q, k, v, out
    ff: tuple[str, str]
    norms: dict[str, tuple[str, ...]]  # of a layer's sublayers, by stack
    final_norm: str = ""
    embedding_norm: str = ""
    norm_names: tuple[str, str] = ("weight", "bias")
    eps: float
    is_sample: bool = False
    is_pre_norm: bool = False
    attention_bias: bool = True
    embeddings: tuple[str, str]
    positions: tuple[str, ...] = ()  # buffers; without any the table is not saved
    positions_base: float = 10000.0
    scale_embeddings: bool = True
    output: str
    output_bias: bool = True
    is_tied: bool = False  # embeddings and output are one matrix, and the logits are divided by sqrt(d_model)


ANNOTATED = Layout(
    self_attn=("self_attn", "self_attn"),
    cross_attn="src_attn",
    projections=("linears.0", "linears.1", "linears.2", "linears.3"),
    ff=("feed_forward.w_1", "feed_forward.w_2"),
    norms={
        "encoder": tuple(f"sublayer.{i}.norm" for i in range(2)),
        "decoder": tuple(f"sublayer.{i}.norm" for i in range(3)),
    },
    final_norm="{stack}.norm",
    norm_names=("a_2", "b_2"),
    eps=1e-6,
    is_sample=True,
    is_pre_norm=True,
    embeddings=("src_embed.0.lut", "tgt_embed.0.lut"),
    positions=("src_embed.1.pe", "tgt_embed.1.pe"),
    output="generator.proj",
)
HKPROJ = Layout(
    self_attn=("self_attention_block", "self_attention_block"),
    cross_attn="cross_attention_block",
    projections=("w_q", "w_k", "w_v", "w_o"),
    ff=("feed_forward_block.linear_1", "feed_forward_block.linear_2"),
    norms={
        "encoder": tuple(f"residual_connections.{i}.norm" for i in range(2)),
        "decoder": tuple(f"residual_connections.{i}.norm" for i in range(3)),
    },
    final_norm="{stack}.norm",
    norm_names=("alpha", "bias"),
    eps=1e-6,
    is_sample=True,
    is_pre_norm=True,
    attention_bias=False,
    embeddings=("src_embed.embedding", "tgt_embed.embedding"),
    positions=("src_pos.pe", "tgt_pos.pe"),
    output="projection_layer.proj",
)
JADORE = Layout(
    layer="{stack}.layer_stack.{i}",
    self_attn=("slf_attn", "slf_attn"),
    cross_attn="enc_attn",
    projections=("w_qs", "w_ks", "w_vs", "fc"),
    ff=("pos_ffn.w_1", "pos_ffn.w_2"),
    norms={
        "encoder": ("slf_attn.layer_norm", "pos_ffn.layer_norm"),
        "decoder": ("slf_attn.layer_norm", "enc_attn.layer_norm", "pos_ffn.layer_norm"),
    },
    embedding_norm="{stack}.layer_norm",
    eps=1e-6,
    attention_bias=False,
    embeddings=("encoder.src_word_emb", "decoder.trg_word_emb"),
    positions=("encoder.position_enc.pos_table", "decoder.position_enc.pos_table"),
    scale_embeddings=False,
    output="trg_word_prj",
    output_bias=False,
)
HYUNWOONGKO = Layout(
    self_attn=("attention", "self_attention"),
    cross_attn="enc_dec_attention",
    projections=("w_q", "w_k", "w_v", "w_concat"),
    ff=("ffn.linear1", "ffn.linear2"),
    norms={"encoder": ("norm1", "norm2"), "decoder": ("norm1", "norm2", "norm3")},
    norm_names=("gamma", "beta"),
    eps=1e-12,
    embeddings=("encoder.emb.tok_emb", "decoder.emb.tok_emb"),
    scale_embeddings=False,
    output="decoder.linear",
)


class PaperModel(nn.Module):
    """The paper's encoder-decoder with the modules of a layout; keeps the pattern of each attention."""

    def __init__(
        self, layout: Layout, *, d_model: int, d_ff: int, n_heads: int, n_layers: int, sizes: tuple[int, int], pad: int
    ) -> None:
        super().__init__()
        self.layout, self.n_heads, self.n_layers, self.pad = layout, n_heads, n_layers, pad
        self.patterns: dict[str, Tensor] = {}
        for stack, side in (("encoder", 0), ("decoder", 1)):
            self._put(layout.embeddings[side], nn.Embedding(sizes[side], d_model))
            for i in range(n_layers):
                layer = layout.layer.format(stack=stack, i=i)
                for attention in (layout.self_attn[side], *((layout.cross_attn,) if side else ())):
                    for name in layout.projections:
                        self._put(f"{layer}.{attention}.{name}", nn.Linear(d_model, d_model, layout.attention_bias))
                for name, width, height in zip(layout.ff, (d_model, d_ff), (d_ff, d_model), strict=True):
                    self._put(f"{layer}.{name}", nn.Linear(width, height))
                for name in layout.norms[stack]:
                    self._put(f"{layer}.{name}", self._norm(d_model))
            for name in filter(None, (layout.final_norm, layout.embedding_norm)):
                self._put(name.format(stack=stack), self._norm(d_model))
        self._put(layout.output, nn.Linear(d_model, sizes[1], layout.output_bias))
        positions = torch.arange(90.0)[:, None] * layout.positions_base ** (-torch.arange(0, d_model, 2) / d_model)
        self.table = torch.stack([positions.sin(), positions.cos()], -1).flatten(1)
        for name in layout.positions:
            parent, _, last = name.rpartition(".")
            self._put(parent, nn.Module())
            self.get_submodule(parent).register_buffer(last, self.table[None].clone())
        shaken(self)
        if layout.is_tied:
            for name in layout.embeddings:
                self.get_submodule(name).weight = self.get_submodule(layout.output).weight

    def _norm(self, width: int) -> Norm:
        return Norm(width, self.layout.norm_names, self.layout.eps, is_sample=self.layout.is_sample)

    def _put(self, path: str, module: nn.Module) -> None:
        """Add a module at a dotted path."""
        place: nn.Module = self
        *parents, last = path.split(".")
        for name in parents:
            if name not in place._modules:
                place.add_module(name, nn.Module())
            place = place.get_submodule(name)
        before = place._modules.get(last)
        for name, child in before.named_children() if before is not None else ():
            module.add_module(name, child)
        place.add_module(last, module)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Return the logits [batch, tgt, vocab]."""
        return self.logits(tgt, self.states("encoder", src), src)

    def logits(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        states = self.states("decoder", tgt, memory, src)
        logits = self.get_submodule(self.layout.output)(states)
        return logits * states.shape[-1] ** -0.5 if self.layout.is_tied else logits

    def states(self, stack: str, tokens: Tensor, memory: Tensor | None = None, src: Tensor | None = None) -> Tensor:
        """Return the output of a stack."""
        layout, side, n = self.layout, int(stack == "decoder"), tokens.shape[1]
        x = self.get_submodule(layout.embeddings[side])(tokens)
        x = x * math.sqrt(x.shape[-1]) if layout.scale_embeddings else x
        x = x + self.table[:n]
        x = self.get_submodule(layout.embedding_norm.format(stack=stack))(x) if layout.embedding_norm else x
        may_attend = (tokens != self.pad)[:, None, None]
        may_attend = may_attend & torch.ones(n, n).tril().bool() if side else may_attend
        for i in range(self.n_layers):
            layer = layout.layer.format(stack=stack, i=i)
            first = f"{layer}.{layout.self_attn[side]}"
            sublayers = [partial(self.attend, first, may_attend, None)]
            if memory is not None and src is not None:
                real = (src != self.pad)[:, None, None]
                sublayers.append(partial(self.attend, f"{layer}.{layout.cross_attn}", real, memory))
            sublayers.append(partial(self.feed_forward, layer))
            for sublayer, name in zip(sublayers, layout.norms[stack], strict=True):
                norm = self.get_submodule(f"{layer}.{name}")
                x = x + sublayer(norm(x)) if layout.is_pre_norm else norm(x + sublayer(x))
        return self.get_submodule(layout.final_norm.format(stack=stack))(x) if layout.final_norm else x

    def feed_forward(self, layer: str, x: Tensor) -> Tensor:
        up, down = (self.get_submodule(f"{layer}.{name}") for name in self.layout.ff)
        return down(up(x).relu())

    def attend(self, at: str, may_attend: Tensor, memory: Tensor | None, x: Tensor) -> Tensor:
        memory = x if memory is None else memory
        q, k, v, out = (self.get_submodule(f"{at}.{name}") for name in self.layout.projections)
        q, k, v = (
            part.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for part in (q(x), k(memory), v(memory))
        )  # [batch, head, pos, d_head]
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        self.patterns[at] = scores.masked_fill(~may_attend, -1e9).softmax(-1)
        return out((self.patterns[at] @ v).transpose(1, 2).flatten(2))

    @torch.inference_mode()
    def written(self, src: Tensor, begin: int, n: int) -> Tensor:
        """Return the greedy output, without a cache."""
        memory, tgt = self.states("encoder", src), torch.full((len(src), 1), begin)
        for _ in range(n):
            tgt = torch.cat([tgt, self.logits(tgt, memory, src)[:, -1:].argmax(-1)], 1)
        return tgt
