"""`--set key=value`: any field of the configurations, parsed by its type."""

import argparse
from collections.abc import Iterable
from difflib import get_close_matches
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from transformer_core.config import SPECIAL_TOKEN_FIELDS, ModelConfig
from transformer_core.corpora.corpus import BETWEEN
from transformer_core.corpora.reading import CorpusReading
from transformer_core.errors import ConfigError, Message
from transformer_core.training.config import RateChanges, TrainingConfig
from transformer_core.training.run.request import Settings

# Fields of a model that the tokenizer determines.
_FROM_THE_CORPUS = ("vocab_size", "src_vocab_size", *SPECIAL_TOKEN_FIELDS)

MODEL_FIELDS = {name: kind for name, kind in get_type_hints(ModelConfig).items() if name not in _FROM_THE_CORPUS}
TRAINING_FIELDS = get_type_hints(TrainingConfig)
READING_FIELDS = get_type_hints(CorpusReading)
_FIELDS = {"model": MODEL_FIELDS, "training": TRAINING_FIELDS, "reading": READING_FIELDS}


class JoinedPaths(argparse.Action):
    """Joins several paths into the name of one corpus."""

    def __call__(
        self, parser: object, namespace: argparse.Namespace, values: Any, option_string: object = None
    ) -> None:
        """Store the joined name."""
        setattr(namespace, self.dest, BETWEEN.join(values))


def parse_settings(assignments: Iterable[str]) -> Settings:
    """Parse `key=value` texts into fields of the three configurations.

    Raises:
        ConfigError: a text without "=", an unknown field (the message names the nearest ones), or a value of another
            type.
    """
    assigned: dict[str, dict[str, Any]] = {kind: {} for kind in _FIELDS}
    for assignment in assignments:
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals:
            raise ConfigError(
                "--set takes key=value, got {assignment!r}; for example --set dropout=0.1", assignment=assignment
            )
        if name in _FROM_THE_CORPUS and name not in READING_FIELDS:
            raise ConfigError("{name} is determined by the corpus's tokenizer and cannot be set", name=name)
        kind = next((kind for kind, fields in _FIELDS.items() if name in fields), None)
        if kind is None:
            raise _unknown(name)
        assigned[kind][name] = _parse(name, text, _FIELDS[kind][name])
    return Settings(**assigned)


def _unknown(name: str) -> ConfigError:
    known = [name for fields in _FIELDS.values() for name in fields]
    if nearest := get_close_matches(name, known, n=3, cutoff=0.5):
        return ConfigError(
            "there is no setting {name!r}; did you mean {nearest}?",
            name=name,
            nearest=Message.joined(Message(" or "), nearest),
        )
    return ConfigError("there is no setting {name!r}; available are {known}", name=name, known=", ".join(known))


def _parse(name: str, text: str, kind: Any) -> Any:
    """Parse a text as a value of a field's type."""
    if NoneType in get_args(kind):
        if text.lower() == "none":
            return None
        (kind,) = (member for member in get_args(kind) if member is not NoneType)
    if kind == RateChanges:
        return _parse_changes(name, text)
    if get_origin(kind) is tuple:
        return tuple(_parse(name, part, get_args(kind)[0]) for part in text.split(",") if part.strip())
    if get_origin(kind) is Literal:
        return text  # the configuration checks its choices
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ConfigError("{name} must be true or false, got {value!r}", name=name, value=text)
        return text.lower() == "true"
    try:
        return kind(text)
    except ValueError:
        if kind is int:
            raise ConfigError("{name} must be a whole number, got {value!r}", name=name, value=text) from None
        raise ConfigError("{name} must be a number, got {value!r}", name=name, value=text) from None


def _parse_changes(name: str, text: str) -> RateChanges:
    """Parse "120:0.5,300:0.1": times 0.5 from step 120 on, times 0.1 from step 300 on."""
    try:
        pairs = [change.split(":") for change in text.split(",") if change.strip()]
        return tuple((int(step), float(factor)) for step, factor in pairs)
    except ValueError:
        raise ConfigError(
            "{name} must be steps and factors, such as 120:0.5,300:0.1; got {value!r}", name=name, value=text
        ) from None
