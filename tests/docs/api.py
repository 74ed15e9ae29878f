"""Write the API reference, generated from the docstrings, into a folder: `python -m tests.docs.api site/api`."""

import shutil
import sys
import warnings
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import markdown2  # type: ignore[import-untyped]
import pdoc
import pdoc.render

import headlight as hl
import transformer_core as tc
from headlight import figures

PRIVATE = {"__init__", "__main__", "cli", "language", "process", "reasons", "shipped"}  # for the app alone


def write(folder: Path) -> None:
    """Write the reference, and replace what is in the folder.

    Raises:
        UserWarning: a docstring or a signature cannot be shown.
    """
    figures.__all__.remove("Figure")  # it is plotly's
    others = []
    for package in (tc, hl):
        for name in package.__all__:
            getattr(package, name)  # loaded at the first use, which pdoc does not trigger
        modules = _modules(package)
        package.__doc__ = "\n".join([package.__doc__ or "", "Its modules:", "", *map(_summary, modules)])
        others += [module for module in modules if module.rpartition(".")[2] not in package.__all__]  # pdoc finds those
    shutil.rmtree(folder, ignore_errors=True)
    pdoc.render.configure(docformat="google", show_source=False, footer_text=f"Headlight {tc.__version__}")
    with warnings.catch_warnings(), patch("markdown2.markdown", partial(markdown2.markdown, safe_mode="escape")):
        warnings.simplefilter("error")
        pdoc.pdoc("transformer_core", "headlight", *others, r"!transformer_core\.corpora\.", output_directory=folder)


def _modules(package: ModuleType) -> list[str]:
    """Return the names of a package's modules, without those that are for the app alone."""
    paths = sorted(Path(package.__path__[0]).iterdir())
    names = [path.stem for path in paths if path.suffix == ".py" or (path / "__init__.py").is_file()]
    return [f"{package.__name__}.{name}" for name in names if name not in PRIVATE]


def _summary(module: str) -> str:
    """Return a line about a module, with its name, which pdoc turns into a link."""
    return f"- `{module}`: {(import_module(module).__doc__ or '').splitlines()[0]}"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
