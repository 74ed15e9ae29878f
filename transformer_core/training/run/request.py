"""What was asked of a run: run.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from transformer_core.config import ModelConfig
from transformer_core.corpora.reading import AS_MADE, CorpusReading
from transformer_core.errors import HeadlightError
from transformer_core.training.config import TrainingConfig

_KINDS: dict[type, tuple[str, ...]] = {  # what the values of run.json are, where no configuration checks them
    str: ("corpus", "corpus_fingerprint", "preset", "command"),
    int: ("corpus_seed",),
    dict: ("model", "training", "versions"),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a person sets apart from the preset; the names are fields of the configurations."""

    model: Mapping[str, Any] = field(default_factory=dict)  # fields of ModelConfig
    training: Mapping[str, Any] = field(default_factory=dict)  # fields of TrainingConfig
    reading: Mapping[str, Any] = field(default_factory=dict)  # fields of CorpusReading


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What was asked of a run: all that its losses depend on, and what it was made with."""

    corpus: str  # name, as `load_corpus` takes it
    corpus_seed: int
    corpus_fingerprint: str  # sha256 of all pairs
    reading: CorpusReading = AS_MADE
    tokenizer_fingerprint: str = ""  # of a tokenizer from elsewhere, as it is saved with the model; "": made here
    preset: str  # name of the model preset and of its training
    model: ModelConfig
    training: TrainingConfig
    command: str  # makes the same run again
    versions: Mapping[str, str]  # of Python and the packages that the numbers depend on

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a request from plain values.

        Raises:
            KeyError, TypeError, ValueError: a value is missing, unknown, or makes no sense.
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
