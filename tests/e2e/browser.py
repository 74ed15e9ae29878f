"""A real server and a real Chromium for the tests: finding one, installing one, starting both.

`python -m tests.e2e.browser` makes sure that there is a Chromium and says which.
"""

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Playwright, sync_playwright

ROOT = Path(__file__).resolve().parents[2]

HEALTH = "/_stcore/health"  # where the app says that it is up

# The shell is Chromium without windows: the same pages take a tenth less time in it.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PLACES = ("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",)
NONE_FOUND = (
    "The browser tests need a Chromium, and none could be found or installed; install chromium or google-chrome, "
    "or set HEADLIGHT_CHROMIUM to one."
)


def starts(path: str) -> bool:
    """Whether a Chromium is there and runs: a stub or missing system libraries show here already."""
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def find_chromium(playwright: Playwright) -> str | None:
    """The path of a Chromium that runs: HEADLIGHT_CHROMIUM, else the machine's own, else Playwright's."""
    if chosen := os.environ.get("HEADLIGHT_CHROMIUM"):
        return chosen if starts(chosen) else None
    candidates = [*map(shutil.which, NAMES), *PLACES, playwright.chromium.executable_path]
    return next((path for path in candidates if path and starts(path)), None)


def install_commands() -> Iterator[list[str]]:
    """Ways to install a Chromium, the least intrusive first; without administrator rights only Playwright's."""
    if os.environ.get("HEADLIGHT_CHROMIUM"):
        return  # a person chose one; another would not be taken
    yield [sys.executable, "-m", "playwright", "install", "chromium"]
    sudo = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
    if shutil.which("apt-get") and (not sudo or shutil.which("sudo")):
        yield [*sudo, "apt-get", "update"]
        for package in ("chromium-headless-shell", "chromium"):
            yield [*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes", package]


def ensure_chromium() -> str:
    """The path of a Chromium that runs, installed where there is none yet.

    Raises:
        SystemExit: there is none and none could be installed.
    """
    with sync_playwright() as playwright:
        if path := find_chromium(playwright):
            return path
        for command in install_commands():
            print("No Chromium yet; trying:", *command, flush=True)
            subprocess.run(command, stdin=subprocess.DEVNULL)
            if path := find_chromium(playwright):
                return path
    raise SystemExit(NONE_FOUND)


def launch(playwright: Playwright) -> Browser:
    """Start a headless Chromium that asks nobody outside this machine for anything.

    Raises:
        FileNotFoundError: there is no Chromium.
    """
    return playwright.chromium.launch(**_how_to_start(playwright))


def launch_with_profile(playwright: Playwright, folder: Path, **options: Any) -> BrowserContext:
    """Start one like `launch` does, that keeps in a folder what pages it read: it reads them much faster then.

    All its pages share one process, which keeps the app's code compiled while at least one of them is open.

    Args:
        playwright: it starts the browser.
        folder: made where it is not there.
        options: Playwright's, for a context; this browser has no other one.

    Raises:
        FileNotFoundError: there is no Chromium.
    """
    how = _how_to_start(playwright)
    how["args"] += ["--renderer-process-limit=1", "--process-per-site"]
    return playwright.chromium.launch_persistent_context(folder, **how, **options)


def _how_to_start(playwright: Playwright) -> dict[str, Any]:
    path = find_chromium(playwright)
    if path is None:
        raise FileNotFoundError(NONE_FOUND)
    args = [
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    if os.geteuid() == 0:
        args.append("--no-sandbox")  # Chromium's sandbox refuses to run as root
    return {"executable_path": path, "headless": True, "args": args}


@dataclass(frozen=True)
class Server:
    """A running app: its address without a final slash, and the file that it logs to."""

    url: str
    log: Path
    pid: int


def free_port() -> int:
    """A port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_healthy(url: str) -> bool:
    """Whether the app at this address answers that it is up."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=2)
    try:
        connection.request("GET", HEALTH)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextmanager
def serve(
    command: Sequence[str] = (sys.executable, "-m", "streamlit", "run", "app.py"),
    *,
    place: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    timeout: float = 300.0,
) -> Iterator[Server]:
    """Run the app on a free port, without a separate browser, until the block ends; nothing of it remains.

    Args:
        command: what starts it.
        place: the folder that it is started in.
        environment: variables for the app alone, beside those of this process.
        timeout: how long it may take to come up, in s.

    Raises:
        RuntimeError: the app did not come up, or it logged a traceback; the message ends with its log.
    """
    port = free_port()
    settings = {"STREAMLIT_SERVER_PORT": str(port), "STREAMLIT_SERVER_HEADLESS": "true"}
    with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
        log = Path(folder, "server.log")
        with log.open("wb") as sink:
            process = subprocess.Popen(
                command,
                cwd=place,
                env=os.environ | settings | dict(environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        server = Server(url=f"http://127.0.0.1:{port}", log=log, pid=process.pid)
        try:
            wait_until_healthy(server, process, timeout)
            yield server
            if "Traceback" in server.log.read_text():
                raise RuntimeError(f"The app logged a traceback:\n{server.log.read_text()}")
        finally:
            stop(process)


def wait_until_healthy(server: Server, process: subprocess.Popen[bytes], timeout: float) -> None:
    """Return when the server answers; raise when it has ended or the time is up."""
    deadline = time.monotonic() + timeout
    while not is_healthy(server.url):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"The app did not come up in {timeout:.0f} s:\n{server.log.read_text()}")
        time.sleep(0.05)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started: asked first, then forced."""
    for request, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 10.0)):
        try:
            os.killpg(process.pid, request)
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            break
    process.wait()


if __name__ == "__main__":
    print("Chromium:", ensure_chromium())
