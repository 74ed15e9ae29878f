"""Our checkpoint folder: config.json, model.safetensors, tokenizer.json, card.json. Never a pickle."""

import errno
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import nn

from transformer_core.arguments import check_kind
from transformer_core.checkpoints.file_kinds import refuse_not_fetched
from transformer_core.checkpoints.folder import Content, reading, replacing, write_json
from transformer_core.checkpoints.placement import DeviceMap, ParameterLoader, plan, put
from transformer_core.checkpoints.tensor_files import (
    ADAPTER,
    OnProgress,
    TensorFiles,
    folders_with_weights,
    weight_files,
)
from transformer_core.config import ModelConfig
from transformer_core.devices import choose_precision, in_words
from transformer_core.errors import CheckpointError, ConfigError, Message
from transformer_core.model.transformer import Transformer, assemble, check_model
from transformer_core.reasons import reason
from transformer_core.text.interface import Tokenizer
from transformer_core.text.load import load_tokenizer

CONFIG, WEIGHTS, TOKENIZER, CARD = "config.json", "model.safetensors", "tokenizer.json", "card.json"
MOST_JSON_BYTES = 2**24  # of a file that describes a model; in memory it may take ten times as much
PATH = Message("the path of a folder")

OnNote = Callable[[Message], object]
"""Called with sentences on how a model was converted, as far as its files do not say it."""


def save(
    folder: str | os.PathLike[str], model: Transformer, tokenizer: Tokenizer, card: Mapping[str, Any] | None = None
) -> None:
    """Write a checkpoint folder; an older one is replaced only after the new one is completely on disk.

    Args:
        folder: to write; parent folders are created.
        model: tied weights are stored once.
        tokenizer: the tokenizer of source and target.
        card: describes training and results.

    Raises:
        CheckpointError: the folder contains something that is not a checkpoint, or the tokenizer is another model's.
        OSError: the disk is full, or the folder cannot be written; an older checkpoint is kept.
    """
    check_kind("folder", folder, (str, os.PathLike), PATH)
    check_model(model)
    check_kind("tokenizer", tokenizer, Tokenizer, Message("a tokenizer, such as the second value that tc.load returns"))
    check_kind("card", {} if card is None else card, Mapping, Message("a mapping"))
    folder = Path(folder)
    refuse_to_replace(folder)
    with replacing(folder) as new:
        write_parts(new, model, tokenizer, card or {})


def refuse_to_replace(folder: Path) -> None:
    """Check that a checkpoint may be saved to a folder: it does not exist, is empty, or is a checkpoint of ours.

    Raises:
        CheckpointError: it contains something else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / CONFIG).is_file() or is_foreign(folder):
        raise CheckpointError(
            "{folder} contains files that are not a checkpoint; save the model elsewhere", folder=folder
        )


def is_foreign(folder: Path) -> bool:
    """Return whether a folder or a file is a model of another program.

    Its config.json has `model_type` or `architectures`, or no `architecture`; or it has weights but no config.json.
    """
    if folder.is_file():
        return True
    if not (folder / CONFIG).exists():
        return bool(weight_files(folder) or folders_with_weights(folder)) or (folder / ADAPTER).is_file()
    try:
        values = read_json(folder, CONFIG)
    except (CheckpointError, OSError):  # reading the folder will report the problem
        return False
    return "model_type" in values or "architectures" in values or "architecture" not in values


def write_parts(folder: Path, model: Transformer, tokenizer: Tokenizer, card: Mapping[str, Any]) -> None:
    """Write the files of a checkpoint into an existing folder, not atomically as `save` does.

    Raises:
        CheckpointError: the tokenizer is another model's.
        OSError: the disk is full, or the folder cannot be written.
    """
    refuse_other_tokenizer(str(folder), model.config, tokenizer)
    write_json(folder / CONFIG, model.config.to_dict())
    write_weights(folder / WEIGHTS, model)
    tokenizer.save(folder / TOKENIZER)
    write_json(folder / CARD, dict(card))


def write_weights(path: Path, model: Transformer) -> None:
    """Write the weights of a model to a file, with the folder's permissions.

    Raises:
        OSError: the disk is full, or the file cannot be written.
    """
    weights = {name: parameter.detach().cpu().contiguous() for name, parameter in model.named_parameters()}
    try:
        save_file(weights, path)
    except SafetensorError as error:  # the disk is full
        raise OSError(errno.EIO, str(error)) from error
    path.chmod(path.parent.stat().st_mode & 0o666)  # the library would let only the owner read it


def read_card(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the model's card.

    Raises:
        CheckpointError: it is missing or damaged.
    """
    return reading_folder(folder, lambda place: read_json(place, CARD))


