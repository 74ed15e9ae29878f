"""Write the API reference, generated from the docstrings, into a folder: `python -m tests.docs.api site/api`."""

import shutil
import sys
import warnings
from functools import partial
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

import markdown2  # type: ignore[import-untyped]
import pdoc
import pdoc.render

import headlight as hl
import transformer_core as tc
from headlight import figures

PRIVATE = {"__init__", "__main__", "cli", "language", "process", "reasons", "shipped"}  # for the app alone
ROOMS = [
    f"{package.__name__}.{path.stem}"
    for package in (tc, hl)
    for path in sorted(Path(package.__path__[0]).iterdir())
    if (path.suffix == ".py" or (path / "__init__.py").is_file()) and path.stem not in PRIVATE
]


def write(folder: Path) -> None:
    """Write the reference, and replace what is in the folder.

    Raises:
        UserWarning: a docstring or a signature cannot be shown.
    """
    for name in tc.__all__:
        getattr(tc, name)  # loaded at the first use, which pdoc does not trigger
    figures.__all__.remove("Figure")  # it is plotly's
    tc.__doc__ = "\n".join([tc.__doc__ or "", "Its modules:", "", *map(_summary, ROOMS)])
    shutil.rmtree(folder, ignore_errors=True)
    pdoc.render.configure(docformat="google", show_source=False, footer_text=f"Headlight {tc.__version__}")
    with warnings.catch_warnings(), patch("markdown2.markdown", partial(markdown2.markdown, safe_mode="escape")):
        warnings.simplefilter("error")
        others = [room for room in ROOMS if room.rpartition(".")[2] not in tc.__all__]  # pdoc finds those itself
        pdoc.pdoc("transformer_core", *others, r"!transformer_core\.corpora\.", output_directory=folder)


def _summary(room: str) -> str:
    """Return a line about a module, with its name, which pdoc turns into a link."""
    return f"- `{room}`: {(import_module(room).__doc__ or '').splitlines()[0]}"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
