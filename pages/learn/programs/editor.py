"""The controls to choose or write a program, set its input and save its model; and its lines as a table."""

from collections.abc import Sequence
from random import Random

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import headlight as hl
from headlight.analysis.programs.program_run import LineRun
from headlight.language import say
from headlight.programs.program import Program
from pages.learn.programs import view_fields
from pages.learn.programs.components.listing import ListingRow, listing, sent_line
from pages.learn.programs.data import ProgramsData, input_tokens
from pages.learn.programs.view_fields import EXAMPLES
from pages.models import model_store
from pages.shared import prose
from pages.shared.view.fields import Kept
from transformer_core.errors import HeadlightError, Message, mark

ABOUT = mark(
    "name = expression on each line; the last line is the output. select(keys, queries, predicate) chooses keys for "
    "each query, aggregate(selector, values, default) takes the value there, selector_width(selector) counts the "
    "keys, map(function, …) acts on each token separately, numerical(…) returns numbers that aggregate averages. "
    "tokens and indices are predefined."
)
ATTENDS = {  # what a query may attend to
    view_fields.ALL: mark("All tokens (encoder-only)"),
    view_fields.EARLIER: mark("Itself and earlier tokens (decoder-only)"),
}
OTHER_MASK = mark("This program is written for “{usual}”; with the current setting, it may compute something else.")
N_INPUTS = 4  # examples stored with a saved model
OWN, OWN_TITLE = "", mark("My program")  # a program that a person wrote
_SAVED = Kept("programs-saved", "")  # the outcome of saving the model
KEY = "programs-listing"
UNUSED = mark("not needed for the output, and not compiled")
UNDEFINED = mark("no value for this input")
UNDEFINED_VALUE = mark("line {number}: {code} is not defined for {values}, so its value is None")
UNDEFINED_KEY = mark("line {number}: {code} is not defined for {values}, so this key is not selected")
NO_OUTPUT = mark("The program has no output for this input: {why}. The model still computes something.")


def choices() -> DeltaGenerator:
    """Draw the controls for the program and its input, with their editors; return the container beside the lines."""
    with st.container(key="hl-programs-bar", horizontal=True, vertical_alignment="bottom", gap="small"):
        is_own = bool(view_fields.SOURCE.value)
        view_fields.PROGRAM.selectbox(
            say("Program"),
            [OWN, *EXAMPLES] if is_own else [*EXAMPLES],
            name=lambda name: say(OWN_TITLE if name == OWN else EXAMPLES[name].title),
            shown=OWN if is_own else view_fields.PROGRAM.value,
            take=lambda name: None if name == OWN else view_fields.choose_program(name),
            width=230,
        )
        view_fields.INPUT.text(
            say("Input, tokens separated by spaces"),
            shown=" ".join(input_tokens()),
            take=lambda typed: view_fields.INPUT.set(" ".join(typed.split())),
            width=360,
        )
        with st.popover(say("Edit the program"), icon=":material/edit:", width="content"):
            beside_lines = _editor()
        with st.popover(say("Save as model"), icon=":material/inventory_2:", width="content"):
            _saving()
    if not view_fields.SOURCE.value:
        usual, attends = _usual_attends(), view_fields.ATTENDS.value
        about = say(EXAMPLES[view_fields.PROGRAM.value].about)
        prose.small(about if attends in ("", usual) else say(OTHER_MASK, usual=say(ATTENDS[usual])))
    return beside_lines


def _editor() -> DeltaGenerator:
    """Draw the editors for lines, vocabulary and attended keys; return the container below the lines."""
    example = hl.programs.EXAMPLES[view_fields.PROGRAM.value]
    view_fields.SOURCE.text_area(
        say("Program"),
        shown=(view_fields.SOURCE.value or example.source).strip(),
        take=view_fields.write_program,
        height=240,
        label_visibility="collapsed",
    )
    below = st.container()
    if view_fields.SOURCE.value:
        st.button(
            say("Restore the example"),
            key="programs-restore",
            icon=":material/undo:",
            on_click=view_fields.choose_program,
            args=(view_fields.PROGRAM.value,),
        )
    usual = _usual_attends()
    view_fields.ATTENDS.segmented(
        say("A query may attend to"),
        [*ATTENDS],
        name=lambda name: say(ATTENDS[name]),
        shown=view_fields.ATTENDS.value or usual,
        take=lambda chosen: view_fields.ATTENDS.set("" if chosen == usual else chosen),
        label_visibility="visible",
    )
    view_fields.VOCABULARY.text(
        say("Vocabulary, tokens separated by spaces"),
        shown=view_fields.VOCABULARY.value or " ".join(example.vocab),
        take=lambda typed: view_fields.VOCABULARY.set("" if typed.split() == [*example.vocab] else typed.strip()),
    )
    prose.small(say(ABOUT))
    return below


