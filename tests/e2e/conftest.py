"""The app and the browser of these tests; every page is watched for errors and for requests to other hosts.

Each pytest worker has its own app, which starts with the first test that needs it. All tests of the worker share
it, so each of them adds models and runs under its own names (see `place`).
"""

import asyncio
import os
import re
import shutil
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Playwright,
    ViewportSize,
    expect,
    sync_playwright,
)

from pages.shared.models import SHIPPED
from pages.shared.page import pages
from pages.shared.view import visits
from tests.docs import WRITTEN
from tests.e2e.browser import HEALTH, ROOT, Server, launch, launch_with_profile, serve
from tests.pages.train.small_films import APPEARS_AT, save_run
from transformer_core.training.run.status import WorkDirectory

LAPTOP: ViewportSize = {"width": 1440, "height": 900}
PROJECTOR: ViewportSize = {"width": 1024, "height": 768}
PHONE: ViewportSize = {"width": 390, "height": 844}
STEPS = (0, 1, 2, 3, 5, 8, 12, APPEARS_AT, 30, 45, 60)  # the snapshots of the runs that are always there
NEW_PAGE = dict(  # the files of a page, as docs/extending.md gives them
    re.findall(r"`(pages/[^`]+)`[^\n]*:\n\n```\w+\n(.*?)```", WRITTEN["docs/extending.md"], re.DOTALL)
)
LOCAL_SCHEMES = ("data", "blob", "about")
MOST_BROWSERS = 2  # open at a time in one worker

PATIENCE = 60_000  # ms to wait for what a test expects; only a busy machine needs this long
expect.set_options(timeout=PATIENCE)


def some_of(values: Iterable[Any], *daily: Any) -> list[Any]:
    """Return the values of a parameter, those that are not tried daily with the marker `full`."""
    return [value if value in daily else pytest.param(value, marks=pytest.mark.full) for value in values]


_loop: list[asyncio.AbstractEventLoop] = []  # Playwright's, once it has started


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let Playwright's event loop count as running in browser tests only: other tests of this process use asyncio."""
    if item.get_closest_marker("browser"):
        resume_loop()
    try:
        return (yield)
    finally:
        asyncio._set_running_loop(None)


