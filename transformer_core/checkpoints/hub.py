"""Models of the Hugging Face Hub by id: downloaded into its cache, then available offline.

Only configuration, weights in safetensors files and tokenizers are downloaded, never code. `snapshot_download` is not
used: it trusts truncated files in its cache, and has no fixed order, while here the weights come last, so that a folder
with weights is complete.
"""

import hashlib
import json
import re
import shutil
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from huggingface_hub import HfApi, constants, hf_hub_download, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError, RevisionResolutionError
from huggingface_hub.hf_api import RepoSibling
from huggingface_hub.utils import tqdm

from transformer_core.checkpoints.adapter import WEIGHTS as ADAPTER_WEIGHT_FILES
from transformer_core.checkpoints.convert import family_of
from transformer_core.checkpoints.hub_errors import explained
from transformer_core.checkpoints.tensor_files import (
    ADAPTER,
    INDEX,
    WEIGHTS,
    OnProgress,
    find_tensor_files,
    only_pickles,
)
from transformer_core.devices import in_words
from transformer_core.errors import CheckpointError, Message, UnsupportedModelError
from transformer_core.text.load import has_tokenizer

CONFIG = "config.json"
_TOKENIZERS = ("tokenizer*.json", "special_tokens_map.json", "added_tokens.json", "vocab*", "merges.txt")
_MODELS_OF_PIECES = ("*.spm", "spiece.model", "tokenizer.model", "*.bpe.model")  # sentencepiece
TOKENIZER_FILES = (*_TOKENIZERS, *_MODELS_OF_PIECES)
_PROCESSORS = ("preprocessor_config.json", "processor_config.json")  # of models that read images or sounds
_SMALL = ("generation_config.json", "card.json", *_PROCESSORS, *TOKENIZER_FILES)
ADAPTER_WEIGHTS = ADAPTER_WEIGHT_FILES[0]  # not a pickle
_PARTS = "model-*-of-*.safetensors"
_PICKLES = ("pytorch_model*.bin", "*.pt", "*.pth", "*.ckpt")
_SECONDS = 0.1  # between two progress reports

_ADDRESS = re.compile(
    r"(https?://)?(www\.)?(huggingface\.co|hf\.co)/(?P<repo>[^@?#]+?)(/tree/(?P<revision>[^/?#]+))?/?([?#].*)?"
)
_ID = re.compile(r"(?P<repo>[\w.-]+(/[\w.-]+)?)(@(?P<revision>[^@\s]+))?")

Result = TypeVar("Result")

OnUnsupported = Callable[[Mapping[str, Any], UnsupportedModelError], object]
"""Called with the object in the config.json of a model that this library does not compute, and the error about it.

It may raise another error; otherwise the model is downloaded.
"""


@dataclass(frozen=True)
class HubId:
    """The id of a model: "owner/name", or "name" for the oldest ones; optionally "@" and a branch, tag or commit."""

    repo: str
    revision: str | None

    @classmethod
    def read(cls, source: str) -> "HubId | None":
        """Parse an id, or the address of a model's page; None if it is neither."""
        source = source.strip()
        if page := _ADDRESS.fullmatch(source):
            source = page["repo"] + (f"@{page['revision']}" if page["revision"] else "")
        match = _ID.fullmatch(source)
        if match is None or ".." in source or "--" in source or source.startswith((".", "-")):
            return None
        return cls(match["repo"], match["revision"])

    def __str__(self) -> str:
        return self.repo if self.revision is None else f"{self.repo}@{self.revision}"


def fetch(
    hub_id: HubId, on_progress: OnProgress | None = None, *, on_unsupported: OnUnsupported | None = None
) -> tuple[Path, str]:
    """Return the cached folder of a model and its commit, after downloading whatever is missing.

    The cached version is used if the Hub cannot be reached.

    Args:
        hub_id: the model's id.
        on_progress: called in this thread with the downloaded bytes; an exception from it stops the download.
        on_unsupported: called before the weights of a model of an unsupported family are downloaded; None: it is
            refused.

    Raises:
        CheckpointError: the model does not exist, is not accessible or not supported, or was damaged.
    """
    try:
        commit, files = look_up(hub_id)
    except Exception as error:
        if here := _cached(hub_id):
            return here
        raise explained(error, hub_id.repo, hub_id.revision) from error
    return _Transfer(hub_id, commit, files, on_unsupported).run(on_progress)


