"""What all tokenizers have in common: text to whole numbers and back, and labels for the screen."""

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

WRITTEN_MASK = re.compile(r"<mask>|\[MASK\]|_{2,}")  # how people write a gap in a text
Given = str | tuple[str, str]
"""What a model reads: a text, or for an encoder a pair; a pair whose second text is empty is its first alone."""

NO_TOKENS = Message("this model has no tokens for this text; type another one")
ONE_TEXT = Message("only encoder-only models take two texts; give this one a single text")
_NO_BEGIN = Message("this tokenizer has no beginning-of-sequence token; encode the text without it")
_NO_END = Message("this tokenizer has no end-of-sequence token; encode the text without it")


@dataclass(frozen=True)
class PairTokens:
    """Two texts as one sequence."""

    tokens: list[tuple[int, str]]  # each with the stretch that it stands for; those of the template have none
    segments: list[int]  # of each token
    border: int | None  # place of the first token of the second text; None: it has none, as white space often


class Tokenizer(ABC):
    """Text to tokens and back; tokens are whole numbers from 0 to `vocab_size` - 1.

    Attributes:
        kind: "word", "character", "byte_bpe", "foreign", or "ids".
        pad_id: fills up shorter sequences; None, as for all of these, where the tokenizer has no such token.
        bos_id: begins a text.
        eos_id: ends a text.
        unk_id: stands for what has no token of its own.
        mask_id: stands for what a model is to guess.
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
        """Number of tokens, the special ones included."""

    @property
    def target(self) -> "Tokenizer":
        """The tokenizer of the texts that a model writes: this one, but for models that cut their two sides apart."""
        return self

    def encode(self, text: str, *, bos: bool = False, eos: bool = False) -> list[int]:
        """Return the tokens of `text`.

        Args:
            text: any text; characters that UTF-8 cannot hold (lone surrogates) count as U+FFFD.
            bos: put the token in front that begins a text.
            eos: append the end-of-sequence token.

        Raises:
            TextError: the tokenizer has no such token.
        """
        begin, end = _special(self.bos_id, _NO_BEGIN, bos), _special(self.eos_id, _NO_END, eos)
        return begin + self._ids(encodable(text)) + end

    def token_of(self, word: str, *, instead_of: int | None = None) -> int:
        """Return the token of a word that a person typed.

        Args:
            word: as labels show it, with "·" for its space: that token, as are "↵" and "⇥"; else the one that begins
                with a space, or the one that begins without, where there is only one of them.
            instead_of: the token that it replaces, and begins as, where there are both; None: with a space.

        Raises:
            TextError: it is no single token, or has no token of its own.
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
        """Return the tokens of each text, without special ones; for many texts faster than one by one."""
        return [self.encode(text) for text in texts]

    @property
    def takes_pairs(self) -> bool:
        """Whether it has a template for two texts, such as [CLS] a [SEP] b [SEP]."""
        return False

    def encode_for(self, text: Given, architecture: Architecture) -> list[int]:
        """Return the tokens of a text as a model reads them, special tokens included.

        Those that were trained here: text, <eos> for an encoder-decoder; <bos>, text for a decoder; <bos>, text, <eos>
        for an encoder. Others: what their model was trained with. For an encoder, "<mask>", "[MASK]" and two or more
        underscores are the mask token, where there is one.

        Args:
            text: any text; for an encoder-decoder, the source. For an encoder whose tokenizer `takes_pairs`, two texts
                may be given.
            architecture: of the model that reads.

        Raises:
            TextError: two texts for a tokenizer or a model that takes one.
        """
        return [i for i, _ in self._read_given(text, architecture)]

    def segments_for(self, texts: tuple[str, str]) -> tuple[list[int], int | None]:
        """Return the segment of each token of a pair (`token_type_ids`), and the place of the second text's first one.

        A second text without tokens has no such place. An empty one gives the first alone, as it does in transformers.

        Source: Devlin et al. 2019, sec. 3 and figure 2.

        Raises:
            TextError: this tokenizer takes one text.
        """
        first, second = map(encodable, texts)
        if not second:
            return [0] * len(self._read(first, "encoder_only")), None
        pair = self._read_pair(first, second)
        return pair.segments, pair.border

    def labels_for(self, text: Given, architecture: Architecture) -> list[str]:
        """Return a label for each token of `encode_for`; what has no token of its own stands after "<unk>", as typed.

        Words of the word kind are as typed, too: their tokens know no capitals.
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
        """Return the text of tokens; special tokens are left out.

        Args:
            ids: whole numbers, in a list or in a tensor of one axis.

        Raises:
            TextError: a token that is not in the vocabulary.
        """

    def continuation(self, ids: Sequence[int], n_given: int) -> str:
        """Return the text of the tokens after the first `n_given`, with its space and without a new capital.

        Raises:
            TextError: a token that is not in the vocabulary.
        """
        whole, beginning = self.decode(ids), self.decode(ids[:n_given])
        return whole[len(beginning) :] if whole.startswith(beginning) else self.decode(ids[n_given:])

    @abstractmethod
    def tokens(self, ids: Iterable[SupportsInt]) -> list[str]:
        """Return each token as it is in the vocabulary, bytes as text (parts of a character: U+FFFD).

        Raises:
            TextError: a token that is not in the vocabulary.
        """

    def labels(self, ids: Iterable[SupportsInt]) -> list[str]:
        """Return a label for each token of a sequence, for the screen; labels.py says how they look.

        Raises:
            TextError: a token that is not in the vocabulary.
        """
        return labels([self._token(i) for i in self._known(ids)])

    def is_special(self, ids: Iterable[SupportsInt]) -> list[bool]:
        """Return of each token whether it is no text, but a sign such as <bos>, [SEP] or the mask token.

        Raises:
            TextError: a token that is not in the vocabulary.
        """
        return [bool(self._token(i).name) for i in self._known(ids)]

    def pieces(self, text: str) -> list[str]:
        """Return the stretch of `text` that each token of `encode` stands for, as typed, to show an unknown word."""
        return [piece for _, piece in self._cut(encodable(text))]

    def unknown_words(self, text: str) -> list[str]:
        """Return the words, or characters, of `text` that have no token of their own, each once, in their order."""
        return list(
            dict.fromkeys(piece.strip() or piece for i, piece in self._cut(encodable(text)) if i == self.unk_id)
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write tokenizer.json, in the format of the `tokenizers` library where it has one, with the kind beside it."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    def _ids(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        return [i for i, _ in self._cut(text)]

    @abstractmethod
    def _cut(self, text: str) -> list[tuple[int, str]]:
        """Return the tokens of a text, each with the stretch that it stands for, as typed."""

    @abstractmethod
    def _read(self, text: str, architecture: Architecture) -> list[tuple[int, str]]:
        """Return the tokens that a model reads for a text, each with its stretch; special ones have none."""

    def _read_given(self, text: Given, architecture: Architecture) -> list[tuple[int, str]]:
        """Return the tokens that a model reads for a text, or for two, each with its stretch."""
        if not isinstance(text, str) and not (isinstance(text, Sequence) and len(text) == 2):
            raise wrong_kind("text", text, Message("a text, or a pair of texts"))
        if isinstance(text, str) or not text[1]:
            return self._read(encodable(text if isinstance(text, str) else text[0]), architecture)
        if architecture != "encoder_only":
            raise TextError(ONE_TEXT)
        first, second = map(encodable, text)
        return self._read_pair(first, second).tokens

    def _read_pair(self, first: str, second: str) -> PairTokens:
        """Return what an encoder reads for two texts."""
        raise TextError("this model’s tokenizer has no template for two texts; give it a single text")

    @abstractmethod
    def _token(self, i: int) -> Token:
        """Return what a token is to a reader."""

    @abstractmethod
    def to_json(self) -> str:
        """Return what `save` writes."""

    def _known(self, ids: Iterable[SupportsInt]) -> list[int]:
        """Return the tokens as plain whole numbers.

        Raises:
            TextError: one that is not in the vocabulary.
        """
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
        """Return the tokens of each text, without special ones; for many texts faster than one by one."""
        different = dict.fromkeys(texts)  # short ones often recur; each takes some 5 microseconds
        encodings = self._backend.encode_batch_fast([*map(encodable, different)], add_special_tokens=False)
        ids = {text: encoding.ids for text, encoding in zip(different, encodings, strict=True)}
        return [ids[text] for text in texts]

    def _ids(self, text: str) -> list[int]:
        return self._backend.encode(text, add_special_tokens=False).ids


def _special(token: int | None, lacking: Message, is_wanted: bool) -> list[int]:
    """Return the token at an end of a sequence, if it is wanted."""
    if not is_wanted:
        return []
    if token is None:
        raise TextError(lacking)
    return [token]


def in_one_line(text: Given) -> str:
    """Return what a model reads, for a reader: ‖ parts two texts."""
    return text if isinstance(text, str) else " ‖ ".join(filter(None, text))


def read_line(line: str) -> Given:
    """Return what `in_one_line` wrote, for a model that reads pairs."""
    first, sign, second = line.partition("‖")
    return (first.removesuffix(" "), second.removeprefix(" ")) if sign else line


def from_zero(ids: Iterable[SupportsInt]) -> list[int]:
    """Return tokens as plain whole numbers; for a vocabulary above which a model may have further numbers.

    Raises:
        TextError: a number below 0.
    """
    known = [int(i) for i in ids]
    if min(known, default=0) < 0:
        raise TextError("token id {i} is not in the vocabulary; ids start at 0", i=min(known))
    return known


def encodable(text: str) -> str:
    """Return the text with lone surrogates, which UTF-8 cannot hold, as U+FFFD.

    Raises:
        ArgumentError: it is no text.
    """
    if not isinstance(text, str):
        raise wrong_kind("text", text, Message("a text"))
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def typed(text: str, offsets: Sequence[tuple[int, int]]) -> list[str]:
    """Return the stretch of a text that each token stands for, from where the tokens lie in it."""
    next_starts = [*(start for start, _ in offsets[1:]), len(text)]
    # An accent that was typed after its letter lies between two offsets: NFC has joined it to the letter.
    return [
        text[start:end] + text[end:next_start].rstrip()
        for (start, end), next_start in zip(offsets, next_starts, strict=False)
    ]
