"""`load`: a model and its tokenizer from our folders, Hugging Face folders, and the Hugging Face Hub."""

import os
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import torch
from torch import nn

from transformer_core.checkpoints.checkpoint import (
    CONFIG,
    is_foreign,
    read_checkpoint,
    reading_folder,
    refuse_other_tokenizer,
)
from transformer_core.checkpoints.convert import OnNote, convert, family_of
from transformer_core.checkpoints.file_kinds import refuse_not_fetched
from transformer_core.checkpoints.foreign import open_foreign
from transformer_core.checkpoints.generation import with_generation
from transformer_core.checkpoints.parameter_loader import ParameterLoader
from transformer_core.checkpoints.placement import DeviceMap, plan
from transformer_core.checkpoints.tensor_files import OnProgress, newest_of_training
from transformer_core.checkpoints.typed_path import typed_path
from transformer_core.devices import choose_precision
from transformer_core.errors import CheckpointError, Message
from transformer_core.instrument.finite import not_finite_weights, note_on_weights
from transformer_core.model.transformer import Transformer
from transformer_core.shipped import shipped_model
from transformer_core.text.foreign import ForeignTokenizer
from transformer_core.text.ids import IdTokenizer
from transformer_core.text.interface import Tokenizer
from transformer_core.text.load import has_tokenizer, load_foreign, tokenizer_files


@dataclass(frozen=True)
class Source:
    """A model that lies in a folder, and what it is called."""

    folder: Path
    name: str | Message  # the path as it was given, or the id
    commit: str | None = None  # the version, of a model of the Hub


def load(
    source: str | os.PathLike[str] | Source | nn.Module,
    *,
    device: str | torch.device = "cpu",
    dtype: str | torch.dtype | None = None,
    device_map: DeviceMap | None = None,
    on_progress: OnProgress | None = None,
    on_note: OnNote = lambda _: None,
) -> tuple[Transformer, Tokenizer]:
    """Return a model, ready for use, and its tokenizer.

    The texts of a model from elsewhere without a tokenizer are token ids: "464 3290 318".

    Weights are read from safetensors files one tensor at a time, and from files of torch.save by torch's allow-list of
    tensors and plain values, so that no code of a model is run.

    >>> model, tokenizer = load("checkpoints/en-fr")
    >>> model, tokenizer = load("openai-community/gpt2", device="auto")

    Args:
        source: a checkpoint folder of ours, a Hugging Face folder, a file of weights (nanoGPT's ckpt.pt, or one with a
            config.json beside it), or, where there is no such folder, the id of a model
            of the Hugging Face Hub: "owner/name", with "@" and a branch, tag or commit after it if need be. A model of
            the Hub is downloaded once, and needs no network after that. A path object is always a folder. The models
            that come with Headlight are found from everywhere, as "checkpoints/en-fr". Or a model of the `transformers`
            library that is in memory: its weights are copied, and its texts are token ids.
        device: where the model goes: "cpu", "cuda", "cuda:1", "mps", or "auto", the best there is.
        dtype: precision of the weights, "float32", "bfloat16", ...; None: our own models as they were saved, others in
            float32.
        device_map: for a model that is too large for one device. "auto" fills the devices of this machine, then the
            disk. A mapping gives places by name, a device or "disk": of a block ("decoder.blocks.3"), of all blocks of
            a stack that are not named ("decoder.blocks"), of all else (""). Tokens go to where "" is, and logits come
            out there. `device` is not looked at then.
        on_progress: told bytes that are done, bytes in all, and of what, while the model is downloaded and read.
        on_note: told what was done to a model from elsewhere that its files do not say, such as a prefix that was
            taken off the names of its weights; and which weights of any model are NaN or infinite.

    Raises:
        CheckpointError: a model that is not there, incomplete, damaged, or of a kind that is not supported; what is
            wrong, and the way out, are in the message.
        ConfigError: a device or precision that is not there, or too little memory.
    """
    if isinstance(source, nn.Module):
        return _noted(_copied(source, device, dtype, on_note), on_note)
    if not isinstance(source, str | os.PathLike | Source):
        raise CheckpointError(
            "load takes the path of a model, an id of the Hugging Face Hub, or a model of the transformers library; "
            "got {kind}",
            kind=type(source).__name__,
        )
    location = source if isinstance(source, Source) else find(source, on_progress)

    def read(folder: Path) -> tuple[Transformer, Tokenizer]:
        here = Source(folder, location.name)
        if is_foreign(folder):
            return _read_foreign(here, device, dtype, device_map, on_progress, on_note)
        return _read_ours(here, device, dtype, device_map, on_progress)

    return _noted(reading_folder(location.folder, read), on_note)


def _noted(loaded: tuple[Transformer, Tokenizer], on_note: OnNote) -> tuple[Transformer, Tokenizer]:
    """Return what was loaded, and say which of its weights are not finite."""
    if note := note_on_weights(not_finite_weights(loaded[0])):
        on_note(note)
    return loaded


