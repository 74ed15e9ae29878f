"""The characters of a model's vocabulary, from its file of weights or from the text that it was trained on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer_core.text.ids import CharacterTokenizer

MOST_TEXT_BYTES = 2**26
_NAMES = ("_vocab", "vocab", "uchars", "chars", "itos", "stoi")
_TEXT = "input.txt"


def characters_in(content: Mapping[str, Any], vocab_size: int) -> CharacterTokenizer | None:
    """Return the tokenizer of the characters that a file contains; None if it has none for this vocabulary.

    The token that begins texts is not one of them, or is longer than a character.

    Args:
        content: a list or string of characters as "chars" or under another usual name, or a mapping from ids to
            characters, or from characters to ids.
        vocab_size: of the model.
    """
    listed = next((content[name] for name in _NAMES if name in content), None)
    characters: Mapping[Any, Any] = dict(enumerate(listed)) if isinstance(listed, list | tuple | str) else {}
    if isinstance(listed, Mapping):
        is_by_character = all(type(i) is int for i in listed.values())
        characters = {i: character for character, i in listed.items()} if is_by_character else listed
    return _tokenizer(characters, vocab_size)


def characters_of_text(folder: Path, vocab_size: int) -> CharacterTokenizer | None:
    """Return the tokenizer of the sorted characters of input.txt; None if there is no such text, or it has others."""
    path = folder / _TEXT
    try:
        if not path.is_file() or path.stat().st_size > MOST_TEXT_BYTES:
            return None
        characters = sorted({*path.read_text(encoding="utf-8")})
    except (OSError, UnicodeDecodeError):
        return None
    return _tokenizer(dict(enumerate(characters)), vocab_size) if len(characters) == vocab_size else None


def _tokenizer(characters: Mapping[Any, Any], vocab_size: int) -> CharacterTokenizer | None:
    if not all(type(i) is int and isinstance(character, str) for i, character in characters.items()):
        return None
    longer = [i for i, character in characters.items() if len(character) != 1]
    if len(characters) == vocab_size - 1:
        longer.append(vocab_size - 1)
    try:
        tokenizer = CharacterTokenizer(
            {**characters, **dict.fromkeys(longer, "")}, bos_id=longer[0] if longer else None
        )
    except ValueError:
        return None
    return tokenizer if tokenizer.vocab_size == vocab_size else None