@torch.inference_mode(mode=False)  # the weights can be trained even if they are loaded in inference mode
def read_checkpoint(
    folder: Path,
    *,
    device: str | torch.device = "cpu",
    dtype: str | torch.dtype | None = None,
    device_map: DeviceMap | None = None,
    on_progress: OnProgress | None = None,
    weights: Path | None = None,
) -> tuple[Transformer, Tokenizer]:
    """Load a checkpoint folder that is not replaced while it is read; see `load` for the arguments.

    `weights` is a weight file to read instead of the folder's own.

    Raises:
        CheckpointError: the folder is missing, incomplete or damaged.
        ConfigError: an unavailable device or precision, or too little memory.
    """
    values = read_json(folder, CONFIG)
    try:
        config = ModelConfig.from_dict(values)
    except (AttributeError, ConfigError, TypeError) as error:
        raise CheckpointError("{path} does not describe a model: {error}", path=folder / CONFIG, error=error) from error
    path = existing(folder, WEIGHTS) if weights is None else weights
    files = TensorFiles([path], on_progress=on_progress, what=Message("reading {model}", model=folder.name))
    refuse_not_fetched(existing(folder, TOKENIZER))
    tokenizer = load_tokenizer(folder / TOKENIZER)
    refuse_other_tokenizer(str(folder), config, tokenizer)
    saved_in = _precision(files, path)
    model = assemble(config)
    parameters = dict(model.named_parameters())
    _refuse_other_weights(files, {name: parameter.shape for name, parameter in parameters.items()}, path)
    placement = plan(
        config,
        device=device,
        device_map=device_map,
        dtype=saved_in if dtype is None else choose_precision(dtype),
        where=str(folder),
    )
    names: dict[int, list[str]] = {}  # names of each parameter; tied parameters have several
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    with ParameterLoader(placement, files) as loader:
        for name, parameter in parameters.items():
            put(model, names[id(parameter)], nn.Parameter(loader.place(name, files[name])))
        loader.finish(model)
    return model.eval(), tokenizer


def reading_folder(folder: str | os.PathLike[str], read: Callable[[Path], Content]) -> Content:
    """Return `read(folder)` from one consistent version of a folder that may be replaced meanwhile.

    Raises:
        CheckpointError: the folder cannot be read.
    """
    check_kind("folder", folder, (str, os.PathLike), PATH)
    try:
        return reading(Path(folder), read)
    except OSError as error:
        raise CheckpointError("{folder} cannot be read ({error})", folder=folder, error=reason(error)) from error


def refuse_other_tokenizer(where: str | Message, config: ModelConfig, tokenizer: Tokenizer) -> None:
    """Check that the vocabulary sizes of tokenizer and model match; an imported model's size may be rounded up.

    Raises:
        CheckpointError: the tokenizer is another model's.
    """
    for side, vocab_size in ((tokenizer, config.input_vocab_size), (tokenizer.target, config.vocab_size)):
        is_rounded_up = side.kind == "foreign" and side.vocab_size < vocab_size
        if side.vocab_size != vocab_size and not is_rounded_up:
            raise CheckpointError(
                "{where}: the tokenizer has {n} tokens and the model {vocab_size}, so they do not belong to the same "
                "model",
                where=where,
                n=side.vocab_size,
                vocab_size=vocab_size,
            )


