"""One server and one Chromium for the session; every browser page is watched for errors and strangers."""

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
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
    expect,
    sync_playwright,
)

from tests.e2e.browser import HEALTH, ROOT, Server, launch, launch_with_profile, serve
from tests.pages.train.small_films import save_run

GALLERY = Path(__file__).parent / "gallery" / "app.py"
VIEWPORT = {"width": 1440, "height": 900}
LOCAL_SCHEMES = ("data", "blob", "about")

PATIENCE = 60_000  # ms that a test waits for what it expects: two busy cores may need them, others never do
expect.set_options(timeout=PATIENCE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failed test what its pages showed: most failures cannot be seen a second time."""
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
def server() -> Iterator[Server]:
    """The app, running; a module whose tests need it over other models, or another page, has a fixture of its own."""
    with serve() as server:
        yield server


@pytest.fixture(scope="module")
def server_with_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app with the models that it comes with, and one training, "first"."""
    place = tmp_path_factory.mktemp("runs")
    save_run(place / "first", seed=0, steps=(0, 1, 2, 30, 60))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_RUNS", str(place))
        with serve() as server:
            yield server


@pytest.fixture(scope="session")
def gallery() -> Iterator[Server]:
    """Single components, each on a page of its own; a module that looks at them gives this one's address."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        with serve((sys.executable, "-m", "streamlit", "run", str(GALLERY))) as server:
            yield server


@pytest.fixture
def server_url(server: Server) -> str:
    """The app's address, without a final slash."""
    return server.url


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """What drives the browsers."""
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """A headless Chromium that has never been anywhere."""
    browser = launch(playwright)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def contexts() -> Iterator[dict[str, BrowserContext]]:
    """Browsers that were at the present server before, by their options: most of a page's time is its reading."""
    contexts: dict[str, BrowserContext] = {}
    yield contexts
    for context in contexts.values():
        context.close()


@pytest.fixture(scope="session")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where these browsers keep what they read."""
    return tmp_path_factory.mktemp("profiles")


@contextmanager
def watched(page: Page, host: str) -> Iterator[None]:
    """Fail at the end where this page logged an error, threw one, crashed, or asked another host."""
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
    """Opens a page as another visitor: `new_page()`, or with Playwright's options for a context."""
    for name in [name for name in contexts if server_url not in name]:
        contexts.pop(name).close()
    fresh: set[str] = set()
    with ExitStack() as stack:

        def open_page(**options: Any) -> Page:
            options = {"viewport": VIEWPORT, "base_url": server_url, **options}
            name = repr(sorted(options.items()))
            if name not in contexts:
                profile = profiles / sha256(name.encode()).hexdigest()
                contexts[name] = launch_with_profile(playwright, profile, **options)
                contexts[name].set_default_timeout(PATIENCE)
                contexts[name].pages[0].goto(server_url + HEALTH)  # keeps the process of its pages alive
            page = contexts[name].new_page()
            if name not in fresh:  # what an earlier test left in the browser is no visitor's of this one
                fresh.add(name)
                kept = {"origin": server_url, "storageTypes": "local_storage"}
                contexts[name].new_cdp_session(page).send("Storage.clearDataForOrigin", kept)
            stack.enter_context(watched(page, urlsplit(server_url).netloc))
            stack.callback(page.close)  # first of the two, so that late events are still seen
            return page

        yield open_page


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """One watched page, 1440 x 900, not yet anywhere: `page.goto("/heads")` is relative to the app."""
    return new_page()
