"""Tokenizers: text to whole numbers and back, on the `tokenizers` library.

Three kinds. *word*: one token a word, for the generated corpora, where a head should point at a word. *character*: one
token a Unicode character. *byte_bpe*: byte-level byte-pair encoding (Sennrich et al. 2016; bytes as in Radford et al.
2019), which takes any text and gives it back exactly.
"""

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, Self, SupportsInt, cast, get_args

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend

from transformer_core.errors import CheckpointError, ConfigError, TextError

Kind = Literal["word", "character", "byte_bpe"]

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"
SPECIAL_TOKENS = (PAD, BOS, EOS, UNK)  # tokens 0 to 3 of every tokenizer that is trained here

_ELIDED = r"(?:\w*qu|[cdjlmnst])'"  # French: l'animal, n'a, qu'il, jusqu'à
_WORD = rf"\w+n't\b|aujourd'hui\b|{_ELIDED}(?=\w)|\w+|[^\w\s]"  # didn't, aujourd'hui: one word each
_OPENING = rf"{_ELIDED}|\("  # what the next word is joined to
_CLOSING = frozenset(".,;:!?)")


class Tokenizer:
    """Text to tokens and back; tokens are whole numbers from 0 to `vocab_size` - 1."""

    def __init__(self, backend: Backend, kind: Kind) -> None:
        """Wrap a tokenizer of the `tokenizers` library that has the four special tokens."""
        self.kind = kind
        self._backend = backend
        backend.encode_special_tokens = True  # a text that contains "<eos>" is a text, not the end of a sequence
        self.pad_id, self.bos_id, self.eos_id, self.unk_id = (_id_of(token, backend) for token in SPECIAL_TOKENS)

    @property
    def vocab_size(self) -> int:
        """Number of tokens, the special ones included."""
        return self._backend.get_vocab_size()

    def encode(self, text: str, *, bos: bool = False, eos: bool = False) -> list[int]:
        """Return the tokens of `text`.

        Args:
            text: any text; characters that UTF-8 cannot hold (lone surrogates) count as U+FFFD.
            bos: put <bos> in front.
            eos: put <eos> behind.
        """
        ids = self._backend.encode(_encodable(text), add_special_tokens=False).ids
        return [self.bos_id] * bos + ids + [self.eos_id] * eos

    def decode(self, ids: Iterable[SupportsInt]) -> str:
        """Return the text of tokens; special tokens are left out.

        Words are joined as one writes: no space before closing punctuation or behind an elision, a capital in front.

        Args:
            ids: whole numbers, in a list or in a tensor of one axis.

        Raises:
            TextError: a token that is not in the vocabulary.
        """
        text_ids = [i for i in self._known(ids) if i not in (self.pad_id, self.bos_id, self.eos_id, self.unk_id)]
        if self.kind == "byte_bpe":
            return str(self._backend.decode(text_ids, skip_special_tokens=False))
        pieces = [cast(str, self._backend.id_to_token(i)) for i in text_ids]
        return "".join(pieces) if self.kind == "character" else _join_words(pieces)

    def tokens(self, ids: Iterable[SupportsInt]) -> list[str]:
        """Return a label for each token, for the screen; special tokens as "<eos>", part of a character as U+FFFD.

        Raises:
            TextError: a token that is not in the vocabulary.
        """
        labels = []
        for i in self._known(ids):
            token = cast(str, self._backend.id_to_token(i))
            is_bytes = self.kind == "byte_bpe" and token not in SPECIAL_TOKENS
            labels.append(str(self._backend.decode([i], skip_special_tokens=False)) if is_bytes else token)
        return labels

    def pieces(self, text: str) -> list[str]:
        """Return the stretch of `text` that each token of `encode` stands for, as typed, to show an unknown word."""
        text = _encodable(text)
        offsets = self._backend.encode(text, add_special_tokens=False).offsets
        next_starts = [*(start for start, _ in offsets[1:]), len(text)]
        # An accent that was typed behind its letter lies between two offsets: NFC has joined it to the letter.
        return [
            text[start:end] + text[end:next_start].rstrip()
            for (start, end), next_start in zip(offsets, next_starts, strict=False)
        ]

    def unknown_words(self, text: str) -> list[str]:
        """Return the words, or characters, of `text` that have no token of their own, each once, in their order."""
        ids, pieces = self.encode(text), self.pieces(text)
        return list(dict.fromkeys(piece for i, piece in zip(ids, pieces, strict=True) if i == self.unk_id))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write tokenizer.json, in the format of the `tokenizers` library, with the kind beside it."""
        values = json.loads(self._backend.to_str()) | {"headlight": {"kind": self.kind}}
        Path(path).write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote.

        Raises:
            CheckpointError: the file is missing, damaged, or of a tokenizer that was not made here.
        """
        try:
            values = json.loads(Path(path).read_text(encoding="utf-8"))
            kind = values.pop("headlight")["kind"]
            backend = Backend.from_str(json.dumps(values))
            if kind not in get_args(Kind) or sorted(backend.get_vocab().values()) != [*range(backend.get_vocab_size())]:
                raise ValueError("no such kind, or a token is missing")
            return cls(backend, kind)
        except FileNotFoundError as error:
            raise CheckpointError(f"there is no tokenizer at {path}") from error
        except OSError as error:
            raise CheckpointError(f"the tokenizer {path} cannot be read ({error.strerror})") from error
        except Exception as error:  # the library raises bare Exception for what it cannot parse
            raise CheckpointError(
                f"{path} is damaged, or is a tokenizer that was not made here; copy it again, or train the model again"
            ) from error

    def _known(self, ids: Iterable[SupportsInt]) -> list[int]:
        """Return the tokens as plain whole numbers.

        Raises:
            TextError: one that is not in the vocabulary.
        """
        known = [int(i) for i in ids]
        for i in known:
            if not 0 <= i < self.vocab_size:
                raise TextError(f"token {i} is not in the vocabulary, which has 0 to {self.vocab_size - 1}")
        return known


