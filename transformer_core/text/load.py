"""Loading tokenizers: those saved by this package, and those of models from Hugging Face."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend

from transformer_core.errors import CheckpointError, Message
from transformer_core.reasons import reason
from transformer_core.text.foreign import ROLES, STAND_INS, ForeignTokenizer, read_settings, spelling
from transformer_core.text.ids import KIND, META, CharacterTokenizer, IdTokenizer, read_meta
from transformer_core.text.interface import Tokenizer
from transformer_core.text.separate import SeparateTokenizers
from transformer_core.text.tokenizer import OwnTokenizer

# The usual spellings of each role, if the folder does not name it.
_USUAL = {
    "pad": ("<pad>", "[PAD]"),
    "bos": ("<s>", "[CLS]", "<|endoftext|>"),
    "eos": ("</s>", "[SEP]", "<|endoftext|>"),
    "unk": ("<unk>", "[UNK]"),
    "mask": ("<mask>", "[MASK]"),
}

PIECES = "tokenizer.model"  # of sentencepiece, or, in Llama 3, of tiktoken

# The files of older families, before tokenizer.json; transformers reads them.
_OLDER_LAYOUTS = (
    ("vocab.json", "merges.txt"),
    ("vocab.txt",),
    ("spiece.model",),
    (PIECES,),
    ("sentencepiece.bpe.model",),
)
_MARIAN = ("source.spm", "target.spm", "vocab.json")
_M2M100 = ("vocab.json", "sentencepiece.bpe.model")

# Any file of a tokenizer, including unsupported types.
_TRACES = (
    META,
    "tokenizer*",
    "vocab*",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "*.spm",
    "*.tiktoken",
)
_PICKLES = (".pt", ".pth", ".pkl", ".pickle")  # word_vocabularies.py reads those of some layouts
_TRACES_OF_PIECES = ("spiece.model", "sentencepiece*.model", "*.bpe.model")


def load_tokenizer(path: str | os.PathLike[str]) -> Tokenizer:
    """Load a tokenizer that `Tokenizer.save` has written.

    Raises:
        CheckpointError: the file is missing, damaged, or written by another program.
    """
    try:
        return _from_values(json.loads(Path(path).read_text(encoding="utf-8-sig")))
    except FileNotFoundError as error:
        raise CheckpointError("there is no tokenizer at {path}", path=path) from error
    except OSError as error:
        raise CheckpointError(
            "the tokenizer {path} cannot be read ({error})", path=path, error=reason(error)
        ) from error
    except Exception as error:  # the library raises bare Exception
        raise CheckpointError(
            "{path} is damaged, or is not a Headlight tokenizer; copy it again, or train the model again",
            path=path,
        ) from error


def _from_values(values: dict[str, Any]) -> Tokenizer:
    """Return the tokenizer of the values in its file; invalid ones may raise any exception."""
    about = values.pop("headlight")
    if about["kind"] == "foreign":
        return ForeignTokenizer.from_values(values, about)
    if about["kind"] == "ids":
        return IdTokenizer.from_values(about)
    if about["kind"] == KIND:
        return CharacterTokenizer.from_values(about)
    if about["kind"] == "separate":
        return SeparateTokenizers(_from_values(values["source"]), _from_values(values["target"]))
    if about["kind"] == "m2m100":
        from transformer_core.text.m2m100 import M2M100Tokenizer

        return M2M100Tokenizer.from_values(values, about)
    if about["kind"] == "marian":
        from transformer_core.text.marian import MarianTokenizer

        return MarianTokenizer.from_values(values, about)
    return OwnTokenizer.from_values(values, about)


def has_tokenizer(folder: Path) -> bool:
    """Return whether a Hugging Face model folder contains tokenizer files."""
    return any(True for _ in tokenizer_files(folder))


def has_known_tokenizer(folder: Path) -> bool:
    """Return whether a folder contains all files of a supported tokenizer; other programs name files similarly."""
    layouts = (("tokenizer.json",), *_OLDER_LAYOUTS, _MARIAN, (META,))
    return any(_has(folder, layout) for layout in layouts if layout != (PIECES,) or _is_sentencepiece(folder / PIECES))


def _is_sentencepiece(path: Path) -> bool:
    """Return whether a file begins as one of sentencepiece: with its first piece."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(1) == b"\n"