def look_up(hub_id: HubId) -> tuple[str, dict[str, RepoSibling]]:
    """Ask the Hub for the commit of an id, and return it with the top-level files of that version by name."""
    api = HfApi(endpoint=constants.ENDPOINT)
    info = api.model_info(hub_id.repo, revision=hub_id.revision, files_metadata=True)
    # The cache notes what the id resolves to, for use offline.
    revision = api.resolve_revision(hub_id.repo, revision=hub_id.revision, cache_dir=constants.HF_HUB_CACHE)
    if revision.resolved != info.sha:  # the model has changed meanwhile
        info = api.model_info(hub_id.repo, revision=revision.resolved, files_metadata=True)
    return revision.resolved, {file.rfilename: file for file in info.siblings or () if "/" not in file.rfilename}


def cached_commit(hub_id: HubId) -> str | None:
    """Return the commit that the cache records for an id, without network access; None if there is none."""
    try:
        revision = HfApi().resolve_revision(
            hub_id.repo, revision=hub_id.revision, cache_dir=constants.HF_HUB_CACHE, local_files_only=True
        )
    except (HFValidationError, RevisionResolutionError):
        return None
    return revision.resolved


def _cached(hub_id: HubId) -> tuple[Path, str] | None:
    """Return the folder and the commit of the cached model; None if it is missing or incomplete."""
    commit = cached_commit(hub_id)
    if commit is None:
        return None
    if adapter := in_cache(hub_id, ADAPTER_WEIGHTS, commit):  # weights are downloaded last
        return adapter.parent, commit
    config = in_cache(hub_id, CONFIG, commit)
    if config is None:
        return None
    try:
        find_tensor_files(config.parent, where=str(hub_id))
    except CheckpointError:
        return None
    return config.parent, commit


def in_cache(hub_id: HubId, name: str, commit: str) -> Path | None:
    """Return a file of a version in the cache; None if it is missing."""
    path = try_to_load_from_cache(hub_id.repo, name, cache_dir=constants.HF_HUB_CACHE, revision=commit)
    return Path(path) if isinstance(path, str) else None


