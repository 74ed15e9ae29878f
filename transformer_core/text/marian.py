"""MarianMT's tokenizer: one sentencepiece model per language, with a shared vocabulary.

Source: Junczys-Dowmunt et al. 2018; sentencepiece: Kudo and Richardson 2018.
"""

import base64
import copy
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, SupportsInt

from sentencepiece import SentencePieceProcessor

from transformer_core.config import Architecture
from transformer_core.errors import CheckpointError
from transformer_core.text.foreign import read_settings, spelling
from transformer_core.text.interface import Tokenizer, from_zero
from transformer_core.text.labels import Token

_SIDES = ("source", "target")
_USUAL = {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}  # spelling of special tokens
_LANGUAGE = re.compile(r">>.*?<<", re.DOTALL)  # the target language of multilingual models: ">>fra<<"


class MarianTokenizer(Tokenizer):
    """The source tokenizer of a MarianMT model; `target` is the target tokenizer, with the same vocabulary."""

    pad_id: int
    eos_id: int
    unk_id: int

    def __init__(self, vocabulary: Mapping[str, int], models: Mapping[str, bytes], special: Mapping[str, str]) -> None:
        """Build a tokenizer.

        Args:
            vocabulary: the id of each token.
            models: the files of the two sentencepiece models, "source" and "target".
            special: the spellings of the special tokens: "pad", "eos", "unk".

        Raises:
            Exception: the values are invalid; the callers raise a proper error.
        """
        self.kind = "foreign"
        self.pad_id, self.eos_id, self.unk_id = (vocabulary[special[role]] for role in _USUAL)
        self.bos_id = self.mask_id = None  # the model determines the decoder's first token
        self._vocabulary, self._models, self._special = dict(vocabulary), dict(models), dict(special)
        self._written = {i: token for token, i in vocabulary.items()}
        self._marks = {*special.values()}  # recognized in a text
        self._specials = any_of(self._marks)
        self._source, self._target = (SentencePieceProcessor(model_proto=models[side]) for side in _SIDES)
        if not self._source.get_piece_size() or not self._target.get_piece_size():
            raise ValueError("an empty file")
        self._cutter = self._source

    @classmethod
    def from_values(cls, values: Mapping[str, Any], about: Mapping[str, Any]) -> "MarianTokenizer":
        """Return the tokenizer of a tokenizer.json; invalid values may raise any exception."""
        models = {side: base64.b64decode(values["models"][side], validate=True) for side in _SIDES}
        return cls(values["vocabulary"], models, about["special"])

    @property
    def vocab_size(self) -> int:
        """Number of tokens, special ones included; the model's may be larger."""
        return 1 + max(self._written)

    @property
    def target(self) -> "MarianTokenizer":
        """The tokenizer for generated texts."""
        target = copy.copy(self)
        target._cutter = self._target
        return target

    def decode(self, ids: Iterable[SupportsInt]) -> str:
        """Return the text of tokens without special tokens."""
        known = self._known(ids)
        pieces = [self._written[i] for i in known if i in self._written and not self._is_special(i)]
        return str(self._source.decode_pieces(pieces)).replace("▁", " ").strip()

    def tokens(self, ids: Iterable[SupportsInt]) -> list[str]:
        """Return each token as in the vocabulary, with "▁" as a space."""
        return [token.name or token.text.decode() for token in map(self._token, self._known(ids))]

    def _cut(self, text: str) -> list[tuple[int, str]]:
        """Return the tokens of a text, each with its piece; special tokens in a text are recognized."""
        tokens: list[tuple[int, str]] = []
        for part in self._specials.split(text):
            if part in self._marks:
                tokens.append((self._vocabulary[part], part))
                continue
            if language := _LANGUAGE.match(part):
                tokens.append((self._number(language.group()), language.group()))
                part = part[language.end() :]
            if part:
                cut = self._cutter.encode(part, out_type="offset_mapping")
                places = (part[start:end] for start, end in cut["offsets"])
                tokens += zip(map(self._number, cut["pieces"]), places, strict=True)
        return tokens

    def _read(self, text: str, architecture: Architecture) -> list[tuple[int, str]]:
        return [*self._cut(text), (self.eos_id, "")]

    def _known(self, ids: Iterable[SupportsInt]) -> list[int]:
        return from_zero(ids)

    def _number(self, piece: str) -> int:
        return self._vocabulary.get(piece, self.unk_id)

    def _is_special(self, i: int) -> bool:
        return i in (self.pad_id, self.eos_id, self.unk_id)

    def _token(self, i: int) -> Token:
        written = self._written.get(i)
        if written is None:
            return Token(name=f"<no.{i}>")
        if self._is_special(i) or _LANGUAGE.fullmatch(written):
            return Token(name=written)
        return Token(text=written.replace("▁", " ").encode())

    def to_json(self) -> str:
        """Return the content of tokenizer.json."""
        models = {side: base64.b64encode(model).decode() for side, model in self._models.items()}
        about = {"kind": "marian", "special": self._special}
        values = {"headlight": about, "vocabulary": self._vocabulary, "models": models}
        return json.dumps(values, ensure_ascii=False) + "\n"


def any_of(marks: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches any of some spellings."""
    return re.compile("(" + "|".join(map(re.escape, marks)) + ")")


def load_marian(folder: Path) -> MarianTokenizer:
    """Read vocab.json, source.spm and target.spm.

    Raises:
        CheckpointError: a damaged file, or a model with separate vocabularies.
    """
    settings = read_settings(folder)
    if settings.get("separate_vocabs"):
        raise CheckpointError(
            "{folder} has a separate vocabulary per language; only models with a shared vocabulary are supported",
            folder=folder,
        )
    try:
        vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        models = {side: (folder / f"{side}.spm").read_bytes() for side in _SIDES}
        special = {role: spelling(settings, role, [usual], vocabulary) for role, usual in _USUAL.items()}
        return MarianTokenizer(vocabulary, models, {role: str(token) for role, token in special.items()})
    except Exception as error:  # sentencepiece and malformed vocabularies may raise any exception
        raise CheckpointError(
            "the tokenizer in {folder} is damaged (vocab.json, source.spm or target.spm); copy it again", folder=folder
        ) from error
