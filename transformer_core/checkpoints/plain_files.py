"""Files of plain values: YAML, matrices in JSON, as forks of microGPT write them, and the .bin of llm.c."""

import json
import struct
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer_core.checkpoints.pickles import StateDict
from transformer_core.checkpoints.tensor_files import refuse_unreadable
from transformer_core.config import MOST_LAYERS
from transformer_core.devices import in_words
from transformer_core.errors import CheckpointError

MOST_JSON_BYTES = 2**25  # numbers as text; in memory they take ten times as much
MOST_YAML_BYTES = 2**16
_HEADER = 256  # whole numbers of 32 bits
_PRECISIONS = {3: torch.float32, 5: torch.bfloat16}  # by version; older ones have other headers


def read_json_weights(path: Path) -> StateDict:
    """Return the matrices of a JSON object by their keys: lists of rows of numbers. Its other values are not weights.

    Raises:
        CheckpointError: the file is too large, damaged, or contains rows of different lengths.
    """
    refuse_unreadable(path)
    if path.stat().st_size > MOST_JSON_BYTES:
        raise CheckpointError(
            "{path} is a JSON file of {size}, but at most {most} are read; save its weights as safetensors",
            path=path,
            size=in_words(path.stat().st_size),
            most=in_words(MOST_JSON_BYTES),
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        if not isinstance(content, dict):
            raise TypeError
        inner = next((value for value in content.values() if isinstance(value, dict) and _matrices(value)), {})
        tensors = {key: torch.tensor(rows, dtype=torch.float32) for key, rows in _matrices(content | inner).items()}
    except (OverflowError, RecursionError, RuntimeError, TypeError, ValueError) as error:
        raise CheckpointError(
            "{path} does not contain weights: expected a JSON object with rows of numbers, all of one length per "
            "matrix; save the weights as safetensors",
            path=path,
        ) from error
    return StateDict(tensors, {key: value for key, value in content.items() if key not in tensors})


def _matrices(content: dict[str, Any]) -> dict[str, list[list[float]]]:
    """Return the values that begin like rows of numbers."""
    lists = {key: value for key, value in content.items() if isinstance(value, list) and value}
    rows = {key: value for key, value in lists.items() if isinstance(value[0], list) and value[0]}
    return {key: value for key, value in rows.items() if isinstance(value[0][0], int | float)}


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the object in a YAML file of plain values.

    Raises:
        CheckpointError: the file is too large, damaged, or contains tags of Python objects.
    """
    import yaml  # only LitGPT needs it

    refuse_unreadable(path)
    try:
        if path.stat().st_size > MOST_YAML_BYTES:
            raise ValueError("too large")
        values = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
        if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
            raise TypeError
    except (RecursionError, TypeError, ValueError, yaml.YAMLError) as error:
        raise CheckpointError(
            "{path} is damaged, or is not a YAML file of plain values; copy it again", path=path
        ) from error
    return values


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
    dtype, n_bytes = _PRECISIONS[version], path.stat().st_size
    shapes = list(_llmc_shapes(n_rows, n_positions, n_layers, width)) if 0 < n_layers <= MOST_LAYERS else []
    is_positive = min(n_positions, vocab_size, n_heads, width, n_rows - vocab_size + 1) > 0
    if not is_positive or 4 * _HEADER + sum(prod(shape) for _, shape in shapes) * dtype.itemsize != n_bytes:
        raise CheckpointError(
            "{path} is damaged or truncated: its size does not match its header; copy it again", path=path
        )
    numbers = torch.from_numpy(np.memmap(path, np.uint8, "c", 4 * _HEADER)).view(dtype)
    tensors: dict[str, Tensor] = {}
    first = 0
    for name, shape in shapes:
        tensors[name] = numbers[first : first + prod(shape)].view(shape)
        first += prod(shape)
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
