"""The tokenizer of a corpus: its own, or one from a folder or from the Hugging Face Hub."""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path

from transformer_core.checkpoints.location import typed_path
from transformer_core.config import Architecture
from transformer_core.corpora.corpus import Corpus
from transformer_core.corpora.source_code import CODE_OF_TEXT
from transformer_core.corpora.storage.file_items import FileItems
from transformer_core.corpora.storage.kept_arrays import kept_bytes
from transformer_core.errors import CheckpointError, CorpusError
from transformer_core.text.foreign import ForeignTokenizer, for_training
from transformer_core.text.load import has_tokenizer, load_foreign
from transformer_core.text.tokenizer import OwnTokenizer, Tokenizer, train_tokenizer, word_tokenizer


def tokenizer_of(corpus: Corpus, architecture: Architecture) -> Tokenizer:
    """Return the tokenizer of a corpus: its own, or an external one.

    Args:
        corpus: to train on.
        architecture: of the model.

    Raises:
        CorpusError: the external tokenizer is missing, or unsuitable for training.
    """
    if corpus.tokenizer_source:
        return foreign_tokenizer(corpus.tokenizer_source, architecture)
    return own_tokenizer_of(corpus, architecture)


def own_tokenizer_of(corpus: Corpus, architecture: Architecture) -> OwnTokenizer:
    """Return a corpus's own tokenizer: one vocabulary for both sides of the training part; a mask for an encoder.

    It is cached under the fingerprint of the corpus and of the code. If a corpus lists its words, the vocabulary
    contains only those. For large texts, words and subwords come from an evenly spaced sample.

    Args:
        corpus: to train on.
        architecture: of the model.
    """
    if corpus.words:
        return word_tokenizer(corpus.words)
    mask = architecture == "encoder_only"

    def make() -> bytes:
        texts, kind = corpus.training_texts(), corpus.tokenizer_kind
        if kind != "character" and isinstance(corpus.train, FileItems):
            texts = corpus.train.for_vocabulary()
        return train_tokenizer(texts, kind=kind, vocab_size=corpus.vocab_size, mask=mask).to_json().encode()

    about = [corpus.fingerprint, corpus.tokenizer_kind, str(corpus.vocab_size), str(mask)]
    values = json.loads(kept_bytes("tokenizer", [CODE_OF_TEXT, version("tokenizers"), *about], make))
    return OwnTokenizer.from_values(values, values.pop("headlight"))


def folder_of_source(source: str) -> Path:
    """Return the folder of a tokenizer; one from the Hub is downloaded once, into the Hub cache.

    Args:
        source: a folder, or the id of a model on the Hub: "owner/name", optionally followed by "@" and a version.

    Raises:
        CorpusError: there is no tokenizer, or it cannot be downloaded.
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
    from transformer_core.checkpoints.hub import HubId  # slow to import

    hub_id = HubId.read(source)
    if hub_id is None:
        raise CorpusError(
            "there is no folder {folder} with a tokenizer; check the path, or give the id of a model "
            "on the Hugging Face Hub (owner/name)",
            folder=source,
        )
    from transformer_core.checkpoints.hub import fetch_tokenizer

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
    endings = (".json", ".txt", ".model", ".spm", ".tiktoken")  # of files that can define a tokenizer
    paths = (path for path in folder.iterdir() if path.suffix in endings and "safetensors" not in path.name)
    for path in sorted(filter(Path.is_file, paths)):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def foreign_tokenizer(source: str, architecture: Architecture) -> ForeignTokenizer:
    """Return the tokenizer from a folder or the Hub, with the special tokens needed to train such a model.

    Raises:
        CorpusError: there is none, it cannot be read, or it is unsuitable for training.
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