def train_tokenizer(texts: Iterable[str], *, kind: Kind, vocab_size: int = 30_000) -> Tokenizer:
    """Return a tokenizer made from a corpus.

    Args:
        texts: the corpus.
        kind: "word", "character" or "byte_bpe".
        vocab_size: at most so many tokens, the four special ones included; byte_bpe has 260 at least.

    Raises:
        ConfigError: a `vocab_size` that has no room for the special tokens.
    """
    if vocab_size < len(SPECIAL_TOKENS):
        raise ConfigError(f"vocab_size ({vocab_size}) must be at least {len(SPECIAL_TOKENS)}, for the special tokens")
    backend, trainer = {"word": _word_level, "character": _character_level, "byte_bpe": _byte_level_bpe}[kind](
        vocab_size
    )
    backend.train_from_iterator((_encodable(text) for text in texts), trainer)
    return Tokenizer(backend, kind)


def _word_level(vocab_size: int) -> tuple[Backend, trainers.Trainer]:
    backend = Backend(models.WordLevel(unk_token=UNK))
    backend.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Lowercase(), normalizers.Replace("’", "'")]
    )
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(_WORD), "removed", invert=True)
    return backend, _word_level_trainer(vocab_size)


def _character_level(vocab_size: int) -> tuple[Backend, trainers.Trainer]:
    backend = Backend(models.WordLevel(unk_token=UNK))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    return backend, _word_level_trainer(vocab_size)


def _word_level_trainer(vocab_size: int) -> trainers.Trainer:
    return trainers.WordLevelTrainer(vocab_size=vocab_size, special_tokens=list(SPECIAL_TOKENS), show_progress=False)


def _byte_level_bpe(vocab_size: int) -> tuple[Backend, trainers.Trainer]:
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    return backend, trainer


def _id_of(token: str, backend: Backend) -> int:
    """Return the number of a token that has to be there."""
    number = backend.token_to_id(token)
    if number is None:
        raise CheckpointError(f"the tokenizer has no {token} token; it was not made by train_tokenizer")
    return number


def _join_words(words: Sequence[str]) -> str:
    """Write words as a sentence."""
    text = "".join(
        word if i == 0 or word in _CLOSING or re.fullmatch(_OPENING, words[i - 1]) else f" {word}"
        for i, word in enumerate(words)
    )
    return text[:1].upper() + text[1:]


def _encodable(text: str) -> str:
    """Return the text with lone surrogates, which UTF-8 cannot hold, as U+FFFD."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)
