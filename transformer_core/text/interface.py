"""The interface of all tokenizers: from text to token ids and back, and labels for display."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsInt

from tokenizers import Tokenizer as Backend

from transformer_core.arguments import wrong_kind
from transformer_core.config import Architecture
from transformer_core.errors import Message, TextError
from transformer_core.text.labels import MEANT, Token, labels, visible

WRITTEN_MASK = re.compile(r"<mask>|\[MASK\]|_{2,}")  # a blank in a text
Given = str | tuple[str, str]
"""The input of a model: a text, or for an encoder a pair; with an empty second text only the first counts."""

NO_TOKENS = Message("this model has no tokens for this text; type another one")
ONE_TEXT = Message("only encoder-only models take two texts; give this one a single text")
_NO_BEGIN = Message("this tokenizer has no beginning-of-sequence token; encode the text without it")
_NO_END = Message("this tokenizer has no end-of-sequence token; encode the text without it")


@dataclass(frozen=True)
class PairTokens:
    """Two texts as one sequence."""

    tokens: list[tuple[int, str]]  # each token with its piece of the texts; "" for template tokens
    segments: list[int]  # of each token
    border: int | None  # position of the second text's first token; None if that text has no tokens


class Tokenizer(ABC):
    """From text to tokens and back; tokens are whole numbers from 0 to `vocab_size` - 1.

    Attributes:
        kind: "word", "character", "byte_bpe", "foreign", or "ids".
        pad_id: the padding token; like all of these, None if there is no such token.
        bos_id: begins a text.
        eos_id: ends a text.
        unk_id: stands for unknown words or characters.
        mask_id: stands for a blank.
    """

    kind: str
    pad_id: int | None
    bos_id: int | None
    eos_id: int | None
    unk_id: int | None
    mask_id: int | None

    @property
    @abstractmethod
    def vocab_size(self) -> int:
        """The number of tokens, including special tokens."""

    def __repr__(self) -> str:
        """Return the kind, the size, and the special tokens."""
        special = {name: getattr(self, name) for name in ("pad_id", "bos_id", "eos_id", "unk_id", "mask_id")}
        parts = [f"kind={self.kind!r}", f"vocab_size={self.vocab_size}"]
        parts += [f"{name}={i}" for name, i in special.items() if i is not None]
        return f"{type(self).__name__}({', '.join(parts)})"

    @property
    def target(self) -> "Tokenizer":
        """The tokenizer for generated texts: this one, except for models with separate tokenizers per side."""
        return self

    def encode(self, text: str, *, bos: bool = False, eos: bool = False) -> list[int]:
        """Return the tokens of `text`.

        Args:
            text: any text; lone surrogates, which UTF-8 cannot represent, are replaced by U+FFFD.
            bos: prepend the beginning-of-sequence token.
            eos: append the end-of-sequence token.

        Raises:
            TextError: the tokenizer has no such token.
        """
        begin, end = _special(self.bos_id, _NO_BEGIN, bos), _special(self.eos_id, _NO_END, eos)
        return begin + self._ids(encodable(text)) + end

    def token_of(self, word: str, *, instead_of: int | None = None) -> int:
        """Return the token of a typed word.

        Args:
            word: as in labels, with "·" for a leading space, "↵" or "⇥"; or without, for the token with or without a
                leading space, whichever exists.
            instead_of: the token that it replaces, which determines the space if both exist; None: with a space.

        Raises:
            TextError: the word is unknown, or not a single token.
        """
        word = word.strip() or word
        has_space = instead_of is None or self._token(instead_of).text.startswith(b" ")
        meant = word.translate(MEANT)
        spellings = [meant, word] if meant != word else [f" {word}", word][:: 1 if has_space else -1]
        spellings = [word] if word.isspace() else spellings
        ways = [self.encode(spelling) for spelling in spellings] if word else [[]]
        single = next((way[0] for way in ways if len(way) == 1), None)
        if single is None:
            n = min(map(len, ways))
            if not n:
                raise TextError("“{word}” has no tokens, but one is needed; type another word", word=word[:40])
            raise TextError("“{word}” has {n} tokens, but one is needed; type another word", word=word[:40], n=n)
        if single == self.unk_id:
            raise TextError("“{word}” is not in the vocabulary; type another word", word=word[:40])
        return single

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text, without special ones."""
        return [self.encode(text) for text in texts]

    @property
    def takes_pairs(self) -> bool:
        """Whether it has a template for two texts, such as [CLS] a [SEP] b [SEP]."""
        return False

    def encode_for(self, text: Given, architecture: Architecture) -> list[int]:
        """Return the input tokens of a model for a text, special tokens included.

        Tokenizers trained here return (text, <eos>) for an encoder-decoder, (<bos>, text) for a decoder and (<bos>,
        text, <eos>) for an encoder. Others use the format in which their model was trained. For an encoder,
        "<mask>", "[MASK]" and two or more underscores become the mask token, if there is one.

        Args:
            text: any text (the source of an encoder-decoder), or a pair if the tokenizer `takes_pairs`.
            architecture: of the model.

        Raises:
            TextError: two texts for a tokenizer or a model that accepts only one.
        """
        return [i for i, _ in self._read_given(text, architecture)]

    def segments_for(self, texts: tuple[str, str]) -> tuple[list[int], int | None]:
        """Return the segment of each token of a pair (`token_type_ids`), and the position where the second text begins.

        The position is None if the second text has no tokens. An empty second text is ignored, as in transformers.

        Source: Devlin et al. 2019, sec. 3 and figure 2.

        Raises:
            TextError: this tokenizer accepts only one text.
        """
        first, second = map(encodable, texts)
        if not second:
            return [0] * len(self._read(first, "encoder_only")), None
        pair = self._read_pair(first, second)
        return pair.segments, pair.border

    def labels_for(self, text: Given, architecture: Architecture) -> list[str]:
        """Return a label for each token of `encode_for`; unknown words follow "<unk>" as typed.

        Word tokenizers also use the words as typed, because their tokens are in lower case.
        """
        shown = []
        read = self._read_given(text, architecture)
        for (i, piece), label in zip(read, self.labels(i for i, _ in read), strict=True):
            if piece and i == self.unk_id:
                label = f"{label} {visible(piece.strip() or piece)}"
            elif piece and self.kind == "word":
                label = visible(piece)
            shown.append(label)
        return shown

    @abstractmethod
    def decode(self, ids: Iterable[SupportsInt]) -> str:
        """Return the text of tokens without special tokens.

        Args:
            ids: integers, in a list or in a one-dimensional tensor.

        Raises:
            TextError: a token that is not in the vocabulary.
        """

    def continuation(self, ids: Sequence[int], n_given: int) -> str:
        """Return the text of the tokens after the first `n_given`, with its leading space and without a new capital.

        Raises:
            TextError: a token that is not in the vocabulary.
        """
        whole, beginning = self.decode(ids), self.decode(ids[:n_given])
        return whole[len(beginning) :] if whole.startswith(beginning) else self.decode(ids[n_given:])

    @abstractmethod
    def tokens(self, ids: Iterable[SupportsInt]) -> list[str]:
        """Return each token as in the vocabulary, bytes as text (parts of a character: U+FFFD).

        Raises:
            TextError: a token that is not in the vocabulary.
        """

    def labels(self, ids: Iterable[SupportsInt]) -> list[str]:
        """Return a label for each token of a sequence; see labels.py.

        Raises:
            TextError: a token that is not in the vocabulary.
        """
        return labels([self._token(i) for i in self._known(ids)])

    def is_special(self, ids: Iterable[SupportsInt]) -> list[bool]:
        """Return whether each token is special, such as <bos>, [SEP] or the mask token.

        Raises:
            TextError: a token that is not in the vocabulary.
        """
        return [bool(self._token(i).name) for i in self._known(ids)]

    def pieces(self, text: str) -> list[str]:
        """Return the piece of `text` of each token of `encode`, as typed."""
        return [piece for _, piece in self._cut(encodable(text))]

    def unknown_words(self, text: str) -> list[str]:
        """Return the unknown words, or characters, of `text`, each once, in order."""
        return list(
            dict.fromkeys(piece.strip() or piece for i, piece in self._cut(encodable(text)) if i == self.unk_id)
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write tokenizer.json, in the format of the `tokenizers` library if possible, and the kind."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    def _ids(self, text: str) -> list[int]:
        return [i for i, _ in self._cut(text)]

    @abstractmethod
    def _cut(self, text: str) -> list[tuple[int, str]]:
        """Return the tokens of a text, each with its piece as typed."""

    @abstractmethod
    def _read(self, text: str, architecture: Architecture) -> list[tuple[int, str]]:
        """Return the input tokens of a model for a text, each with its piece; "" for special ones."""

    def _read_given(self, text: Given, architecture: Architecture) -> list[tuple[int, str]]:
        """Return the input tokens of a model for a text or a pair, each with its piece."""
        if not isinstance(text, str) and not (isinstance(text, Sequence) and len(text) == 2):
            raise wrong_kind("text", text, Message("a text, or a pair of texts"))
        if isinstance(text, str) or not text[1]:
            return self._read(encodable(text if isinstance(text, str) else text[0]), architecture)
        if architecture != "encoder_only":
            raise TextError(ONE_TEXT)
        first, second = map(encodable, text)
        return self._read_pair(first, second).tokens

    def _read_pair(self, first: str, second: str) -> PairTokens:
        """Return the input tokens of an encoder for a pair."""
        raise TextError("this model’s tokenizer has no template for two texts; give it a single text")

    @abstractmethod
    def _token(self, i: int) -> Token:
        """Return the text or the name of a token."""

    @abstractmethod
    def to_json(self) -> str:
        """Return the content of tokenizer.json."""

    def _known(self, ids: Iterable[SupportsInt]) -> list[int]:
        """Return tokens as plain integers after checking that they are in the vocabulary."""
        try:
            known, vocab_size = [int(i) for i in ids], self.vocab_size
        except (OverflowError, RuntimeError, TypeError, ValueError):  # also of torch and NumPy
            raise wrong_kind("ids", ids, Message("whole numbers in a list or in a tensor of one axis")) from None
        for i in known:
            if not 0 <= i < vocab_size:
                raise TextError(
                    "token id {i} is not in the vocabulary; ids go from 0 to {last}", i=i, last=vocab_size - 1
                )
        return known


class BackendTokenizer(Tokenizer):
    """A tokenizer of the `tokenizers` library."""

    _backend: Backend

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text, without special ones; faster than one by one."""
        different = dict.fromkeys(texts)  # short texts often recur; encoding takes about 5 microseconds each
        encodings = self._backend.encode_batch_fast([*map(encodable, different)], add_special_tokens=False)
        ids = {text: encoding.ids for text, encoding in zip(different, encodings, strict=True)}
        return [ids[text] for text in texts]

    def _ids(self, text: str) -> list[int]:
        return self._backend.encode(text, add_special_tokens=False).ids


def _special(token: int | None, lacking: Message, is_wanted: bool) -> list[int]:
    if not is_wanted:
        return []
    if token is None:
        raise TextError(lacking)
    return [token]


def in_one_line(text: Given) -> str:
    """Return a text, or a pair separated by "‖"."""
    return text if isinstance(text, str) else " ‖ ".join(filter(None, text))


def read_line(line: str) -> Given:
    """Return the text or pair of a line from `in_one_line`."""
    first, sign, second = line.partition("‖")
    return (first.removesuffix(" "), second.removeprefix(" ")) if sign else line


def from_zero(ids: Iterable[SupportsInt]) -> list[int]:
    """Return tokens as plain integers; they may exceed the vocabulary, because the model's may be larger.

    Raises:
        TextError: a token is negative.
    """
    known = [int(i) for i in ids]
    if min(known, default=0) < 0:
        raise TextError("token id {i} is not in the vocabulary; ids start at 0", i=min(known))
    return known


def encodable(text: str) -> str:
    """Return a text with lone surrogates, which UTF-8 cannot represent, replaced by U+FFFD.

    Raises:
        ArgumentError: `text` is not a string.
    """
    if not isinstance(text, str):
        raise wrong_kind("text", text, Message("a text"))
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def typed(text: str, offsets: Sequence[tuple[int, int]]) -> list[str]:
    """Return the piece of the text that belongs to each token, given the offsets of the tokens."""
    next_starts = [*(start for start, _ in offsets[1:]), len(text)]
    # NFC joins a separately typed accent to its letter, so the accent lies between two offsets.
    return [
        text[start:end] + text[end:next_start].rstrip()
        for (start, end), next_start in zip(offsets, next_starts, strict=False)
    ]
