"""The components' modules and styles, each at an address that browsers may cache: a changed file gets a new one.

`/modules/<version>/<language>/<path>` mirrors the tree, so that modules import each other by relative paths. One of
them, `LANGUAGE`, holds the reader's language and its words; the file in the tree is the English one.
"""

import hashlib
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import headlight
from headlight.language import ENGLISH, LANGUAGES
from headlight.notebook import bundle
from pages.shared.least_text import with_least_text

PAGES = Path(__file__).parents[1]
LANGUAGE = "headlight/components/kit/language.js"
_ROOMS = {"pages": PAGES, "headlight": Path(headlight.__file__).parent}
KINDS = {".js": "text/javascript", ".css": "text/css"}
_FOR_GOOD = {"cache-control": "public, max-age=31536000, immutable"}
_ONCE = {"cache-control": "no-store"}  # a page that was opened before the server was updated


@cache
def files() -> dict[str, Path]:
    """Return all files that are served, by their paths in the address; no other file of the machine is served."""
    return {
        f"{room}/{file.relative_to(folder).as_posix()}": file
        for room, folder in _ROOMS.items()
        for file in sorted(folder.rglob("*"))
        if file.suffix in KINDS
    }


def content(file: Path) -> str:
    """Return the text that is served for a file."""
    text = file.read_text(encoding="utf-8")
    return with_least_text(text) if file.suffix == ".css" else text


@cache
def words(language: str) -> str:
    """Return the module of a language: what modules say, by their English words."""
    scripts = (file.read_text(encoding="utf-8") for path, file in files().items() if path.endswith(".js"))
    return bundle.words(language, "".join(scripts))


@cache
def version(language: str) -> str:
    """Return a version that changes with every module, style and word of the language."""
    digest = hashlib.sha256(words(language).encode())
    for path, file in files().items():
        digest.update(f"{path}\0{content(file)}".encode())
    return digest.hexdigest()[:16]


def address(file: Path, language: str) -> str:
    """Return the address of a module or style under pages/ or headlight/, in a language."""
    room, folder = next((room, folder) for room, folder in _ROOMS.items() if file.is_relative_to(folder))
    return f"/modules/{version(language)}/{language}/{room}/{file.relative_to(folder).as_posix()}"


async def _answer(request: Request) -> Response:
    result = request.path_params
    file = files().get(result["path"])
    if file is None or result["language"] not in LANGUAGES:
        return Response(status_code=404)
    headers = _FOR_GOOD if result["version"] == version(result["language"]) else _ONCE
    if result["path"] == LANGUAGE and result["language"] != ENGLISH:
        return Response(words(result["language"]), media_type=KINDS[".js"], headers=headers)
    return Response(content(file), media_type=KINDS[file.suffix], headers=headers)


ROUTE = Route("/modules/{version}/{language}/{path:path}", _answer)
