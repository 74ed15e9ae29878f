"""Tokenizers trained by this package, with the `tokenizers` library.

Three kinds. *word*: one token per word, for the generated corpora, where heads should attend to words. *character*: one
token per Unicode character. *byte_bpe*: byte-level byte-pair encoding (Sennrich et al. 2016; bytes as in Radford et al.
2019), which represents any text exactly.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, SupportsInt, cast, get_args

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend

from transformer_core.arguments import check_choice, check_whole, wrong_kind
from transformer_core.config import Architecture, TokenizerKind
from transformer_core.errors import ConfigError, Message
from transformer_core.text.interface import WRITTEN_MASK, BackendTokenizer, Tokenizer, encodable, typed
from transformer_core.text.labels import Token, byte_level_text
from transformer_core.text.words import WORD, join_words

__all__ = ["SPECIAL_TOKENS", "OwnTokenizer", "Tokenizer", "train_tokenizer"]

PAD, BOS, EOS, UNK, MASK = "<pad>", "<bos>", "<eos>", "<unk>", "<mask>"
_SHORT_WORD = 4  # characters, with the white space before it
_WITH_WHITE_BEFORE = re.compile(r"[ \t\n\r\f\v]*[^ \t\n\r\f\v]+|[ \t\n\r\f\v]+")
_OTHER_WHITE = re.compile(r"[^\S \t\n\r\f\v\x1c-\x1f]")
SPECIAL_TOKENS = (PAD, BOS, EOS, UNK)  # tokens 0 to 3 of every tokenizer trained here; MASK may be token 4


class OwnTokenizer(BackendTokenizer):
    """A tokenizer trained by this package."""

    pad_id: int
    bos_id: int
    eos_id: int
    unk_id: int

    def __init__(self, backend: Backend, kind: TokenizerKind) -> None:
        """Wrap a backend that has the four special tokens."""
        self.kind = kind
        self._backend = backend
        backend.encode_special_tokens = True  # "<eos>" in a text is not the special token
        special = {token.content: i for i, token in backend.get_added_tokens_decoder().items()}
        self.pad_id, self.bos_id, self.eos_id, self.unk_id = (special[token] for token in SPECIAL_TOKENS)
        self.mask_id = special.get(MASK)
        self._special_ids = frozenset(special.values())

    @classmethod
    def from_values(cls, values: Mapping[str, Any], about: Mapping[str, Any]) -> "OwnTokenizer":
        """Return the tokenizer of a tokenizer.json; invalid values may raise any exception."""
        backend = Backend.from_str(json.dumps(values))
        if about["kind"] not in get_args(TokenizerKind):
            raise ValueError("no such kind")
        if sorted(backend.get_vocab().values()) != [*range(backend.get_vocab_size())]:
            raise ValueError("a token is missing")
        return cls(backend, about["kind"])

    @property
    def vocab_size(self) -> int:
        """The number of tokens, including special tokens."""
        return self._backend.get_vocab_size()

    def decode(self, ids: Iterable[SupportsInt]) -> str:
        """Return the text of tokens without special tokens; words are joined as in `join_words`."""
        text_ids = [i for i in self._known(ids) if i not in self._special_ids]
        if self.kind == "byte_bpe":
            return str(self._backend.decode(text_ids, skip_special_tokens=False))
        pieces = [self._written(i) for i in text_ids]
        return "".join(pieces) if self.kind == "character" else join_words(pieces)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text, without special ones; texts of many short words are encoded word by word.

        This is possible because no token extends across the beginning of white space.
        """
        n_characters = sum(map(len, texts))
        n_breaks = sum(text.count("\n") + text.count(" ") for text in texts)
        if n_characters > _SHORT_WORD * n_breaks or any(map(_OTHER_WHITE.search, texts)):
            return super().encode_batch(texts)
        rows = [_WITH_WHITE_BEFORE.findall(text) for text in texts]
        different = dict.fromkeys(chain.from_iterable(rows))
        ids = dict(zip(different, super().encode_batch([*different]), strict=True))
        return [[*chain.from_iterable(map(ids.__getitem__, row))] for row in rows]

    def tokens(self, ids: Iterable[SupportsInt]) -> list[str]:
        """Return each token as in the vocabulary, bytes as text (parts of a character: U+FFFD)."""
        return [
            str(self._backend.decode([i], skip_special_tokens=False))
            if self.kind == "byte_bpe" and i not in self._special_ids
            else self._written(i)
            for i in self._known(ids)
        ]

    def _cut(self, text: str) -> list[tuple[int, str]]:
        encoding = self._backend.encode(text, add_special_tokens=False)
        return list(zip(encoding.ids, typed(text, encoding.offsets), strict=True))

    def _read(self, text: str, architecture: Architecture) -> list[tuple[int, str]]:
        begin, end = (self.bos_id, ""), (self.eos_id, "")
        if architecture == "encoder_decoder":
            return [*self._cut(text), end]
        if architecture == "decoder_only":
            return [begin, *self._cut(text)]
        return [begin, *self._cut_around_masks(text), end]

    def _cut_around_masks(self, text: str) -> list[tuple[int, str]]:
        """Return the tokens of a text with blanks, tokenized as if the blanks were words."""
        if self.mask_id is None:
            return self._cut(text)
        *parts, last = WRITTEN_MASK.split(text)
        read: list[tuple[int, str]] = []
        for part in parts:
            if self.kind == "byte_bpe":  # the space before a word is part of its token
                read += self._cut(part.removesuffix(" "))
            elif self.kind == "word" and part.endswith(("'", "’")):  # an elision before a word
                read += self._cut(part + "_")[:-1]
            else:
                read += self._cut(part)
            read.append((self.mask_id, ""))
        return read + self._cut(last)

    def _token(self, i: int) -> Token:
        written = self._written(i)
        if i in self._special_ids:
            return Token(name=written)
        if self.kind == "byte_bpe":
            return Token(text=byte_level_text(written))
        return Token(text=written.encode(), starts_anew=self.kind == "word")

    def _written(self, i: int) -> str:
        return cast(str, self._backend.id_to_token(i))

    def to_json(self) -> str:
        """Return the content of tokenizer.json."""
        values = json.loads(self._backend.to_str()) | {"headlight": {"kind": self.kind}}
        return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


