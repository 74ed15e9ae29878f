"""The .bin files of llm.c and llama2.c: a header of sizes, then the numbers of all tensors."""

import struct
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from transformer_core.checkpoints.file_kinds import LLAMA2C
from transformer_core.checkpoints.pickles import StateDict
from transformer_core.checkpoints.tensor_files import refuse_unreadable
from transformer_core.config import MOST_LAYERS
from transformer_core.errors import CheckpointError

_HEADER = 256  # llm.c: whole numbers of 32 bits
_PRECISIONS = {3: torch.float32, 5: torch.bfloat16}  # of llm.c, by version; older ones have other headers
_LLAMA2C_HEADER = 256  # bytes, from version 1 on
_ROTATIONS = "freqs"  # tables of sines and cosines in version 0, which follow from the sizes


def read_llmc(path: Path) -> StateDict:
    """Return the tensors of a checkpoint of llm.c under the names of nanoGPT, with the options in its header.

    The rows that pad its vocabulary are left out.

    Raises:
        CheckpointError: an unsupported version, or a size that does not match the header.

    Source: write_model in train_gpt2.py of github.com/karpathy/llm.c.
    """
    refuse_unreadable(path)
    with path.open("rb") as file:
        header = struct.unpack(f"<{_HEADER}i", file.read(4 * _HEADER).ljust(4 * _HEADER, b"\0"))
    version, n_positions, vocab_size, n_layers, n_heads, width, n_rows = header[1:8]
    if version not in _PRECISIONS:
        raise CheckpointError(
            "{path} is a checkpoint of llm.c of version {version}, which is not supported (3 and 5 are); export it "
            "again with a newer llm.c",
            path=path,
            version=version,
        )
    dtype = _PRECISIONS[version]
    shapes = list(_llmc_shapes(n_rows, n_positions, n_layers, width)) if 0 < n_layers <= MOST_LAYERS else []
    if min(n_positions, vocab_size, n_heads, width, n_rows - vocab_size + 1) < 1:
        shapes = []
    tensors = _mapped(path, 4 * _HEADER, dtype, shapes)
    tensors["transformer.wte.weight"] = tensors["transformer.wte.weight"][:vocab_size]
    options = {"n_layer": n_layers, "n_head": n_heads, "n_embd": width, "block_size": n_positions}
    arguments = {**options, "vocab_size": vocab_size, "bias": True, "activation": "gelu_tanh"}
    return StateDict(tensors, {"model_args": arguments})


def _llmc_shapes(n_rows: int, n_positions: int, n_layers: int, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Return the names and shapes of all tensors in the order of the file: each kind for all layers."""
    yield "transformer.wte.weight", (n_rows, width)
    yield "transformer.wpe.weight", (n_positions, width)
    inner = {
        "ln_1": (width,),
        "attn.c_attn": (3 * width, width),
        "attn.c_proj": (width, width),
        "ln_2": (width,),
        "mlp.c_fc": (4 * width, width),
        "mlp.c_proj": (width, 4 * width),
    }
    for name, shape in inner.items():
        for part, of_part in (("weight", shape), ("bias", shape[:1])):
            for i in range(n_layers):
                yield f"transformer.h.{i}.{name}.{part}", of_part
    yield "transformer.ln_f.weight", (width,)
    yield "transformer.ln_f.bias", (width,)


def read_llama2c(path: Path) -> StateDict:
    """Return the tensors of a .bin file of llama2.c by its names, with the options in its header.

    Raises:
        CheckpointError: quantized weights, or a size that does not match the header.

    Source: legacy_export and version1_export in export.py of github.com/karpathy/llama2.c.
    """
    refuse_unreadable(path)
    with path.open("rb") as file:
        head = file.read(_LLAMA2C_HEADER).ljust(_LLAMA2C_HEADER, b"\0")
    first, version = struct.unpack("<Ii", head[:8])
    is_legacy = first != LLAMA2C
    if not is_legacy and version != 1:
        raise CheckpointError(
            "{path} is a .bin file of llama2.c of version {version}, whose weights are quantized; export it again with "
            "--version 1, or use its ckpt.pt",
            path=path,
            version=version,
        )
    sizes = struct.unpack("<7i", head[:28] if is_legacy else head[8:36])
    is_tied = sizes[5] > 0 if is_legacy else bool(head[36])
    names = ("dim", "hidden_dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size", "max_seq_len")
    arguments = {name: abs(size) for name, size in zip(names, sizes, strict=True)}
    is_possible = min(arguments.values()) > 0 and arguments["n_layers"] <= MOST_LAYERS
    shapes = list(_llama2c_shapes(arguments, is_legacy=is_legacy, is_tied=is_tied)) if is_possible else []
    n_header = 28 if is_legacy else _LLAMA2C_HEADER
    tensors = _mapped(path, n_header, torch.float32, shapes)
    return StateDict({key: tensors[key] for key in tensors if key != f"{_ROTATIONS}.weight"}, {"model_args": arguments})


def _llama2c_shapes(sizes: dict[str, int], *, is_legacy: bool, is_tied: bool) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Return the names and shapes of all tensors in the order of the file: each kind for all layers."""
    width, d_ff, d_head = sizes["dim"], sizes["hidden_dim"], sizes["dim"] // sizes["n_heads"]
    of_tokens, n_keys = (sizes["vocab_size"], width), sizes["n_kv_heads"] * d_head
    once = {"tok_embeddings": of_tokens, "norm": (width,), "output": of_tokens}
    once[_ROTATIONS] = (2, sizes["max_seq_len"], d_head // 2)
    attention = {"wq": (width, width), "wk": (n_keys, width), "wv": (n_keys, width), "wo": (width, width)}
    feed_forward = {"w1": (d_ff, width), "w2": (width, d_ff), "w3": (d_ff, width)}
    inner: dict[str, tuple[int, ...]] = {"attention_norm": (width,), "ffn_norm": (width,)}
    inner |= {f"attention.{name}": shape for name, shape in attention.items()}
    inner |= {f"feed_forward.{name}": shape for name, shape in feed_forward.items()}
    order = ["attention_norm", "ffn_norm", "norm", "tok_embeddings", *[*inner][2:]]
    if is_legacy:
        order = ["tok_embeddings", "attention_norm", *[*inner][2:6], "ffn_norm", *[*inner][6:], "norm", _ROTATIONS]
    for name in order if is_tied else [*order, "output"]:
        if name in once:
            yield f"{name}.weight", once[name]
        else:
            yield from ((f"layers.{i}.{name}.weight", inner[name]) for i in range(sizes["n_layers"]))


def _mapped(
    path: Path, first: int, dtype: torch.dtype, shapes: Sequence[tuple[str, tuple[int, ...]]]
) -> dict[str, Tensor]:
    """Return the tensors of a file, one after another from its byte `first` on, as views of the file.

    Raises:
        CheckpointError: the file has another size.
    """
    if not shapes or first + sum(prod(shape) for _, shape in shapes) * dtype.itemsize != path.stat().st_size:
        raise CheckpointError(
            "{path} is damaged or truncated: its size does not match its header; copy it again", path=path
        )
    numbers = torch.from_numpy(np.memmap(path, np.uint8, "c", first)).view(dtype)
    parts = numbers.split([prod(shape) for _, shape in shapes])
    return {name: part.view(shape) for (name, shape), part in zip(shapes, parts, strict=True)}
