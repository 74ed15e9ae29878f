"""`load`: a model and its tokenizer from our folders, Hugging Face folders, and the Hugging Face Hub."""

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.request import url2pathname
from weakref import WeakKeyDictionary

import torch
from torch import nn

from transformer_core.checkpoints.adapter import MERGED, Adapter, Merged, is_adapter, read_adapter
from transformer_core.checkpoints.checkpoint import (
    CONFIG,
    is_foreign,
    read_checkpoint,
    reading_folder,
    refuse_other_tokenizer,
)
from transformer_core.checkpoints.convert import KeysError, OnNote, convert, family_of
from transformer_core.checkpoints.file_kinds import refuse_not_fetched
from transformer_core.checkpoints.foreign import open_foreign, open_module, refuse_options
from transformer_core.checkpoints.layout import LAYOUT
from transformer_core.checkpoints.mapping.rules import MAPPING, shapes_of
from transformer_core.checkpoints.nearest import UnknownLayoutError, nearest_layout
from transformer_core.checkpoints.placement import DeviceMap, ParameterLoader, plan
from transformer_core.checkpoints.tensor_files import OnProgress, newest_of_training
from transformer_core.config import ModelConfig
from transformer_core.devices import choose_precision
from transformer_core.errors import CheckpointError, Message
from transformer_core.instrument.finite import not_finite_weights, note_on_weights
from transformer_core.model.transformer import Transformer
from transformer_core.shipped import shipped_model
from transformer_core.text.foreign import ForeignTokenizer
from transformer_core.text.ids import IdTokenizer
from transformer_core.text.interface import Tokenizer
from transformer_core.text.load import has_known_tokenizer, has_tokenizer, load_foreign, tokenizer_files

_FILE = ("file://localhost/", "file:///")
_QUOTES = "\"'“”‘’„"
_tokenizers: WeakKeyDictionary[Transformer, Tokenizer] = WeakKeyDictionary()
_MOST_QUOTED = 60  # most characters of a text quoted in an error


@dataclass(frozen=True)
class ModelLocation:
    """The folder of a model, and its name."""

    folder: Path
    name: str | Message  # the given path, or the id
    commit: str | None = None  # the version of a Hub model


def load(
    source: str | os.PathLike[str] | ModelLocation | nn.Module,
    *,
    device: str | torch.device = "cpu",
    dtype: str | torch.dtype | None = None,
    device_map: DeviceMap | None = None,
    options: Mapping[str, Any] | None = None,
    on_progress: OnProgress | None = None,
    on_note: OnNote = lambda _: None,
) -> tuple[Transformer, Tokenizer]:
    """Return a model in evaluation mode, and its tokenizer.

    An imported model without a tokenizer takes token ids as text: "464 3290 318". Weights are read from safetensors
    files one tensor at a time, and from files of torch.save by torch's allow-list of tensors and plain values, so that
    no code of a model is run.

    >>> model, tokenizer = load("checkpoints/en-fr")
    >>> model, tokenizer = load("openai-community/gpt2", device="auto")

    Args:
        source: a checkpoint folder of ours, a Hugging Face folder, or a file of weights: one next to a config.json, or
            one of a known layout (layout.py), such as nanoGPT's ckpt.pt. If there is no such path, the id of a model of
            the Hugging Face Hub: "owner/name", optionally with "@" and a branch, tag or commit; it is downloaded once.
            A path object is always a path. The models that come with Headlight are available from any folder, as
            "checkpoints/en-fr". Or a model in memory, of the `transformers` library or of a known layout, whose weights
            are copied, and which takes token ids.
        device: "cpu", "cuda", "cuda:1", "mps", or "auto" for the best one.
        dtype: precision of the weights, "float32", "bfloat16", ...; None: our models as saved, others in float32.
        device_map: for models that are too large for one device; `device` is ignored then. "auto" fills the devices of
            this machine, then the disk. A mapping gives a device or "disk" by name: of a block ("decoder.blocks.3"), of
            the other blocks of a stack ("decoder.blocks"), or of everything else (""), where tokens and logits are.
        options: of a model without a config.json: fields of `ModelConfig` that its files do not determine, such as
            {"n_heads": 4}; "mapping": the text of a mapping (mapping/rules.py), for weights of an unknown layout.
        on_progress: called with bytes done, total bytes, and a description, while downloading and reading.
        on_note: called with notes on how an imported model was changed, such as a prefix that was removed from the
            names of its weights; and on NaN or infinite weights of any model.

    Raises:
        UndecidedError: the files of the model do not determine all of its options; the error contains the questions.
        UnknownLayoutError: the names of its weights are of no known layout; the error contains the nearest one.
        CheckpointError: the model is missing, incomplete, damaged, or not supported.
        ConfigError: an unavailable device or precision, or too little memory.
    """
    if isinstance(source, nn.Module):
        return _noted(_copied(source, device, dtype, options, on_note), on_note)
    if not isinstance(source, str | os.PathLike | ModelLocation):
        raise CheckpointError(
            "load takes the path of a model, an id of the Hugging Face Hub, or a model of the transformers library; "
            "got {kind}",
            kind=type(source).__name__,
        )
    location = source if isinstance(source, ModelLocation) else find(source, on_progress)

    def read(folder: Path) -> tuple[Transformer, Tokenizer]:
        if is_foreign(folder):
            here = ModelLocation(folder, location.name)
            return _read_foreign(here, device, dtype, device_map, options, on_progress, on_note)
        refuse_options(options, location.name)
        return read_checkpoint(folder, device=device, dtype=dtype, device_map=device_map, on_progress=on_progress)

    return _noted(reading_folder(location.folder, read), on_note)