def refuse_options(options: Mapping[str, Any] | None, where: str | Message) -> None:
    """Check that no options are given for a model whose configuration is known.

    Raises:
        CheckpointError: there are some.
    """
    if options:
        raise CheckpointError(
            "{where} has a complete configuration, so {names} cannot be set; load it without options",
            where=where,
            names=", ".join(options),
        )


def _precision(files: TensorFiles, path: Path) -> torch.dtype:
    """Return the single floating-point type of all weights."""
    dtypes = {files.dtype(name) for name in files}
    if len(dtypes) != 1 or not all(dtype.is_floating_point for dtype in dtypes):
        if not dtypes:
            raise CheckpointError("{path} contains no weights; expected a single floating-point type", path=path)
        held = ", ".join(sorted(map(str, dtypes)))
        raise CheckpointError("{path} contains {held}; expected a single floating-point type", path=path, held=held)
    return dtypes.pop()


def _refuse_other_weights(files: TensorFiles, shapes: Mapping[str, torch.Size], path: Path) -> None:
    """Check that the names and shapes of the weights are exactly those of the configuration."""
    missing, unknown = shapes.keys() - files.keys(), files.keys() - shapes.keys()
    if missing:
        raise CheckpointError(
            "{path} lacks the weight {name!r}; it does not match the config.json in the same folder",
            path=path,
            name=min(missing),
        )
    if unknown:
        raise CheckpointError(
            "{path} has an unknown weight {name!r}; it does not match the config.json in the same folder",
            path=path,
            name=min(unknown),
        )
    for name, shape in shapes.items():
        if files.shape(name) != shape:
            raise CheckpointError(
                "{path}: {name!r} is {found}, but config.json requires {wanted}",
                path=path,
                name=name,
                found=tuple(files.shape(name)),
                wanted=tuple(shape),
            )


def remove(folder: Path) -> None:
    """Delete a model folder atomically; if it is a symbolic link, delete only the link.

    Raises:
        CheckpointError: it does not contain a model, or cannot be deleted.
    """
    going = folder.with_name(f".{folder.name}.{uuid4().hex}.new")  # a name that `settle` deletes, too
    try:
        if not (folder / CONFIG).is_file():
            raise CheckpointError("there is no model in {folder}, so nothing was deleted", folder=folder)
        if folder.is_symlink():
            folder.unlink()
        else:
            folder.rename(going)
            shutil.rmtree(going)  # does not follow links
    except OSError as error:
        raise CheckpointError(
            "{folder} cannot be deleted ({error}); delete it manually", folder=folder, error=reason(error)
        ) from error


def existing(folder: Path, name: str) -> Path:
    """Return the path of a file of a checkpoint folder.

    Raises:
        CheckpointError: the folder or the file is missing.
    """
    if not folder.is_dir():
        if folder.exists():
            raise CheckpointError("{folder} is not a folder; give the path of a checkpoint folder", folder=folder)
        raise CheckpointError("there is no folder {folder!r}; give the path of a checkpoint folder", folder=str(folder))
    if not (folder / name).is_file():
        raise CheckpointError("{folder} has no {name}, so it is not a complete checkpoint", folder=folder, name=name)
    return folder / name


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Return the object in a JSON file of a checkpoint folder.

    Raises:
        CheckpointError: it is missing, too large, or not a JSON object.
    """
    path = existing(folder, name)
    refuse_not_fetched(path)
    if path.stat().st_size > MOST_JSON_BYTES:
        raise CheckpointError(
            "{path} takes {size}, but at most {most} are read of such a file; copy it again",
            path=path,
            size=in_words(path.stat().st_size),
            most=in_words(MOST_JSON_BYTES),
        )
    try:
        values = json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise CheckpointError("{path} is not in UTF-8; save it as UTF-8, or copy it again", path=path) from error
    except RecursionError as error:
        raise CheckpointError("{path} is nested too deeply; copy it again", path=path) from error
    except ValueError as error:
        raise CheckpointError("{path} is not valid JSON ({error})", path=path, error=reason(error)) from error
    if not isinstance(values, dict):
        raise CheckpointError("{path} must contain a JSON object, in braces; copy it again", path=path)
    return values
