"""Small models of each architecture, with random weights, and the app on top of them."""

import base64
import json
import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.context import ContextProxy
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.scriptrunner import RerunData
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.util import calc_hash

import transformer_core as tc
from pages.shared import cache as cached
from pages.shared import code_expander, runs
from pages.shared.page import pages
from pages.shared.view import visits
from transformer_core.config import Architecture, TokenizerKind

OpenApp = Callable[..., AppTest]
FRAME = Path(__file__).resolve().parents[2] / "pages" / "frame.py"
MOST_KEPT = 256 << 20  # bytes in the caches of one process; above it they are emptied between two tests
EXAMPLES = ("The cat didn't see the dog because it was tired.", "The dog sees the cat.", "The cat sleeps.")
TARGETS = ("Le chat n'a pas vu le chien parce qu'il était fatigué.",)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", state)
    return state


def save_model(
    folder: Path,
    *,
    n_layers: int,
    n_heads: int,
    title: str,
    examples: tuple[str, ...],
    architecture: Architecture = "encoder_decoder",
    kind: TokenizerKind = "word",
    max_seq_len: int = 32,
    unembed: bool = True,
) -> None:
    """Write a checkpoint with random weights."""
    texts = [*EXAMPLES, *TARGETS, *examples]
    tokenizer = tc.train_tokenizer(texts, kind=kind, vocab_size=300, mask=architecture == "encoder_only")
    config = tc.ModelConfig(
        vocab_size=tokenizer.vocab_size,
        architecture=architecture,
        d_model=16,
        d_ff=16,
        n_heads=n_heads,
        n_encoder_layers=0 if architecture == "decoder_only" else n_layers,
        n_decoder_layers=0 if architecture == "encoder_only" else n_layers,
        max_seq_len=max_seq_len,
        tie_embeddings="target" if unembed else "none",
        unembed=unembed,
    )
    card = {
        "name": folder.name,
        "kind": architecture.replace("_", "-"),
        "title": title,
        "corpus": {"name": "en-fr"},
        "examples": list(examples),
        "metrics": {"exact_match": 0.994},
        "parameters": 12_345_678,
    }
    tc.save(folder, tc.build(config, seed=2), tokenizer, card)


@pytest.fixture(scope="session")
def two_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with "en-fr" (2 layers, 4 heads) and "other" (1 layer, 2 heads), and things that are not models."""
    folder = tmp_path_factory.mktemp("checkpoints")
    save_model(folder / "en-fr", n_layers=2, n_heads=4, title="English to French", examples=EXAMPLES)
    save_model(folder / "other", n_layers=1, n_heads=2, title="Another", examples=("A dog barks.",))
    (folder / "empty").mkdir()
    (folder / "notes.txt").write_text("not a model")
    (folder / "broken").mkdir()
    (folder / "broken" / "card.json").write_text("{")
    return folder


PROMPTS = ("The cat sees the", "The dog")
GAPS = ("The ____ sees the dog.", "The cat ____ the <mask>.")


@pytest.fixture(scope="session")
def three_kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of each architecture: "en-fr", "gaps" (encoder-only) and "tales" (decoder-only)."""
    folder = tmp_path_factory.mktemp("checkpoints")
    save_model(folder / "en-fr", n_layers=2, n_heads=4, title="English to French", examples=EXAMPLES)
    save_model(folder / "gaps", n_layers=3, n_heads=2, title="Gaps", examples=GAPS, architecture="encoder_only")
    save_model(
        folder / "tales",
        n_layers=1,
        n_heads=4,
        title="Tales",
        examples=PROMPTS,
        architecture="decoder_only",
        kind="byte_bpe",
        max_seq_len=64,
    )
    return folder


@pytest.fixture
def three_kinds_here(three_kinds: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app finds `three_kinds`."""
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(three_kinds))
    return three_kinds


@pytest.fixture
def checkpoints(two_models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app finds `two_models`."""
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(two_models))
    return two_models


@pytest.fixture(scope="session", autouse=True)
def one_look_at_the_installed_packages() -> Iterator[None]:
    """Each AppTest reads what every installed package says of itself, which takes longer than our page and is kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_fragment_lies_in_another() -> Iterator[None]:
    """Streamlit loses messages of such fragments, so a page that draws one fails, whatever its test looks at."""
    register = MemoryFragmentStorage.register

    def refuse(self: MemoryFragmentStorage, *args: Any, parent_fragment_id: str | None = None, **options: Any) -> None:
        assert parent_fragment_id is None, "a fragment is drawn within another one"
        register(self, *args, parent_fragment_id=parent_fragment_id, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryFragmentStorage, "register", refuse)
        yield


@pytest.fixture(autouse=True)
def browser_that_was_here(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The cookies of the browser, which AppTest has none of: of one that has seen every page before."""
    cookies = {visits.COOKIE: ".".join(pages())}
    monkeypatch.setattr(ContextProxy, "cookies", property(lambda self: cookies))
    return cookies


