"""Attention-only models whose weights are set by hand, so that each head's role and its effect are known exactly.

The residual stream is a row of separate subspaces, each a one-hot code: the token, the position, and what heads write.
There is no norm, no bias and no feed-forward network, and the scores are not scaled, so that a head is its two matrices
W_QK and W_OV (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits") and nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.config import ModelConfig
from transformer_core.errors import Message
from transformer_core.model.transformer import Transformer, assemble

BOS = 0
"""The token that every text of these models begins with."""

Maps = dict[str, tuple[str, Float[Tensor, "_ _"]]]
"""By q, k, v or out of a head: the subspace that it reads, or writes, and x W with x a row vector."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HandWired:
    """A model, and what each of its heads does."""

    model: Transformer
    roles: Mapping[tuple[int, int], Message]  # by (layer, head), in words


def induction_model(
    *, n_random: int = 10, vocab_size: int = 12, beta: float = 12.0, gain: float = 10.0, idle_gain: float = 1.0
) -> HandWired:
    """Return a two-layer induction circuit, with a head that copies everything and a decoy beside it.

    For texts <bos> s s, where s is `n_random` random tokens: from the second copy's first token on, the model predicts
    the next token. Known facts about the heads:

    - L0.H0 attends to the previous token, e^beta / (e^beta + q) of its attention from position q, and writes it into a
      separate subspace, which only the keys of L1.H0 read.
    - L0.H1 attends evenly and adds `idle_gain` times the mean of all tokens to the logits.
    - L1.H0 attends to the token after an earlier occurrence of the current one, and adds `gain` times it to the logits.
    - L1.H1 attends to the previous token exactly as sharply as L0.H0, and writes nothing.

    Args:
        n_random: tokens of s.
        vocab_size: tokens, <bos> (0) included.
        beta: score of what a head looks for, in nats above everything else.
        gain: of the induction head's copy, in nats.
        idle_gain: of the head without preference, in nats.

    Source: Elhage et al. 2021, "Induction Heads"; Olsson et al. 2022.
    """
    n_positions = 2 * n_random + 1
    spaces = _spaces(token=vocab_size, position=n_positions, previous=vocab_size, logits=vocab_size)
    model = _attention_only(spaces, n_layers=2, d_head=max(n_positions, vocab_size))
    same_token, one_back = torch.eye(vocab_size), torch.diag(torch.ones(n_positions - 1), -1)
    look_one_back: Maps = {"q": ("position", beta * one_back), "k": ("position", torch.eye(n_positions))}
    look_after_same: Maps = {"q": ("token", beta * same_token), "k": ("previous", same_token)}

    def copy_to(space: str, times: float) -> Maps:
        return {"v": ("token", same_token), "out": (space, times * same_token)}

    _wire(model, spaces, 0, 0, {**look_one_back, **copy_to("previous", 1.0)})
    _wire(model, spaces, 0, 1, copy_to("logits", idle_gain))
    _wire(model, spaces, 1, 0, {**look_after_same, **copy_to("logits", gain)})
    _wire(model, spaces, 1, 1, look_one_back)
    return HandWired(
        model=model,
        roles={
            (0, 0): Message("attends to the previous token, and writes it where the induction head looks for it"),
            (0, 1): Message("attends to all tokens equally, and copies their mean to the output"),
            (1, 0): Message("attends to the token after an earlier occurrence of the current one, and copies it"),
            (1, 1): Message("attends to the previous token, and writes nothing"),
        },
    )


def or_model(*, vocab_size: int = 12, n_positions: int = 8, gain: float = 4.0, beta: float = 40.0) -> HandWired:
    """Return a logical OR: two equal heads, each of which is enough to predict the correct token.

    For texts <bos> t ..., the correct token is t at every position from 1 on. Both heads attend to position 1 and add
    `gain` to the logit of its token; all other logits are 0. With k heads on, the loss is
    ln(e^(k gain) + vocab_size - 1) - k gain: at the defaults 0.0037, 0.1835 and 2.4849 nats for 2, 1 and 0.

    Args:
        vocab_size: tokens, <bos> (0) included.
        n_positions: tokens of the longest text.
        gain: that each head adds to the logit of the correct token, in nats.
        beta: score of position 1, in nats above everything else; at 40 all else is lost in float32's rounding.
    """
    spaces = _spaces(token=vocab_size, position=n_positions, logits=vocab_size)
    model = _attention_only(spaces, n_layers=1, d_head=vocab_size)
    maps: Maps = {
        "q": ("position", torch.ones(n_positions, 1)),
        "k": ("position", _marked(n_positions, {1: beta})),
        "v": ("token", torch.eye(vocab_size)),
        "out": ("logits", gain * _every_token_but_bos(vocab_size)),
    }
    for head in (0, 1):
        _wire(model, spaces, 0, head, maps)
    role = Message("attends to position 1 and copies its token, as the other head does")
    return HandWired(model=model, roles={(0, 0): role, (0, 1): role})


