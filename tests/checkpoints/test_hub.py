"""A model of the Hub comes whole, with its progress, once; whatever can go wrong there is one sentence."""

import errno
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file, save_file

import transformer_core as tc
from tests.checkpoints import foreign, test_adapter
from tests.checkpoints.local_hub import LocalHub, commit_of
from tests.checkpoints.test_load import add_tokenizer
from transformer_core.checkpoints.bring_in import bring_in
from transformer_core.checkpoints.hub import HubId, fetch, fetch_tokenizer
from transformer_core.checkpoints.hub_errors import explained
from transformer_core.checkpoints.location import find
from transformer_core.errors import CheckpointError, Message

FolderOf = Callable[[str], Path]
NAME = "small-models/gpt2"


@pytest.fixture
def folder(folder_of: FolderOf, tmp_path: Path) -> Path:
    """A small GPT-2 with a tokenizer."""
    shutil.copytree(folder_of("gpt2"), tmp_path / "gpt2")
    return add_tokenizer(tmp_path / "gpt2")


@pytest.fixture
def hub(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    """A hub that has it, in place of the Hub, and an empty cache."""
    hub = LocalHub()
    hub.serve(NAME, folder)
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 10_000)
    yield hub
    hub.stop()


def refusal(source: str = NAME) -> str:
    """The sentence with which a model is refused."""
    with pytest.raises(CheckpointError) as caught:
        tc.load(source)
    sentence = str(caught.value)
    assert source.partition("@")[0] in sentence
    assert "\n" not in sentence
    assert "Error" not in sentence
    return sentence


def logits(model: tc.Transformer) -> torch.Tensor:
    with torch.inference_mode():
        return model(torch.tensor([[5, 6, 7, 8], [9, 4, 3, 0]]))


def test_a_model_comes_whole_and_only_once(hub: LocalHub, folder: Path, tmp_path: Path):
    card = bring_in(NAME, tmp_path / "mine")
    assert card["source"] == {"name": NAME, "commit": commit_of(folder)}
    for source in (tmp_path / "mine", NAME):
        assert torch.equal(logits(tc.load(source)[0]), logits(tc.load(folder)[0]))
    assert hub.downloads() == {path.name: 1 for path in folder.iterdir()}


def test_progress_rises_to_the_total_in_the_thread_that_waits(hub: LocalHub, folder: Path):
    hub.change = lambda name, content: time.sleep(0.15) or content  # type: ignore[func-returns-value]
    reports: dict[str, list[tuple[int, int]]] = {}
    threads = set()

    def tell(done: int, total: int, what: Message) -> None:
        reports.setdefault(str(what), []).append((done, total))
        threads.add(threading.get_ident())

    tc.load(NAME, on_progress=tell)
    assert [*reports] == [f"downloading {NAME}", f"reading {NAME}"] and threads == {threading.get_ident()}
    assert len(reports[f"downloading {NAME}"]) >= 3  # at the start, between slow files, at the end
    n_bytes = sum(path.stat().st_size for path in folder.iterdir() if path.name != "config.json")  # that came before
    assert {total for _, total in reports[f"downloading {NAME}"]} == {n_bytes}
    for phase in reports.values():
        dones = [done for done, _ in phase]
        assert dones == sorted(set(dones)) and dones[-1] == phase[0][1]


def test_what_came_once_needs_no_network(hub: LocalHub, monkeypatch: pytest.MonkeyPatch):
    before = logits(tc.load(NAME)[0])

    for happens in ("a fault of the server", "no server", "offline mode"):
        hub.refusals[NAME] = (503, {})
        if happens != "a fault of the server":
            hub.stop()
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", happens == "offline mode")
        progress = Mock()
        model, _ = tc.load(NAME, on_progress=progress)
        assert torch.equal(logits(model), before)
        assert {str(call.args[2]) for call in progress.call_args_list} == {f"reading {NAME}"}


def test_a_version_of_a_model(hub: LocalHub, folder: Path, tmp_path: Path):
    shutil.copytree(folder, tmp_path / "older")
    weights = foreign.read(folder)[1]
    save_file({key: weight / 2 for key, weight in weights.items()}, tmp_path / "older" / "model.safetensors")
    hub.serve(NAME, tmp_path / "older", revision="v1")
    assert torch.equal(logits(tc.load(f"{NAME}@v1")[0]), logits(tc.load(tmp_path / "older")[0]))
    assert torch.equal(logits(tc.load(f"{NAME}@{commit_of(folder)}")[0]), logits(tc.load(folder)[0]))
    assert fetch(HubId(NAME, "v1"))[1] == commit_of(tmp_path / "older")
    assert "has no version 'v2'; leave out @v2" in refusal(f"{NAME}@v2")
    hub.stop()
    assert torch.equal(logits(tc.load(f"{NAME}@v1")[0]), logits(tc.load(tmp_path / "older")[0]))