class _Transfer:
    """The download of one model."""

    def __init__(
        self, hub_id: HubId, commit: str, files: dict[str, RepoSibling], on_unsupported: OnUnsupported | None
    ) -> None:
        self._hub_id, self._commit, self._files = hub_id, commit, files  # of this version
        self._on_unsupported = on_unsupported
        self._done = 0  # bytes of complete files
        self._arrived = 0  # bytes of the current file
        self._is_stopped = threading.Event()

    def run(self, on_progress: OnProgress | None) -> tuple[Path, str]:
        """Download the missing files: first config.json, and the others only if the model is supported.

        An adapter has adapter_config.json instead.
        """
        about = ADAPTER if self._is_adapter else CONFIG
        if about not in self._files:
            raise CheckpointError(
                "{id} has no {file}, so it cannot be loaded; choose another model", id=self._hub_id, file=CONFIG
            )
        config = self._waiting(lambda: self._fetch(about), lambda: None)
        self._refuse_other_families(config)
        names = self._names()
        missing = [name for name in names if not self._is_here(name)]
        total = sum(self._size(name) for name in missing)
        self._refuse_too_much(total)
        self._done = self._arrived = 0
        shown = -1

        def report() -> None:
            nonlocal shown
            done = min(max(self._done + self._arrived, shown), total)
            if on_progress is not None and done > shown:
                shown = done
                on_progress(done, total, Message("downloading {model}", model=self._hub_id))

        if missing:
            self._waiting(lambda: [self._fetch(name) for name in missing], report)
        return config.parent, self._commit

    def _names(self) -> list[str]:
        """Return the files to download, the weights last."""
        small = [name for name in self._files if any(fnmatchcase(name, pattern) for pattern in _SMALL)]
        if self._is_adapter:
            return [*small, ADAPTER_WEIGHTS]
        if WEIGHTS in self._files:
            return [*small, WEIGHTS]
        if INDEX in self._files:
            return [*small, INDEX, *sorted(name for name in self._files if fnmatchcase(name, _PARTS))]
        pickles = [name for name in self._files if any(fnmatchcase(name, pattern) for pattern in _PICKLES)]
        if pickles:
            raise CheckpointError(only_pickles(str(self._hub_id), pickles[0]))
        raise CheckpointError("{id} has no weights ({file}); choose another model", id=self._hub_id, file=WEIGHTS)

    @property
    def _is_adapter(self) -> bool:
        return ADAPTER in self._files and ADAPTER_WEIGHTS in self._files and WEIGHTS not in self._files

    def _size(self, name: str) -> int:
        return self._files[name].size or 0

    def _is_here(self, name: str) -> bool:
        """Return whether a file is in the cache with the correct size."""
        path = in_cache(self._hub_id, name, self._commit)
        return path is not None and path.stat().st_size == self._size(name)

    def _fetch(self, name: str) -> Path:
        """Download a file into the cache, and verify it."""
        file, transfer, here = self._files[name], self, in_cache(self._hub_id, name, self._commit)
        if here is not None and self._is_here(name):
            return here

        class Bar(tqdm):  # the library's progress bar
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(disable=True)

            def update(self, n: float | None = 1) -> None:
                if transfer._is_stopped.is_set():
                    raise _Stopped
                transfer._arrived += int(n or 0)

            def update_transfer(self, n: float | None = 1) -> None:
                """Ignore the bytes on the wire."""

            def set_transfer_postfix_str(self, *args: Any, **kwargs: Any) -> None:
                """Ignore the speed."""

        try:
            path = Path(
                hf_hub_download(
                    self._hub_id.repo,
                    name,
                    revision=self._commit,
                    cache_dir=constants.HF_HUB_CACHE,
                    endpoint=constants.ENDPOINT,
                    tqdm_class=Bar,
                    force_download=here is not None,  # the cached file is truncated
                )
            )
        except _Stopped:
            raise
        except Exception as error:
            raise explained(error, self._hub_id.repo, self._hub_id.revision, name) from error
        if file.lfs is not None:
            with path.open("rb") as downloaded:
                digest = hashlib.file_digest(downloaded, "sha256").hexdigest()
            if digest != file.lfs.sha256:
                path.resolve().unlink(missing_ok=True)
                path.unlink(missing_ok=True)
                raise CheckpointError(
                    "{name} of {id} was damaged during the download and was discarded; load the model again",
                    name=name,
                    id=self._hub_id,
                )
        self._done, self._arrived = self._done + self._size(name), 0
        return path

    def _waiting(self, work: Callable[[], Result], report: Callable[[], None]) -> Result:
        """Return `work()`, computed in another thread while this one reports progress."""
        with ThreadPoolExecutor(max_workers=1) as executor:
            future = executor.submit(work)
            try:
                report()
                while not wait([future], timeout=_SECONDS).done:
                    report()
                report()
                return future.result()
            except BaseException:  # including Ctrl-C and a stopped page
                self._is_stopped.set()
                raise

    def _refuse_other_families(self, config: Path) -> None:
        """Check that the model is supported, before anything large is downloaded."""
        try:
            values = json.loads(config.read_text(encoding="utf-8"))
        except (OSError, RecursionError, ValueError):
            return  # reading the folder will report the problem
        if isinstance(values, dict) and ("model_type" in values or "architectures" in values):
            try:
                family_of(values, where=str(self._hub_id))
            except UnsupportedModelError as error:
                if self._on_unsupported is None:
                    raise
                self._on_unsupported(values, error)

    def _refuse_too_much(self, n_bytes: int) -> None:
        """Check that the disk has enough space."""
        cache = Path(constants.HF_HUB_CACHE)
        place = next(folder for folder in (cache, *cache.absolute().parents) if folder.exists())
        free = shutil.disk_usage(place).free
        if n_bytes > free:
            raise CheckpointError(
                "{id} needs {size} of disk space, and {cache} has {free} free; free some space, or set "
                "HF_HOME to another folder",
                id=self._hub_id,
                size=in_words(n_bytes),
                cache=cache,
                free=in_words(free),
            )


class _Stopped(Exception):
    """The download was cancelled."""


def fetch_tokenizer(hub_id: HubId) -> Path:
    """Return the folder of a tokenizer in the Hub's cache, downloaded if necessary.

    Raises:
        CheckpointError: there is no such model, it has no tokenizer, or the Hub cannot be reached.
    """
    if (known := cached_commit(hub_id)) and (file := in_cache(hub_id, "tokenizer.json", known)):
        return file.parent
    try:
        commit, files = look_up(hub_id)
        needed = [name for name in files if any(fnmatchcase(name, pattern) for pattern in TOKENIZER_FILES)]
        place: dict[str, Any] = {
            "revision": commit,
            "cache_dir": constants.HF_HUB_CACHE,
            "endpoint": constants.ENDPOINT,
        }
        paths = [
            Path(hf_hub_download(hub_id.repo, name, **place))
            for name in sorted(needed, key="tokenizer.json".__eq__)  # tokenizer.json last: if it exists, all files do
        ]
    except Exception as error:
        raise explained(error, hub_id.repo, hub_id.revision) from error
    if not paths or not has_tokenizer(paths[0].parent):
        raise CheckpointError("{id} has no supported tokenizer; choose another model", id=hub_id)
    return paths[0].parent
