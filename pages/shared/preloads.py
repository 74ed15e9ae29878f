"""What the browser fetches while Streamlit is still starting, so that files need not be requested one after another."""

import re
from pathlib import Path

import streamlit as st

from pages.components import modules

_STREAMLIT = (Path(st.__file__).parent / "static").resolve()  # as the modules that are found by their imports
_CHUNKS = ("BidiComponent", "ButtonGroup", "Html", "PageLink", "Selectbox", "TextInput")  # of what every page has
_STAGE = modules.PAGES / "learn/start/components/stage/stage.js"
_IMPORTED = re.compile(r'\b(?:from|import) ?"(\.[^"]+\.js)"')
_STYLES = re.compile(r'"(\.[^"]+\.css)"')


def links(language: str) -> str:
    """Return the elements that ask for what Start is drawn with in a language: modules of Streamlit and of the stage.

    All of it may wait for what Streamlit itself asks for.
    """
    page = (_STREAMLIT / "index.html").read_text(encoding="utf-8")
    chunks = _with_imports(*(file for name in _CHUNKS for file in _STREAMLIT.glob(f"static/js/{name}.*.js")))
    scripts = _with_imports(_STAGE)
    styles = {(file.parent / path).resolve() for file in scripts for path in _STYLES.findall(file.read_text("utf-8"))}
    addresses = [f"/{file.relative_to(_STREAMLIT).as_posix()}" for file in chunks if file.name not in page]
    addresses += [modules.address(file, language) for file in scripts]
    sheets = [modules.address(file, language) for file in sorted(styles)]
    return "".join(
        [f'<link rel="modulepreload" fetchpriority="low" href="{address}">' for address in addresses]
        + [f'<link rel="preload" as="fetch" crossorigin fetchpriority="low" href="{address}">' for address in sheets]
    )


def _with_imports(*files: Path) -> list[Path]:
    """Return modules and all that they import, each once."""
    waiting, result = list(files), dict[Path, None]()
    while waiting:
        file = waiting.pop()
        if file not in result:
            result[file] = None
            waiting += [(file.parent / path).resolve() for path in _IMPORTED.findall(file.read_text(encoding="utf-8"))]
    return list(result)
