"""Opening a model of another program: its configuration, and its tensors by their keys.

It may be a Hugging Face folder, a folder with weights in one file, or only that file. Its configuration is the
config.json in the same folder; without one, the layout of its tensors is recognized (see layout.py).
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from transformer_core.checkpoints.bin_files import read_llama2c, read_llmc
from transformer_core.checkpoints.checkpoint import CONFIG, is_foreign, read_json, refuse_options
from transformer_core.checkpoints.convert import NO_TYPE, with_model_type
from transformer_core.checkpoints.file_kinds import weights_kind
from transformer_core.checkpoints.layout import Layout, SavedModel, describe
from transformer_core.checkpoints.layouts import LAYOUTS
from transformer_core.checkpoints.mapping.layout import layout_of
from transformer_core.checkpoints.mapping.rules import MAPPING, shapes_of
from transformer_core.checkpoints.nearest import unknown_layout
from transformer_core.checkpoints.options import generation_beside, with_generation
from transformer_core.checkpoints.pickles import StateDict
from transformer_core.checkpoints.plain_files import read_json_weights
from transformer_core.checkpoints.tensor_files import (
    ADAPTER,
    OnProgress,
    TensorFiles,
    find_tensor_files,
    weight_files,
    with_other_parts,
)
from transformer_core.checkpoints.wrappers import unwrapped
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, Message
from transformer_core.text.interface import Tokenizer

_PLAIN = {"llm.c": read_llmc, "llama2.c": read_llama2c, "json": read_json_weights}  # by the kind of file


@dataclass(frozen=True, kw_only=True)
class ForeignModel:
    """A model of another program."""

    folder: Path  # contains its tokenizer, if it has one
    values: Mapping[str, Any]  # the object in config.json, or the fields of a recognized layout
    weights: Mapping[str, Tensor]  # by the keys of its family's table
    files: TensorFiles | StateDict  # the source of these tensors
    notes: tuple[Message, ...]  # on changes to the weights, and on conventions
    tokenizer: Tokenizer | None = None  # in the file of weights itself


def open_foreign(
    place: Path,
    *,
    where: str | Message,
    options: Mapping[str, Any] | None = None,
    on_progress: OnProgress | None = None,
) -> ForeignModel:
    """Open a model's files; its tensors are read on demand.

    Args:
        place: a folder, or a file of weights.
        where: name of the model in messages.
        options: as for `load`.
        on_progress: called with the bytes read.

    Raises:
        UndecidedError: its layout is recognized, but questions are open.
        CheckpointError: no weights, a file that cannot be read safely, or an unknown layout.
    """
    saved, files = read_saved(place, where=where, on_progress=on_progress)
    return open_saved(saved, files, where=where, options=options)


def open_saved(
    saved: SavedModel,
    files: TensorFiles | StateDict,
    *,
    where: str | Message,
    options: Mapping[str, Any] | None = None,
) -> ForeignModel:
    """Return the model in the content of its files, as from `read_saved`; arguments and errors of `open_foreign`."""
    weights, notes = unwrapped(saved.weights)
    saved = _with_own_config(replace(saved, weights=weights))
    config = with_model_type(saved.config, weights, where=where)
    if config != saved.config:
        notes.append(Message("Its config.json has no model_type; read as {name}.", name=config["model_type"]))
    saved = replace(saved, config=config)
    model_type, given = saved.config.get("model_type"), dict(options or {})
    if (text := given.pop(MAPPING, None)) is not None:
        layout = layout_of(str(text), shapes_of(weights), given)
    elif isinstance(model_type, str) and all(layout.model_type != model_type for layout in LAYOUTS):
        refuse_options(options, where)
        values = with_generation(saved.config, generation_beside(saved.folder))
        return ForeignModel(folder=saved.folder, values=values, weights=weights, files=files, notes=tuple(notes))
    else:
        layout, weights = _recognized(saved, model_type, where)
    fields, described = describe(layout, replace(saved, weights=weights), given, where=where)
    return ForeignModel(
        folder=saved.folder,
        values=fields,
        weights=weights if described.weights is None else described.weights,
        files=files,
        notes=(*notes, *described.notes),
        tokenizer=described.tokenizer,
    )


def open_module(theirs: nn.Module, *, where: str | Message, options: Mapping[str, Any] | None = None) -> ForeignModel:
    """Open a model in memory, of the `transformers` library or of a program with a known layout, without copying it.

    Raises:
        UndecidedError: its layout is recognized, but questions are open.
        CheckpointError: its layout is unknown.
    """
    weights, settings = theirs.state_dict(), getattr(theirs, "config", None)
    if settings is None or not hasattr(settings, "to_dict"):
        saved = SavedModel(folder=Path(os.devnull), paths=(), config={}, other={}, weights=weights)  # without files
        layout = next((layout for layout in LAYOUTS if layout.recognize(saved) is not None), None)
        saved = replace(saved, config=_settings_of(theirs, () if layout is None else layout.names))
        return open_saved(saved, StateDict({}), where=where, options=options)
    refuse_options(options, where)
    generation = getattr(theirs, "generation_config", None)
    values = with_generation(settings.to_dict(), None if generation is None else generation.to_dict())
    return ForeignModel(folder=Path(os.devnull), values=values, weights=weights, files=StateDict({}), notes=())


def _settings_of(theirs: nn.Module, names: Iterable[str]) -> dict[str, Any]:
    """Return the options in the `config` or `cfg` that a model in memory keeps, and the kind of GELU in its blocks.

    Args:
        theirs: the model.
        names: of the options of its layout, besides those of ModelConfig.
    """
    settings = next((own for name in ("config", "cfg", "params") if (own := getattr(theirs, name, None))), None)
    values = settings if isinstance(settings, Mapping) else getattr(settings, "__dict__", {})
    known = {*ModelConfig.__dataclass_fields__, *names}
    options = {name: values[name] for name in known if isinstance(values.get(name), bool | int | float | str)}
    for name, module in theirs.named_modules():
        if isinstance(module, nn.GELU) and (".mlp." in name or ".ffwd." in name):
            return {"activation": "gelu_tanh" if module.approximate == "tanh" else "gelu", **options}
    return options


def format_of(place: Path, *, options: Mapping[str, Any] | None = None) -> str:
    """Return the model_type of a model's family or layout; "" if it has none; arguments as for `open_foreign`."""
    try:
        values = open_foreign(place, where=str(place), options=options).values
    except CheckpointError:
        return ""
    return str(values.get("model_type", ""))


