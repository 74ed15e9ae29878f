"""Tokenizers of models from Hugging Face, and preparing them for training new models."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, SupportsInt, cast

from tokenizers import AddedToken, Encoding, models, processors
from tokenizers import Tokenizer as Backend

from transformer_core.config import Architecture
from transformer_core.errors import CheckpointError, TextError
from transformer_core.text.interface import WRITTEN_MASK, BackendTokenizer, PairTokens, from_zero, typed
from transformer_core.text.labels import Token, byte_level_text

ROLES = ("pad", "bos", "eos", "unk", "mask")
_ADDED = {"pad": "<pad>", "bos": "<bos>", "eos": "<eos>", "mask": "<mask>"}  # if the tokenizer has none
# Decoder-only models never see the padding on the right, so any token will do.
_NEEDED: Mapping[Architecture, tuple[str, ...]] = {
    "encoder_decoder": ("bos", "eos", "pad"),
    "decoder_only": ("bos", "eos"),
    "encoder_only": ("bos", "eos", "pad", "mask"),
}
# The templates of tokenizers trained here: "$A" is the text, or the source of a pair.
_READ: Mapping[Architecture, tuple[str, ...]] = {
    "encoder_decoder": ("$A", "eos"),
    "decoder_only": ("bos", "$A"),
    "encoder_only": ("bos", "$A", "eos"),
}
STAND_INS = {"bos": "cls", "eos": "sep"}  # BERT's names of these roles


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of tokenizer_config.json, and, where it lacks one, of the older special_tokens_map.json.

    Raises:
        CheckpointError: a file is damaged.
    """
    settings: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        path = folder / name
        try:
            settings.update(json.loads(path.read_text(encoding="utf-8-sig")).items() if path.is_file() else ())
        except (AttributeError, OSError, ValueError, RecursionError) as error:
            raise CheckpointError("{path} is damaged; copy it again", path=path) from error
    return settings


def spelling(settings: Mapping[str, Any], role: str, usual: Iterable[str], vocabulary: Mapping[str, int]) -> str | None:
    """Return the spelling of a special token, or None if there is none.

    Args:
        settings: of the folder.
        role: "pad", "bos", "eos", "unk" or "mask".
        usual: spellings to try, in order, if the settings do not name the role.
        vocabulary: of the tokenizer.
    """
    named = [name for name in (f"{role}_token", f"{STAND_INS.get(role, role)}_token") if name in settings]
    for name in named:
        token = settings[name]
        written = token.get("content") if isinstance(token, dict) else token
        if isinstance(written, str) and written in vocabulary:
            return written
    return None if named else next((token for token in usual if token in vocabulary), None)


