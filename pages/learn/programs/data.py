"""The data of the Programs page: a program and its model on an input, and the same with a mistake."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import headlight as hl
from headlight.expressions import excerpt
from headlight.programs.program import MOST_LINES, Program
from pages.learn.programs import view_fields
from pages.learn.programs.view_fields import EXAMPLES
from pages.shared import cache
from pages.shared.recipe import Expression, call, named, value_of
from transformer_core.cached_property import cached_property
from transformer_core.errors import HeadlightError, ProgramError, TextError, mark

if TYPE_CHECKING:
    from headlight.analysis.programs.program_run import LineRun, ProgramRun
    from transformer_core.model.transformer import Transformer
    from transformer_core.text.tokenizer import OwnTokenizer

MOST_TOKENS = 24  # of an input
UNKNOWN = mark("“{token}” is not in the vocabulary; use {vocab}, or add it: Edit the program → Vocabulary")


@dataclass(frozen=True, kw_only=True, eq=False)
class CompiledProgram:
    """A program, its compiled model, and a run of both on an input."""

    program: Program
    tokens: tuple[str, ...]
    side: str = ""  # suffix of its names in the code

    @cached_property
    def model_recipe(self) -> tuple[Expression, Expression]:
        """The model and its tokenizer as code; `value_of` raises HeadlightError where it cannot be compiled."""
        from headlight.programs import compile as compile_program

        compiling = call(compile_program, self.program)
        model, tokenizer = named(
            f"model{self.side}, tokenizer{self.side}", cache.kept(mark("compiled programs"), compiling)
        )
        return model, tokenizer

    @cached_property
    def run_recipe(self) -> Expression:
        """The run of program and model on the input, as code."""
        from headlight.analysis.programs.program_run import program_run

        running = call(program_run, *self.model_recipe, list(self.tokens))
        return named(f"run{self.side}", cache.kept(mark("program runs"), running))

    @cached_property
    def model(self) -> "tuple[Transformer, OwnTokenizer]":
        """The model and its tokenizer."""
        return value_of(self.model_recipe)

    @cached_property
    def run(self) -> "ProgramRun":
        """The run of program and model on the input."""
        return value_of(self.run_recipe)


@dataclass(frozen=True, kw_only=True, eq=False)
class ProgramsData:
    """A program on an input, the selected line, and the program with a mistake in that line."""

    as_written: CompiledProgram
    line: "LineRun"
    with_mistake: CompiledProgram | None  # None: no mistake, or `error` says why it cannot be compiled
    error: HeadlightError | None

    @classmethod
    def current(cls) -> "ProgramsData":
        """Return the data of the page.

        Raises:
            HeadlightError: the program cannot be read or compiled, or its model cannot read the input.
        """
        tokens = input_tokens()
        as_written = CompiledProgram(program=current_program(len(tokens)), tokens=tokens)
        vocab = as_written.program.vocab
        if unknown := next((token for token in tokens if token not in vocab), ""):
            raise TextError(UNKNOWN, token=excerpt(unknown), vocab=", ".join(vocab[:40]))
        lines = as_written.run.lines
        line = next((line for line in lines if line.number == view_fields.LINE.value), lines[-1])
        view_fields.LINE.set(0 if line is lines[-1] else line.number)
        mistake, error = str(view_fields.MISTAKE.value).strip(), None
        with_mistake = None
        if mistake not in ("", line.source):
            try:
                with_mistake = _with_mistake(as_written, line.number, mistake)
            except HeadlightError as why:
                error = why
        return cls(as_written=as_written, line=line, with_mistake=with_mistake, error=error)

    @property
    def shown(self) -> CompiledProgram:
        """The program whose values are listed."""
        return self.with_mistake or self.as_written


def current_program(n_tokens: int) -> Program:
    """Return the chosen program with the person's changes, for inputs of at least `n_tokens` tokens.

    Raises:
        ProgramError: it cannot be read.
    """
    example = hl.programs.EXAMPLES[view_fields.PROGRAM.value]
    attends = view_fields.ATTENDS.value
    program = replace(
        example,
        source=view_fields.SOURCE.value or example.source,
        vocab=tuple(dict.fromkeys(view_fields.VOCABULARY.value.split())) or example.vocab,
        is_causal=attends == view_fields.EARLIER if attends else example.is_causal,
    )
    return replace(program, max_len=max(program.max_len, min(n_tokens, MOST_TOKENS)))


def input_tokens() -> tuple[str, ...]:
    """Return the input that a person typed, or else that of the example."""
    typed = str(view_fields.INPUT.value).split()
    return tuple(typed or EXAMPLES[view_fields.PROGRAM.value].inputs[0].split())


def _with_mistake(as_written: CompiledProgram, number: int, mistake: str) -> CompiledProgram:
    """Return the program with one line replaced.

    Raises:
        HeadlightError: it cannot be read or compiled.
    """
    lines = as_written.program.source.splitlines()
    lines[number - 1] = " ".join(mistake.split())
    program = replace(as_written.program, source="\n".join(lines[:MOST_LINES]))
    if number not in program.lines:
        raise ProgramError("a comment computes nothing; write name = expression")
    result = CompiledProgram(program=program, tokens=as_written.tokens, side="_with_mistake")
    result.run.line(number)  # compiled and run here, where it may fail
    return result
