"""The program as a table: what each line computes at each token, and which part of the model does that."""

from collections.abc import Sequence

from headlight.analysis.programs.program_run import LineRun
from headlight.language import say
from pages.learn.programs import view_fields
from pages.learn.programs.components.listing import Row, listing, sent_line
from pages.learn.programs.data import ProgramsData
from pages.shared import prose
from transformer_core.errors import mark

KEY = "programs-listing"
UNUSED = mark("not needed for the output, and not compiled")
UNDEFINED = mark("no value for this input")
NO_OUTPUT = mark("The program has no output for this input: {why}. The model still computes something.")


def show(data: ProgramsData) -> None:
    """Draw the table; say where the program has no output."""
    run, before = data.shown.run, data.as_written.run
    rows = [_row(data, line) for line in run.lines]
    is_same = run.output == run.predicted
    name = say("output of program and model") if is_same else say("output of the model")
    outputs = [(name, run.predicted, _differing(run.predicted, before.predicted))]
    if not is_same:
        outputs.insert(0, (say("output of the program"), run.output, _differing(run.output, before.output)))
    if data.with_mistake:
        outputs.insert(0, (say("output without the mistake"), before.predicted, ()))
    listing(tokens=data.tokens, rows=rows, outputs=outputs, chosen=data.line.number, key=KEY, on_line=_on_line)
    if run.undefined:
        prose.note(prose.sentence(run.undefined))
    if run.problem:
        prose.note(say(NO_OUTPUT, why=run.problem))


def parts_of(line: LineRun) -> list[str]:
    """Return the parts that compute a line: heads, and layers with feed-forward networks."""
    return [f"L{layer}.H{head}" for layer, head in line.heads] + [f"L{layer}.FFN" for layer in line.layers]


def written(values: Sequence[object] | None, *, is_selector: bool) -> tuple[str, ...]:
    """Return the result of a line at each token, as text: for a selector, the positions of the keys."""
    if is_selector:
        return tuple(", ".join(map(str, keys)) or "–" for keys in values or ())  # type: ignore[call-overload]
    return tuple(f"({', '.join(map(str, of))})" if isinstance(of, tuple) else str(of) for of in values or ())


def _row(data: ProgramsData, line: LineRun) -> Row:
    values = written(line.values, is_selector=line.is_selector)
    original = next((one for one in data.as_written.run.lines if one.number == line.number), line)
    before = written(original.values, is_selector=original.is_selector)
    return Row(
        number=line.number,
        source=line.source,
        parts=tuple(parts_of(line)),
        values=values,
        changed=_differing(values, before),
        is_mistaken=line.source != original.source,
        note=say(UNDEFINED if line.is_used else UNUSED),
    )


def _differing(values: Sequence[str], before: Sequence[str]) -> tuple[int, ...]:
    """Return the tokens at which two outputs differ."""
    if len(values) != len(before):
        return tuple(range(len(values)))
    return tuple(i for i, (one, other) in enumerate(zip(values, before, strict=True)) if one != other)


def _on_line() -> None:
    number = sent_line(KEY)
    if number is not None:
        view_fields.choose_line(number)