def resume_loop() -> None:
    """Make Playwright usable again after other tests; session fixtures may end after one of those."""
    if _loop:
        asyncio._set_running_loop(_loop[0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the pages showed to the report of a failed test: many failures cannot be reproduced."""
    report = yield
    if report.when == "call" and report.failed:
        contexts: dict[str, BrowserContext] = getattr(item, "funcargs", {}).get("contexts", {})
        for page in [page for context in contexts.values() for page in context.pages]:
            try:
                shown = "\n".join(filter(None, page.inner_text("body", timeout=5_000).splitlines()))
            except Error as error:
                shown = f"cannot be read: {error}"
            report.sections.append((f"What {page.url} showed", shown))
    return report


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the app with the page of docs/extending.md, links to the shipped models, and two trainings."""
    folders = tmp_path_factory.mktemp("app").resolve()
    shutil.copy2(ROOT / "app.py", folders)
    for name in ("pages", "headlight", "transformer_core", ".streamlit"):
        shutil.copytree(ROOT / name, folders / name)
    for name, content in NEW_PAGE.items():
        (folders / name).parent.mkdir(exist_ok=True)
        (folders / name).write_text(content, encoding="utf-8")
    (folders / "checkpoints").mkdir()
    for name in SHIPPED:
        (folders / "checkpoints" / name).symlink_to(ROOT / "checkpoints" / name)
    for seed, name in enumerate(("first", "second")):
        save_run(folders / "runs" / name, seed=seed, steps=STEPS)
    return folders


@pytest.fixture(scope="session")
def app(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Headlight, as most tests use it; all workers have one cache on disk."""
    base = tmp_path_factory.getbasetemp()
    cache = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    with serve(place=folders, environment={"HEADLIGHT_CACHE": str(cache)}) as server:
        yield server


@pytest.fixture
def place(folders: Path) -> Iterator[Path]:
    """The app's folders, for a test that adds models or runs: afterwards they are as before, and nothing trains."""
    before = set(_added(folders))
    yield folders
    for path in sorted(set(_added(folders)) - before):
        stop_training(path)
        shutil.rmtree(path, ignore_errors=True)


def _added(folders: Path) -> Iterator[Path]:
    for pattern in ("checkpoints/[!.]*", "runs/[!.]*", "runs/.experiments/[!.]*"):
        yield from folders.glob(pattern)


def stop_training(run: Path) -> None:
    """Kill the process that works on a run, if there is one."""
    status = WorkDirectory(run).standing()
    if status is not None and status.is_at_work:
        with suppress(ProcessLookupError):
            os.kill(status.pid, signal.SIGKILL)


@pytest.fixture
def server_url(app: Server) -> str:
    """The address that pages are relative to; a module about another server has a fixture of this name."""
    return app.url


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """Playwright's driver."""
    with sync_playwright() as playwright:
        _loop.append(asyncio.get_running_loop())
        yield playwright
        resume_loop()


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """A headless Chromium without a profile."""
    browser = launch(playwright)
    yield browser
    resume_loop()
    browser.close()


@pytest.fixture(scope="session")
def contexts(playwright: Playwright) -> Iterator[dict[str, BrowserContext]]:
    """Browsers by the server that they were opened for: reading a page's code again is most of its time."""
    contexts: dict[str, BrowserContext] = {}
    yield contexts
    resume_loop()
    for context in contexts.values():
        context.close()


@pytest.fixture(scope="session")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where these browsers cache what they read."""
    return tmp_path_factory.mktemp("profiles")


@contextmanager
def watched(page: Page, host: str) -> Iterator[None]:
    """Fail at the end if this page logged an error, threw one, crashed, or asked another host."""
    troubles: list[str] = []

    def see_request(url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in LOCAL_SCHEMES and parts.netloc != host:
            troubles.append(f"asked another host: {url}")

    def see_message(message: ConsoleMessage) -> None:
        if message.type == "error":
            troubles.append(f"logged: {message.text} (at {message.location['url']})")

    page.on("websocket", lambda socket: see_request(socket.url))
    page.on("crash", lambda _: troubles.append("the page crashed"))
    page.on("request", lambda request: see_request(request.url))
    page.on("pageerror", lambda error: troubles.append(f"threw: {error}"))
    page.on("console", see_message)
    yield
    assert not troubles, "\n".join(troubles)


@pytest.fixture
def new_page(
    playwright: Playwright, server_url: str, contexts: dict[str, BrowserContext], profiles: Path
) -> Iterator[Callable[..., Page]]:
    """Opens a page: `new_page(viewport=PROJECTOR, locale="de-AT", is_first_visit=True, color_scheme="dark")`.

    Other options are those of Playwright's `emulate_media`. At a visit that is not the first, introductions are folded.
    """
    opened: list[Page] = []
    with ExitStack() as stack:

        def open_page(
            *, viewport: ViewportSize = LAPTOP, locale: str = "", is_first_visit: bool = False, **media: Any
        ) -> Page:
            context = contexts.pop(server_url, None)
            if context is None:
                while len(contexts) >= MOST_BROWSERS:
                    contexts.pop(next(iter(contexts))).close()
                profile = profiles / str(urlsplit(server_url).port)
                context = launch_with_profile(playwright, profile, base_url=server_url)
                context.set_default_timeout(PATIENCE)
                context.pages[0].goto(server_url + HEALTH)  # keeps the process of its pages alive
            contexts[server_url] = context  # the last one is the one that was used last
            page = context.new_page()
            page.set_viewport_size(viewport)
            page.emulate_media(**media)
            if locale:
                agent = {"userAgent": page.evaluate("navigator.userAgent"), "acceptLanguage": locale}
                context.new_cdp_session(page).send("Emulation.setUserAgentOverride", agent)
            if not opened:  # this test sees nothing of what an earlier one left in the browser
                kept = {"origin": server_url, "storageTypes": "local_storage"}
                context.new_cdp_session(page).send("Storage.clearDataForOrigin", kept)
                context.clear_cookies()
                if not is_first_visit:
                    page.add_init_script("try { localStorage['headlight-guide'] = '{\"isDone\":true}' } catch {}")
                    seen = ".".join(pages())
                    context.add_cookies([{"name": visits.COOKIE, "value": seen, "url": server_url}])
            stack.enter_context(watched(page, urlsplit(server_url).netloc))
            stack.callback(page.close)  # closed before the check, so that late events are seen
            opened.append(page)
            return page

        yield open_page


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """One page of 1440 x 900, not yet anywhere: `page.goto("/heads")` is relative to the app."""
    return new_page()
