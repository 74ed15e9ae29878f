"""File formats, recognized by their first bytes, since endings are unreliable (.chkpt, .tar, .model, or none)."""

import re
import struct
from pathlib import Path, PurePath
from typing import IO, Literal

from transformer_core.config import MOST_LAYERS
from transformer_core.errors import CheckpointError, Message
from transformer_core.reasons import reason
from transformer_core.text.ids import META

FileKind = Literal["safetensors", "torch", "llm.c", "llama2.c", "json"]
N_BYTES = 512  # at the beginning of a file, which determine its format

_TORCH = re.compile(
    rb"PK\x03\x04.{26}[^/]*/(data|\.format_version|version|byteorder|code/|constants)"
    rb"|\x80.{1,12}?\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19\.",  # before torch 1.6: its magic number
    re.DOTALL,
)

_LLMC = struct.pack("<i", 20240326)
LLAMA2C = 0x616B3432  # first number of versions from 1 on; version 0 begins with seven sizes
_JSON_WEIGHTS = re.compile(  # by the names of microGPT
    rb"\s*\{(\s*\"_vocab|.{0,400}\"(wte|wpe|lm_head|layer\d+\.\w+)\"\s*:\s*\[)", re.DOTALL
)

_NOT_FETCHED = (
    (
        re.compile(rb"version https://git-lfs[^\s,;]*\r?(\n|\Z)"),
        Message("it is a pointer to a file in Git LFS; run git lfs pull, or download the file itself"),
    ),
    (
        re.compile(rb"\s*<(?i:!doctype|html|head|\?xml)"),
        Message("it is a web page; download the file itself"),
    ),
)
_OTHERS: tuple[tuple[re.Pattern[bytes], Message], ...] = _NOT_FETCHED + tuple(
    (re.compile(pattern, re.DOTALL), message)
    for pattern, message in (
        (
            rb"GGUF|GGML|lmgg|tjgg|fmgg",
            Message(
                "it is a GGUF file (llama.cpp, Ollama); choose the "
                "safetensors version of the model that it was converted from"
            ),
        ),
        (rb"\x89HDF", Message("it is an HDF5 file, as Keras saves them; choose a version of the model for PyTorch")),
        (rb"\x93NUMPY|PK\x03\x04.{26}[^/]*\.npy", Message("it contains NumPy arrays; save its weights as safetensors")),
        (
            rb"PK|\x1f\x8b|BZh|\xfd7zXZ|7z\xbc\xaf|Rar!|\(\xb5/\xfd|.{257}ustar",
            Message("it is an archive; unpack it, and give the path of the folder"),
        ),
        (rb"\s*[{\[][\s\"]", Message("it is a JSON file; give the path of its folder, or of the weights")),
        (
            rb"\x80[\x02-\x05]",
            Message(
                "it is a pickle that torch.save did not write, which could run code; save the weights with "
                "torch.save(model.state_dict(), path)"
            ),
        ),
    )
)


_GGUF, _HDF5, _ARRAYS, _ARCHIVE = (
    next(what for pattern, what in _OTHERS if pattern.match(head))
    for head in (b"GGUF", b"\x89HDF", b"\x93NUMPY", b"PK")
)
_OTHER_PROGRAM = Message("it is for Flax, ONNX or TensorFlow; choose a version of the model for PyTorch")
_ELSEWHERE = {
    **dict.fromkeys((".gguf", ".ggml"), _GGUF),
    **dict.fromkeys((".h5", ".hdf5", ".keras"), _HDF5),
    **dict.fromkeys((".npz", ".npy"), _ARRAYS),
    **dict.fromkeys((".msgpack", ".onnx", ".ot", ".tflite", ".pb"), _OTHER_PROGRAM),
    **dict.fromkeys((".gz", ".tgz", ".tar", ".zip", ".xz", ".bz2", ".zst", ".7z", ".rar"), _ARCHIVE),
}


