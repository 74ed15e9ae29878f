"""The server around the pages: security headers, preloaded files and the first model, loaded in advance."""

import asyncio
import gc
import logging
import os
import re
import secrets
from collections.abc import AsyncIterator, Mapping, MutableMapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Event
from typing import Any

import plotly
import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from headlight.language import say
from pages.components import modules
from pages.shared import downloads, health, owners, private_streamlit, prose, style
from pages.shared.view import locale
from transformer_core.errors import mark

FRAME = Path(__file__).parents[1] / "frame.py"

NO_SITE = "'none'"
FRAMED_BY = os.environ.get("HEADLIGHT_FRAMED_BY") or NO_SITE  # addresses of sites that may embed the app in a frame

# Components are modules created from text (blob:); Streamlit's own page uses an inline script and inline styles.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self' ws: wss:",
        f"frame-ancestors {FRAMED_BY}",
        "base-uri 'self'",
        "form-action 'self'",
        "object-src 'none'",
    )
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}

WRONG_HOST = mark(
    "This server does not answer to that host name. Open it by a name in `server.allowedHosts` "
    "(.streamlit/config.toml), or add the name there."
)
METRICS = re.compile(r".*/_stcore/(metrics|agent/.*)")  # not for the visitors of a shared server

PAGE = re.compile(r"/[\w-]*")  # all pages lie at the root
PLOTLY = "/vendor/plotly.min.js"
HISTORY, LINE_BREAKS, PREFETCH = (
    Path(__file__).with_name(f"{name}.js").read_text("utf-8") for name in ("history", "line_breaks", "prefetch")
)
PLACE = "window.__streamlit = {BACKEND_BASE_URL: location.origin};"
HEAD = f"<script>{PLACE}</script><script>{HISTORY}{LINE_BREAKS}</script>"
NOW, LATER = f'<script async src="{PLOTLY}"></script>', f"<script>{PREFETCH}</script>"

WAY_OUT = mark("Reload the page, or open it without the part of the address after the question mark.")

WAIT_FOR_VISITOR, WAIT_FOR_STAGE = 2.0, 8.0  # s, at most, before torch is imported
START = ("/", "/start")  # addresses of the page that is drawn without torch and without plotly
READ_FIRST = ("/film", "/glossary", "/models", "/server", "/tour")  # text or other figures come before plotly's
_FIRST_PATH: "Future[str]" = Future()  # path that a browser requested first
_PLOTLY_IS_ASKED_FOR = Event()  # so the browser has drawn the stage, or shows another page

logger = logging.getLogger("headlight")
ROUTES = [
    Mount("/vendor", StaticFiles(directory=Path(plotly.__file__).parent / "package_data")),
    modules.ROUTE,
    downloads.ROUTE,
]
_STREAMLIT = (Path(st.__file__).parent / "static").resolve()  # resolved, like the paths of imported modules
_CHUNKS = ("BidiComponent", "ButtonGroup", "Html", "PageLink", "Selectbox", "TextInput")  # chunks that every page needs
_STAGE = modules.PAGES / "learn/start/components/stage/stage.js"
_IMPORTED = re.compile(r'\b(?:from|import) ?"(\.[^"]+\.js)"')
_STYLES = re.compile(r'"(\.[^"]+\.css)"')


class Doorkeeper:
    """ASGI middleware that sends `HEADERS` with every answer, and refuses what is not for this visitor.

    It refuses a foreign `Host` (Streamlit itself checks only the websocket), against DNS rebinding, and requests for
    the metrics of a shared server.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stand in front of `app`."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer refused requests; pass all others on."""
        answer = self.app
        if scope["type"] == "http" and not private_streamlit.is_host_allowed(Request(scope).headers.get("host")):
            answer = PlainTextResponse(say(WRONG_HOST), status_code=421)
        elif scope["type"] == "http" and owners.is_shared() and METRICS.fullmatch(scope["path"]):
            answer = PlainTextResponse("Not found", status_code=404)
        await answer(scope, receive, _with_headers(send, HEADERS))


def _with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    async def send_with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            added = [(name.encode(), value.encode()) for name, value in headers.items()]
            message["headers"] = [*message.get("headers", []), *added]
        await send(message)

    return send_with_headers


