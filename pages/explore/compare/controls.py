"""The choices of the Compare page: side A on the left, side B on the right, and the output of each."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from headlight.analysis.heads.measures import HeadName
from headlight.language import say
from pages.explore.compare import view_fields
from pages.explore.compare.ablation import METHODS, OTHER, ablated_heads, method_of
from pages.explore.compare.data import ComparisonData
from pages.explore.compare.sides import Side, can_be_forced, short_title
from pages.shared import model_bar, prose, run_readings, runs
from pages.shared.answer import NO_HEAD, NOT_AVAILABLE, is_known
from pages.shared.glossary.links import definitions
from pages.shared.lines import in_a_line, output_in_a_line
from pages.shared.models import ModelCard
from pages.shared.predictions import box
from pages.shared.runs import Run
from pages.shared.view import files, state
from pages.shared.view.fields import Field
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun

SAME = ""  # stands for the head of side A
ABOUT_METHODS = mark(
    "Zero ablation: the head’s output is set to zero. Uniform attention: the head attends equally to all allowed "
    "keys. The rest of the model runs on the changed activations."
)
SAYS = {"encoder_decoder": mark("generates"), "decoder_only": mark("continues with"), "encoder_only": mark("fills in")}
WITHOUT_MASK = mark("outputs")  # what an encoder-only model without a mask token does
NEXT = mark("has the most probable next token")  # a decoder that does not continue the text


def choose(a: Side, b: Side, cards: Mapping[str, ModelCard]) -> None:
    """Draw one line that names the two sides, each with a popover for its choices."""
    trainings = [name for name, run in runs.available().items() if _snapshots(run)]
    same = "" if a.weights.run else state.current().model  # A's model, already offered as "same model"
    others = {"": say("same model")} | {name: card.title for name, card in cards.items() if name != same}
    with st.container(key="hl-compare-sides", horizontal=True, gap="small", vertical_alignment="center"):
        with _side(a, f"{a.letter}: {short_title(a.head)}"):
            _weights(view_fields.WEIGHTS_A, a, {"": say("model above")}, trainings)
            _snapshot(a, view_fields.WEIGHTS_A)
            view_fields.HEAD_A.selectbox(
                say("A: head"), a.weights.heads, name=short_title, shown=a.head, take=view_fields.choose_head_a
            )
            _ablation(a, view_fields.CHANGE_A)
        with _side(b, f"{b.letter}: {say('same head') if _has_head_of_a(b, a) else short_title(b.head)}"):
            _weights(view_fields.WEIGHTS_B, b, others, trainings)
            _snapshot(b, view_fields.WEIGHTS_B)
            _head_of_b(b, a)
            _ablation(b, view_fields.CHANGE_B)
            box.switch()
            if can_be_forced(a, b):
                view_fields.B_WRITES.toggle(
                    say("Force A’s output"),
                    help=say(
                        "Teacher-forces B on A’s output, so that both are compared token by token. Otherwise B "
                        "generates its own output."
                    ),
                    shown=not view_fields.B_WRITES.value,
                    take=lambda is_forced: view_fields.B_WRITES.set("" if is_forced else "own"),
                )
        own, other = (text if isinstance(text, str) else text[0] for text in (b.text, a.text))
        is_of_a = b.text == a.text or (own == other and not view_fields.TEXT_B.value)
        if medium := b.weights.source.medium:
            view_fields.TEXT_B.selectbox(
                say("B: input"),
                [*([""] if a.weights.source.medium == medium else []), *files.keys(medium)],
                name=lambda name: files.label(name) if name else say("B: same input as A"),
                label_visibility="collapsed",
                shown="" if is_of_a else own,
                part="media",
            )
        else:
            view_fields.TEXT_B.text_line(
                say("Text of B"),
                placeholder=say("Text of B: same as A"),
                label_visibility="collapsed",
                max_chars=view_fields.MOST_TYPED,
                shown="" if is_of_a else view_fields.short(own),
                take=lambda text: view_fields.TEXT_B.set(view_fields.short(text)),
            )
        if b.weights.takes_pairs:
            has_own = view_fields.TEXT_B.value or isinstance(a.text, str)
            view_fields.SECOND_TEXT_B.text_line(
                say("Second text of B"),
                placeholder=say("Second text of B (optional)") if has_own else say("Second text of B: same as A"),
                label_visibility="collapsed",
                max_chars=view_fields.MOST_TYPED,
                take=lambda text: view_fields.SECOND_TEXT_B.set(view_fields.short(text)),
            )
    if note := view_fields.CHANGE_NOTE.pop():
        prose.warning(note)


def _side(side: Side, head: str) -> "st.delta_generator.DeltaGenerator":
    """Return the popover of a side, named after its head and its other choices that are not the default."""
    chosen = view_fields.WEIGHTS_A.value if side.letter == "A" else view_fields.WEIGHTS_B.value
    method = method_of(side.change)
    parts = [
        head,
        side.name if chosen or method == OTHER else "",
        say(METHODS[method]) if ablated_heads(side.change) else "",
    ]
    return st.popover(
        prose.plain(" · ".join(filter(None, parts))), key=f"hl-compare-side-{side.letter.lower()}", width="content"
    )


def _has_head_of_a(b: Side, a: Side) -> bool:
    return b.head == a.head and view_fields.HEAD_B.value is None


def tell(data: ComparisonData) -> None:
    """Draw the output of each side."""
    with st.container(key="hl-compare-says"):
        columns = st.columns(2, gap="medium")
    for column, side in zip(columns, data.sides, strict=True):
        with column:
            prose.small(_says(side, data.a.model_run.not_finite))


def _says(side: Side, named: str | None) -> str | prose.Markup:
    """Return the output of a side and its unknown words; `named`: the non-finite site that the bar already names."""
    model_run = side.model_run
    if not model_run.predicts:
        return f"{side.letter}, {side.name}: {say(NO_HEAD)}"
    has_said = model_run.architecture != "encoder_only" or bool(model_run.blanks)
    output = output_in_a_line(model_run.output)
    is_forced = side.target is not None
    does = SAYS[model_run.architecture] if model_run.has_mask else WITHOUT_MASK
    verb = say("is teacher-forced on") if is_forced else say(does)
    if not is_known(model_run):
        return prose.markup("{}, {}: {}.", side.letter, side.name, say(NOT_AVAILABLE))
    if model_run.architecture == "decoder_only" and len(model_run.target) == model_run.n_given:
        verb, output = say(NEXT), in_a_line(model_run.predicted[-1])
    shown = say("“{word}”", word=output) if output and has_said else say("nothing")
    unknown = ", ".join(say("“{word}”", word=word[:30]) for word in model_run.unknown[:3])
    remark = say(" Not in the vocabulary: {unknown}.", unknown=unknown) if unknown else ""
    if side.letter == "B":  # for A, the bar shows these notes
        notes = model_bar.ignored_white_space(model_run.ignores_white_space)
        notes += model_bar.not_finite_from(model_run) if model_run.not_finite != named else []
        remark += "".join(f" {one}" for one in notes)
    own = _own_way(model_run) if is_forced and not model_run.not_finite else ""
    end = "." if remark else ""
    return prose.markup("{}, {}, {} <b dir='auto'>{}</b>{}{}{}", side.letter, side.name, verb, shown, own, end, remark)


def _own_way(model_run: "ModelRun") -> str:
    """Return where the free-running output of a model would differ from the forced one."""
    detours = [one for one in model_run.detours if one.typed.lower() != one.instead.lower()]
    if not detours:
        return say(", which it also generates on its own")
    first = detours[0]
    more = say(", and {n} more", n=len(detours) - 1) if detours[1:] else ""
    return say(
        "; on its own it would generate “{instead}” instead of “{typed}”{more}",
        instead=first.instead,
        typed=first.typed,
        more=more,
    )


def _snapshots(run: Run) -> list[int]:
    try:
        return run_readings.film(run).snapshots()
    except (HeadlightError, OSError):
        return []


def _weights(field: Field, side: Side, options: dict[str, str], trainings: list[str]) -> None:
    """Choose a model or a training run; for a run, A starts at the last step and B at an earlier one."""
    named = options | {f"{name}@": say("training {name}", name=name) for name in trainings}
    run = side.weights.run if field.value else ""
    shown = f"{run}@" if run else field.value

    def take(choice: str) -> None:
        training = runs.find(choice[:-1]) if choice.endswith("@") else None
        snapshots = _snapshots(training) if training else []
        if field is view_fields.WEIGHTS_A:
            view_fields.HEAD_A.set(None)
        place = len(snapshots) // 2 if field is view_fields.WEIGHTS_B else -1
        field.set(f"{choice}{snapshots[place]}" if snapshots else choice)

    field.selectbox(
        say("{letter}: model", letter=side.letter),
        [*named],
        name=lambda name: named[name],
        disabled=len(named) == 1,
        help=say("Training runs appear here with their snapshots, once there are any") if len(named) == 1 else None,
        shown=shown if shown in named else "",
        take=take,
    )


def _snapshot(side: Side, field: Field) -> None:
    if not field.value or len(side.weights.snapshots) < 2:
        return
    name = side.weights.run
    field.select_slider(
        say("Snapshot of {letter}", letter=side.letter),
        side.weights.snapshots,
        name=lambda step: say("step {step:,}", step=step),
        label_visibility="collapsed",
        shown=side.weights.source.step,
        take=lambda step: field.set(f"{name}@{step}"),
        part="snapshot",
    )


def _head_of_b(side: Side, a: Side) -> None:
    """Choose the head of B: the same as A's, or another one."""
    options: list[HeadName | str] = [SAME, *side.weights.heads]
    view_fields.HEAD_B.selectbox(
        say("B: head"),
        options,
        name=lambda head: short_title(head) if isinstance(head, HeadName) else say("same head"),
        shown=SAME if _has_head_of_a(side, a) else side.head,
        take=lambda head: view_fields.choose_head_b(head or None),
    )


def _ablation(side: Side, field: Field) -> None:
    method, heads = method_of(side.change), ablated_heads(side.change)
    names = {name: say(of) for name, of in METHODS.items()}
    names |= {OTHER: say("interventions")} if method == OTHER else {}
    field.selectbox(
        say("{letter}: ablation", letter=side.letter),
        [*names],
        name=names.__getitem__,
        help=prose.with_links(say(ABOUT_METHODS), definitions("zero-ablation", "uniform-attention")),
        shown=method,
        take=lambda chosen: view_fields.ablate(field, chosen, heads or [side.head]),
        part="method",
    )
    if heads:
        field.multiselect(
            say("Ablated heads of {letter}", letter=side.letter),
            side.weights.heads,
            name=short_title,
            label_visibility="collapsed",
            shown=heads,
            take=lambda chosen: view_fields.ablate(field, method, chosen),
            part="heads",
        )
