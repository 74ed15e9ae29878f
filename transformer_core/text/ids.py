"""Tokenizers of models that were imported without a tokenizer: token ids as text, or the characters of a nanoGPT model.

Ids are typed as "464 3290 318". If the model has segments, two texts of ids are a pair, which is read as typed, [SEP]
included. Characters are read from the meta.pkl of the data of nanoGPT's character-level models.
"""

import json
import pickle
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, SupportsInt

from transformer_core.config import Architecture, ModelConfig
from transformer_core.errors import CheckpointError, TextError
from transformer_core.text.interface import WRITTEN_MASK, PairTokens, Tokenizer
from transformer_core.text.labels import Token, visible
from transformer_core.text.separate import SeparateTokenizers

_WRITTEN = re.compile(r"[^\s,;\[\]()]+")  # between spaces, commas, or the brackets of a list
_MOST_NAMED = 5  # number of ids or characters listed in an error
_ROLES = ("pad", "bos", "eos")


class IdTokenizer(Tokenizer):
    """Reads and writes tokens as ids: "464 3290 318" or "464, 3290, 318"; labels are the ids."""

    def __init__(self, vocab_size: int, special: Mapping[str, int | None], *, n_segments: int = 0) -> None:
        """Build the tokenizer of a vocabulary.

        Args:
            vocab_size: of the model.
            special: the token or None for each role: "pad", "bos", "eos".
            n_segments: of the model.
        """
        self.kind = "ids"
        self._vocab_size, self._n_segments = vocab_size, n_segments
        self.pad_id, self.bos_id, self.eos_id = (special.get(role) for role in _ROLES)
        self.unk_id = self.mask_id = None

    @classmethod
    def of(cls, config: ModelConfig) -> Tokenizer:
        """Return the tokenizer of a model; one per side if source and target have separate vocabularies."""
        special = {"pad": config.pad_id, "bos": config.bos_id, "eos": config.eos_id}
        tokenizer = cls(config.vocab_size, special, n_segments=config.n_segments)
        if not config.src_vocab_size:
            return tokenizer
        in_source = {role: i if i is not None and i < config.src_vocab_size else None for role, i in special.items()}
        return SeparateTokenizers(cls(config.src_vocab_size, in_source), tokenizer)

    @classmethod
    def from_values(cls, about: Mapping[str, Any]) -> "IdTokenizer":
        """Return the tokenizer that `save` has written; invalid values may raise any exception."""
        vocab_size, n_segments = int(about["vocab_size"]), int(about.get("n_segments", 0))
        special = {role: None if about[role] is None else int(about[role]) for role in _ROLES}
        if vocab_size < 1 or any(i is not None and not 0 <= i < vocab_size for i in special.values()):
            raise ValueError("a token that is not in the vocabulary")
        return cls(vocab_size, special, n_segments=n_segments)

    @property
    def vocab_size(self) -> int:
        """The number of tokens, including special tokens."""
        return self._vocab_size

    def decode(self, ids: Iterable[SupportsInt]) -> str:
        """Return the ids of tokens, special ones included."""
        return " ".join(self.tokens(ids))

    def tokens(self, ids: Iterable[SupportsInt]) -> list[str]:
        """Return each token's id."""
        return [str(i) for i in self._known(ids)]

    def _cut(self, text: str) -> list[tuple[int, str]]:
        pieces = _WRITTEN.findall(text)
        for piece in pieces:
            if not (piece.isascii() and piece.isdecimal()):
                raise TextError(
                    "this model was imported without a tokenizer and takes token ids such as 464 3290 318; "
                    "“{piece}” is not a token id",
                    piece=piece[:30],
                )
        last = str(self.vocab_size - 1)
        beyond = [piece for piece in pieces if (len(piece.lstrip("0")), piece.lstrip("0")) > (len(last), last)]
        if beyond:
            named = list(dict.fromkeys(piece[:20] for piece in beyond))
            raise TextError(
                "token id {ids} is out of range; this model has the ids 0 to {last}",
                plural="token ids {ids} are out of range; this model has the ids 0 to {last}",
                n=len(named),
                ids=", ".join(named[:_MOST_NAMED]) + (" …" if len(named) > _MOST_NAMED else ""),
                last=last,
            )
        return [(int(piece), piece) for piece in pieces]

    def _read(self, text: str, architecture: Architecture) -> list[tuple[int, str]]:
        """Return the ids as typed, for an encoder-decoder with <eos> at the end."""
        if architecture == "encoder_only" and WRITTEN_MASK.search(text):
            raise TextError(
                "this model was imported without a tokenizer, so its mask token is unknown; type its id "
                "like any other, such as 464 103 318"
            )
        read = self._cut(text)
        is_open = architecture == "encoder_decoder" and (not read or read[-1][0] != self.eos_id)
        if is_open and self.eos_id is not None:
            read.append((self.eos_id, ""))
        return read

    @property
    def takes_pairs(self) -> bool:
        """Whether the model has two segments."""
        return self._n_segments > 1

    def _read_pair(self, first: str, second: str) -> PairTokens:
        if not self.takes_pairs:
            raise TextError(
                "this model has no segments and was imported without a tokenizer, so two texts are one sequence of "
                "token ids to it; type them as one text"
            )
        texts = [self._read(text, "encoder_only") for text in (first, second)]
        segments = [segment for segment, text in enumerate(texts) for _ in text]
        return PairTokens([*texts[0], *texts[1]], segments, len(texts[0]) if texts[1] else None)

    def _token(self, i: int) -> Token:
        is_special = i in (self.pad_id, self.bos_id, self.eos_id)
        return Token(name=str(i)) if is_special else Token(text=str(i).encode(), starts_anew=True)

    def to_json(self) -> str:
        """Return the content of tokenizer.json."""
        about = {"kind": self.kind, "vocab_size": self.vocab_size, "n_segments": self._n_segments}
        about |= dict(zip(_ROLES, (self.pad_id, self.bos_id, self.eos_id), strict=True))
        return json.dumps({"headlight": about}) + "\n"


