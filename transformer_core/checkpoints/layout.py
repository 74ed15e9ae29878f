"""Layouts of checkpoints without a config.json, written by programs that are read and copied rather than installed.

A layout is recognized by its tensors. To add one, add a file in `layouts/` with

- a function that recognizes it, such as `having` of describing.py, and returns the tensors by the keys of its table;
- a function that describes a model (`Description`): the fields of `ModelConfig` that its files determine; those that
  follow from a convention, each with a note that says so; and those that remain open, as questions;
- a function that returns an `Entry` for each tensor (entries.py);
- `LAYOUTS`, a tuple of `Layout` records.

The file is found automatically. Options have the names of `ModelConfig`, or of the `choices` of the layout;
`load(..., options={"n_heads": 4})` or a config.json next to the weights answers a question, or replaces a convention.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer_core.cached_property import cached_property
from transformer_core.checked_fields import check_values
from transformer_core.checkpoints.entries import Entry
from transformer_core.checkpoints.family import Family, Ignored
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig
from transformer_core.errors import CheckpointError, ConfigError, HeadlightError, Message
from transformer_core.text.interface import Tokenizer

Choice = str | float | bool
_FIELDS = "fields"  # key of the fields of ModelConfig in the values of a layout's family
LAYOUT = "_layout"  # key of the layout itself there


@dataclass(frozen=True, kw_only=True)
class SavedModel:
    """The content of a model's files, as far as it can be read without running code."""

    folder: Path  # may contain a tokenizer and descriptions
    paths: tuple[Path, ...]  # the files of weights
    config: Mapping[str, Any]  # the object in config.json; {} without one
    other: Mapping[str, Any]  # in the file of weights besides them, such as "model_args"
    weights: Mapping[str, Tensor]


@dataclass(frozen=True)
class Question:
    """A choice that a model's files do not determine."""

    option: str  # a field of ModelConfig
    candidates: tuple[Choice, ...]  # possible values, the most common first
    why: Message  # why the files do not determine it


@dataclass(frozen=True)
class Convention:
    """A value that is not in the files, but that models of this layout have by convention."""

    option: str  # a field of ModelConfig, or a choice of the layout
    value: Choice
    note: Message  # says which convention was used
    others: tuple[Choice, ...] = ()  # usual values of other models of this layout


@dataclass(frozen=True, kw_only=True)
class Description:
    """A model of a layout, as far as its files determine it."""

    fields: Mapping[str, Any]  # of ModelConfig
    conventions: Sequence[Convention] = ()
    questions: Sequence[Question] = ()
    notes: Sequence[Message] = ()
    weights: Mapping[str, Tensor] | None = None  # by the keys of the layout's table; None: those that were recognized
    tokenizer: Tokenizer | None = None  # in the file of weights itself


