"""Tokenizers from elsewhere for a training: found in a folder or on the Hugging Face Hub, and known by their files."""

import hashlib
from pathlib import Path

from transformer_core.checkpoints.typed_path import typed_path
from transformer_core.config import Architecture
from transformer_core.errors import CheckpointError, CorpusError
from transformer_core.text.foreign import ForeignTokenizer
from transformer_core.text.foreign_training import for_training
from transformer_core.text.load import has_tokenizer, load_foreign


def folder_of_source(source: str) -> Path:
    """Return the folder of a tokenizer; one of the Hub is brought into its cache once, and found there from then on.

    Args:
        source: a folder, or the id of a model on the Hub: "owner/name", with "@" and a version after it if need be.

    Raises:
        CorpusError: there is no tokenizer, or the Hub does not give it.
    """
    try:
        folder = typed_path(source)
    except CheckpointError as error:
        raise CorpusError(error.message) from None
    if folder.is_dir():
        if not has_tokenizer(folder):
            raise CorpusError(
                "the folder {folder} contains no tokenizer; give a folder with a tokenizer.json, or the "
                "id of a model on the Hugging Face Hub",
                folder=source,
            )
        return folder
    from transformer_core.checkpoints.hub import HubId  # it is slow to load

    hub_id = HubId.read(source)
    if hub_id is None:
        raise CorpusError(
            "there is no folder {folder} with a tokenizer; check the path, or give the id of a model "
            "on the Hugging Face Hub (owner/name)",
            folder=source,
        )
    from transformer_core.checkpoints.hub_tokenizer import fetch_tokenizer

    try:
        return fetch_tokenizer(hub_id)
    except CheckpointError as error:
        raise CorpusError(error.message) from error


def fingerprint_of_source(source: str) -> str:
    """Return the SHA-256 of all files of a tokenizer, as 64 hexadecimal digits.

    Raises:
        CorpusError: as `folder_of_source`.
    """
    folder, digest = folder_of_source(source), hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file() and _is_of_a_tokenizer(path)):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def foreign_tokenizer(source: str, architecture: Architecture) -> ForeignTokenizer:
    """Return the tokenizer of a folder or of the Hub, with the special tokens that such a model is trained with.

    Raises:
        CorpusError: there is none, or it cannot be read, or cannot be trained with.
    """
    folder = folder_of_source(source)
    try:
        tokenizer = load_foreign(folder)
        if not isinstance(tokenizer, ForeignTokenizer):
            raise CheckpointError(
                "{source} tokenizes source and target differently, so it cannot be used to train a new model",
                source=source,
            )
        return for_training(tokenizer, architecture)
    except CheckpointError as error:
        raise CorpusError(error.message) from error


def _is_of_a_tokenizer(path: Path) -> bool:
    """Whether a file may say what a tokenizer does; weights, which are large, do not."""
    return path.suffix in (".json", ".txt", ".model", ".spm", ".tiktoken") and "safetensors" not in path.name
