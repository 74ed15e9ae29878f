"""Ten visitors at once, each with their own text, on one server: what they wait for, and the memory of the server.

Each opens a link to a text that nobody has read, all ten at the same moment; then each opens the links to another head,
to words in place of tokens, and to a measure of every head. The visitors speak with the server as a browser does, over
its websocket, and take everything that it sends, but draw nothing: ten browsers would measure the machine's graphics.
The memory is that of the server's process, as Linux counts it.
"""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random
from time import perf_counter, sleep
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from pages.shared.view import long_texts
from tests.benchmarks.in_browser import row
from tests.benchmarks.interleaved import Row
from tests.benchmarks.wide_model import checkpoints, text_of, wide_model
from tests.e2e.browser import Server, serve

TITLE = "Ten visitors on ten texts, one server (goal: 3,072 MiB in all)"
N_VISITORS, N_TOKENS = 10, 512
WORDS = ("cat", "dog", "bird", "animal", "woman", "boy")
LOOKS: Sequence[dict[str, str]] = ({"layer": "0", "head": "1"}, {"unit": "word"}, {"measure": "entropy"})
N_BESIDE, N_CLICKS, N_LEFT, PAUSE = 30, 4, 20, 4.0  # PAUSE: mean seconds between two clicks of a visitor
PATIENCE = 900  # s


class Visitor:
    """Somebody on the Heads page, without a screen."""

    def __init__(self, server: Server) -> None:
        """Come to the server."""
        address = f"ws://{urlsplit(server.url).netloc}/_stcore/stream"
        self.socket: ClientConnection = connect(address, max_size=None, origin=Origin(server.url), close_timeout=1)
        self.received = 0  # bytes

    def ask(self, **view: str) -> None:
        """Open a link, and wait for nothing."""
        request = BackMsg()
        request.rerun_script.query_string = urlencode(view)
        request.rerun_script.page_name = "heads"
        self.socket.send(request.SerializeToString())

    def open(self, **view: str) -> None:
        """Open a link, and return when the server has sent everything.

        Raises:
            RuntimeError: the page failed.
        """
        self.ask(**view)
        is_asked = False
        while True:
            frame: Any = self.socket.recv(timeout=PATIENCE)
            self.received += len(frame)
            text = ForwardMsg.FromString(frame)
            is_asked = is_asked or text.WhichOneof("type") == "new_session"
            if text.WhichOneof("type") == "script_finished" and is_asked:
                if text.script_finished != ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY:
                    raise RuntimeError(f"the page ended with status {text.script_finished}")
                return


def run() -> list[Row]:
    """Measure with the model that every visitor sees first, then with one as large as GPT-2."""
    short = [
        f"The {WORDS[i % 6]} sees the {WORDS[(i * 5 + 1) % 6]} and the {WORDS[i // 6]}." for i in range(N_VISITORS)
    ]
    rows = visit(short, "en-fr, a sentence each")
    with wide_model() as (folder, tokenizer), checkpoints(folder):
        long = [text_of(tokenizer, N_TOKENS, seed=100 + i) for i in range(N_VISITORS)]
        rows += visit(long, f"GPT-2-small size, {N_TOKENS} tokens each")
        for leaves in (False, True):
            rows.append(beside_abandoned([text_of(tokenizer, N_TOKENS, seed=i) for i in range(N_LEFT * leaves)]))
    return rows


def beside_abandoned(left: Sequence[str]) -> Row:
    """Let thirty visitors look around while others open a long text each and leave half a second later.

    Args:
        left: the long texts; none: nobody leaves.
    """
    with serve() as server:
        Visitor(server).open(text="the cat")
        visitors = [Visitor(server) for _ in range(N_BESIDE)]

        def look_around(i: int) -> list[float]:
            waited = []
            for k in range(N_CLICKS):
                sleep(Random(i * N_CLICKS + k).uniform(0.0, 2 * PAUSE))
                start = perf_counter()
                visitors[i].open(text=f"the {WORDS[i % 6]} sees the {WORDS[k]}")
                waited.append((perf_counter() - start) * 1e3)
            return waited

        with ThreadPoolExecutor(N_BESIDE) as together:
            all_waited = [together.submit(look_around, i) for i in range(N_BESIDE)]
            for text in left:
                leaving = Visitor(server)
                leaving.ask(packed=long_texts.packed(text))
                sleep(0.5)
                leaving.socket.close()
            waited = [ms for one in all_waited for ms in one.result()]
    p50, p95 = np.percentile(waited, [50, 95])
    actual = f"p50 {p50:,.0f} ms, p95 {p95:,.0f} ms of {len(waited)} clicks, one each {PAUSE:g} s"
    name = f"{N_BESIDE} visitors beside {len(left)} who left a text of {N_TOKENS} tokens"
    return replace(row(name, waited), note=actual)


def visit(texts: Sequence[str], name: str) -> list[Row]:
    """Let a visitor a text come to a new server."""
    with serve() as server:
        Visitor(server).open()
        before = memory(server)["VmRSS"]
        visitors = [Visitor(server) for _ in texts]
        start = perf_counter()

        def come(visitor: Visitor, text: str) -> float:
            view = {"packed": long_texts.packed(text)}
            visitor.open(**view)
            arrived = (perf_counter() - start) * 1e3
            for look in LOOKS:
                visitor.open(**view | look)
            return arrived

        with ThreadPoolExecutor(len(texts)) as together:
            arrived = list(together.map(come, visitors, texts))
        after = memory(server)
    waited = row(f"{name}: link opened to everything sent", arrived)
    sent = sum(visitor.received for visitor in visitors) / 1e6
    in_words = (
        f"the server before {before:,.0f} MiB, afterwards {after['VmRSS']:,.0f}, at its peak {after['VmHWM']:,.0f}; "
        f"{sent:,.0f} MB sent"
    )
    return [replace(waited, note=f"{waited.note} at once; {in_words}")]


def memory(server: Server) -> dict[str, float]:
    """Return the current (VmRSS) and the peak memory (VmHWM) of the process, in MiB; NaN without /proc."""
    status = Path(f"/proc/{server.pid}/status")
    words = status.read_text() if status.exists() else ""
    results = {name: re.search(rf"{name}:\s*(\d+) kB", words) for name in ("VmRSS", "VmHWM")}
    return {name: float(match[1]) / 1024 if match else float("nan") for name, match in results.items()}
