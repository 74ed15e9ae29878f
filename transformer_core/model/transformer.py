"""The Transformer: an encoder's stack, a decoder's stack, and the last linear layer."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_core.config import ModelConfig
from transformer_core.hooks import HookPoint
from transformer_core.model.embeddings import TokenEmbedding
from transformer_core.model.masks import look_ahead_mask, padding_mask
from transformer_core.model.positions import LearnedPositions
from transformer_core.model.stack import Stack, StackStore


class Transformer(nn.Module):
    """The encoder-decoder of "Attention Is All You Need".

    Source: Vaswani et al. 2017, sec. 3 and figure 1.
    Differs: the last layer gives logits; the softmax belongs to whoever needs probabilities.
    """

    def __init__(self, config: ModelConfig, encoder: Stack, decoder: Stack) -> None:
        """Join the stacks by the last linear layer, and share the matrices that the configuration ties."""
        super().__init__()
        self.config = config
        self.encoder = encoder
        self.decoder = decoder
        self.unembed = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.hook_logits = HookPoint()
        if config.tie_embeddings != "none":
            self.unembed.weight = decoder.embed.weight
        if config.tie_embeddings == "three_way":
            encoder.embed.weight = decoder.embed.weight

    def forward(self, src: Int[Tensor, "batch src"], tgt: Int[Tensor, "batch tgt"]) -> Float[Tensor, "batch tgt vocab"]:
        """Return the logits of the token that follows each target position.

        Args:
            src: source tokens, padded on the right with `pad_id`.
            tgt: target tokens shifted right: <bos> first, padded on the right.

        Raises:
            TextError: a sequence that is empty or longer than `max_seq_len`.
        """
        return self.decode(tgt, self.encode(src), src)

    def encode(self, src: Int[Tensor, "batch src"]) -> Float[Tensor, "batch src d_model"]:
        """Return the memory: the encoder's final states."""
        return self.encoder(src, padding_mask(src, self.config.pad_id))

    def decode(
        self,
        tgt: Int[Tensor, "batch tgt"],
        memory: Float[Tensor, "batch src d_model"],
        src: Int[Tensor, "batch src"],
        store: StackStore | None = None,
    ) -> Float[Tensor, "batch tgt vocab"]:
        """Return the logits of the token that follows each target position.

        Args:
            tgt: target tokens; with a store only the new ones, none of them padding.
            memory: what `encode(src)` returned.
            src: the source tokens, for their padding.
            store: keeps keys and values between calls (`decoding.KeyValueCache`).
        """
        n_earlier = 0 if store is None else store.n_positions
        mask = look_ahead_mask(tgt.shape[1], n_earlier, device=tgt.device)[None, None]  # [1, 1, query, key]
        if store is None:
            mask = mask & padding_mask(tgt, self.config.pad_id)  # [batch, 1, query, key]
        final = self.decoder(tgt, mask, memory, padding_mask(src, self.config.pad_id), store)
        return self.hook_logits(self.unembed(final))


def build(config: ModelConfig, *, seed: int = 0) -> Transformer:
    """Return a new model with random weights, the same for the same configuration and seed.

    Projections start uniform after Glorot and Bengio (2010), biases at 0, embeddings and learned positions normal with
    standard deviation d_model^-0.5, so that scaled embeddings have unit variance and tied logits start small.
    """
    with torch.random.fork_rng(devices=[]):  # torch's own initial weights, replaced below, cost no common random number
        encoder = Stack(config, n_layers=config.n_encoder_layers)
        decoder = Stack(config, n_layers=config.n_decoder_layers, has_cross_attention=True)
        model = Transformer(config, encoder, decoder)
    generator = torch.Generator().manual_seed(seed)
    for module in model.modules():
        if isinstance(module, TokenEmbedding):
            nn.init.normal_(module.weight, std=1 / math.sqrt(config.d_model), generator=generator)
        elif isinstance(module, LearnedPositions):
            nn.init.normal_(module.table, std=1 / math.sqrt(config.d_model), generator=generator)
        elif isinstance(module, nn.Linear) and module is not model.unembed:
            nn.init.xavier_uniform_(module.weight, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    if config.tie_embeddings == "none":
        nn.init.normal_(model.unembed.weight, std=1 / math.sqrt(config.d_model), generator=generator)
    return model
