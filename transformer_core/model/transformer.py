"""The Transformer: one stack or two, and the output layer."""

import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_core.arguments import check_kind, check_whole
from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError, Message, TextError
from transformer_core.hooks import HookPoint, reading_from, uncompiled
from transformer_core.model.attention import soft_cap
from transformer_core.model.distance_bias import RelativeBuckets
from transformer_core.model.embeddings import SegmentEmbedding, TokenEmbedding, check_tokens
from transformer_core.model.feed_forward import ACTIVATIONS
from transformer_core.model.masks import AttentionMask
from transformer_core.model.norms import build_norm
from transformer_core.model.positions import LearnedPositions
from transformer_core.model.stack import Stack
from transformer_core.model.stores import StackStore

Tokens = Int[Tensor, "batch pos"]

NO_PREDICTIONS = Message(
    "this checkpoint has no language-modeling head, so it makes no predictions; use final_states to get its output"
)


class UnembedTransform(nn.Module):
    """Norm(activation(x W + b)), before the output layer; returns to the width of the embeddings.

    Source: the masked-token head in the code of Devlin et al. 2019.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.linear = nn.Linear(config.d_model, config.embedding_width)
        self.activation = ACTIVATIONS[config.activation]
        self.norm = build_norm(config, config.embedding_width)

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_embed"]:
        """Return the transformed states."""
        return self.norm(self.activation(self.linear(x)))


class Transformer(nn.Module):
    """The encoder-decoder of "Attention Is All You Need", or one of its stacks alone.

    Source: Vaswani et al. 2017, sec. 3 and figure 1; Radford et al. 2018 for the decoder alone, Devlin et al. 2019 for
    the encoder alone.
    Differs: the outputs are logits; the softmax is left to the caller.
    """

    def __init__(self, config: ModelConfig, encoder: Stack | None, decoder: Stack | None) -> None:
        """Add the output layer, and share the tied matrices."""
        super().__init__()
        self.config = config
        self.encoder = encoder
        self.decoder = decoder
        self.unembed_transform = UnembedTransform(config) if config.unembed_transform else None
        if config.unembed:
            self.unembed = nn.Linear(config.embedding_width, config.vocab_size, bias=config.unembed_bias)
            self.hook_logits = HookPoint()
        self.tie()

    def tie(self) -> None:
        """Share the matrices that the configuration ties; call it again after replacing parameters."""
        last = self.decoder if self.decoder is not None else self.encoder
        assert last is not None, "a Transformer has an encoder, a decoder, or both"
        if self.config.tie_embeddings != "none":
            self.unembed.weight = last.embed.weight
        if self.config.tie_embeddings == "three_way" and self.encoder is not None:
            self.encoder.embed.weight = last.embed.weight

    def forward(
        self, tokens: Tokens, tgt: Int[Tensor, "batch tgt"] | None = None, *, segments: Tokens | None = None
    ) -> Float[Tensor, "batch out vocab"]:
        """Return the logits of the next token (decoder), or of the token at each position (encoder-only).

        Args:
            tokens: the text, or the source of an encoder-decoder; padded on the right with `pad_id`.
            tgt: the target of an encoder-decoder, shifted right: <bos> first; padded on the right.
            segments: the segment type of each token, for an encoder-only model with segments.

        Returns:
            [batch, tgt, vocab] with two stacks, else [batch, pos, vocab].

        Raises:
            TextError: a sequence that is missing, not expected, empty, or longer than `max_seq_len`; tokens that are
                not integers [batch, pos] of the vocabulary; padding before a token.
            ConfigError: the model has no output layer (`unembed`); use `final_states`.
        """
        return self.logits_of(self.final_states(tokens, tgt, segments=segments))

    def final_states(
        self, tokens: Tokens, tgt: Int[Tensor, "batch tgt"] | None = None, *, segments: Tokens | None = None
    ) -> Float[Tensor, "batch out d_model"]:
        """Return the input of the output layer; arguments as for `forward`.

        This saves memory for the activations of a long text: the logits of 4,096 tokens over GPT-2's vocabulary take
        785 MiB.

        Returns:
            [batch, tgt, d_model] with two stacks, else [batch, pos, d_model]; after the final norm in pre-norm models.

        Raises:
            TextError: as for `forward`.
        """
        if (tgt is not None) != (self.config.architecture == "encoder_decoder"):
            if tgt is None:
                raise TextError("this model is encoder-decoder and takes a source and a target")
            if self.decoder is None:
                raise TextError("this model is encoder-only and takes one text")
            raise TextError("this model is decoder-only and takes one text")
        if self.decoder is None:
            return self.encode(tokens, segments=segments)
        if tgt is None:
            return self._decoder_states(tokens, segments=segments)
        return self._decoder_states(tgt, self.encode(tokens, segments=segments), tokens)

    def encode(self, tokens: Tokens, *, segments: Tokens | None = None) -> Float[Tensor, "batch pos d_model"]:
        """Return the encoder's final states, the memory of an encoder-decoder.

        Raises:
            TextError: the model has no encoder, or does not accept the tokens.
        """
        if self.encoder is None:
            raise TextError("this model is decoder-only; it has no encoder")
        check_tokens(tokens)
        mask = AttentionMask.within(tokens, self.config.pad_id, is_causal=False, window=self.config.sliding_window)
        return self.encoder(tokens, mask, segments=segments)

    def decode(
        self,
        tgt: Int[Tensor, "batch tgt"],
        memory: Float[Tensor, "batch src d_model"] | None = None,
        src: Int[Tensor, "batch src"] | None = None,
        store: StackStore | None = None,
    ) -> Float[Tensor, "batch tgt vocab"]:
        """Return the logits of the token that follows each target position.

        Args:
            tgt: target tokens; with a store only the new ones, none of them padding.
            memory: `encode(src)`; None in a decoder-only model.
            src: the source tokens, for their padding; None in a decoder-only model.
            store: caches keys and values between calls (`decoding.KeyValueCache`).

        Raises:
            TextError: the model has no decoder, or does not accept the inputs.
        """
        with reading_from(0 if store is None else store.n_positions):
            return self.logits_of(self._decoder_states(tgt, memory, src, store))

    def _decoder_states(
        self,
        tgt: Tensor,
        memory: Tensor | None = None,
        src: Tensor | None = None,
        store: StackStore | None = None,
        *,
        segments: Tensor | None = None,
    ) -> Tensor:
        """Return the decoder's final states [batch, tgt, d_model]."""
        config = self.config
        if self.decoder is None:
            raise TextError("this model is encoder-only; it has no decoder")
        if (memory is None or src is None) != (self.encoder is None):
            if self.encoder is None:
                raise TextError("this model is decoder-only: its decoder takes no memory and no source")
            raise TextError("this model is encoder-decoder: its decoder needs the memory and the source")
        check_tokens(tgt)
        if memory is not None and memory.shape[0] != tgt.shape[0]:
            raise TextError(
                "there are {n_sources} sources and {n_targets} targets; give one target for each source",
                n_sources=memory.shape[0],
                n_targets=tgt.shape[0],
            )
        mask = AttentionMask.within(
            tgt,
            config.pad_id,
            is_causal=True,
            n_past=0 if store is None else store.n_positions,
            window=config.sliding_window,
            first_is_real=config.bos_id == config.pad_id,
        )
        memory_mask = None if src is None else AttentionMask.of_keys(src, config.pad_id, n_queries=tgt.shape[1])
        return self.decoder(tgt, mask, memory, memory_mask, store, segments)

    def logits_of(self, final: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos vocab"]:
        """Return the logits of final states, or of those of some positions.

        Raises:
            ConfigError: the model has no output layer.
        """
        if not self.config.unembed:
            raise ConfigError(NO_PREDICTIONS)
        if self.config.scale_logits:
            final = final * self.config.d_model**-0.5
        if self.unembed_transform is not None:
            final = self.unembed_transform(final)
        logits = self.unembed(final)
        if self.config.logit_cap is not None:
            logits = soft_cap(logits, self.config.logit_cap)
        return self.hook_logits(logits)


def assemble(config: ModelConfig, *, device: str | torch.device = "meta") -> Transformer:
    """Return the modules of a model without weights; on "meta" they take no memory."""
    with torch.device(device):
        encoder = Stack(config, n_layers=config.n_encoder_layers) if config.has_encoder else None
        decoder = (
            Stack(config, n_layers=config.n_decoder_layers, is_causal=True, has_cross_attention=config.has_encoder)
            if config.has_decoder
            else None
        )
        return Transformer(config, encoder, decoder)


def check_model(model: Any) -> None:
    """Check that an argument is a Transformer, whether compiled or not.

    Raises:
        ArgumentError: the argument is not a Transformer.
    """
    kind = Message("a model, such as the first value that tc.load returns")
    check_kind("model", uncompiled(model), Transformer, kind)


def build(config: ModelConfig, *, seed: int = 0) -> Transformer:
    """Return a new model with random weights, which depend only on the configuration and the seed.

    Projections are uniform after Glorot and Bengio (2010), biases 0, embeddings and learned positions normal with
    standard deviation d_model^-0.5, so that scaled embeddings have unit variance and tied logits start small.

    Raises:
        ArgumentError: `config` is not a ModelConfig, or `seed` not a whole number.
    """
    check_kind("config", config, ModelConfig, Message("a ModelConfig, such as tc.presets.tiny(vocab_size=1000)"))
    check_whole("seed", seed)
    with torch.random.fork_rng(devices=[]):  # torch's initial weights, replaced below, leave the global state alone
        model = assemble(config, device="cpu")
    generator = torch.Generator().manual_seed(seed)
    normal: dict[str, Any] = {"std": 1 / math.sqrt(config.d_model), "generator": generator}
    for module in model.modules():
        if isinstance(module, TokenEmbedding | SegmentEmbedding | RelativeBuckets):
            nn.init.normal_(module.weight, **normal)
        elif isinstance(module, LearnedPositions):
            nn.init.normal_(module.table, **normal)
        elif isinstance(module, nn.Linear):
            if not (config.unembed and module is model.unembed):
                nn.init.xavier_uniform_(module.weight, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    if config.unembed and config.tie_embeddings == "none":
        nn.init.normal_(model.unembed.weight, **normal)
    return model
