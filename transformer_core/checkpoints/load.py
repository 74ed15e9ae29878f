"""`load`: a model and its tokenizer from our folders, Hugging Face folders, and the Hugging Face Hub."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

from transformer_core.checkpoints.checkpoint import OnNote, is_foreign, read_checkpoint, reading_folder, refuse_options
from transformer_core.checkpoints.location import ModelLocation, find
from transformer_core.checkpoints.placement import DeviceMap
from transformer_core.checkpoints.tensor_files import OnProgress
from transformer_core.errors import CheckpointError
from transformer_core.instrument.finite import not_finite_weights, note_on_weights
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Tokenizer

_tokenizers: WeakKeyDictionary[Transformer, Tokenizer] = WeakKeyDictionary()


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
            are copied, and which takes token ids; an adapter of the PEFT library is merged into the copy.
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
        from transformer_core.checkpoints.load_foreign import copy_module

        return _noted(copy_module(source, device=device, dtype=dtype, options=options, on_note=on_note), on_note)
    if not isinstance(source, str | os.PathLike | ModelLocation):
        raise CheckpointError(
            "load takes the path of a model, an id of the Hugging Face Hub, or a model of the transformers library; "
            "got {kind}",
            kind=type(source).__name__,
        )
    location = source if isinstance(source, ModelLocation) else find(source, on_progress)
    if location.note is not None:
        on_note(location.note)

    def read(folder: Path) -> tuple[Transformer, Tokenizer]:
        if is_foreign(folder):
            from transformer_core.checkpoints.load_foreign import read_foreign  # slow to import: all families, layouts

            return read_foreign(
                ModelLocation(folder, location.name),
                device=device,
                dtype=dtype,
                device_map=device_map,
                options=options,
                on_progress=on_progress,
                on_note=on_note,
            )
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