META = "meta.pkl"
KIND = "characters"  # in files
_BOS = "<bos>"
_MAX_BYTES = 2**24  # size of META; all of Unicode would take an eighth of this


class CharacterTokenizer(Tokenizer):
    """One token per character; no special tokens, except that one token may begin and end texts, as in microGPT."""

    def __init__(self, characters: Mapping[int, str], *, bos_id: int | None = None) -> None:
        """Take the character of each token, from 0 on; the token `bos_id` has none.

        Raises:
            ValueError: a token is missing, is not a single character, or occurs twice.
        """
        self.kind = "character"
        self._characters = [characters.get(i, "") for i in range(len(characters))]
        self._ids_of = {character: i for i, character in enumerate(self._characters) if i != bos_id}
        if (
            not self._ids_of
            or any(len(character) != 1 for character in self._ids_of)
            or len(self._ids_of) + (bos_id is not None) != len(characters)
        ):
            raise ValueError("not one character for each token")
        self.bos_id = self.eos_id = bos_id
        self.pad_id = self.unk_id = self.mask_id = None

    @classmethod
    def from_values(cls, about: Mapping[str, Any]) -> "CharacterTokenizer":
        """Return the tokenizer that `save` has written; invalid values may raise any exception."""
        return cls(dict(enumerate(about["characters"])), bos_id=about.get("bos"))

    @property
    def vocab_size(self) -> int:
        """Number of tokens."""
        return len(self._characters)

    def decode(self, ids: Iterable[SupportsInt]) -> str:
        """Return the text of tokens."""
        return "".join(self._characters[i] for i in self._known(ids) if i != self.bos_id)

    def tokens(self, ids: Iterable[SupportsInt]) -> list[str]:
        """Return each token's character."""
        return [_BOS if i == self.bos_id else self._characters[i] for i in self._known(ids)]

    def _cut(self, text: str) -> list[tuple[int, str]]:
        unknown = [visible(character) for character in dict.fromkeys(text) if character not in self._ids_of]
        if unknown:
            raise TextError(
                "this model reads single characters and does not know {characters}; its characters are {known}",
                characters=" ".join(unknown[:_MOST_NAMED]) + (" …" if len(unknown) > _MOST_NAMED else ""),
                known="".join(map(visible, [*self._ids_of][:200])),
            )
        return [(self._ids_of[character], character) for character in text]

    def _read(self, text: str, architecture: Architecture) -> list[tuple[int, str]]:
        return [*([] if self.bos_id is None else [(self.bos_id, "")]), *self._cut(text)]

    def _token(self, i: int) -> Token:
        return Token(name=_BOS) if i == self.bos_id else Token(text=self._characters[i].encode())

    def to_json(self) -> str:
        """Return the content of tokenizer.json."""
        about = {"kind": KIND, "characters": self._characters} | ({} if self.bos_id is None else {"bos": self.bos_id})
        return json.dumps({"headlight": about}) + "\n"


class _PlainUnpickler(pickle.Unpickler):
    """Unpickles numbers, strings and containers; rejects everything that imports a Python name."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name}")


def read_meta(path: Path) -> CharacterTokenizer:
    """Read the character tokenizer of a nanoGPT model without running any code in the pickle.

    Raises:
        CheckpointError: the file is not such a tokenizer.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError("too large")
        with path.open("rb") as file:
            return CharacterTokenizer(dict(_PlainUnpickler(file).load()["itos"]))
    except Exception as error:  # pickle may raise any exception for damaged or unrelated files
        raise CheckpointError(
            "{path} does not contain the characters of a nanoGPT (itos: one for each token); copy the file from the "
            "data that the model was trained on, or remove it, to type token ids",
            path=path,
        ) from error