class FrontPage:
    """ASGI middleware that serves Streamlit's HTML page, adapted to this app, at every page's address.

    It gets the server's address, so that it need not try every folder of a deep link; Back leads to what was seen
    before (history.js), and line breaks can be typed in a field of one line (line_breaks.js); it has our name and our
    styles from the start, these after Streamlit's own; and while Streamlit is still starting, the browser fetches what
    the page needs: the modules of the stage, or plotly.js where figures come first (to run it takes 0.3 s or more).
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stand in front of `app`."""
        self.app = app
        page = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
        page = page.replace("<title>Streamlit</title>", "<title>Headlight</title>")
        self.text = page.replace("</body>", f"<style>{style.sheet()}</style></body>", 1)
        self.page = cache(self._page)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer requests for a page; pass all others on."""
        answer = self.app
        if scope["type"] == "http" and scope["path"] == PLOTLY:
            _PLOTLY_IS_ASKED_FOR.set()
        elif scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and PAGE.fullmatch(scope["path"]):
            if not _FIRST_PATH.done():
                _FIRST_PATH.set_result(scope["path"])
            language = locale.asked_for(Request(scope)) if scope["path"] in START else None
            answer = self.page(language, begins_with_plotly=scope["path"] not in (*START, *READ_FIRST))
            if owners.is_shared() and owners.COOKIE not in Request(scope).cookies:  # it is known by from now on
                cookie = f"{owners.COOKIE}={secrets.token_urlsafe()}; Max-Age=31536000; Path=/; HttpOnly"
                same_site = "Lax" if FRAMED_BY == NO_SITE else "None; Secure; Partitioned"
                send = _with_headers(send, {"set-cookie": f"{cookie}; SameSite={same_site}"})
        await answer(scope, receive, send)

    def _page(self, language: str | None, *, begins_with_plotly: bool) -> HTMLResponse:
        """Return the HTML page; with a `language`, the one of Start, with its preload links."""
        first, last = (NOW, "") if begins_with_plotly else ("", LATER)
        last = last if language is None else links(language) + last
        text = self.text.replace("<head>", f"<head>{HEAD}{first}", 1).replace("</head>", f"{last}</head>", 1)
        return HTMLResponse(text, headers={"cache-control": "no-cache"})


MIDDLEWARE = [Middleware(Doorkeeper), Middleware(FrontPage)]


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    """Start loading the first model as the server starts, so that the first visitor finds it."""
    warming = asyncio.create_task(asyncio.to_thread(warm_up))
    yield
    warming.cancel()
    with suppress(asyncio.CancelledError):
        await warming


def warm_up() -> None:
    """Import torch, run the first model on its first example, and exempt the result from garbage collection.

    Start is drawn without torch, so a visitor of that page is served before torch is imported.
    """
    with suppress(TimeoutError):
        if _FIRST_PATH.result(WAIT_FOR_VISITOR) in START:
            _PLOTLY_IS_ASKED_FOR.wait(WAIT_FOR_STAGE)  # leaves a core to the browser for drawing
    import torch

    from pages.shared import models, readings
    from pages.shared.sources import Source

    torch.set_num_threads(max(1, (os.cpu_count() or 1) // 2))  # the other half is for the server and the browser
    try:
        for card in list(models.available().values())[:1]:
            for example in card.examples[:1]:
                readings.read(Source.of(card), example)
    except Exception:  # visitors see the error when they choose the model
        logger.exception("Warm-up failed")
    gc.collect()
    gc.freeze()


def on_error(error: Exception) -> bool:
    """Log an error that no page expected, and report it in one calm sentence.

    Returns:
        True: Streamlit does not show its own message.
    """
    logger.error("A page failed", exc_info=error)
    health.note(error)
    with private_streamlit.uninterrupted():  # else Streamlit shows its own message: the traceback
        what = say("Something went wrong on our side. The server log has the details.")
        prose.error(f"{what} {say(WAY_OUT)}")
    return True


def links(language: str) -> str:
    """Return the HTML elements that preload what Start needs in a language: modules of Streamlit and of the stage.

    They have lower priority than Streamlit's own requests.
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
    """Return modules and all their imports, each once."""
    waiting, result = list(files), dict[Path, None]()
    while waiting:
        file = waiting.pop()
        if file not in result:
            result[file] = None
            waiting += [(file.parent / path).resolve() for path in _IMPORTED.findall(file.read_text(encoding="utf-8"))]
    return list(result)