def train_tokenizer(
    texts: Iterable[str], *, kind: TokenizerKind, vocab_size: int = 30_000, mask: bool = False
) -> OwnTokenizer:
    """Train a tokenizer on a corpus.

    Args:
        texts: the corpus.
        kind: "word", "character" or "byte_bpe".
        vocab_size: maximum number of tokens, including special ones; byte_bpe has at least those and 256 bytes.
        mask: add a mask token, as token 4.

    Raises:
        ConfigError: `vocab_size` is too small for the special tokens.
    """
    no_texts = wrong_kind("texts", texts, Message("a list of texts"))
    if isinstance(texts, str):  # not its characters
        raise no_texts
    try:
        texts = iter(texts)
    except TypeError:
        raise no_texts from None
    check_whole("vocab_size", vocab_size)
    check_choice("kind", kind, get_args(TokenizerKind))
    special = [*SPECIAL_TOKENS, MASK] if mask else [*SPECIAL_TOKENS]
    if vocab_size < len(special):
        raise ConfigError(
            "vocab_size ({vocab_size}) must be at least {least}, for the special tokens",
            vocab_size=vocab_size,
            least=len(special),
        )
    backend, trainer = {"word": _word_level, "character": _character_level, "byte_bpe": _byte_level_bpe}[kind](
        vocab_size, special
    )
    backend.train_from_iterator((encodable(text) for text in texts), trainer)
    return OwnTokenizer(backend, kind)


def word_tokenizer(words: Iterable[str]) -> OwnTokenizer:
    """Return a word tokenizer whose vocabulary consists of the special tokens and these words, in this order."""
    backend, _ = _word_level(0, [])
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys((*SPECIAL_TOKENS, *words)))}
    backend.model = models.WordLevel(vocab=vocabulary, unk_token=UNK)
    backend.add_special_tokens([*SPECIAL_TOKENS])
    return OwnTokenizer(backend, "word")


def _word_level(vocab_size: int, special: list[str]) -> tuple[Backend, trainers.Trainer]:
    backend = Backend(models.WordLevel(unk_token=UNK))
    backend.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Lowercase(), normalizers.Replace("’", "'")]
    )
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(WORD), "removed", invert=True)
    return backend, trainers.WordLevelTrainer(vocab_size=vocab_size, special_tokens=special, show_progress=False)


def _character_level(vocab_size: int, special: list[str]) -> tuple[Backend, trainers.Trainer]:
    backend = Backend(models.WordLevel(unk_token=UNK))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    return backend, trainers.WordLevelTrainer(vocab_size=vocab_size, special_tokens=special, show_progress=False)


def _byte_level_bpe(vocab_size: int, special: list[str]) -> tuple[Backend, trainers.Trainer]:
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    return backend, trainer
