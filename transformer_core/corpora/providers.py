"""Corpora of other packages: a name such as "program:reverse" is loaded by the package that registered its prefix."""

from collections.abc import Callable
from dataclasses import dataclass

from transformer_core.corpora.corpus import Corpus


@dataclass(frozen=True)
class Provider:
    """Loads the corpora whose names begin with a prefix."""

    load: Callable[[str, int], Corpus]  # by name and seed
    made_from: Callable[[str], list[str]]  # by name: all that the corpus depends on, for what is cached of it


PROVIDERS: dict[str, Provider] = {}  # by prefix, such as "program:"


def provider_of(name: str) -> Provider | None:
    """Return the provider of a corpus, or None where no package registered one for its name."""
    return next((provider for prefix, provider in PROVIDERS.items() if name.startswith(prefix)), None)