def _usual_attends() -> str:
    """Return the keys that a query of the chosen example may attend to."""
    is_causal = hl.programs.EXAMPLES[view_fields.PROGRAM.value].is_causal
    return view_fields.EARLIER if is_causal else view_fields.ALL


def _saving() -> None:
    usual = say(OWN_TITLE if view_fields.SOURCE.value else EXAMPLES[view_fields.PROGRAM.value].title)
    about = say("The model keeps its program and is available on every page.")
    if (number := _line_of_mistake()) is not None:
        usual = say("{program} with a mistake", program=usual)
        about = say("It is saved as shown, with the mistake in line {number}.", number=number) + " " + about
    name = Kept("programs-name")
    with st.form("save-program", border=False):
        st.text_input(say("Name"), placeholder=usual, max_chars=60, key=name.key)
        st.form_submit_button(
            say("Save as model"),
            type="primary",
            on_click=lambda: _SAVED.set(_save(" ".join(str(name.value).split()) or usual)),
        )
    prose.small(_SAVED.pop() or about)


def _line_of_mistake() -> int | None:
    """Return the line with the mistake that is shown; None: there is none."""
    try:
        data = ProgramsData.current()
    except HeadlightError:
        return None
    return data.line.number if data.with_mistake else None


def _save(name: str) -> str:
    try:
        shown = ProgramsData.current().shown
        model, tokenizer = shown.model
        name = model_store.keep_compiled(model, tokenizer, name, _inputs(shown.program, shown.tokens))
    except HeadlightError as error:
        return say("The model was not saved: {error}.", error=error)
    return say("Saved as “{name}”; choose it in the model bar of any page.", name=name)


def _inputs(program: Program, tokens: Sequence[str]) -> list[str]:
    """Return a few distinct inputs of a program, beginning with the one shown."""
    example, draw = EXAMPLES[view_fields.PROGRAM.value], Random(0)
    drawn = [draw.choices(program.vocab, k=len(tokens)) for _ in range(N_INPUTS)]
    inputs = [tokens, *(each.split() for each in example.inputs), *drawn]
    fitting = [each for each in inputs if {*each} <= {*program.vocab} and len(each) <= program.max_len]
    return [*dict.fromkeys(map(" ".join, fitting))][:N_INPUTS]


def show_lines(data: ProgramsData) -> None:
    """Draw the table; say where the program has no output."""
    run, before, tokens = data.shown.run, data.as_written.run, data.as_written.tokens
    rows = [_row(data, line) for line in run.lines]
    is_same = run.output == run.predicted
    name = say("output of program and model") if is_same else say("output of the model")
    outputs = [(name, run.predicted, _differing(run.predicted, before.predicted))]
    if not is_same:
        outputs.insert(0, (say("output of the program"), run.output, _differing(run.output, before.output)))
    if data.with_mistake:
        outputs.insert(0, (say("output without the mistake"), before.predicted, ()))
    listing(tokens=tokens, rows=rows, outputs=outputs, chosen=data.line.number, key=KEY, on_line=_on_line)
    if case := run.undefined:
        values = ", ".join(repr(value) if isinstance(value, str) else str(value) for value in case.values)
        template = UNDEFINED_KEY if case.is_key else UNDEFINED_VALUE
        prose.note(prose.sentence(Message(template, number=case.number, code=case.code, values=values)))
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


def _row(data: ProgramsData, line: LineRun) -> ListingRow:
    values = written(line.values, is_selector=line.is_selector)
    original = next((one for one in data.as_written.run.lines if one.number == line.number), line)
    before = written(original.values, is_selector=original.is_selector)
    return ListingRow(
        number=line.number,
        source=line.source,
        parts=tuple(parts_of(line)),
        values=values,
        changed=_differing(values, before),
        is_mistaken=line.source != original.source,
        note=say(UNDEFINED if line.is_used else UNUSED),
    )


def _differing(values: Sequence[str], before: Sequence[str]) -> tuple[int, ...]:
    if len(values) != len(before):
        return tuple(range(len(values)))
    return tuple(i for i, (one, other) in enumerate(zip(values, before, strict=True)) if one != other)


def _on_line() -> None:
    number = sent_line(KEY)
    if number is not None:
        view_fields.choose_line(number)
