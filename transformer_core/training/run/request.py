"""The request of a run: run.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from transformer_core.config import ModelConfig
from transformer_core.corpora.reading import AS_MADE, CorpusReading
from transformer_core.errors import HeadlightError
from transformer_core.training.config import TrainingConfig

_KINDS: dict[type, tuple[str, ...]] = {  # types of values in run.json that no configuration checks
    str: ("corpus", "corpus_fingerprint", "preset", "command"),
    int: ("corpus_seed",),
    dict: ("model", "training", "versions"),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings that differ from the preset, by field of their configuration."""

    model: Mapping[str, Any] = field(default_factory=dict)  # fields of ModelConfig
    training: Mapping[str, Any] = field(default_factory=dict)  # fields of TrainingConfig
    reading: Mapping[str, Any] = field(default_factory=dict)  # fields of CorpusReading


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """Everything that the losses of a run depend on."""

    corpus: str  # name for `load_corpus`
    corpus_seed: int
    corpus_fingerprint: str
    reading: CorpusReading = AS_MADE
    tokenizer_fingerprint: str = ""  # of a foreign tokenizer as saved with the model
    preset: str  # name of the model preset and of its training
    model: ModelConfig
    training: TrainingConfig
    command: str  # reproduces the run
    versions: Mapping[str, str]  # of Python and the packages that the numbers depend on

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a request from plain values.

        Raises:
            KeyError, TypeError, ValueError: a value is missing, unknown, or invalid.
        """
        for kind, names in _KINDS.items():
            for name in names:
                if not isinstance(values[name], kind):
                    raise HeadlightError("{name} is {value!r}", name=name, value=values[name])
        parsed = {
            "reading": CorpusReading(**values.get("reading", {})),
            "model": ModelConfig.from_dict(values["model"]),
            "training": TrainingConfig.from_dict(values["training"]),
        }
        return cls(**{**values, **parsed})
