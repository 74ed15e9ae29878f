"""Opening a model of another program: its configuration, and its tensors by their keys.

It may be a Hugging Face folder, a folder with weights in one file, or only that file. Its configuration is the
config.json in the same folder, or in the file itself, as in nanoGPT's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer_core.checkpoints.checkpoint import ADAPTER, CONFIG, is_foreign, read_json
from transformer_core.checkpoints.families import nanogpt, raschka, torch_transformer
from transformer_core.checkpoints.file_kinds import weights_kind
from transformer_core.checkpoints.generation import generation_beside, with_generation
from transformer_core.checkpoints.layouts import example_config, layout_of
from transformer_core.checkpoints.pickles import StateDict
from transformer_core.checkpoints.tensor_files import (
    OnProgress,
    TensorFiles,
    find_tensor_files,
    weight_files,
    with_other_parts,
)
from transformer_core.checkpoints.wrappers import unwrapped
from transformer_core.errors import CheckpointError, Message


@dataclass(frozen=True, kw_only=True)
class ForeignModel:
    """A model of another program."""

    folder: Path  # of its tokenizer, if it has one
    values: Mapping[str, Any]  # of config.json
    weights: Mapping[str, Tensor]  # by the keys of its family's table
    files: TensorFiles | StateDict  # that contain them
    notes: tuple[Message, ...]  # on how they were changed


def open_foreign(place: Path, *, where: str | Message, on_progress: OnProgress | None = None) -> ForeignModel:
    """Open a model's files; its tensors are read on demand.

    Args:
        place: a folder, or a file of weights.
        where: the model in messages.
        on_progress: called with the bytes read.

    Raises:
        CheckpointError: no weights, a file that cannot be read safely, or no configuration.
    """
    if place.is_file():
        folder, paths = place.parent, with_other_parts(place)
        if (folder / CONFIG).is_file() and not is_foreign(folder):
            raise CheckpointError("{where} is part of a Headlight checkpoint; give the path of its folder", where=where)
    else:
        folder = place
        _refuse_adapter(place, where)
        paths = find_tensor_files(place, where=where)
    what = Message("reading {model}", model=where)
    if weights_kind(paths[0]) == "torch":
        files: TensorFiles | StateDict = StateDict(paths, on_progress=on_progress, what=what)
    else:
        files = TensorFiles(paths, on_progress=on_progress, what=what)
    weights, notes = unwrapped(files)
    values = _described(folder, files, weights, where)
    if values.get("model_type") == torch_transformer.MODEL_TYPE:
        values, weights = torch_transformer.described(values, weights, where=where)
    if values.get("model_type") == raschka.MODEL_TYPE:
        weights = raschka.described(weights)
    if values.get("model_type") == nanogpt.MODEL_TYPE:
        notes.append(nanogpt.note_on(values))
    return ForeignModel(
        folder=folder, values=values, weights=weights, files=files, notes=tuple(note for note in notes if note)
    )


def _described(
    folder: Path, files: TensorFiles | StateDict, weights: Mapping[str, Tensor], where: str | Message
) -> Mapping[str, Any]:
    """Return the configuration of a model: from config.json, or, for nanoGPT, from the file of weights."""
    values = read_json(folder, CONFIG) if (folder / CONFIG).is_file() else {}
    arguments = files.other_content.get(nanogpt.ARGUMENTS) if isinstance(files, StateDict) else None
    if "model_type" not in values and (nano := nanogpt.described(arguments, values, weights)):
        return nano
    if values:
        return with_generation(values, generation_beside(folder))
    if start := example_config(weights):
        raise CheckpointError(
            "{where} contains torch.nn layers, but not how they are connected; describe it in a {config} next to "
            "the weights, with a value for each ?: {example}; add norm_first, activation or scale_embeddings where "
            "they differ from torch’s defaults",
            where=where,
            config=CONFIG,
            example=start,
        )
    if layout := layout_of(weights):
        raise CheckpointError("{where} {layout}", where=where, layout=layout)
    raise CheckpointError(
        "{where} has no {config}, so the architecture of its weights is unknown; copy the file "
        "from the source of the weights",
        where=where,
        config=CONFIG,
    )


def _refuse_adapter(folder: Path, where: str | Message) -> None:
    """Check that a folder is a model, not an adapter of PEFT."""
    if not (folder / ADAPTER).is_file() or weight_files(folder):
        return
    about = read_json(folder, ADAPTER)
    raise CheckpointError(
        "{where} is an adapter ({kind}) for {base}, not a whole model; merge the two with "
        'AutoPeftModelForCausalLM.from_pretrained("{where}").merge_and_unload().save_pretrained(folder), and give the '
        "path of that folder",
        where=where,
        kind=str(about.get("peft_type", "PEFT"))[:40],
        base=str(about.get("base_model_name_or_path"))[:200],
    )