def test_only_what_is_needed_is_fetched(hub: LocalHub, folder: Path):
    needed = {path.name for path in folder.iterdir()} | {"vocab.txt", "source.spm"}
    (folder / "onnx").mkdir()
    others = ["pytorch_model.bin", "tf_model.h5", "consolidated.safetensors", "modeling.py", "onnx/model.safetensors"]
    for name in ("vocab.txt", "source.spm", "README.md", "model-00001-of-00002.safetensors", *others):
        (folder / name).write_text(name)
    place, _ = fetch(HubId(NAME, None))
    assert set(hub.downloads()) == needed
    assert {path.name for path in place.iterdir()} == needed


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (404, {"X-Error-Code": "RepoNotFound"}, "no such model on the Hub"),
        (401, {"X-Error-Code": "RepoNotFound"}, "no such model on the Hub"),
        (401, {}, "does not accept this machine"),
        (401, {"X-Error-Message": "Invalid credentials in Authorization header"}, "does not accept this machine"),
        (403, {"X-Error-Code": "GatedRepo"}, "is gated: request access at http://127.0.0.1"),
        (403, {}, "this machine is not allowed to read"),
        (403, {"X-Error-Message": "Access to this resource is disabled."}, "was disabled on the Hub"),
        (429, {"Retry-After": "77"}, "again in 77 seconds"),
        (429, {}, "again in a few minutes"),
        (418, {}, "(HTTP 418); see http://127.0.0.1"),
        (500, {}, "a server error (HTTP 500)"),
    ],
)
def test_a_model_that_is_not_given(
    status: int, headers: dict[str, str], message: str, hub: LocalHub, monkeypatch: pytest.MonkeyPatch
):
    hub.refusals[NAME] = status, headers
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    assert message in refusal()
    assert sum(waits) < 5  # s
    assert not hub.downloads()


def test_a_name_that_nobody_knows(hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert "there is no file or folder 'gtp2' and no such model on the Hub; ids have the form owner/name" in refusal(
        "gtp2"
    )
    (tmp_path / "checkpoints" / "en-fr").mkdir(parents=True)
    assert "did you mean checkpoints/en-fr?" in refusal("checkpoints/en-frr")
    assert "there is no file or folder 'a.git'" in refusal("a.git")  # which the library takes for no id
    with pytest.raises(CheckpointError, match="there is no folder"):
        tc.load(Path(NAME))  # a path is a path
    assert not hub.downloads()


def test_not_here_and_nobody_to_ask(hub: LocalHub, monkeypatch: pytest.MonkeyPatch):
    part = fetch(HubId(NAME, None))[0] / "model.safetensors"
    hub.stop()
    part.unlink()  # half of it is here
    assert "the model is not in the Hub's cache" in refusal()
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(part.parent / "empty"))
    assert "the Hub cannot be reached (no connection)" in refusal()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "offline mode is on: HF_HUB_OFFLINE" in refusal()


def test_an_unsupported_model_is_refused_before_its_weights_come(hub: LocalHub, folder: Path):
    values = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(values | {"model_type": "mamba", "auto_map": {"AutoModel": "m.M"}}))
    assert "'mamba', which is not supported" in refusal()
    (folder / "config.json").write_text(json.dumps(values))
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "has its weights in pytorch_model.bin, and pickles" in refusal()
    (folder / "pytorch_model.bin").rename(folder / "flax_model.msgpack")
    assert "has no weights (model.safetensors)" in refusal()
    (folder / "config.json").unlink()
    assert "has no config.json" in refusal()
    assert set(hub.downloads()) == {"config.json"}


def test_an_unsupported_model_is_downloaded_for_viewing(hub: LocalHub, folder: Path, tmp_path: Path):
    values = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(values | {"model_type": "mixtral"}))
    otherwise = Mock(return_value={"title": "Viewed"})
    assert bring_in(NAME, tmp_path / "mine", otherwise=otherwise) == {"title": "Viewed"}
    (place, _, name, error), _ = otherwise.call_args
    assert {path.name for path in folder.iterdir()} <= {path.name for path in place.iterdir()} and name == NAME
    assert "'mixtral', which is not supported" in str(error)
    with pytest.raises(CheckpointError, match="which is not supported"):
        bring_in(NAME, tmp_path / "mine")


def test_a_check_refuses_an_unsupported_model_before_its_weights_come(hub: LocalHub, folder: Path):
    (folder / "config.json").write_text('{"model_type": "mixtral"}')
    check = Mock(side_effect=CheckpointError("it cannot be viewed"))
    with pytest.raises(CheckpointError, match="it cannot be viewed"):
        find(NAME, on_unsupported=check)
    assert check.call_args[0][0] == {"model_type": "mixtral"}
    assert set(hub.downloads()) == {"config.json"}


