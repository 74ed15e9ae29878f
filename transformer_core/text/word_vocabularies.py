"""Vocabularies of words in pickles next to a model, such as vocab.pt of The Annotated Transformer.

They are usually inside objects of torchtext. Here every object in a pickle is replaced by one that only keeps its
parts, so that nothing in the file runs; lists of words, and mappings from words to ids, are looked for in the result.
"""

import pickle
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers, processors

from transformer_core.text.foreign import ROLES, ForeignTokenizer
from transformer_core.text.separate import SeparateTokenizers

_MOST_BYTES = 2**26  # of a pickle; vocabularies of a million words take half of this
_MOST_PARTS = 2**22  # that are searched
_FEWEST_WORDS = 5  # of a vocabulary
_UNKNOWN = ("<unk>", "[UNK]", "<UNK>")


def read_pair(folder: Path, sizes: Sequence[int], special: Mapping[str, int]) -> SeparateTokenizers | None:
    """Return the tokenizers of source and target from the pickles in a folder whose names contain "vocab".

    Texts are split at spaces and punctuation; the source begins and ends with its special tokens.

    Args:
        folder: of the model.
        sizes: of the two vocabularies in the model.
        special: the tokens "pad", "bos" and "eos", the same in both.

    Returns:
        None if there are no such vocabularies of these sizes, each with an unknown word.
    """
    paths = sorted(path for path in folder.glob("*vocab*") if path.suffix in (".pt", ".pth", ".pkl", ".pickle"))
    read = [words for path in paths for words in _vocabularies(path)]
    source = next((words for words in read if len(words) == sizes[0]), None)
    others = [words for words in read if len(words) == sizes[1]]
    target = next((words for words in others if words is not source), others[0] if others else None)
    if source is None or target is None or not all({*_UNKNOWN} & {*words} for words in (source, target)):
        return None
    return SeparateTokenizers(_tokenizer(source, special, begins=True), _tokenizer(target, special, begins=False))


def framed(backend: Backend, special: Mapping[str, int], *, begins: bool) -> ForeignTokenizer:
    """Return a tokenizer that puts the end-of-sequence token after a text, and the beginning before if `begins`."""
    written = {role: str(backend.id_to_token(i)) for role, i in special.items()}
    around = [role for role in ("bos", "eos") if role == "eos" or begins]
    backend.post_processor = processors.TemplateProcessing(
        single=[*([written["bos"]] if begins else []), "$A", written["eos"]],
        special_tokens=[(written[role], special[role]) for role in around],
    )
    return ForeignTokenizer(backend, {role: special.get(role) for role in ROLES})


def _tokenizer(words: Sequence[str], special: Mapping[str, int], *, begins: bool) -> ForeignTokenizer:
    unknown = next(word for word in _UNKNOWN if word in words)
    backend = Backend(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=unknown))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    return framed(backend, {**special, "unk": words.index(unknown)}, begins=begins)


class _Inert(dict[Any, Any]):
    """An object of a pickle, reduced to its arguments, state and items; it runs nothing."""

    parts: list[Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        one = super().__new__(cls)
        one.parts = [*args, *kwargs.values()]
        return one

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def __call__(self, *args: Any, **kwargs: Any) -> "_Inert":
        return _Inert(*args, **kwargs)

    def __setstate__(self, state: Any) -> None:
        self.parts.append(state)

    def append(self, part: Any) -> None:
        self.parts.append(part)

    def extend(self, parts: Any) -> None:
        self.parts.extend(parts)

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__


class _InertUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[_Inert]:
        return _Inert

    def persistent_load(self, pid: object) -> None:  # the tensors of torch.save
        return None


def _vocabularies(path: Path) -> list[list[str]]:
    """Return the different vocabularies in a pickle, or a file of torch.save, in their order; [] if it is damaged."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                inner = next(info for info in archive.infolist() if info.filename.endswith("/data.pkl"))
                if inner.file_size > _MOST_BYTES:
                    return []
                with archive.open(inner) as file:
                    content = _InertUnpickler(file).load()
        elif path.stat().st_size > _MOST_BYTES:
            return []
        else:
            with path.open("rb") as file:
                content = _InertUnpickler(file).load()
        different = {tuple(words): None for words in _searched(content)}
        return [[*words] for words in different]
    except Exception:  # pickle may raise any exception for damaged or unrelated files
        return []


def _searched(content: Any) -> Iterator[Sequence[str]]:
    """Yield the lists of different words, and the words of each mapping to the ids 0, 1, 2, ... in their order."""
    seen: set[int] = set()
    waiting = [content]
    while waiting:
        if len(seen) > _MOST_PARTS:
            return
        part = waiting.pop()
        if not isinstance(part, dict | list | tuple) or id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            ids = part.values()
            if _are_words(part) and all(type(i) is int for i in ids) and sorted(ids) == [*range(len(part))]:
                yield sorted(part, key=part.__getitem__)
                continue
            part = [*getattr(part, "parts", ()), *ids]
        elif _are_words(part):
            yield part
            continue
        waiting.extend(reversed(part))


def _are_words(parts: Any) -> bool:
    return len(parts) >= _FEWEST_WORDS and all(isinstance(part, str) for part in parts) and len({*parts}) == len(parts)
