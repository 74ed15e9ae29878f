"""A stack of blocks over embedded tokens: the left or the right side of the paper's figure 1."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.compiler import is_compiling

from transformer_core.cancellation import raise_if_cancelled
from transformer_core.config import ModelConfig
from transformer_core.errors import TextError
from transformer_core.hooks import HookPoint, has_hooks
from transformer_core.model.block import Block
from transformer_core.model.distance_bias import PositionBias, build_position_bias
from transformer_core.model.embeddings import SegmentEmbedding, TokenEmbedding
from transformer_core.model.masks import AttentionMask
from transformer_core.model.norms import build_norm
from transformer_core.model.positions import build_positions
from transformer_core.model.rotary import RotaryPositions
from transformer_core.model.sdpa import Mask, MemoryMask
from transformer_core.model.stores import StackStore


class Stack(nn.Module):
    """Embedding + positions, then N blocks, and a final normalization if configured.

    Source: Vaswani et al. 2017, sec. 3.1, 3.4 and 3.5.
    """

    def __init__(
        self, config: ModelConfig, *, n_layers: int, is_causal: bool = False, has_cross_attention: bool = False
    ) -> None:
        """Build the modules; `config` describes the whole model."""
        super().__init__()
        self.max_seq_len, self.n_segments = config.max_seq_len, config.n_segments
        self.embed = TokenEmbedding(config, vocab_size=config.vocab_size if is_causal else config.input_vocab_size)
        self.hook_embed = HookPoint()
        self.pos_embed = build_positions(config)
        if self.pos_embed is not None:
            self.hook_pos_embed = HookPoint()
        if config.n_segments:
            self.segment_embed = SegmentEmbedding(config)
            self.hook_segment_embed = HookPoint()
        self.embedding_norm = build_norm(config, config.embedding_width) if config.embedding_norm else None
        self.embedding_projection = nn.Linear(config.d_embed, config.d_model) if config.d_embed else None
        self.configs = [config.at_layer(i) for i in range(n_layers)]
        rotary = {one: RotaryPositions(one) for one in {*self.configs} if one.has_rotary_positions}
        self.rotary = [rotary.get(one) for one in self.configs]  # equal layers share one
        self.position_bias = build_position_bias(config, is_causal=is_causal)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            Block(config, has_cross_attention=has_cross_attention, is_first=i == 0) for i in range(n_layers)
        )
        self.ln_final = build_norm(config, config.d_model) if config.has_final_norm else None

    def forward(
        self,
        tokens: Int[Tensor, "batch pos"],
        mask: Mask | None,
        memory: Float[Tensor, "batch src d_model"] | None = None,
        memory_mask: MemoryMask | None = None,
        store: StackStore | None = None,
        segments: Int[Tensor, "batch pos"] | None = None,
    ) -> Float[Tensor, "batch pos d_model"]:
        """Return the final states.

        Args:
            tokens: with a store, only those after the stored ones.
            mask: for self-attention, True = may attend.
            memory: the encoder's output, for a stack with cross-attention.
            memory_mask: for cross-attention.
            store: caches keys and values while decoding.
            segments: the segment type of each token, for a model with segments; None: all 0.

        Raises:
            TextError: no tokens, more tokens than positions, or invalid segments.
        """
        n_positions = tokens.shape[1]
        first = 0 if store is None else store.n_positions
        if n_positions == 0:
            raise TextError("the input has no tokens; give at least one")
        if first + n_positions > self.max_seq_len:
            raise TextError(
                "the text has {n:,} tokens, and this model takes at most {most:,}; shorten the text",
                n=first + n_positions,
                most=self.max_seq_len,
            )
        x = self._embed(tokens, first, segments)
        rotations = {rotary: rotary and rotary(first, n_positions, tokens.device) for rotary in {*self.rotary}}
        bias = self.bias_at(first, n_positions, tokens.device)
        for i, (block, config) in enumerate(zip(self.blocks, self.configs, strict=True)):
            if not is_compiling():
                raise_if_cancelled()
            block_store = None if store is None else store.blocks[i]
            block_mask = mask.in_window(config.sliding_window) if isinstance(mask, AttentionMask) else mask
            rotation = rotations[self.rotary[i]]
            x = block(x, block_mask, memory, memory_mask, block_store, rotation=rotation, bias=bias)
        return x if self.ln_final is None else self.ln_final(x)

    def rotary_in(self, layer: int) -> RotaryPositions | None:
        """Return the rotary positions of a layer; None if it has none."""
        return self.rotary[layer]

    def bias_at(self, first: int, n_positions: int, device: torch.device) -> PositionBias | None:
        """Return the position bias of a range of queries; None if the model has none."""
        if self.position_bias is None:
            return None
        n_keys = first + n_positions
        return PositionBias(
            of_distance=self.position_bias, n_queries=n_positions, n_keys=n_keys, n_past=first, device=device
        )

    def _embed(self, tokens: Tensor, first: int, segments: Tensor | None) -> Tensor:
        """Return the sum of the embeddings of tokens, positions and segments, projected if configured."""
        batch, n_positions = tokens.shape
        x = self.hook_embed(self.embed(tokens))
        if self.pos_embed is not None:
            positions = self.pos_embed(first, n_positions)  # [pos, d_embed]
            if has_hooks(self.hook_pos_embed):
                positions = self.hook_pos_embed(positions.repeat(batch, 1, 1))  # a copy, so that a hook may edit it
            x = x + positions
        if self.n_segments:
            if segments is None:
                segments = torch.zeros_like(tokens)
            elif getattr(segments, "shape", None) != tokens.shape or segments.is_floating_point():
                raise TextError(
                    "segments must be whole numbers of the shape of the tokens, {shape}", shape=[*tokens.shape]
                )
            elif not (int(segments.min()) >= 0 and int(segments.max()) < self.n_segments):
                raise TextError("segment ids must be from 0 to {last} in this model", last=self.n_segments - 1)
            x = x + self.hook_segment_embed(self.segment_embed(segments))
        elif segments is not None:
            raise TextError("this model has no segment embedding; leave out segments")
        x = self.dropout(x if self.embedding_norm is None else self.embedding_norm(x))
        return x if self.embedding_projection is None else self.embedding_projection(x)