def kind_of(path: Path) -> FileKind | None:
    """Return the format of a weight file, determined from its first bytes; None if it is not a weight file."""
    try:
        with path.open("rb") as file:
            return kind_in(file)
    except OSError:
        return None


def kind_in(file: IO[bytes]) -> FileKind | None:
    """Return the format of a weight file that is open at its beginning; None if it is not a weight file."""
    head = file.read(N_BYTES)
    if _TORCH.match(head):
        return "torch"
    if head.startswith(_LLMC):
        return "llm.c"
    if head.startswith(struct.pack("<I", LLAMA2C)) or _begins_with_sizes(head):
        return "llama2.c"
    if _JSON_WEIGHTS.match(head):
        return "json"
    if head[8:9] == b"{" and struct.unpack("<Q", head[:8])[0] < 2**32:  # the length of a JSON header
        return "safetensors"
    return None


def _begins_with_sizes(head: bytes) -> bool:
    """Return whether a file begins with the seven sizes of a Llama, as version 0 of llama2.c writes them."""
    if len(head) < 28:
        return False
    width, d_ff, n_layers, n_heads, n_kv_heads, vocab_size, n_positions = struct.unpack("<7i", head[:28])
    sizes = (width, d_ff, n_layers, n_heads, n_kv_heads, abs(vocab_size), n_positions)
    return (
        all(0 < size < 2**20 for size in sizes)
        and n_layers <= MOST_LAYERS
        and width % n_heads == 0
        and n_heads % n_kv_heads == 0
    )


def kind_by_ending(path: PurePath) -> FileKind | None:
    """Return the format of a weight file, determined from its ending; None if unknown."""
    if path.suffix == ".safetensors":
        return "safetensors"
    return "torch" if path.suffix in (".bin", ".pt", ".pth", ".ckpt") else None


def other_kind(head: bytes) -> Message | None:
    """Return a description of a file in another format, with advice; None if unknown."""
    return next((what for pattern, what in _OTHERS if pattern.match(head)), None)


def not_fetched(head: bytes) -> Message | None:
    """Return a description, with advice, of a Git LFS pointer or a web page in place of a file; None if neither."""
    return next((what for pattern, what in _NOT_FETCHED if pattern.match(head)), None)


def refuse_not_fetched(path: Path) -> None:
    """Check that a file is not a Git LFS pointer or a web page.

    Raises:
        CheckpointError: it is.
    """
    if path.is_file():
        with path.open("rb") as file:
            if what := not_fetched(file.read(N_BYTES)):
                raise CheckpointError("{path} cannot be read: {what}", path=path, what=what)


def kind_elsewhere(path: Path) -> Message | None:
    """Return a description of a weight file for other programs, judged by its ending; None for other endings."""
    if path.suffix not in _ELSEWHERE:
        return None
    with path.open("rb") as file:
        return not_fetched(file.read(N_BYTES)) or _ELSEWHERE[path.suffix]


def weights_kind(path: Path) -> FileKind:
    """Return the format of a weight file, determined from its content, or else from its ending.

    Raises:
        CheckpointError: it cannot be read, or is something else.
    """
    if kind := kind_of(path):
        return kind
    try:
        with path.open("rb") as file:
            head = file.read(N_BYTES)
    except OSError as error:
        if not path.is_file():
            raise CheckpointError("{path} is missing; copy or download the model again", path=path) from error
        raise CheckpointError("{path} cannot be read ({error})", path=path, error=reason(error)) from error
    if path.name == META:
        raise CheckpointError(
            "{path} contains the vocabulary of a model, not its weights; choose both files, such as ckpt.pt and {name}",
            path=path,
            name=META,
        )
    if not head:
        raise CheckpointError("{path} is empty; copy or download it again", path=path)
    if what := other_kind(head):
        raise CheckpointError("{path} does not contain weights that can be read here: {what}", path=path, what=what)
    if kind := kind_by_ending(path):
        return kind
    raise CheckpointError(
        "{path} is neither a safetensors file nor one of torch.save, or it is damaged; save the weights with "
        "torch.save(model.state_dict(), path)",
        path=path,
    )