def copying_pair(*, vocab_size: int = 12, n_positions: int = 8, gain: float = 4.0, beta: float = 40.0) -> HandWired:
    """Return a head that copies, and a backup head that copies only where the first one wrote nothing.

    For texts <bos> t t ..., the correct token is t at every position from 2 on. Two facts about redundancy:

    - Between keys: L0.H0 attends to positions 1 and 2 with one half each, and both hold t. If either is knocked out
      before the softmax, the other takes its share and nothing changes; after the softmax, half of the output is lost;
      with both knocked out before it, the head attends to <bos>, whose value is 0.
    - Between heads: L1.H0 would attend to the same two positions, but attends to <bos> where L0.H0 has written more
      than a quarter of `gain`. Either head can be set to 0 at no cost; with both, all logits are 0. The effect of the
      backup is 0 with the first head on, and the whole of ln(vocab_size) - (ln(e^gain + vocab_size - 1) - gain) with
      it off: 2.3014 nats at the defaults.

    The heads L0.H1 and L1.H1 have no weights.

    Args:
        vocab_size: tokens, <bos> (0) included.
        n_positions: tokens of the longest text.
        gain: that a head adds to the logit of the correct token, in nats.
        beta: margin of <bos> over irrelevant tokens, and of relevant tokens over <bos>, in the scores, in nats; at 40
            all else is lost in float32's rounding.

    Source: Wang et al. 2022, "Interpretability in the Wild", for backup heads.
    """
    spaces = _spaces(token=vocab_size, position=n_positions, logits=vocab_size)
    model = _attention_only(spaces, n_layers=2, d_head=vocab_size)
    copy: Maps = {
        "q": ("position", torch.ones(n_positions, 1)),
        "k": ("position", _marked(n_positions, {0: beta, 1: 2 * beta, 2: 2 * beta})),
        "v": ("token", torch.eye(vocab_size)),
        "out": ("logits", gain * _every_token_but_bos(vocab_size)),
    }
    stay_silent: Maps = {  # <bos> gains 4 beta times the share of the gain that is written
        "q": ("logits", torch.full((vocab_size, 1), 4 * beta / gain)),
        "k": ("position", _marked(n_positions, {0: 1.0})),
    }
    _wire(model, spaces, 0, 0, copy)
    _wire(model, spaces, 1, 0, copy)
    _wire(model, spaces, 1, 0, stay_silent, first=1)
    nothing = Message("has no weights: attends to all tokens equally, and writes nothing")
    return HandWired(
        model=model,
        roles={
            (0, 0): Message("attends to positions 1 and 2, and copies their tokens"),
            (0, 1): nothing,
            (1, 0): Message("is a backup: copies the tokens at positions 1 and 2 where no head did so before"),
            (1, 1): nothing,
        },
    )


def _spaces(**widths: int) -> dict[str, slice]:
    """Return the columns of the residual stream that each subspace takes, one after the other."""
    ends = list(accumulate(widths.values()))
    return {name: slice(end - width, end) for (name, width), end in zip(widths.items(), ends, strict=True)}


def _attention_only(spaces: Mapping[str, slice], *, n_layers: int, d_head: int) -> Transformer:
    """Return a decoder of two heads per layer that embeds tokens and positions as one-hot codes; its heads are 0."""
    widths = {name: columns.stop - columns.start for name, columns in spaces.items()}
    config = ModelConfig(
        architecture="decoder_only",
        vocab_size=widths["token"],
        d_model=sum(widths.values()),
        d_ff=0,
        n_heads=2,
        d_head=d_head,
        n_encoder_layers=0,
        n_decoder_layers=n_layers,
        max_seq_len=widths["position"],
        positions="learned",
        norm="none",
        norm_position="pre",
        attention_bias="none",
        scale_scores=False,
        scale_embeddings=False,
        tie_embeddings="none",
        dropout=0.0,
        pad_id=None,
        bos_id=BOS,
        eos_id=BOS,
    )
    model = assemble(config, device="cpu").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.get_parameter("decoder.embed.weight")[:, spaces["token"]] = torch.eye(widths["token"])
        model.get_parameter("decoder.pos_embed.table")[:, spaces["position"]] = torch.eye(widths["position"])
        model.get_parameter("unembed.weight")[:, spaces["logits"]] = torch.eye(widths["logits"])
    return model


@torch.no_grad()
def _wire(
    model: Transformer, spaces: Mapping[str, slice], layer: int, head: int, maps: Maps, *, first: int = 0
) -> None:
    """Set some matrices of a head; all other entries are left unchanged.

    Args:
        model: of `_attention_only`.
        spaces: of the residual stream.
        layer: from 0.
        head: from 0.
        maps: for q, k and v [width of the subspace, columns of the head]; for out [columns of the head, width].
        first: first column of the head that they fill, from 0.
    """
    for name, (space, matrix) in maps.items():
        weight = model.get_parameter(f"decoder.blocks.{layer}.self_attn.{name}.weight")  # [out, in], as torch stores it
        column = head * model.config.d_head + first
        of_head = slice(column, column + matrix.shape[0 if name == "out" else 1])
        weight[(spaces[space], of_head) if name == "out" else (of_head, spaces[space])] = matrix.T


def _marked(n_positions: int, scores: Mapping[int, float]) -> Float[Tensor, "pos 1"]:
    """Return a column that is 0 except at the given positions, as far as the model has them."""
    return torch.tensor([[scores.get(position, 0.0)] for position in range(n_positions)])


def _every_token_but_bos(vocab_size: int) -> Float[Tensor, "vocab vocab"]:
    """Return the map that copies every token but maps <bos> to 0."""
    copied = torch.eye(vocab_size)
    copied[BOS] = 0
    return copied
