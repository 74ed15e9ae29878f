"""The source code as a part of what a thing was made from: after any change of it, nothing kept is taken for new."""

from hashlib import blake2b
from pathlib import Path


def fingerprint_of_code(folder: Path) -> str:
    """Return 64 hexadecimal digits, equal for equal names and contents of all Python files in a folder."""
    digest = blake2b(digest_size=32)
    for path in sorted(folder.rglob("*.py")):
        code = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(code)}\n".encode())
        digest.update(code)
    return digest.hexdigest()


# Read when this room is imported: later the files may be newer than the code that runs.
CODE_OF_CORPORA = fingerprint_of_code(Path(__file__).parent)
CODE_OF_TEXT = fingerprint_of_code(Path(__file__).parents[1] / "text")