class UndecidedError(CheckpointError):
    """A model whose files leave questions open.

    Attributes:
        layout: the name of its layout.
        questions: each is answered by an option of `load`.
        conventions: values that options of `load` replace.
    """

    def __init__(
        self,
        layout: str,
        questions: Sequence[Question],
        conventions: Sequence[Convention],
        *,
        where: str | Message,
    ) -> None:
        reasons = [
            Message(
                "{option}: {why} Candidates: {candidates}.",
                option=question.option,
                why=question.why,
                candidates=", ".join(map(str, question.candidates)),
            )
            for question in questions
        ]
        message = Message(
            "{where} was recognized as {layout}, but its files do not determine {options}; choose with "
            "options={example}, or in a shell with {shell}. {reasons}",
            layout=layout,
            where=where,
            options=", ".join(question.option for question in questions),
            example="{" + ", ".join(f'"{question.option}": ...' for question in questions) + "}",
            shell=" ".join(f"--set {question.option}=..." for question in questions),
            reasons=Message.joined(" ", reasons),
        )
        super().__init__(message)
        self.layout, self.questions, self.conventions = layout, tuple(questions), tuple(conventions)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How one program lays out its checkpoints."""

    name: str  # of the program
    model_type: str  # in a config.json that names the layout
    recognize: Callable[[SavedModel], Mapping[str, Tensor] | None]  # the tensors by the keys of its table, or None
    describe: Callable[[SavedModel, Mapping[str, Any]], Description]  # from recognized tensors, and given fields
    keys: Callable[[ModelConfig], tuple[Entry, ...]]
    head: str  # key of the output layer's matrix
    names: Mapping[str, str] = field(default_factory=dict)  # maps its own names of options to ours, or "" if idle
    settings: Callable[[SavedModel], Mapping[str, Any]] = lambda saved: saved.config  # its own options in the files
    ignored: tuple[Ignored, ...] = ()
    described_in: str = ""  # its file of options, if any; a config.json beside it is another program's
    choices: Mapping[str, tuple[Choice, ...]] = field(default_factory=dict)  # options that change only the weights

    @cached_property
    def family(self) -> Family:
        """The family whose configuration is already ours."""
        return Family(
            model_type=self.model_type,
            program=self.name,
            read=lambda options: ModelConfig.from_dict(options.value(_FIELDS)),
            keys=self.keys,
            head=self.head,
            ignored=self.ignored,
        )


def describe(
    layout: Layout, saved: SavedModel, options: Mapping[str, Any], *, where: str | Message
) -> tuple[dict[str, Any], Description]:
    """Return the values of a recognized model for its layout's family, and its description with all notes.

    Args:
        layout: which has recognized it.
        saved: the model, with its tensors by the keys of the layout.
        options: fields of ModelConfig and choices of the layout, which take precedence over all others.
        where: name of the model in messages.

    Raises:
        UndecidedError: a question is open.
        CheckpointError: an unsupported option in the files, or contradictory fields.
    """
    given = {**_in_our_names(layout, layout.settings(saved), where), **options}
    try:
        ModelConfig.check_names(name for name in options if name not in layout.choices)
        check_values(ModelConfig, given)
        _check_choices(layout, given)
        description = _described(layout, saved, given, where)
        by_convention = [convention for convention in description.conventions if convention.option not in given]
        if open_questions := [question for question in description.questions if question.option not in given]:
            raise UndecidedError(layout.name, open_questions, by_convention, where=where)
        values = {
            **description.fields,
            **{convention.option: convention.value for convention in by_convention},
            **given,
        }
        fields = {name: value for name, value in values.items() if name not in layout.choices}
        ModelConfig.from_dict(fields)
    except ConfigError as error:
        raise CheckpointError(
            "{where} was recognized as {layout}, but cannot be built with these options: {error}",
            where=where,
            layout=layout.name,
            error=error,
        ) from error
    chosen = [Message("{option} is {value}, as chosen.", option=name, value=value) for name, value in options.items()]
    notes = [*description.notes, *(convention.note for convention in by_convention), *chosen]
    return {"model_type": layout.model_type, LAYOUT: layout, _FIELDS: fields}, replace(description, notes=notes)


def _described(layout: Layout, saved: SavedModel, given: Mapping[str, Any], where: str | Message) -> Description:
    """Return the description of a recognized model, whose other tensors may be missing or have any shape."""
    try:
        return layout.describe(saved, given)
    except HeadlightError:
        raise
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise CheckpointError(
            "{where} was recognized as {layout}, but lacks some of its tensors, or has them in other shapes "
            "({reason}); copy the whole file again",
            where=where,
            layout=layout.name,
            reason=str(error)[:100],
        ) from error


def _check_choices(layout: Layout, given: Mapping[str, Any]) -> None:
    for name, choices in layout.choices.items():
        if name in given and given[name] not in choices:
            raise ConfigError(
                "{name} must be one of {choices}; got {value!r}",
                name=name,
                choices=", ".join(map(str, choices)),
                value=given[name],
            )


def _in_our_names(layout: Layout, settings: Mapping[str, Any], where: str | Message) -> dict[str, Any]:
    """Return the fields of ModelConfig in the options of a program; unknown ones are refused as in `Options`."""
    options = Options(settings, where=where)
    ours = {name: name for name in (*ModelConfig.__dataclass_fields__, *layout.choices)} | dict(layout.names)
    options.idle(*ours)
    options.finish()
    fields = {ours[name]: value for name, value in settings.items() if ours.get(name) and value is not None}
    if isinstance(activation := fields.get("activation"), str):
        fields["activation"] = ACTIVATIONS.get(activation, activation)
    return fields
