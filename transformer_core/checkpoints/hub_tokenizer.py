"""The tokenizer of a model on the Hugging Face Hub, without its weights."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from huggingface_hub import constants, hf_hub_download

from transformer_core.checkpoints.hub import TOKENIZER_FILES, HubId, cached_commit, in_cache, look_up
from transformer_core.checkpoints.hub_errors import explained
from transformer_core.errors import CheckpointError
from transformer_core.text.load import has_tokenizer


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
            for name in sorted(needed, key="tokenizer.json".__eq__)  # tokenizer.json last: with it, all are complete
        ]
    except Exception as error:
        raise explained(error, hub_id.repo, hub_id.revision) from error
    if not paths or not has_tokenizer(paths[0].parent):
        raise CheckpointError("{id} has no supported tokenizer; choose another model", id=hub_id)
    return paths[0].parent