def test_a_connection_that_is_lost_goes_on_where_it_was(hub: LocalHub):
    hub.cut_off_once.add("model.safetensors")
    reports: list[int] = []
    tc.load(NAME, on_progress=lambda done, total, what: reports.append(done) if str(what).startswith("down") else None)
    assert hub.downloads()["model.safetensors"] == 2
    assert reports == sorted(reports)


@pytest.mark.parametrize(("end", "message"), [(-1, "was damaged during the download"), (-100, "the wrong size")])
def test_a_file_that_comes_damaged_is_not_kept(hub: LocalHub, end: int, message: str):
    added = b"\xff" if end == -1 else b""
    hub.change = lambda name, content: content[:end] + added if name == "model.safetensors" else content
    assert f"model.safetensors of {NAME} was " in (sentence := refusal()) and message in sentence
    hub.change = lambda name, content: content
    tc.load(NAME)


def test_more_than_the_disk_holds(hub: LocalHub):
    hub.said_sizes["model.safetensors"] = 1 << 60
    assert "needs 1,073,741,824.0 GiB of disk space" in refusal()
    assert set(hub.downloads()) == {"config.json"}
    for error, message in (
        (OSError(errno.ENOSPC, "No space left on device"), "is full; free some space for"),
        (PermissionError(errno.EACCES, "Permission denied"), "cannot be written (Permission denied)"),
    ):
        assert message in str(explained(error, NAME, None, "model.safetensors"))
    with pytest.raises(ZeroDivisionError):  # a defect of ours
        explained(ZeroDivisionError(), NAME, None)


def test_who_waits_no_more_stops_the_download(hub: LocalHub):
    with pytest.raises(EOFError):
        tc.load(NAME, on_progress=Mock(side_effect=EOFError))
    assert hub.downloads()["model.safetensors"] == 0
    tc.load(NAME)


def test_a_tokenizer_comes_without_weights_and_only_once(hub: LocalHub, folder: Path):
    actual = fetch_tokenizer(HubId(NAME, None))
    assert (actual / "tokenizer.json").read_bytes() == (folder / "tokenizer.json").read_bytes()
    assert set(hub.downloads()) == {path.name for path in folder.glob("tokenizer*")}
    hub.stop()
    assert fetch_tokenizer(HubId(NAME, None)) == actual


def test_what_is_an_id():
    for text in ("a/b/c", "/a", "a b", "..", "a/../b", "", "@main", "a@", "a@b c", ".a", "a\\b", "~/a"):
        assert HubId.read(text) is None, text
    ids = {"gpt2": ("gpt2", None), "a-b/c.d_e": ("a-b/c.d_e", None), "a/b@refs/pr/3": ("a/b", "refs/pr/3")}
    for text, parts in ids.items():
        assert HubId.read(text) == HubId(*parts)
        assert str(HubId.read(text)) == text
    for text in (" a/b ", "https://huggingface.co/a/b", "huggingface.co/a/b/", "https://hf.co/a/b/tree/main?x=1"):
        assert HubId.read(text) == HubId("a/b", "main" if "tree" in text else None)
    for text in ("https://huggingface.co/", "https://hf.co/a/b/tree/main/onnx", "https://example.com/a/b"):
        assert HubId.read(text) is None, text


def test_parts_named_by_an_index(hub: LocalHub, folder: Path):
    weights = foreign.read(folder)[1]
    names = {key: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, key in enumerate(weights)}
    for name in set(names.values()):
        save_file({key: weight for key, weight in weights.items() if names[key] == name}, folder / name)
    before = logits(tc.load(folder)[0])
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    for _ in range(2):
        assert torch.equal(logits(tc.load(NAME)[0]), before)
        hub.stop()


def test_an_adapter_and_its_base_model_come_from_the_hub(hub: LocalHub, folder_of: FolderOf, tmp_path: Path):
    weights = load_file(folder_of("llama") / "model.safetensors")
    matrices = test_adapter.factors(weights, test_adapter.MODULES["llama"], is_transposed=False)
    hub.serve("owner/base", folder_of("llama"), "v1")
    hub.serve("me/adapter", test_adapter.write(tmp_path / "adapter", matrices, revision="v1"))
    fetched, _ = tc.load("me/adapter")
    shutil.copytree(folder_of("llama"), tmp_path / "base")
    expected, _ = tc.load(tmp_path / "adapter")
    assert all(map(torch.equal, fetched.parameters(), expected.parameters()))
    hub.stop()
    again, _ = tc.load("me/adapter")  # both are in the cache
    assert all(map(torch.equal, again.parameters(), expected.parameters()))
