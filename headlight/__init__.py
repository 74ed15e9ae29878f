"""The laboratory: questions asked of a model, and figures of the answers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from transformer_core.corpora.corpus import Corpus
from transformer_core.corpora.providers import PROVIDERS, Provider

if TYPE_CHECKING:
    from headlight import programs

__all__ = ["programs"]


def _program_corpus(name: str, seed: int) -> Corpus:
    from headlight.programs.corpus import program_corpus

    return program_corpus(name, seed=seed)


def _program_made_from(name: str) -> list[str]:
    from headlight.programs.corpus import made_from

    return made_from(name)


PROVIDERS["program:"] = Provider(_program_corpus, _program_made_from)


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    if name == "programs":
        return import_module("headlight.programs")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
