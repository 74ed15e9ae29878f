"""The overview of a model's first example, kept beside its checkpoint, so that it is shown before torch is loaded.

The file `first_view.npz` holds the activations that the overview shows, the text that they belong to, and the SHA-256
of the weights that computed them: with other weights it counts as missing. `python -m transformer_core first-view`
writes it.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headlight.analysis.blueprint.shapes import PROBABILITIES
from headlight.analysis.flow import token_sources
from headlight.analysis.stage.panels import StageText, Zoom, lanes_of, sites_of
from transformer_core.config import ModelConfig

if TYPE_CHECKING:
    from transformer_core.model.transformer import Transformer
    from transformer_core.text.interface import Tokenizer

N_CANDIDATES = 40  # most probable tokens of a step whose labels are kept
FILE, WEIGHTS = "first_view.npz", "model.safetensors"
_ABOUT = "about"  # the array that holds the text as JSON


@dataclass(frozen=True, kw_only=True, eq=False)
class FirstView:
    """The activations that the overview shows or follows, while a model reads its first example."""

    prompt: str  # the example, as a person would type it
    text: StageText
    activations: Mapping[str, np.ndarray]  # by hook point, without the axis of the batch
    candidates: Mapping[int, str]  # labels of tokens that are probable at some step

    def values(self, site: str) -> np.ndarray:
        """Return the value at a hook point, or what is computed from one.

        Raises:
            KeyError: the overview does not need it.
        """
        return self.activations[site]


def sites(config: ModelConfig) -> tuple[str, ...]:
    """Return the names of all values in a first view: hook points, norms, and `PROBABILITIES`."""
    predicted = (PROBABILITIES,) if config.unembed else ()
    return (*sites_of(lanes_of(config, Zoom())), *token_sources.sites(config), *predicted)


def capture_and_write(folder: Path, model: "Transformer", tokenizer: "Tokenizer", prompt: str) -> Path:
    """Write the first view of a model into its folder; return the file.

    Args:
        folder: of the checkpoint.
        model: what is in it, in evaluation mode.
        tokenizer: of the model.
        prompt: its first example.

    Raises:
        OSError: the file cannot be written.
    """
    from headlight.analysis.blueprint.capture import CapturedText
    from headlight.analysis.stage.generating import generate

    text = generate(model, tokenizer, prompt)
    captured = CapturedText(model, text.inputs)
    arrays: dict[str, Any] = {site: captured.values(site) for site in sites(model.config)}
    tokens = {token for row in text.rows for token in np.argsort(-arrays[PROBABILITIES][row])[:N_CANDIDATES].tolist()}
    tokens |= {token for token in text.next_tokens if token is not None}
    about = {
        "weights": _digest(folder),
        "prompt": prompt,
        "text": asdict(text),
        "candidates": {str(token): tokenizer.target.labels([token])[0] for token in sorted(tokens)},
    }
    arrays[_ABOUT] = np.frombuffer(json.dumps(about, ensure_ascii=False).encode(), dtype=np.uint8)
    np.savez_compressed(folder / FILE, **arrays)
    return folder / FILE


def read(folder: Path, config: ModelConfig) -> FirstView | None:
    """Return the first view of a model; None where there is none, it is damaged, or belongs to other weights.

    Args:
        folder: of the checkpoint.
        config: the model's.
    """
    try:
        with np.load(folder / FILE, allow_pickle=False) as arrays:
            about = json.loads(arrays[_ABOUT].tobytes())
            if about["weights"] != _digest(folder):
                return None
            return FirstView(
                prompt=about["prompt"],
                text=_text(about["text"]),
                activations={site: arrays[site] for site in sites(config)},
                candidates={int(token): label for token, label in about["candidates"].items()},
            )
    except Exception:  # a damaged archive may raise many kinds of errors
        return None


def _text(values: Mapping[str, Any]) -> StageText:
    """Return a text from JSON, with its lists converted to tuples."""
    whole: dict[str, Any] = {name: tuple(of) if isinstance(of, list) else of for name, of in values.items()}
    return StageText(**whole)


def _digest(folder: Path) -> str:
    with (folder / WEIGHTS).open("rb") as weights:
        return hashlib.file_digest(weights, "sha256").hexdigest()
