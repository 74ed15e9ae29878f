"""Character tokenizers of nanoGPT's character-level models, read from the meta.pkl of their data."""

import json
import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, SupportsInt

from transformer_core.config import Architecture
from transformer_core.errors import CheckpointError, TextError
from transformer_core.text.interface import Tokenizer
from transformer_core.text.labels import Token, visible

META = "meta.pkl"
KIND = "characters"  # in files
_MAX_BYTES = 2**24  # of META; all of Unicode takes an eighth
_MOST_NAMED = 5  # characters that an error names


class CharacterTokenizer(Tokenizer):
    """One token per character; no special tokens."""

    def __init__(self, characters: Mapping[int, str]) -> None:
        """Take the character of each token, from 0 on.

        Raises:
            ValueError: a token is missing, is not a single character, or occurs twice.
        """
        self.kind = "character"
        self._characters = [characters.get(i, "") for i in range(len(characters))]
        self._ids_of = {character: i for i, character in enumerate(self._characters)}
        if (
            not characters
            or any(len(character) != 1 for character in self._ids_of)
            or len(self._ids_of) != len(characters)
        ):
            raise ValueError("not one character for each token")
        self.pad_id = self.bos_id = self.eos_id = self.unk_id = self.mask_id = None

    @classmethod
    def from_values(cls, about: Mapping[str, Any]) -> "CharacterTokenizer":
        """Return the tokenizer that `save` has written.

        Raises:
            Exception: the values are invalid; the caller raises a proper error.
        """
        return cls(dict(enumerate(about["characters"])))

    @property
    def vocab_size(self) -> int:
        """Number of tokens."""
        return len(self._characters)

    def decode(self, ids: Iterable[SupportsInt]) -> str:
        """Return the text of tokens."""
        return "".join(self.tokens(ids))

    def tokens(self, ids: Iterable[SupportsInt]) -> list[str]:
        """Return each token's character."""
        return [self._characters[i] for i in self._known(ids)]

    def _cut(self, text: str) -> list[tuple[int, str]]:
        unknown = [visible(character) for character in dict.fromkeys(text) if character not in self._ids_of]
        if unknown:
            raise TextError(
                "this model reads single characters and does not know {characters}; its characters are {known}",
                characters=" ".join(unknown[:_MOST_NAMED]) + (" …" if len(unknown) > _MOST_NAMED else ""),
                known="".join(map(visible, self._characters[:200])),
            )
        return [(self._ids_of[character], character) for character in text]

    def _read(self, text: str, architecture: Architecture) -> list[tuple[int, str]]:
        return self._cut(text)

    def _token(self, i: int) -> Token:
        return Token(text=self._characters[i].encode())

    def to_json(self) -> str:
        """Return the content of tokenizer.json."""
        return json.dumps({"headlight": {"kind": KIND, "characters": self._characters}}) + "\n"


class _PlainUnpickler(pickle.Unpickler):
    """Loads numbers, texts and their containers; refuses everything that needs a Python name."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name}")


def read_meta(path: Path) -> CharacterTokenizer:
    """Read the character tokenizer of a nanoGPT; no code of the pickle is run.

    Raises:
        CheckpointError: the file is not one.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError("too large")
        with path.open("rb") as file:
            return CharacterTokenizer(dict(_PlainUnpickler(file).load()["itos"]))
    except Exception as error:  # pickle raises anything for damaged or other files
        raise CheckpointError(
            "{path} does not contain the characters of a nanoGPT (itos: one for each token); copy the file from the "
            "data that the model was trained on, or remove it, to type token ids",
            path=path,
        ) from error