def _noted(loaded: tuple[Transformer, Tokenizer], on_note: OnNote) -> tuple[Transformer, Tokenizer]:
    """Return the loaded model, after passing on a note about non-finite weights, if any."""
    if note := note_on_weights(not_finite_weights(loaded[0])):
        on_note(note)
    return with_tokenizer(*loaded)


def with_tokenizer(model: Transformer, tokenizer: Tokenizer) -> tuple[Transformer, Tokenizer]:
    """Return a model and its tokenizer, and remember the tokenizer for `tokenizer_of`."""
    _tokenizers[model] = tokenizer
    return model, tokenizer


def tokenizer_of(model: Transformer) -> Tokenizer | None:
    """Return the tokenizer that `load` returned with a model; None for other models."""
    return _tokenizers.get(model)


def find(source: str | os.PathLike[str], on_progress: OnProgress | None = None) -> ModelLocation:
    """Return the folder of a model, after downloading it if it is on the Hub; arguments as for `load`.

    Raises:
        CheckpointError: there is neither such a folder nor such a model on the Hub.
    """
    folder = typed_path(str(source))
    if not isinstance(source, str) or reading_folder(folder, Path.exists):
        place = reading_folder(folder, newest_of_training)
        return ModelLocation(place, str(folder if place == folder else folder / place.name))
    if shipped := shipped_model(source):
        return ModelLocation(shipped, source)
    from transformer_core.checkpoints.hub import HubId, fetch  # slow to import

    hub_id = HubId.read(source)
    if hub_id is None and source.strip().startswith(("http://", "https://")):
        raise CheckpointError(
            "{source} is a web address; download the model, and give the path of its folder", source=source
        )
    if hub_id is None:
        raise CheckpointError(
            "there is no file or folder {path!r}; give a path on this machine, or an id of the Hub (owner/name)",
            path=str(folder),
        )
    try:
        folder, commit = fetch(hub_id, on_progress)
    except CheckpointError as error:
        if nearest := _nearest_folder(folder):
            raise CheckpointError("{error}; did you mean {nearest}?", error=error, nearest=nearest) from error
        raise
    return ModelLocation(folder, str(hub_id), commit)


@torch.inference_mode(mode=False)  # as in read_checkpoint
def _read_foreign(
    source: ModelLocation,
    device: str | torch.device,
    dtype: str | torch.dtype | None,
    device_map: DeviceMap | None,
    options: Mapping[str, Any] | None,
    on_progress: OnProgress | None,
    on_note: OnNote,
) -> tuple[Transformer, Tokenizer]:
    """Load the model and the tokenizer of another program."""
    where = source.name
    adapter = read_adapter(source.folder, where=where) if is_adapter(source.folder) else None
    place = source.folder if adapter is None else _base_of(adapter, source.folder, on_progress)
    opened = open_foreign(place, where=where, options=options, on_progress=on_progress)
    values, weights, with_tokenizer = opened.values, opened.weights, opened.folder
    if adapter is not None:
        weights = Merged(weights, adapter)
        values = weights.described(values)
        on_note(Message(MERGED, base=adapter.base))
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


@torch.inference_mode(mode=False)
def _copied(
    theirs: nn.Module,
    device: str | torch.device,
    dtype: str | torch.dtype | None,
    options: Mapping[str, Any] | None,
    on_note: OnNote,
) -> tuple[Transformer, Tokenizer]:
    """Convert a model in memory."""
    where = type(theirs).__name__
    opened = open_module(theirs, where=where, options=options)
    weights = {name: weight.detach().clone() for name, weight in opened.weights.items()}
    model = convert(opened.values, weights, where=where, on_note=on_note)
    for note in opened.notes:
        on_note(note)
    precision = torch.float32 if dtype is None else choose_precision(dtype)
    placement = plan(model.config, device=device, device_map=None, dtype=precision, where=where)
    return model.to(placement.home, precision), IdTokenizer.of(model.config)


def _nearest_folder(folder: Path) -> Path | None:
    """Return the folder next to a missing one with the most similar name; None if no name is similar."""
    if not folder.parent.name or not folder.parent.is_dir():
        return None
    names = [path.name for path in folder.parent.iterdir() if path.is_dir()]
    return next((folder.with_name(name) for name in get_close_matches(folder.name, names, n=1)), None)


def typed_path(text: str) -> Path:
    """Return the path in a typed or pasted text: unchanged if it exists, otherwise cleaned up.

    White space, the quotes that "copy as path" adds, and file:// are removed; ~ is the home folder.

    Raises:
        CheckpointError: it cannot be a path, because it is too long or contains a NUL character.
    """
    try:
        os.stat(text)
    except ValueError:  # a NUL, or a lone surrogate
        raise CheckpointError(
            "{text!r} is not a path: it contains a character that paths cannot have; retype it", text=_short(text)
        ) from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise CheckpointError(
                "{text!r} is not a path or an id: with {n:,} characters it is too long; check it",
                text=_short(text),
                n=len(text),
            ) from None
    if os.path.lexists(text):
        return Path(text)
    plain = text.strip().strip(_QUOTES)
    for beginning in _FILE:
        if plain.startswith(beginning):
            plain = url2pathname("/" + plain.removeprefix(beginning))
    return Path(os.path.expanduser(plain))


def _short(text: str) -> str:
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…"