class ForeignTokenizer(BackendTokenizer):
    """A tokenizer that was trained elsewhere; special tokens in a text are recognized."""

    def __init__(self, backend: Backend, special: Mapping[str, int | None], *, n_of_model: int | None = None) -> None:
        """Wrap a tokenizer of the `tokenizers` library.

        Args:
            backend: the tokenizer, with its template of special tokens.
            special: the token or None for each role: "pad", "bos", "eos", "unk", "mask".
            n_of_model: the model's vocabulary size if the tokenizer has more tokens; texts with those are rejected.
        """
        self.kind = "foreign"
        self._backend = backend
        backend.no_truncation()  # a length saved with the tokenizer
        backend.no_padding()
        self.pad_id, self.bos_id, self.eos_id, self.unk_id, self.mask_id = (special[role] for role in ROLES)
        if not isinstance(backend.model, models.Unigram):  # byte-level models have none, though many folders name one
            self.unk_id = backend.token_to_id(backend.model.unk_token) if backend.model.unk_token else None
        added = backend.get_added_tokens_decoder()
        self._added = {i: token.content for i, token in added.items()}
        roles = {i for i in special.values() if i is not None}
        self._special_ids = {i for i, token in added.items() if token.special} | roles
        self._n_of_model = n_of_model
        n_tokens = 1 + max(backend.get_vocab().values(), default=-1)
        self._n_tokens = n_tokens if n_of_model is None else min(n_tokens, n_of_model)
        self._scheme = _Scheme(backend)

    @classmethod
    def from_values(cls, values: Mapping[str, Any], about: Mapping[str, Any]) -> "ForeignTokenizer":
        """Return the tokenizer of a tokenizer.json; invalid values may raise any exception."""
        backend = Backend.from_str(json.dumps(values))
        special = {role: about["special"][role] for role in ROLES}
        if any(i is not None and backend.id_to_token(i) is None for i in special.values()):
            raise ValueError("a special token is missing")
        return cls(backend, special, n_of_model=about.get("n_of_model"))

    def beyond(self, n_of_model: int) -> list[str]:
        """Return the tokens that a model of this vocabulary size lacks.

        The list is empty if any of them is not an added token: the tokenizer then belongs to another model.
        """
        tokens = {i: token for token, i in self._backend.get_vocab().items() if i >= n_of_model}
        return [tokens[i] for i in sorted(tokens)] if tokens.keys() <= self._added.keys() else []

    def of_model(self, n_of_model: int) -> "ForeignTokenizer":
        """Return the tokenizer for a model that lacks the last tokens; texts with those are rejected."""
        backend, special = self.parts()
        special = {role: i if i is not None and i < n_of_model else None for role, i in special.items()}
        return ForeignTokenizer(backend, special, n_of_model=n_of_model)

    def parts(self) -> tuple[Backend, dict[str, int | None]]:
        """Return a copy of the backend, and the token of each role."""
        special = dict(zip(ROLES, (self.pad_id, self.bos_id, self.eos_id, self.unk_id, self.mask_id), strict=True))
        return Backend.from_str(self._backend.to_str()), special

    @property
    def vocab_size(self) -> int:
        """Number of tokens, special ones included; the model's may be larger, due to rounding."""
        return self._n_tokens

    def decode(self, ids: Iterable[SupportsInt]) -> str:
        """Return the text of tokens without special tokens and ids beyond the vocabulary."""
        text_ids = [i for i in self._known(ids) if i not in self._special_ids and i < self.vocab_size]
        return str(self._backend.decode(text_ids, skip_special_tokens=False))

    def tokens(self, ids: Iterable[SupportsInt]) -> list[str]:
        """Return each token as in the vocabulary, bytes as text (parts of a character: U+FFFD)."""
        return [
            token.name or token.mark + token.text.decode(errors="replace")
            for token in map(self._token, self._known(ids))
        ]

    def _cut(self, text: str) -> list[tuple[int, str]]:
        return self._fitting(_with_pieces(self._backend.encode(text, add_special_tokens=False), text))

    def _ids(self, text: str) -> list[int]:
        return super()._ids(text) if self._n_of_model is None else [i for i, _ in self._cut(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text, without special ones; faster than one by one."""
        return super().encode_batch(texts) if self._n_of_model is None else [self.encode(text) for text in texts]

    def _fitting(self, tokens: list[tuple[int, str]]) -> list[tuple[int, str]]:
        """Return tokens after checking that the model has all of them."""
        for i, _ in tokens if self._n_of_model is not None else ():
            if i >= self._n_tokens:
                raise TextError(
                    "the text has {token}, which this model’s tokenizer has but the model itself does not; leave it "
                    "out",
                    token=self._written(i),
                )
        return tokens

    @property
    def takes_pairs(self) -> bool:
        """Whether the template for two texts has a separator."""
        n_around_one, n_around_two = map(self._backend.num_special_tokens_to_add, (False, True))
        return n_around_two > n_around_one

    def _read(self, text: str, architecture: Architecture) -> list[tuple[int, str]]:
        text = self._with_masks(text) if architecture == "encoder_only" else text
        tokens = self._fitting(_with_pieces(self._backend.encode(text), text))
        is_chosen = len(tokens) > 1 and tokens[1][1] and all(self._is_language(i) for i, _ in tokens[:2])
        return tokens[1:] if is_chosen else tokens  # a typed language replaces that of the template

    def _is_language(self, i: int) -> bool:
        """Return whether a special token has none of the usual roles, as those of languages."""
        return i in self._special_ids and i not in (self.pad_id, self.bos_id, self.eos_id, self.unk_id, self.mask_id)

    def _read_pair(self, first: str, second: str) -> PairTokens:
        if not self.takes_pairs:
            return super()._read_pair(first, second)
        texts = self._with_masks(first), self._with_masks(second)
        encoding = self._backend.encode(*texts)
        border = next((place for place, text in enumerate(encoding.sequence_ids) if text == 1), None)
        return PairTokens(self._fitting(_with_pieces(encoding, *texts)), encoding.type_ids, border)

    def _with_masks(self, text: str) -> str:
        """Return a text with the mask token in each blank."""
        if self.mask_id is None:
            return text
        mask = cast(str, self._written(self.mask_id))
        return WRITTEN_MASK.sub(lambda _: mask, text)

    def _token(self, i: int) -> Token:
        token = self._written(i)
        if token is None:  # the model's vocabulary is larger than the tokenizer's
            return Token(name=f"<no.{i}>")
        if i in self._special_ids:
            return Token(name=token)
        return Token(text=token.encode()) if i in self._added else self._scheme.read(token)

    def _written(self, i: int) -> str | None:
        """Return a token as in the vocabulary; `id_to_token` would return added ones normalized, "<s>" as "▁<s>"."""
        return self._added.get(i) or self._backend.id_to_token(i)

    def _known(self, ids: Iterable[SupportsInt]) -> list[int]:
        return from_zero(ids)

    def to_json(self) -> str:
        """Return the content of tokenizer.json."""
        backend, special = self.parts()
        of_model = {} if self._n_of_model is None else {"n_of_model": self._n_of_model}
        about = {"headlight": {"kind": self.kind, "special": special, **of_model}}
        return json.dumps(json.loads(backend.to_str()) | about, ensure_ascii=False) + "\n"


def for_training(tokenizer: ForeignTokenizer, architecture: Architecture) -> ForeignTokenizer:
    """Return a copy of a tokenizer for training a model of an architecture.

    Special tokens that it lacks are added after its vocabulary. GPT-2's <|endoftext|> begins and ends texts; it gets a
    <pad> for pairs, and nothing for decoder-only models.

    Raises:
        CheckpointError: a token cannot be added, or cannot be placed around a text.
    """
    backend, special = tokenizer.parts()
    if special["pad"] in (special["bos"], special["eos"]):  # used as padding, it would never be attended to
        special["pad"] = None
    n_before = tokenizer.vocab_size
    lacking = [role for role in _NEEDED[architecture] if special[role] is None]
    backend.add_special_tokens([AddedToken(_ADDED[role], special=True, normalized=False) for role in lacking])
    special |= {role: backend.token_to_id(_ADDED[role]) for role in lacking}
    ids = backend.get_vocab().values()
    if len({*ids}) != len(ids) or max(ids) + 1 > n_before + len(lacking):
        raise CheckpointError(
            "the token ids of this tokenizer are not contiguous, so no tokens can be added; choose another tokenizer"
        )
    around = {role: i for role, i in special.items() if i is not None and role in _READ[architecture]}
    written = {role: backend.id_to_token(i) for role, i in around.items()}
    try:
        framed = processors.TemplateProcessing(
            single=[written.get(part, part) for part in _READ[architecture]],
            special_tokens=[(written[role], i) for role, i in around.items()],
        )
    except ValueError as error:
        raise CheckpointError(
            "the special tokens of this tokenizer cannot mark the start and end of a text; choose another tokenizer"
        ) from error
    cuts_spaces = isinstance(backend.post_processor, processors.ByteLevel)  # from the offsets of tokens
    backend.post_processor = processors.Sequence([backend.post_processor, framed]) if cuts_spaces else framed
    return ForeignTokenizer(backend, special)


class _Scheme:
    """The spelling of bytes, spaces and parts of words in a vocabulary."""

    def __init__(self, backend: Backend) -> None:
        parts = [part for part in (backend.decoder, backend.pre_tokenizer) if part is not None]
        settings = b"".join(part.__getstate__() for part in parts).decode()
        self.is_byte_level = '"ByteLevel"' in settings
        self.has_visible_spaces = "▁" in settings  # sentencepiece
        self.has_single_bytes = getattr(backend.model, "byte_fallback", False)
        self.continuation = ""
        if isinstance(backend.model, models.WordPiece):
            self.continuation = backend.model.continuing_subword_prefix

    def read(self, token: str) -> Token:
        """Return the text of a token of the vocabulary."""
        if self.is_byte_level:
            return Token(text=byte_level_text(token))
        if self.continuation:
            continues = token.startswith(self.continuation) and token != self.continuation
            text = token.removeprefix(self.continuation) if continues else token
            return Token(text=text.encode(), mark=self.continuation if continues else "", starts_anew=not continues)
        if self.has_single_bytes and len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
            return Token(text=bytes.fromhex(token[3:5]))
        return Token(text=(token.replace("▁", " ") if self.has_visible_spaces else token).encode())


def _with_pieces(encoding: Encoding, *texts: str) -> list[tuple[int, str]]:
    """Return the tokens of an encoding, each with its piece of the text; those of the template have none."""
    is_text = [not from_template for from_template in encoding.special_tokens_mask]
    offsets: list[list[tuple[int, int]]] = [[] for _ in texts]
    for place, number, counts in zip(encoding.offsets, encoding.sequence_ids, is_text, strict=True):
        if counts:
            offsets[number or 0].append(place)
    pieces = chain.from_iterable(map(typed, texts, offsets))
    return [(i, next(pieces) if counts else "") for i, counts in zip(encoding.ids, is_text, strict=True)]
