"""The tokenizers of a model whose source and target have separate vocabularies (`ModelConfig.src_vocab_size`)."""

import json
from collections.abc import Iterable, Sequence
from typing import SupportsInt

from transformer_core.config import Architecture
from transformer_core.text.interface import Tokenizer
from transformer_core.text.labels import Token


class SeparateTokenizers(Tokenizer):
    """The source's tokenizer; `target` is the target's."""

    def __init__(self, source: Tokenizer, target: Tokenizer) -> None:
        """Take the two tokenizers."""
        self.kind = source.kind
        self.pad_id, self.bos_id, self.eos_id = source.pad_id, source.bos_id, source.eos_id
        self.unk_id, self.mask_id = source.unk_id, source.mask_id
        self._source, self._target = source, target

    @property
    def vocab_size(self) -> int:
        """The number of tokens of the source's vocabulary."""
        return self._source.vocab_size

    @property
    def target(self) -> Tokenizer:
        """The tokenizer for generated texts."""
        return self._target

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each source, without special ones."""
        return self._source.encode_batch(texts)

    def decode(self, ids: Iterable[SupportsInt]) -> str:
        """Return the text of a source's tokens without special tokens."""
        return self._source.decode(ids)

    def tokens(self, ids: Iterable[SupportsInt]) -> list[str]:
        """Return each token as in the source's vocabulary."""
        return self._source.tokens(ids)

    def _cut(self, text: str) -> list[tuple[int, str]]:
        return self._source._cut(text)

    def _read(self, text: str, architecture: Architecture) -> list[tuple[int, str]]:
        return self._source._read(text, architecture)

    def _token(self, i: int) -> Token:
        return self._source._token(i)

    def _known(self, ids: Iterable[SupportsInt]) -> list[int]:
        return self._source._known(ids)

    def to_json(self) -> str:
        """Return the content of tokenizer.json."""
        sides = {"source": json.loads(self._source.to_json()), "target": json.loads(self._target.to_json())}
        return json.dumps({"headlight": {"kind": "separate"}, **sides}, ensure_ascii=False) + "\n"
