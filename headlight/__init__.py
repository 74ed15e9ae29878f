"""The laboratory: questions asked of a model, and figures of the answers; no Streamlit."""

import lazy_loader

from transformer_core.corpora.corpus import Corpus
from transformer_core.corpora.generated import PROVIDERS, Provider

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def _program_corpus(name: str, seed: int) -> Corpus:
    from headlight.programs.corpus import program_corpus

    return program_corpus(name, seed=seed)


def _program_made_from(name: str) -> list[str]:
    from headlight.programs.corpus import made_from

    return made_from(name)


PROVIDERS["program:"] = Provider(_program_corpus, _program_made_from)
