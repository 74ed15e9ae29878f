"""One step of generation, the basis of all decoding: from the tokens so far to next-token probabilities."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.arguments import check_whole
from transformer_core.config import ModelConfig
from transformer_core.decoding.cache import KeyValueCache
from transformer_core.errors import ConfigError, NotFiniteError, TextError
from transformer_core.hooks import has_any_hooks
from transformer_core.instrument.finite import refusal
from transformer_core.model.embeddings import check_ids, check_tokens
from transformer_core.model.masks import refuse_padding_inside
from transformer_core.model.transformer import Transformer, check_model


class GenerationState:
    """A batch of texts during generation, with a KV cache.

    An encoder-decoder reads the source once and begins with <bos>; a decoder continues its prompt.
    """

    def __init__(
        self,
        model: Transformer,
        tokens: Int[Tensor, "batch pos"],
        *,
        max_new_tokens: int | None,
        use_cache: bool = True,
        begun: Int[Tensor, "row begun"] | None = None,
    ) -> None:
        """Read the sources, or keep the prompts; arguments as for `greedy_decode`.

        Raises:
            TextError: a source or a prompt that is empty or too long, or has padding before a token; or not one
                beginning per row.
            ConfigError: `max_new_tokens` exceeds the model's positions, or the model has no decoder.
        """
        check_writes(model)
        config = model.config
        vocab_sizes = config.input_vocab_size, config.vocab_size
        for given, vocab_size in zip((tokens,) if begun is None else (tokens, begun), vocab_sizes, strict=False):
            check_tokens(given)
            check_ids(given, vocab_size)
        self.model, self.config = model, config
        self.has_torch_hooks = any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
        self.memory: Tensor | None = None
        self.src: Tensor | None = None
        begun = tokens[:, :0] if begun is None else begun
        if len(begun) != len(tokens):
            raise TextError(
                "there are {n} texts and {n_begun} prefixes; give one prefix for each text",
                n=len(tokens),
                n_begun=len(begun),
            )
        if model.encoder is None:
            tokens = torch.cat([tokens, begun], dim=1)
        lengths = _real_lengths(tokens, config)  # [batch]
        if model.encoder is not None:
            assert config.bos_id is not None, "encoder-decoder models have one"
            self.memory, self.src = model.encode(tokens), tokens
            tokens = torch.cat([tokens.new_full((tokens.shape[0], 1), config.bos_id), begun], dim=1)
            lengths = torch.full_like(lengths, tokens.shape[1])
        self.rows: list[list[int]] = tokens.tolist()  # all tokens so far
        self.device = tokens.device
        self.prompt_lengths = lengths
        longest = int(self.prompt_lengths.max()) if tokens.shape[1] else 0
        self.n_new = room_for(config, longest, max_new_tokens)
        self.cache = KeyValueCache(config.n_decoder_layers) if use_cache else None

    def read(self) -> Float[Tensor, "row new vocab"]:
        """Read the new tokens, or all without a cache, and return the log-probabilities after each; -inf for padding.

        Without hooks the model runs in inference mode, which takes 18 % less time for 200 tokens of a decoder with 4
        layers and d_model 128. With hooks it only disables gradients, since captured values may be used in autograd.
        """
        n_read = 0 if self.cache is None else self.cache.n_positions
        unread = torch.tensor([row[n_read:] for row in self.rows], device=self.device)
        without_gradients = torch.no_grad() if self.has_torch_hooks or has_any_hooks() else torch.inference_mode()
        with without_gradients, threads_for(self.model.config, unread.numel()):
            logits = self.model.decode(unread, self.memory, self.src, self.cache)
            log_probs = logits.log_softmax(dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))
            if self.config.suppressed_token_id is not None:
                log_probs[..., self.config.suppressed_token_id] = -math.inf
        return log_probs

    @property
    def tokens(self) -> Int[Tensor, "row pos"]:
        """All tokens so far."""
        return torch.tensor(self.rows, dtype=torch.int64, device=self.device)

    def refuse_not_finite(self, log_probs: Float[Tensor, " row"]) -> None:
        """Check the log-probability of the next token of each row, or of each group of neighbouring rows.

        Raises:
            NotFiniteError: one is NaN; its `written` has the tokens of all rows.
        """
        for i, log_prob in enumerate(log_probs.tolist()):
            if math.isnan(log_prob):
                row = i * len(self.rows) // len(log_probs)  # beam search begins with one value for several rows
                src = None if self.src is None else self.src[row : row + 1]
                error = refusal_after(self.model, src, torch.tensor([self.rows[row]], device=self.device))
                error.written = self.rows
                raise error

    def write(self, tokens: list[int]) -> None:
        """Append one token to each row."""
        for row, token in zip(self.rows, tokens, strict=True):
            row.append(token)

    def repeat(self, n_beams: int) -> None:
        """Repeat each row `n_beams` times, next to each other; once, before the first token."""
        self.rows = [row.copy() for row in self.rows for _ in range(n_beams)]
        if self.memory is not None and self.src is not None:
            self.memory = self.memory.repeat_interleave(n_beams, dim=0)
            self.src = self.src.repeat_interleave(n_beams, dim=0)
        if self.cache is not None:
            self.cache.repeat(n_beams)

    def reorder(self, rows: list[int]) -> None:
        """Select rows, in this order, possibly repeated; each row must keep its source."""
        if rows == [*range(len(rows))]:
            return
        self.rows = [self.rows[row].copy() for row in rows]
        if self.cache is not None:
            with threads_for(self.model.config, len(rows)):
                self.cache.reorder(torch.tensor(rows, device=self.device))

    @property
    def filler(self) -> int:
        """The token that fills a row after its end."""
        candidates = (self.config.pad_id, self.config.eos_id)
        return next((token for token in candidates if token is not None), 0)  # if there is neither, no row ends early


def _real_lengths(tokens: Int[Tensor, "row pos"], config: ModelConfig) -> Int[Tensor, " row"]:
    """Return the length of each row without the padding on the right; there must be none before a token."""
    n_rows, n_positions = tokens.shape
    if config.pad_id is None or not n_positions:
        return tokens.new_full((n_rows,), n_positions)
    is_real = tokens != config.pad_id
    if config.bos_id == config.pad_id:
        is_real[:, 0] = True  # some models begin with the padding token
    refuse_padding_inside(is_real)
    return is_real.sum(dim=1)


def refusal_after(model: Transformer, src: Tensor | None, tokens: Int[Tensor, "one pos"]) -> NotFiniteError:
    """Return the error for outputs that are not finite after these tokens; it names the first such site."""
    inputs = (tokens,) if src is None else (src, tokens)
    return refusal(model, lambda: model(*inputs), n_scores=max(of.shape[1] for of in inputs) ** 2)


def check_writes(model: Transformer) -> None:
    """Check that a model can generate.

    Raises:
        ArgumentError: `model` is not a Transformer.
        ConfigError: it has no decoder.
    """
    check_model(model)
    if model.decoder is None:
        raise ConfigError("this model is encoder-only and does not generate text; choose one with a decoder")


def room_for(config: ModelConfig, n_given: int, max_new_tokens: int | None) -> int:
    """Return the maximum number of tokens after <bos> or a prompt.

    Raises:
        ConfigError: no position is left, or fewer than `max_new_tokens`.
    """
    room = config.max_seq_len - n_given
    if room < 1 and config.has_encoder:
        raise ConfigError(
            "this model has only one position, which <bos> takes; generating text needs a max_seq_len of at least 2"
        )
    if room < 1:
        raise ConfigError(
            "the prompt has {n_given:,} tokens and the model {n:,} positions, so no token can be generated; shorten "
            "the prompt",
            n_given=n_given,
            n=config.max_seq_len,
        )
    if max_new_tokens is not None:
        check_whole("max_new_tokens", max_new_tokens)
    if max_new_tokens is not None and not 1 <= max_new_tokens <= room:
        raise ConfigError(
            "max_new_tokens ({n}) must be from 1 to {room}, the positions that the model has left",
            n=max_new_tokens,
            room=room,
        )
    return max_new_tokens or room


_LITTLE_WORK = 60e6  # multiplications


@contextmanager
def threads_for(config: ModelConfig, n_tokens: int) -> Iterator[None]:
    """Use one thread if a forward pass of the decoder on `n_tokens`, summed over all rows, is little work.

    On two cores a token of a decoder with 4 layers and d_model 128 takes 1.1 ms instead of 2.1 ms, or 3.8 ms if waiting
    threads sleep at once (`process.py`). From about 20 million parameters on it makes no difference.
    """
    n_threads = torch.get_num_threads()
    of_blocks = config.n_decoder_layers * (4 * config.d_model + 2 * config.d_ff)
    if n_threads == 1 or n_tokens * config.d_model * (of_blocks + config.vocab_size) > _LITTLE_WORK:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)