def find(source: str | os.PathLike[str], on_progress: OnProgress | None = None) -> Source:
    """Return where a model lies; one of the Hub is brought into its cache first.

    Args:
        source: as `load` takes it.
        on_progress: told how many bytes are downloaded.

    Raises:
        CheckpointError: it is no folder, and not to be had from the Hub.
    """
    folder = typed_path(str(source))
    if not isinstance(source, str) or reading_folder(folder, Path.exists):
        place = reading_folder(folder, newest_of_training)
        return Source(place, str(folder if place == folder else folder / place.name))
    if shipped := shipped_model(source):
        return Source(shipped, source)
    from transformer_core.checkpoints.hub import HubId, fetch  # slow to import, and not needed for folders

    hub_id = HubId.read(source)
    if hub_id is None and source.strip().startswith(("http://", "https://")):
        raise CheckpointError(
            "{source} is a web address; download the model, and give the path of its folder", source=source
        )
    if hub_id is None:
        return Source(folder, str(folder))  # reading it reports that it is missing
    try:
        fetched = fetch(hub_id, on_progress)
    except CheckpointError as error:
        if nearest := _nearest_folder(folder):
            raise CheckpointError("{error}; did you mean {nearest}?", error=error, nearest=nearest) from error
        raise
    return Source(fetched.folder, str(hub_id), fetched.commit)


def _read_ours(
    source: Source,
    device: str | torch.device,
    dtype: str | torch.dtype | None,
    device_map: DeviceMap | None,
    on_progress: OnProgress | None,
) -> tuple[Transformer, Tokenizer]:
    return read_checkpoint(source.folder, device=device, dtype=dtype, device_map=device_map, on_progress=on_progress)


@torch.inference_mode(mode=False)  # as in read_checkpoint
def _read_foreign(
    source: Source,
    device: str | torch.device,
    dtype: str | torch.dtype | None,
    device_map: DeviceMap | None,
    on_progress: OnProgress | None,
    on_note: OnNote,
) -> tuple[Transformer, Tokenizer]:
    """Put together the model and the tokenizer of a Hugging Face folder."""
    where = source.name
    opened = open_foreign(source.folder, where=where, on_progress=on_progress)
    values = opened.values
    config = family_of(values, where=where).config(values, where=f"{where}: {CONFIG}")
    for path in tokenizer_files(opened.folder):
        refuse_not_fetched(path)
    tokenizer = load_foreign(opened.folder) if has_tokenizer(opened.folder) else IdTokenizer.of(config)
    if isinstance(tokenizer, ForeignTokenizer) and (beyond := tokenizer.beyond(config.vocab_size)):
        tokenizer = tokenizer.of_model(config.vocab_size)
        tokens = ", ".join(beyond[:5]) + (" …" if len(beyond) > 5 else "")
        on_note(
            Message(
                "Its tokenizer has {tokens}, which the model does not have; texts with them are refused.", tokens=tokens
            )
        )
    refuse_other_tokenizer(where, config, tokenizer)
    placement = plan(
        config,
        device=device,
        device_map=device_map,
        dtype=torch.float32 if dtype is None else choose_precision(dtype),
        where=where,
    )
    with ParameterLoader(placement, opened.files) as loader:
        model = convert(values, opened.weights, where=where, place=loader.place, on_note=on_note)
        loader.finish(model)
    for note in opened.notes:
        on_note(note)
    return model, tokenizer


@torch.inference_mode(mode=False)
def _copied(
    theirs: nn.Module, device: str | torch.device, dtype: str | torch.dtype | None, on_note: OnNote
) -> tuple[Transformer, Tokenizer]:
    """Return a model of the `transformers` library that is in memory as one of ours."""
    where, settings = type(theirs).__name__, getattr(theirs, "config", None)
    if settings is None or not hasattr(settings, "to_dict"):
        raise CheckpointError(
            "{where} is not a model of the transformers library, so its architecture is unknown; save its weights, "
            "and describe them in a {config} next to them",
            where=where,
            config=CONFIG,
        )
    generation = getattr(theirs, "generation_config", None)
    values = with_generation(settings.to_dict(), None if generation is None else generation.to_dict())
    weights = {name: weight.detach().clone() for name, weight in theirs.state_dict().items()}
    model = convert(values, weights, where=where, on_note=on_note)
    precision = torch.float32 if dtype is None else choose_precision(dtype)
    placement = plan(model.config, device=device, device_map=None, dtype=precision, where=where)
    return model.to(placement.home, precision), IdTokenizer.of(model.config)


def _nearest_folder(folder: Path) -> Path | None:
    """Return a folder beside the one that is not there, with a name like it."""
    if not folder.parent.name or not folder.parent.is_dir():
        return None
    beside = [path.name for path in folder.parent.iterdir() if path.is_dir()]
    return next((folder.with_name(name) for name in get_close_matches(folder.name, beside, n=1)), None)
