"""Tokenizers of the families on Hugging Face: small ones, made here, and what transformers makes of them."""

import shutil
from pathlib import Path

import pytest

from tests.text import hub_folders
from tests.text.hub_folders import FAMILIES, OLDER, Pair, theirs
from transformer_core.text.load import load_foreign


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each family, and again as transformers saves it."""
    root = tmp_path_factory.mktemp("hub")
    folders = {name: make(root / name) for name, make in OLDER.items()}
    for name, folder in list(folders.items()):
        folders[f"{name}.json"] = root / f"{name}.json"
        theirs(folder).save_pretrained(folders[f"{name}.json"])
        shutil.copy(folder / "config.json", folders[f"{name}.json"])
        assert (folders[f"{name}.json"] / "tokenizer.json").is_file() and not (folder / "tokenizer.json").exists()
    folders["llama_2"] = hub_folders.llama_2(root / "llama_2", folders["llama.json"])
    folders["llama_3"] = hub_folders.llama_3(root / "llama_3")
    return folders


@pytest.fixture(scope="session")
def pairs(folders: dict[str, Path]) -> dict[str, Pair]:
    return {name: (load_foreign(folder), theirs(folder)) for name, folder in folders.items()}


@pytest.fixture(scope="session", params=FAMILIES)
def pair(request: pytest.FixtureRequest, pairs: dict[str, Pair]) -> Pair:
    return pairs[request.param]
