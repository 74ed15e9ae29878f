"""A model of another program, opened: what a config.json says of it, and its tensors by their keys.

It may be a Hugging Face folder, a folder with its weights in one file, or that file by itself. Then the config.json
beside it counts, or what the file says of itself, as nanoGPT's does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer_core.checkpoints.checkpoint import CONFIG, read_json
from transformer_core.checkpoints.families import nanogpt, torch_transformer
from transformer_core.checkpoints.pickles import StateDict
from transformer_core.checkpoints.tensor_files import PICKLES, OnProgress, TensorFiles, find_tensor_files
from transformer_core.errors import CheckpointError, Message


@dataclass(frozen=True, kw_only=True)
class ForeignModel:
    """A model of another program."""

    folder: Path  # where its tokenizer lies, if it has one
    values: Mapping[str, Any]  # as the object in a config.json
    weights: Mapping[str, Tensor]  # by the keys of its family's table
    files: TensorFiles | StateDict  # that hold them


def open_foreign(place: Path, *, where: str | Message, on_progress: OnProgress | None = None) -> ForeignModel:
    """Open a model's files; its tensors are read when they are asked for.

    Args:
        place: a folder, or a file of weights.
        where: what to call it in messages.
        on_progress: told how many bytes are read.

    Raises:
        CheckpointError: no weights, a file that cannot be read safely, or nothing that says which model it is.
    """
    folder, paths = (place.parent, [place]) if place.is_file() else (place, find_tensor_files(place, where=where))
    what = Message("reading {model}", model=where)
    if paths[0].suffix in PICKLES:
        files: TensorFiles | StateDict = StateDict(paths, on_progress=on_progress, what=what)
    else:
        files = TensorFiles(paths, on_progress=on_progress, what=what)
    values = _described(folder, files, where)
    weights: Mapping[str, Tensor] = files
    if values.get("model_type") == torch_transformer.MODEL_TYPE:
        values, weights = torch_transformer.described(values, files, where=where)
    return ForeignModel(folder=folder, values=values, weights=weights, files=files)


def _described(folder: Path, files: TensorFiles | StateDict, where: str | Message) -> Mapping[str, Any]:
    """Return what is said of a model: in the config.json beside its weights, or, as nanoGPT does, in their file."""
    if (folder / CONFIG).is_file():
        return read_json(folder, CONFIG)
    arguments = files.beside.get(nanogpt.ARGUMENTS) if isinstance(files, StateDict) else None
    if isinstance(arguments, dict):
        return {**arguments, "model_type": nanogpt.MODEL_TYPE}
    if example := torch_transformer.example(files):
        raise CheckpointError(
            "{where} contains torch.nn layers, but not how they are connected; describe it in a "
            "{config} next to the weights, for example {example}",
            where=where,
            config=CONFIG,
            example=example,
        )
    raise CheckpointError(
        "{where} has no {config}, so the architecture of its weights is unknown; copy the file "
        "from the source of the weights",
        where=where,
        config=CONFIG,
    )
