"""Fingerprints of source code: the contents of the cache folder are recomputed after any change to the code."""

from hashlib import blake2b
from pathlib import Path

_SUFFIXES = (".py", ".txt", ".xz")  # of code, and of the data that it reads


def fingerprint_of_code(folder: Path) -> str:
    """Return 64 hexadecimal digits, equal for equal names and contents of all code and data in a folder."""
    digest = blake2b(digest_size=32)
    for path in sorted(path for path in folder.rglob("*.*") if path.suffix in _SUFFIXES):
        code = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(code)}\n".encode())
        digest.update(code)
    return digest.hexdigest()


# Read at import: later the files may be newer than the code that runs.
CODE_OF_CORPORA = fingerprint_of_code(Path(__file__).parent)
CODE_OF_TEXT = fingerprint_of_code(Path(__file__).parents[1] / "text")
