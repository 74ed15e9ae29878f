"""A gate at which the server of a page of these tests waits: what is seen before an answer can be looked at."""

from pathlib import Path
from time import sleep


class Gate:
    """Open at first. A page's address names it, as `?gate=` and `path`; the page's script waits for it by `wait_at`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "closed"

    def close(self) -> None:
        """From here on the server answers nobody."""
        self.path.touch()

    def open(self) -> None:
        """Let the server answer what it was asked."""
        self.path.unlink()


def wait_at(path: str | None) -> None:
    """Return once this gate is open; at once where none is named."""
    while path is not None and Path(path).exists():
        sleep(0.01)
