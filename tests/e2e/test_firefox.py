"""Saved pages in Firefox, with the network off; driven by WebDriver BiDi, as Playwright drives only its own Firefox."""

import itertools
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

import headlight as hl
import transformer_core as tc
from tests.pages.learn.tour.test_saving import saved

FIREFOX = shutil.which("firefox") or shutil.which("firefox-esr")
pytestmark = [pytest.mark.full, pytest.mark.skipif(FIREFOX is None, reason="Firefox is not installed")]
OFFLINE = """\
user_pref("network.proxy.type", 1);
user_pref("network.proxy.http", "127.0.0.1");
user_pref("network.proxy.http_port", 9);
user_pref("network.proxy.ssl", "127.0.0.1");
user_pref("network.proxy.ssl_port", 9);
user_pref("browser.shell.checkDefaultBrowser", false);
"""
Evaluate = Callable[[str], Any]


@pytest.fixture(scope="module")
def open_in_firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], Evaluate]]:
    """Open a file; return a function that evaluates JavaScript in it, and gives its value."""
    profile = tmp_path_factory.mktemp("profile")
    (profile / "user.js").write_text(OFFLINE, encoding="utf-8")
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    command = [str(FIREFOX), "--headless", "--no-remote", "--profile", str(profile)]
    output: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([*command, f"--remote-debugging-port={port}"], **output)
    try:
        wait_until_it_listens(port)
        with connect(f"ws://127.0.0.1:{port}/session", max_size=None) as connection:
            numbers = itertools.count()

            def call(method: str, **params: Any) -> Any:
                number = next(numbers)
                connection.send(json.dumps({"id": number, "method": method, "params": params}))
                while (answer := json.loads(connection.recv(timeout=300))).get("id") != number:
                    pass
                assert answer["type"] == "success", answer
                return answer["result"]

            def open_file(file: Path) -> Evaluate:
                context = call("browsingContext.getTree")["contexts"][0]["context"]
                call("browsingContext.navigate", context=context, url=file.as_uri(), wait="complete")

                def evaluate(expression: str) -> Any:
                    result = call(
                        "script.evaluate", expression=expression, target={"context": context}, awaitPromise=True
                    )
                    assert result["type"] == "success", result
                    return result["result"].get("value")

                return evaluate

            call("session.new", capabilities={})
            yield open_file
    finally:
        process.kill()
        process.wait()


def wait_until_it_listens(port: int) -> None:
    for _ in range(300):
        with closing(socket.socket()) as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail("Firefox does not start")


def wait_for(evaluate: Evaluate, expression: str, expected: Any) -> None:
    for _ in range(100):
        value = evaluate(expression)
        if value == expected:
            return
        time.sleep(0.1)
    pytest.fail(f"{expression} is {value!r}, not {expected!r}")


def test_a_saved_view(open_in_firefox: Callable[[Path], Evaluate], tmp_path: Path) -> None:
    model, _ = tc.load("checkpoints/en-fr")
    view = hl.show(model, "the small cats sleep", attention="cross")
    evaluate = open_in_firefox(view.save(tmp_path / "heads.html"))
    root = "document.querySelector('.headlight-view').shadowRoot"
    wait_for(evaluate, f"{root}.querySelector('.of-head strong').textContent", "L0.H0")
    evaluate(f"{root}.querySelector('.part').shadowRoot.querySelectorAll('.head')[6].click()")
    wait_for(evaluate, f"{root}.querySelector('.of-head strong').textContent", "L1.H2")
    evaluate(f"[...{root}.querySelectorAll('button')].find((button) => button.textContent === 'Lines').click()")
    lines = (
        f"[...{root}.querySelectorAll('.part')].map((part) => part.shadowRoot.querySelectorAll('.lines .item').length)"
    )
    wait_for(evaluate, f"Math.max(...{lines})", 1)


def test_a_saved_chapter(open_in_firefox: Callable[[Path], Evaluate], tmp_path: Path) -> None:
    file = tmp_path / "masks.html"
    file.write_text(saved("masks"), encoding="utf-8")
    evaluate = open_in_firefox(file)
    wait_for(evaluate, "document.querySelectorAll('.heatmaplayer image').length", 1)
    answer = "document.querySelector('.question [name=typed]')"
    evaluate(f"(() => {{ {answer}.value = '27'; {answer}.form.requestSubmit(); }})()")
    wait_for(evaluate, "document.body.innerText.includes('You answered 27. The correct answer is 28.')", True)
    wait_for(evaluate, "document.querySelectorAll('.heatmaplayer image').length", 3)