def read_saved(
    place: Path, *, where: str | Message, on_progress: OnProgress | None = None
) -> tuple[SavedModel, TensorFiles | StateDict]:
    """Return the content of a model's files, and the source of its tensors; arguments as for `open_foreign`.

    Raises:
        CheckpointError: no weights, or a file that cannot be read safely.
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
    kind = weights_kind(paths[0])
    files: TensorFiles | StateDict
    if kind == "safetensors":
        files = TensorFiles(paths, on_progress=on_progress, what=what)
    elif kind == "torch":
        files = StateDict.read(paths, on_progress=on_progress, what=what)
    else:
        files = _PLAIN[kind](paths[0])
    config = read_json(folder, CONFIG) if (folder / CONFIG).is_file() else {}
    other = files.other_content if isinstance(files, StateDict) else {}
    return SavedModel(folder=folder, paths=tuple(paths), config=config, other=other, weights=files), files


def _with_own_config(saved: SavedModel) -> SavedModel:
    """Return a model without its config.json if that describes another version of it, for another program."""
    for layout in LAYOUTS:
        if layout.described_in and (saved.folder / layout.described_in).is_file() and layout.recognize(saved):
            return replace(saved, config={})
    return saved


def _recognized(saved: SavedModel, model_type: object, where: str | Message) -> tuple[Layout, Mapping[str, Tensor]]:
    """Return the layout of a model, and its tensors by the keys of its table.

    Raises:
        CheckpointError: it is unknown, or not the one that config.json names.
    """
    for layout in LAYOUTS:
        if model_type in (None, layout.model_type) and (weights := layout.recognize(saved)) is not None:
            return layout, weights
    if model_type is not None:
        raise CheckpointError(
            "{where} has model_type {model_type!r}, but not the tensors of that layout",
            where=where,
            model_type=model_type,
        )
    if saved.config:
        raise CheckpointError(NO_TYPE, where=where)
    raise unknown_layout(where, saved.weights)


def _refuse_adapter(folder: Path, where: str | Message) -> None:
    """Check that a folder contains a model, not a PEFT adapter."""
    if not (folder / ADAPTER).is_file() or weight_files(folder):
        return
    about = read_json(folder, ADAPTER)
    raise CheckpointError(
        "{where} is an adapter ({kind}) for {base}, not a whole model; merge the two with merge_and_unload() of PEFT, "
        "or import the adapter by its path, with its base model in a folder next to it",
        where=where,
        kind=str(about.get("peft_type", "PEFT"))[:40],
        base=str(about.get("base_model_name_or_path"))[:200],
    )
