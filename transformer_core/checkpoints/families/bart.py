"""BART, mBART, PEGASUS, M2M100 and NLLB: MarianMT's blocks, with other positions and normalizations.

mBART, M2M100 and NLLB translate between many languages. Each target begins with the token of its language, either in
place of <bos> or right after it.
"""

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_core.checkpoints.entries import Entry, module, rows_from
from transformer_core.checkpoints.families import marian
from transformer_core.checkpoints.families.roberta import n_unused_positions
from transformer_core.checkpoints.family import Family
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.config_rules import MOST_IN_TABLE
from transformer_core.errors import Message

N_UNUSED = 2  # rows of BART's position tables
_LANGUAGES = Message(
    "Its outputs begin with the token of a language, which the model chooses itself; to choose it, give the target, "
    "beginning with that token as the tokenizer writes it: fr_XX, __fr__ or fra_Latn, for example."
)
COMPUTED = "model.{stack}.embed_positions.weights"  # M2M100's key for a table that no file has to contain


def read_bart(options: Options) -> ModelConfig:
    """Return our configuration of a BART (Lewis et al. 2020, sec. 2.1)."""
    return marian.read_kin(options, positions="learned", embedding_norm=True, **_special_tokens(options, start=2))


def read_mbart(options: Options) -> ModelConfig:
    """Return our configuration of an mBART (Liu et al. 2020, sec. 2.2)."""
    tokens = _special_tokens(options, start=None)
    return marian.read_kin(options, positions="learned", norm_position="pre", embedding_norm=True, **tokens)


def read_pegasus(options: Options) -> ModelConfig:
    """Return our configuration of a PEGASUS (Zhang et al. 2020, sec. 3 and 6)."""
    pad = options.token("pad_token_id", 0)
    start = options.token("decoder_start_token_id", 0)
    return marian.read_kin(
        options,
        positions="sinusoidal_halves",
        norm_position="pre",
        pad_id=pad,
        bos_id=pad if start is None else start,
        eos_id=options.token("eos_token_id", 1),
    )


def read_m2m100(options: Options) -> ModelConfig:
    """Return our configuration of an M2M100 (Fan et al. 2021, sec. 2.2) or a dense NLLB (Costa-jussà et al. 2022).

    Its sinusoidal positions have other wavelengths than the paper's, so they become a table of learned positions.
    """
    n_positions, width = options.whole("max_position_embeddings", 1024), options.whole("d_model")
    if n_positions * width > MOST_IN_TABLE:
        raise options.error(
            "max_position_embeddings",
            Message("a table of {n:,} positions × {width:,} dimensions is too large", n=n_positions, width=width),
        )
    return marian.read_kin(
        options,
        positions="learned",
        norm_position="pre",
        activation="relu",
        scale_embeddings=True,
        dropout_pattern=0.1,
        unembed_bias=False,
        **_special_tokens(options, start=2),
    )


def _special_tokens(options: Options, *, start: int | None) -> dict[str, Any]:
    """Return the special tokens, given the default of the decoder's first one; None: that of all texts."""
    first = options.token("decoder_start_token_id", start)
    return {
        "pad_id": options.token("pad_token_id", 1),
        "bos_id": options.token("bos_token_id", 0) if first is None else first,
        "eos_id": options.token("eos_token_id", 2),
    }


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a BART, an mBART or a PEGASUS."""
    entries = [*marian.keys(config)]
    for stack in ("encoder", "decoder"):
        if config.positions == "learned":
            key = f"model.{stack}.embed_positions.weight"
            entries += [Entry(key, (f"{stack}.pos_embed.table",), rows_from(N_UNUSED))]
        if config.embedding_norm:
            entries += module(f"model.{stack}.layernorm_embedding", f"{stack}.embedding_norm")
        if config.norm_position == "pre":
            entries += module(f"model.{stack}.layer_norm", f"{stack}.ln_final")
    return tuple(entries)


def m2m100_keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of an M2M100."""
    entries, n_unused = [*marian.keys(config)], n_unused_positions(config.pad_id)
    rows = slice(n_unused, n_unused + config.max_seq_len)
    for stack in ("encoder", "decoder"):
        entries += [Entry(COMPUTED.format(stack=stack), (f"{stack}.pos_embed.table",), lambda table: (table[rows],))]
        entries += module(f"model.{stack}.layer_norm", f"{stack}.ln_final")
    return tuple(entries)


def m2m100_positions(config: ModelConfig) -> dict[str, Tensor]:
    """Return the position tables of an M2M100: all sines, then all cosines, of wavelengths from 2 pi to 2 pi * 10000.

    Source: the code of tensor2tensor and fairseq, whose exponents are i / (d_model / 2 - 1) instead of 2i / d_model.
    """
    half = config.d_model // 2
    frequency = torch.exp(torch.arange(half, dtype=torch.float64) * -(math.log(10000) / max(half - 1, 1)))
    n_rows = config.max_seq_len + n_unused_positions(config.pad_id)
    angle = torch.arange(n_rows, dtype=torch.float64)[:, None] * frequency
    table = torch.cat([angle.sin(), angle.cos(), torch.zeros(len(angle), config.d_model % 2)], dim=1).float()
    return {COMPUTED.format(stack=stack): table.clone() for stack in ("encoder", "decoder")}


_family = partial(Family, keys=keys, head=marian.HEAD, prefix="model.")
FAMILIES = (
    _family(model_type="bart", read=read_bart),
    _family(model_type="mbart", read=read_mbart, note=_LANGUAGES),
    _family(model_type="pegasus", read=read_pegasus, ignored=marian.STORED_POSITIONS),
    _family(model_type="m2m_100", read=read_m2m100, keys=m2m100_keys, computed=m2m100_positions, note=_LANGUAGES),
)