def tokenizer_files(folder: Path) -> Iterator[Path]:
    """Return the files of a tokenizer in a folder, including those of unsupported types."""
    traces = (path for name in (*_TRACES, *_TRACES_OF_PIECES) for path in folder.glob(name))
    return (path for path in traces if path.name == META or path.suffix not in _PICKLES)


def load_foreign(folder: str | os.PathLike[str]) -> Tokenizer:
    """Load the tokenizer of a model folder of Hugging Face, without running its code and without network access.

    `tokenizers` reads a tokenizer.json (0.1 s; importing transformers would take seconds). `transformers` reads
    older layouts, and `sentencepiece` the two models of MarianMT.

    Differs: transformers 5 rebuilds Llama's tokenizers from their parts, which drops a space at the beginning of a
        text; here the file is followed, as sentencepiece does.

    Raises:
        CheckpointError: a folder without a tokenizer, a damaged file, or an unsupported type.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise CheckpointError("there is no folder {folder!r}; give the path of a model folder", folder=str(folder))
    if _has(folder, _MARIAN):
        from transformer_core.text.marian import load_marian

        return load_marian(folder)
    if _has(folder, ("tokenizer.json",)):
        return _load_fast(folder)
    if _has(folder, _M2M100):
        from transformer_core.text.m2m100 import load_m2m100

        return load_m2m100(folder)
    if any(_has(folder, layout) for layout in _OLDER_LAYOUTS):
        return _load_older(folder)
    if _has(folder, (META,)):
        return read_meta(folder / META)
    layouts = (Message.joined(Message(" with "), layout) for layout in (("tokenizer.json",), *_OLDER_LAYOUTS, _MARIAN))
    raise CheckpointError(
        "{folder} has no tokenizer ({layouts}); copy the whole model again",
        folder=folder,
        layouts=Message.joined(", ", layouts),
    )


def _has(folder: Path, names: Iterable[str]) -> bool:
    return all((folder / name).is_file() for name in names)


def _load_fast(folder: Path) -> ForeignTokenizer:
    """Read tokenizer.json, and the special tokens from the settings."""
    settings = read_settings(folder)
    path = folder / "tokenizer.json"
    try:
        backend = Backend.from_str(path.read_text(encoding="utf-8-sig"))
    except Exception as error:  # the library raises bare Exception
        raise CheckpointError("{path} is damaged or of an unsupported type; copy it again", path=path) from error
    vocabulary = backend.get_vocab()
    written = {role: spelling(settings, role, _USUAL[role], vocabulary) for role in ROLES}
    return ForeignTokenizer(
        backend, {role: None if token is None else vocabulary[token] for role, token in written.items()}
    )


def _load_older(folder: Path) -> ForeignTokenizer:
    """Read an older layout with transformers; one that nothing describes as that of Llama."""
    from transformers import AutoTokenizer, LlamaTokenizer

    is_described = any((folder / name).is_file() for name in ("config.json", "tokenizer_config.json"))
    of_llama = not is_described and _has(folder, (PIECES,))
    kind: Any = LlamaTokenizer if of_llama else AutoTokenizer
    options = {"add_bos_token": True} if of_llama else {}
    try:
        if any(path.stat().st_size == 0 for path in folder.glob("*.model")):  # would be read as an empty vocabulary
            raise ValueError("an empty file")
        theirs = kind.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **options)
        backend = Backend.from_str(theirs.backend_tokenizer.to_str())
    except Exception as error:  # transformers may raise any exception for damaged files
        raise CheckpointError(
            "the tokenizer in {folder} is damaged or of an unsupported type; save it as "
            "tokenizer.json, or copy it again",
            folder=folder,
        ) from error
    special = {role: getattr(theirs, f"{role}_token_id", None) for role in ROLES}
    for role, stand_in in STAND_INS.items():
        if special[role] is None:
            special[role] = getattr(theirs, f"{stand_in}_token_id", None)
    return ForeignTokenizer(backend, special)
