"""Our checkpoint folder: config.json, model.safetensors, tokenizer.json, card.json. Never a pickle."""

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, ConfigError
from transformer_core.model.transformer import Transformer, build
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.weights.folder import reading, replacing, write_json

CONFIG, WEIGHTS, TOKENIZER, CARD = "config.json", "model.safetensors", "tokenizer.json", "card.json"


def save(
    folder: str | os.PathLike[str], model: Transformer, tokenizer: Tokenizer, card: Mapping[str, Any] | None = None
) -> None:
    """Write a checkpoint folder; an older one at the same place is replaced only when the new one is whole on disk.

    Args:
        folder: where; its parents are made.
        model: weights are stored once where they are tied.
        tokenizer: of source and target.
        card: what the model was trained on, and how well it does.

    Raises:
        CheckpointError: the place holds something that is not a checkpoint, or the tokenizer is another model's.
        OSError: the disk is full, or the folder cannot be written; what was there is as it was.
    """
    folder = Path(folder)
    refuse_to_replace(folder)
    with replacing(folder) as new:
        write_parts(new, model, tokenizer, card or {})


def refuse_to_replace(folder: Path) -> None:
    """Check that a checkpoint may be saved at a place: nothing is there, or an empty folder, or a checkpoint.

    Raises:
        CheckpointError: it holds something else.
    """
    if folder.exists() and not (folder / CONFIG).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise CheckpointError(f"{folder} holds something that is not a checkpoint; save the model at another place")


def write_parts(folder: Path, model: Transformer, tokenizer: Tokenizer, card: Mapping[str, Any]) -> None:
    """Write the files of a checkpoint into a folder that is there, as they come; `save` does it all at once.

    Raises:
        CheckpointError: the tokenizer is another model's.
        OSError: the disk is full, or the folder cannot be written.
    """
    _refuse_other_tokenizer(folder, model.config, tokenizer)
    write_json(folder / CONFIG, model.config.to_dict())
    weights = {name: parameter.detach().cpu().contiguous() for name, parameter in model.named_parameters()}
    try:
        save_file(weights, folder / WEIGHTS)
    except SafetensorError as error:  # what that library says for a full disk
        raise OSError(errno.EIO, str(error)) from error
    (folder / WEIGHTS).chmod((folder / CONFIG).stat().st_mode)  # that library lets the owner alone read it
    tokenizer.save(folder / TOKENIZER)
    write_json(folder / CARD, dict(card))


def load(source: str | os.PathLike[str], *, device: str | torch.device = "cpu") -> tuple[Transformer, Tokenizer]:
    """Return the model of a checkpoint folder, in the precision it was saved in, ready for use, and its tokenizer.

    Args:
        source: the folder; it may be replaced by another process meanwhile.
        device: where the model goes.

    Raises:
        CheckpointError: a folder that is missing, incomplete or damaged; the message says which part.
    """
    try:
        model, tokenizer = reading(Path(source), _load)
    except OSError as error:
        raise CheckpointError(f"{source} cannot be read ({error.strerror})") from error
    return model.to(device).eval(), tokenizer


def read_card(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the model's card.

    Raises:
        CheckpointError: there is none, or it cannot be read.
    """
    try:
        return reading(Path(folder), lambda place: _read_json(place, CARD))
    except OSError as error:
        raise CheckpointError(f"{folder} cannot be read ({error.strerror})") from error


def _load(folder: Path) -> tuple[Transformer, Tokenizer]:
    """Read the parts of a checkpoint folder, and put them together."""
    values = _read_json(folder, CONFIG)
    try:
        config = ModelConfig.from_dict(values)
    except (AttributeError, ConfigError, TypeError) as error:
        raise CheckpointError(f"{folder / CONFIG} does not describe a model: {error}") from error
    try:
        weights = load_file(_existing(folder, WEIGHTS))
    except SafetensorError as error:
        raise CheckpointError(f"{folder / WEIGHTS} is damaged ({error}); copy or train the model again") from error
    tokenizer = Tokenizer.load(_existing(folder, TOKENIZER))
    _refuse_other_tokenizer(folder, config, tokenizer)
    model = build(config)
    _fill(model, weights, folder / WEIGHTS)
    return model, tokenizer


def _refuse_other_tokenizer(folder: Path, config: ModelConfig, tokenizer: Tokenizer) -> None:
    """Check that the numbers of the tokenizer mean what the model takes them for."""
    if tokenizer.vocab_size != config.vocab_size:
        raise CheckpointError(
            f"{folder}: the tokenizer has {tokenizer.vocab_size} tokens and the model {config.vocab_size}; "
            "they belong to two different models"
        )


def _fill(model: Transformer, weights: Mapping[str, torch.Tensor], path: Path) -> None:
    """Copy weights into the model, every name exactly once and every shape as expected; it takes their precision."""
    parameters = dict(model.named_parameters())
    missing, unknown = parameters.keys() - weights.keys(), weights.keys() - parameters.keys()
    if missing or unknown:
        kind, name = ("lacks", min(missing)) if missing else ("has an unknown", min(unknown))
        raise CheckpointError(f"{path} {kind} weight {name!r}; it does not belong to the config.json beside it")
    dtypes = {weight.dtype for weight in weights.values()}
    if len(dtypes) > 1 or not all(dtype.is_floating_point for dtype in dtypes):
        raise CheckpointError(
            f"{path} holds {', '.join(sorted(map(str, dtypes)))}; one floating-point type is expected"
        )
    model.to(dtype=dtypes.pop())
    for name, parameter in parameters.items():
        if parameter.shape != weights[name].shape:
            raise CheckpointError(
                f"{path}: {name!r} is {tuple(weights[name].shape)}, but config.json asks for {tuple(parameter.shape)}"
            )
        with torch.no_grad():
            parameter.copy_(weights[name])


def _existing(folder: Path, name: str) -> Path:
    """Return the path of a part of a checkpoint folder.

    Raises:
        CheckpointError: the folder or the part is not there.
    """
    if not folder.is_dir():
        raise CheckpointError(f"there is no folder {str(folder)!r}; give the path of a checkpoint folder")
    if not (folder / name).is_file():
        raise CheckpointError(f"{folder} has no {name}, so it is not a complete checkpoint")
    return folder / name


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    """Return the object in a JSON file of a checkpoint folder.

    Raises:
        CheckpointError: it is not there, or it is not a JSON object.
    """
    path = _existing(folder, name)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, or nested without end
        raise CheckpointError(f"{path} is not valid JSON ({error})") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"{path} must hold a JSON object, not a {type(values).__name__}")
    return values
