"""Importing a model as a checkpoint folder."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformer_core.checkpoints.checkpoint import CARD, is_foreign, read_card, refuse_to_replace, save
from transformer_core.checkpoints.folder import replacing
from transformer_core.checkpoints.foreign import format_of
from transformer_core.checkpoints.load import load
from transformer_core.checkpoints.location import ModelLocation, find
from transformer_core.checkpoints.tensor_files import OnProgress
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, Message, UnsupportedModelError
from transformer_core.model.transformer import Transformer
from transformer_core.reasons import reason
from transformer_core.text.interface import Tokenizer

EXAMPLES = {
    "encoder_decoder": ("The animal didn't cross the street because it was too tired.",),
    "decoder_only": ("The animal didn't cross the street because it was too", "Once upon a time"),
    "encoder_only": ("The animal didn't cross the street because it was too ____.", "Paris is the ____ of France."),
}
WITHOUT_BLANKS = ("The animal didn't cross the street because it was too tired.", "Paris is the capital of France.")
WITHOUT_TOKENIZER = Message("Imported without a tokenizer, so its texts are token ids.")
_USUAL_NAME = re.compile(  # of files of weights, which do not tell models apart
    r"(ckpt|checkpoint|model|pytorch_model|lit_model|consolidated|weights|state_dict|best|last|final)([-_.]\d[\w-]*)?"
    r"\.(bin|chkpt|ckpt|json|pt|pth|safetensors)",
    re.IGNORECASE,
)

WriteUnsupported = Callable[[Path, Path, str, UnsupportedModelError], dict[str, Any]]
"""Writes a model that this library does not compute into an empty folder, and returns its card.

Takes the folder of the model, the empty folder, the model's name, and the error about it.
"""


def bring_in(
    source: str | ModelLocation,
    folder: str | os.PathLike[str],
    *,
    options: Mapping[str, Any] | None = None,
    on_progress: OnProgress | None = None,
    otherwise: WriteUnsupported | None = None,
) -> dict[str, Any]:
    """Load a model from the Hugging Face Hub or from a folder, and write it as a checkpoint.

    Args:
        source: a path or an id as for `load`, or the result of `find`.
        folder: the checkpoint folder; an older checkpoint there is replaced.
        options: as for `load`.
        on_progress: called with bytes done, total bytes, and a description.
        otherwise: called for a model that this library does not compute; None: it is refused.

    Returns:
        The card of the model.

    Raises:
        UndecidedError: as from `load`.
        CheckpointError: the model is not available, or the folder contains something else or cannot be written.
        ConfigError: there is too little memory for it.
    """
    folder = Path(folder)
    refuse_to_replace(folder)
    if isinstance(source, ModelLocation):
        location = source
    else:  # a model that is not computed is downloaded for `otherwise`
        location = find(source, on_progress, on_unsupported=None if otherwise is None else lambda *_: None)
    notes: list[Message] = []
    try:
        try:
            model, tokenizer = load(location, options=options, on_progress=on_progress, on_note=notes.append)
        except UnsupportedModelError as error:
            if otherwise is None:
                raise
            with replacing(folder) as new:
                return otherwise(location.folder, new, str(location.name), error)
        name = str(location.name)
        card = card_of(location.folder, model, tokenizer, name=name, notes=notes, options=options)
        if location.commit is not None:
            card["source"] = {"name": location.name, "commit": location.commit}
        save(folder, model, tokenizer, card)
    except OSError as error:
        raise CheckpointError(
            "{folder} cannot be written ({error}); free some disk space, then try again",
            folder=folder,
            error=reason(error),
        ) from error
    return card


def card_of(
    folder: Path,
    model: Transformer,
    tokenizer: Tokenizer,
    *,
    name: str,
    notes: Sequence[Message] = (),
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the card of a model that was loaded from a folder: its own, or a new one.

    Args:
        folder: the model's folder.
        model: the model, whose parameters are counted.
        tokenizer: the model's tokenizer.
        name: an id, a path or a plain name, whose last part becomes the title.
        notes: notes on the import.
        options: with which it was loaded.

    Raises:
        CheckpointError: the folder's card is damaged.
    """
    if (folder / CARD).is_file() and not is_foreign(folder):
        card = read_card(folder)
        card |= {"notes": [note.as_json() for note in notes]} if notes else {}
    else:
        card = new_card(model.config, tokenizer, name, notes)
        card["format"] = format_of(folder, options=options)
        card |= {"options": dict(options)} if options else {}
    card["parameters"] = sum(parameter.numel() for parameter in model.parameters())
    return card


def title_of(name: str) -> str:
    """Return the title of a model: the last part of its id or path, or the folder of a file such as ckpt.pt."""
    folder, _, last = name.partition("@")[0].replace("\\", "/").rstrip("/").rpartition("/")
    return (_USUAL_NAME.fullmatch(last) and folder.rpartition("/")[2]) or last or name


def new_card(config: ModelConfig, tokenizer: Tokenizer | None, name: str, notes: Sequence[Message]) -> dict[str, Any]:
    """Return the card of an imported model; arguments as for `card_of`; without a tokenizer it reads no texts."""
    title = title_of(name)
    description = [Message("Imported from {name}.", name=name)]
    reads_ids = tokenizer is not None and tokenizer.kind == "ids"
    if reads_ids:
        description.append(WITHOUT_TOKENIZER)
    description += notes
    examples = EXAMPLES[config.architecture] if config.unembed else WITHOUT_BLANKS
    if reads_ids:
        ids = [str(config.input_vocab_size * place // 9) for place in range(1, 9)]  # spread over the vocabulary
        examples = " ".join(ids), " ".join(ids[:5] * 2)  # the second text repeats its tokens
    return {
        "name": title,
        "kind": config.architecture.replace("_", "-"),
        "title": title,
        "description": Message.joined(" ", description).as_json(),
        **({"notes": [note.as_json() for note in notes]} if notes else {}),
        "source": {"name": name},
        "examples": list(examples),
        **({"tokenizer": "ids"} if reads_ids else {}),
    }
