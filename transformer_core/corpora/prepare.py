"""What a training needs of a corpus before its first step: a tokenizer, and all texts as tokens."""

import json
from importlib.metadata import version

from transformer_core.config import Architecture
from transformer_core.corpora.corpus import Corpus
from transformer_core.corpora.foreign_tokens import foreign_tokenizer
from transformer_core.corpora.source_code import CODE_OF_TEXT
from transformer_core.corpora.storage.file_items import FileItems
from transformer_core.corpora.storage.kept_arrays import kept_bytes
from transformer_core.text.tokenizer import OwnTokenizer, Tokenizer, train_tokenizer, word_tokenizer


def tokenizer_of(corpus: Corpus, architecture: Architecture) -> Tokenizer:
    """Return the tokenizer that a corpus is read with: its own, or one from elsewhere.

    Args:
        corpus: what to train on.
        architecture: of the model.

    Raises:
        CorpusError: the one from elsewhere is not there, or cannot be trained with.
    """
    if corpus.tokenizer_source:
        return foreign_tokenizer(corpus.tokenizer_source, architecture)
    return own_tokenizer_of(corpus, architecture)


def own_tokenizer_of(corpus: Corpus, architecture: Architecture) -> OwnTokenizer:
    """Return a corpus's own tokenizer: one vocabulary of both sides, of what is trained on; a mask for an encoder.

    It is made once and kept in the cache folder, under the fingerprint of the corpus and the code that makes it. A
    corpus that names its words has a tokenizer of those alone. Words and subwords of much text are found in some that
    lies evenly in all of it.

    Args:
        corpus: what to train on.
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
