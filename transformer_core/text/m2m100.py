"""M2M100's tokenizer: one sentencepiece model for all languages, whose tokens follow the vocabulary.

A source begins with the token of its language. A text that begins with such a token, as in "__fr__ Bonjour", chooses
another one; a target has none unless it is typed.

Source: Fan et al. 2021, sec. 2.1.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformer_core.config import Architecture
from transformer_core.errors import CheckpointError
from transformer_core.text.foreign import read_settings, spelling
from transformer_core.text.marian import MarianTokenizer, any_of

_USUAL = {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}


class M2M100Tokenizer(MarianTokenizer):
    """The tokenizer of an M2M100 model; `target` begins texts with no language."""

    def __init__(
        self,
        vocabulary: Mapping[str, int],
        model: bytes,
        special: Mapping[str, str],
        languages: Sequence[str],
        language: str | None,
    ) -> None:
        """Build a tokenizer.

        Args:
            vocabulary: the id of each token, without languages.
            model: the file of the sentencepiece model.
            special: the spellings of the special tokens: "pad", "eos", "unk".
            languages: the spellings of their tokens, in the order of their ids.
            language: that a source begins with; None: none.

        Raises:
            Exception: the values are invalid; the callers raise a proper error.
        """
        self._own, self._languages = vocabulary, {name: len(vocabulary) + i for i, name in enumerate(languages)}
        self._language = self._languages[language] if language is not None else None
        super().__init__({**vocabulary, **self._languages}, {"source": model, "target": model}, special)
        self._marks |= self._languages.keys()
        self._specials = any_of(self._marks)

    @classmethod
    def from_values(cls, values: Mapping[str, Any], about: Mapping[str, Any]) -> "M2M100Tokenizer":
        """Return the tokenizer of a tokenizer.json; invalid values may raise any exception."""
        model = base64.b64decode(values["model"], validate=True)
        return cls(values["vocabulary"], model, about["special"], about["languages"], about["language"])

    @property
    def target(self) -> "M2M100Tokenizer":
        """The tokenizer for generated texts."""
        target = super().target
        assert isinstance(target, M2M100Tokenizer), "a copy of this one"
        target._language = None
        return target

    def _read(self, text: str, architecture: Architecture) -> list[tuple[int, str]]:
        tokens = super()._read(text, architecture)
        has_language = self._language is None or tokens[0][0] in self._languages.values()
        return tokens if has_language or self._language is None else [(self._language, ""), *tokens]

    def _is_special(self, i: int) -> bool:
        return super()._is_special(i) or i in self._languages.values()

    def to_json(self) -> str:
        """Return the content of tokenizer.json."""
        names = {i: name for name, i in self._languages.items()}
        about = {
            "kind": "m2m100",
            "special": self._special,
            "languages": [*self._languages],
            "language": None if self._language is None else names[self._language],
        }
        model = base64.b64encode(self._models["source"]).decode()
        return json.dumps({"headlight": about, "vocabulary": self._own, "model": model}, ensure_ascii=False) + "\n"


def load_m2m100(folder: Path) -> M2M100Tokenizer:
    """Read vocab.json and sentencepiece.bpe.model.

    Raises:
        CheckpointError: a damaged file.
    """
    settings = read_settings(folder)
    try:
        vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        special = {role: spelling(settings, role, [usual], vocabulary) for role, usual in _USUAL.items()}
        languages = [str(name) for name in settings.get("additional_special_tokens") or _languages(settings)]
        source = f"__{settings.get('src_lang') or 'en'}__"
        return M2M100Tokenizer(
            vocabulary,
            (folder / "sentencepiece.bpe.model").read_bytes(),
            {role: str(token) for role, token in special.items()},
            languages,
            source if source in languages else None,
        )
    except Exception as error:  # sentencepiece and malformed vocabularies may raise any exception
        raise CheckpointError(
            "the tokenizer in {folder} is damaged (vocab.json or sentencepiece.bpe.model); copy it again", folder=folder
        ) from error


def _languages(settings: Mapping[str, Any]) -> list[str]:
    """Return the languages that the library gives a folder without a list."""
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES  # slow to import

    return [f"__{code}__" for code in FAIRSEQ_LANGUAGE_CODES[settings.get("language_codes", "m2m100")]]
