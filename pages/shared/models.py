"""Which models are here, and the one way to load them."""

import json
import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import streamlit as st

import transformer_core as tc
from transformer_core.analysis import ATTENTIONS
from transformer_core.errors import HeadlightError

ROOT = Path(__file__).resolve().parents[2]
TRAIN_COMMAND = (
    "python -m transformer_core train --corpus en-fr --preset tiny --run runs/en-fr --keep checkpoints/en-fr"
)


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """What the app knows about a model before it is loaded."""

    name: str  # its folder's name, which is also its name in the URL
    path: str  # as one writes it at the project's root
    version: str  # changes with the weights; part of the key of every cached result
    title: str
    kind: str
    corpus: str
    examples: tuple[str, ...]
    n_parameters: int
    exact_match: float | None  # on held-out pairs, in [0, 1]; None: not measured
    config: tc.ModelConfig

    def n_layers(self, attention: str) -> int:
        """Return in how many layers the model has this attention."""
        in_encoder = ATTENTIONS[attention].queries_from == "source"
        return self.config.n_encoder_layers if in_encoder else self.config.n_decoder_layers

    def claim(self) -> str:
        """Return one line about the model: what it is, how large, what it learned and how well."""
        n_layers = max(self.config.n_encoder_layers, self.config.n_decoder_layers)
        parts = [
            self.kind,
            f"{n_layers} {'layer' if n_layers == 1 else 'layers'}",
            f"{self.config.n_heads} {'head' if self.config.n_heads == 1 else 'heads'}",
            f"{self.n_parameters / 1e6:.1f} M parameters",
            f"trained on {self.corpus}" if self.corpus else "not trained",
        ]
        if self.exact_match is not None:
            parts.append(f"{self.exact_match:.1%} of held-out sentences exactly right")
        return ", ".join(parts)


def folder() -> Path:
    """Return where the models are: `checkpoints`, or what HEADLIGHT_CHECKPOINTS says."""
    return Path(os.environ.get("HEADLIGHT_CHECKPOINTS", ROOT / "checkpoints")).resolve()


def at_root(path: Path) -> str:
    """Return the path as one writes it at the project's root."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def available() -> dict[str, ModelCard]:
    """Return the models in the checkpoints folder by name; a folder without a readable card is not a model.

    Models of the same title are told apart by their names.
    """
    cards = {}
    for place in sorted(folder().glob("[!.]*")):
        try:
            cards[place.name] = _card(place)
        except (HeadlightError, OSError, TypeError, ValueError):
            continue
    titles = Counter(card.title for card in cards.values())
    return {
        name: replace(card, title=f"{card.title} ({name})") if titles[card.title] > 1 else card
        for name, card in cards.items()
    }


@st.cache_resource(max_entries=4, show_spinner=False)
def load(path: str, version: str) -> tuple[tc.Transformer, tc.Tokenizer]:
    """Load a model once for all sessions.

    Args:
        path: its folder.
        version: tells weights apart that came to the same folder one after the other.

    Raises:
        CheckpointError: the folder is damaged.
    """
    return tc.load(ROOT / path)


def _card(place: Path) -> ModelCard:
    values: dict[str, Any] = tc.read_card(place)
    weights = (place / "model.safetensors").stat()
    exact_match = values.get("metrics", {}).get("exact_match")
    return ModelCard(
        name=place.name,
        path=at_root(place),
        version=f"{weights.st_mtime_ns:x}-{weights.st_size:x}",
        title=str(values.get("title") or place.name),
        kind=str(values.get("kind", "encoder-decoder")),
        corpus=str(values.get("corpus", {}).get("name", "")),
        examples=tuple(map(str, values.get("examples", ()))),
        n_parameters=int(values.get("parameters", 0)),
        exact_match=None if exact_match is None else float(exact_match),
        config=tc.ModelConfig.from_dict(json.loads((place / "config.json").read_text(encoding="utf-8"))),
    )
