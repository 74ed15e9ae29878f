"""Loading models of other programs: from their files, and from memory."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transformer_core.checkpoints.adapter import MERGED, Adapter, Merged, is_adapter, read_adapter
from transformer_core.checkpoints.checkpoint import CONFIG, OnNote, is_foreign, refuse_other_tokenizer
from transformer_core.checkpoints.convert import convert, family_of
from transformer_core.checkpoints.family_tensors import KeysError
from transformer_core.checkpoints.file_kinds import refuse_not_fetched
from transformer_core.checkpoints.foreign import open_foreign, open_module
from transformer_core.checkpoints.layout import LAYOUT
from transformer_core.checkpoints.location import ModelLocation, find, typed_path
from transformer_core.checkpoints.mapping.rules import MAPPING, shapes_of
from transformer_core.checkpoints.nearest import UnknownLayoutError, nearest_layout
from transformer_core.checkpoints.placement import DeviceMap, ParameterLoader, plan
from transformer_core.checkpoints.tensor_files import OnProgress
from transformer_core.config import ModelConfig
from transformer_core.devices import choose_precision
from transformer_core.errors import CheckpointError, Message
from transformer_core.model.transformer import Transformer
from transformer_core.reasons import reason
from transformer_core.text.foreign import ForeignTokenizer
from transformer_core.text.ids import IdTokenizer
from transformer_core.text.interface import Tokenizer
from transformer_core.text.load import has_known_tokenizer, has_tokenizer, load_foreign, tokenizer_files


@torch.inference_mode(mode=False)  # as in read_checkpoint
def read_foreign(
    source: ModelLocation,
    *,
    device: str | torch.device,
    dtype: str | torch.dtype | None,
    device_map: DeviceMap | None,
    options: Mapping[str, Any] | None,
    on_progress: OnProgress | None,
    on_note: OnNote,
) -> tuple[Transformer, Tokenizer]:
    """Return the model and the tokenizer in the files of another program; arguments and errors as of `load`."""
    where = source.name
    adapter = read_adapter(source.folder, where=where) if is_adapter(source.folder) else None
    place = source.folder if adapter is None else _base_of(adapter, source.folder, on_progress)
    opened = open_foreign(place, where=where, options=options, on_progress=on_progress)
    values, weights, with_tokenizer = opened.values, opened.weights, opened.folder
    if adapter is not None:
        weights = Merged(weights, adapter)
        values = weights.described(values)
        on_note(Message(MERGED, base=adapter.base))
        if place.parent == source.folder.parent and place != typed_path(adapter.base):
            on_note(Message("Its base model was read from the folder {name} next to the adapter.", name=place.name))
        with_tokenizer = source.folder if has_tokenizer(source.folder) else with_tokenizer
    config = family_of(values, where=where).config(values, where=f"{where}: {CONFIG}")
    tokenizer = opened.tokenizer or tokenizer_in(
        with_tokenizer, config, is_of_library=LAYOUT not in values, where=where, on_note=on_note
    )
    placement = plan(
        config,
        device=device,
        device_map=device_map,
        dtype=torch.float32 if dtype is None else choose_precision(dtype),
        where=where,
    )
    with ParameterLoader(placement, opened.files) as loader:
        try:
            model = convert(values, weights, where=where, place=loader.place, on_note=on_note)
        except KeysError as error:
            if LAYOUT not in values or values["model_type"] == MAPPING:
                raise
            shapes, nearest = shapes_of(opened.files), nearest_layout(opened.files)
            raise UnknownLayoutError(error.message, shapes=shapes, nearest=nearest) from error
        loader.finish(model)
    for note in opened.notes:
        on_note(note)
    return model, tokenizer


@torch.inference_mode(mode=False)
def copy_module(
    theirs: nn.Module,
    *,
    device: str | torch.device,
    dtype: str | torch.dtype | None,
    options: Mapping[str, Any] | None,
    on_note: OnNote,
) -> tuple[Transformer, Tokenizer]:
    """Return a model in memory as one of ours, and its tokenizer; arguments and errors as of `load`."""
    where = type(theirs).__name__
    theirs = _merged(theirs, where)
    opened = open_module(theirs, where=where, options=options)
    for name, weight in opened.weights.items():
        if not isinstance(weight, Tensor):
            raise CheckpointError(
                "{where} has quantized weights, such as {name}; give a model without", where=where, name=name
            )
        if weight.is_meta:
            raise CheckpointError("{where} has no weights: it is on the meta device", where=where)
    weights = {name: weight.detach().clone() for name, weight in opened.weights.items()}
    model = convert(opened.values, weights, where=where, on_note=on_note)
    for note in opened.notes:
        on_note(note)
    precision = torch.float32 if dtype is None else choose_precision(dtype)
    placement = plan(model.config, device=device, device_map=None, dtype=precision, where=where)
    return model.to(placement.home, precision), IdTokenizer.of(model.config)


def _merged(theirs: Any, where: str) -> nn.Module:
    """Return a model without an adapter of the PEFT library, which is merged into a copy of the model.

    Raises:
        CheckpointError: it cannot be merged.
    """
    if not hasattr(theirs, "merge_and_unload"):
        return theirs
    try:
        if any(getattr(config, "layer_replication", None) for config in theirs.peft_config.values()):
            raise NotImplementedError("layer_replication")  # the changes of all copies would be added to one layer
        return deepcopy(theirs).merge_and_unload()
    except Exception as error:  # of any method
        raise CheckpointError(
            "{where}: its adapter cannot be merged into its model ({error:.300})", where=where, error=str(reason(error))
        ) from error


def tokenizer_in(
    folder: Path,
    config: ModelConfig,
    *,
    is_of_library: bool,
    where: str | Message,
    on_note: OnNote = lambda _: None,
) -> Tokenizer:
    """Return the tokenizer in a foreign model's folder, or, without one, a tokenizer that takes token ids.

    Args:
        folder: the folder.
        config: of the model.
        is_of_library: whether the model is one of the `transformers` library; other programs may have other files with
            names like those of tokenizers.
        where: name of the model in messages.
        on_note: called with a note on tokens that the model lacks.

    Raises:
        CheckpointError: the tokenizer is damaged, unsupported, or that of another model.
    """
    for path in tokenizer_files(folder):
        refuse_not_fetched(path)
    is_there = has_tokenizer(folder) if is_of_library else has_known_tokenizer(folder)
    tokenizer = load_foreign(folder) if is_there else IdTokenizer.of(config)
    if isinstance(tokenizer, ForeignTokenizer) and (beyond := tokenizer.beyond(config.vocab_size)):
        tokenizer = tokenizer.of_model(config.vocab_size)
        tokens = ", ".join(beyond[:5]) + (" …" if len(beyond) > 5 else "")
        on_note(
            Message(
                "Its tokenizer has {tokens}, which the model does not have; texts with them are refused.", tokens=tokens
            )
        )
    refuse_other_tokenizer(where, config, tokenizer)
    return tokenizer


def _base_of(adapter: Adapter, folder: Path, on_progress: OnProgress | None) -> Path:
    """Return the folder of an adapter's base model: by its path, in the same folder, or on the Hub.

    Raises:
        CheckpointError: it is in none of these places.
    """
    name = adapter.base.replace("\\", "/").rstrip("/").rpartition("/")[2]
    places = dict.fromkeys((typed_path(adapter.base), folder.parent / adapter.base, folder.parent / name))
    for place in places:
        if place.is_dir() and place != folder and is_foreign(place):
            return place
    revision = "" if adapter.revision is None else f"@{adapter.revision}"
    try:
        location = find(f"{adapter.base}{revision}", on_progress)
        if location.commit is not None:
            return location.folder
        why: str | Message = Message("nor is it an id of the Hub")
    except CheckpointError as error:
        why = error.message
    raise CheckpointError(
        "{where} is an adapter for {base}, which is not in {places} ({why}); copy the folder of that model next to the "
        "adapter",
        where=adapter.where,
        base=adapter.base,
        places=Message.joined(Message(" or "), map(str, places)),
        why=why,
    )