@pytest.fixture(autouse=True)
def no_process_outlives_its_test() -> Iterator[None]:
    """What a page started ends with its test. Models and what was read with them stay for the tests that follow."""
    end_processes()
    if sum(use.n_bytes for use in cached.shared().use().values()) > MOST_KEPT:
        cached.shared.clear()
    yield
    end_processes()


@pytest.fixture
def fresh_caches() -> Iterator[None]:
    """Nothing is cached before this test, and nothing of it stays.

    For a test that counts what is computed, or changes what a cached value depends on but its key does not name: a
    function or a constant of a module. What changes a file needs no such care: keys name the version of each file.
    """
    st.cache_resource.clear()
    yield
    end_processes()  # while the launcher is known
    st.cache_resource.clear()


def end_processes() -> None:
    """End what the launcher started, and forget the launcher."""
    for started in runs.launcher().started():
        started.process.kill()
        started.process.wait()
    runs.launcher.clear()  # which closes it


@pytest.fixture
def open_app() -> Callable[..., AppTest]:
    """Opens a page, or the app where no page is named, at a URL with these parameters, as a new visitor."""

    def open_at(page: str = "", /, **parameters: str) -> AppTest:
        return app_at(page, parameters).run()

    return open_at


def app_at(page: str, parameters: Mapping[str, str]) -> AppTest:
    """The app at a page's URL, or at its own, before its first run."""
    app = AppTest.from_file(str(FRAME), default_timeout=300)
    app._page_hash = page and calc_hash(page)  # `switch_page` knows no page before the first run
    app.query_params.update(parameters)
    return app


def words_of(app: AppTest) -> str:
    """All HTML that the page wrote, as sent."""
    return "\n".join(str(element.proto.body) for element in app.get("html"))


def url_of(app: AppTest) -> dict[str, str]:
    """The URL's parameters."""
    return {name: value if isinstance(value, str) else value[-1] for name, value in app.query_params.items()}


def view_of(app: AppTest) -> dict[str, str]:
    """The whole view in the URL's words: what the session holds, beside what the URL names."""
    names = ("model", "text", "attention", "layer", "head")
    return {name: str(app.session_state[name]) for name in names} | url_of(app)


def component(app: AppTest, name: str) -> Any:
    """What was sent to a component."""
    return next(c.proto for c in app.get("bidi_component") if c.proto.component_name.split(".")[1] == name)


def packed_of(app: AppTest, name: str) -> tuple[dict[str, Any], bytes]:
    """The header and the numbers that were sent to a component."""
    data = component(app, name).bytes
    (length,) = struct.unpack("<I", data[:4])
    return json.loads(data[4 : 4 + length]), data[4 + length :]


def overview_of(app: AppTest) -> tuple[dict[str, Any], bytes]:
    """The overview's header and its levels."""
    return packed_of(app, "overview")


def figure_of(app: AppTest) -> dict[str, Any]:
    """The figure on the page, as plotly's JSON."""
    return json.loads(json.loads(component(app, "figure").json)["figure"])


def figures_of(app: AppTest) -> dict[str, dict[str, Any]]:
    """All figures on the page, by the names of their files."""
    results = [c.proto for c in app.get("bidi_component") if c.proto.component_name == "headlight.figure"]
    sent = [json.loads(proto.json) for proto in results]
    return {data["name"]: json.loads(data["figure"]) for data in sent}


def labels_of(app: AppTest) -> list[str]:
    """The labels of all buttons."""
    return [button.label for button in app.button]


def protos_of(node: Any, without: Collection[str] = ()) -> Iterator[Any]:
    """All that a page sent to the browser, without elements of some types; at first the node is the app's tree."""
    if hasattr(getattr(node, "proto", None), "DESCRIPTOR") and node.type not in without:
        yield node.proto
    for child in getattr(node, "children", {}).values():
        yield from protos_of(child, without)


def values_of(trace: dict[str, Any]) -> np.ndarray:
    """The numbers of a heatmap in plotly's JSON."""
    z = trace["z"]
    shape = [int(n) for n in z["shape"].split(",")]
    return np.frombuffer(base64.b64decode(z["bdata"]), dtype=z["dtype"]).reshape(shape)


@contextmanager
def through_history() -> Iterator[None]:
    """Each run here is one of the browser's Back or Forward."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "RerunData", partial(RerunData, is_history_navigation=True))
        yield


def shown_code(app: AppTest, key: str = code_expander.CODE) -> str:
    """The lines of "Show the code", or of a command that is folded, once they are requested."""
    app.session_state[key] = True
    app.run()
    assert not app.exception
    icon = {code_expander.CODE: ":material/code:", code_expander.COMMAND: ":material/terminal:"}[key]
    (shown,) = (code.value for expander in app.expander if expander.icon == icon for code in expander.code)
    return str(shown)
