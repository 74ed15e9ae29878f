"""Files of plain values: YAML, and matrices in JSON, as forks of microGPT write them."""

import json
from pathlib import Path
from typing import Any

import torch

from transformer_core.checkpoints.pickles import StateDict
from transformer_core.checkpoints.tensor_files import refuse_unreadable
from transformer_core.devices import in_words
from transformer_core.errors import CheckpointError

MOST_JSON_BYTES = 2**25  # numbers as text; in memory they take ten times as much
MOST_YAML_BYTES = 2**16


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
