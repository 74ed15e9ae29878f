"""The chosen head at the chosen snapshot: its heatmap, the model's output, and the code that computes them."""

import streamlit as st

from headlight.analysis.trace.cells import strongest_cell
from headlight.figures import TokenGrid, attention_heatmap, isolate
from headlight.figures.labels import shorten
from headlight.language import localized, say
from pages.shared import prose, readings, run_readings
from pages.shared.answer import probability
from pages.shared.heads import head_in_words, preview
from pages.shared.lines import output_in_a_line
from pages.shared.recipe import Print, named, script
from pages.shared.view import run_state
from pages.train.film import recipes
from pages.train.film.film_readings import SnapshotData
from transformer_core.errors import HeadlightError, mark

TITLE = mark("Attention pattern after step {step}: {head}")
TEACHER_FORCING = {  # how all snapshots get the same tokens
    "encoder_decoder": mark("All snapshots are teacher-forced on “{output}”, {whose};"),
    "decoder_only": mark("All snapshots read the text followed by “{output}”, the last snapshot’s continuation;"),
    "encoder_only": mark("All snapshots are scored on the last snapshot’s fill-ins, “{output}”;"),
}
WRITES = {
    "encoder_decoder": mark("Output after step {step:,}"),
    "decoder_only": mark("Continuation after step {step:,}"),
    "encoder_only": mark("Fill-ins after step {step:,}"),
}
THIS_ONE = mark("mean token probability at this step: <b>{p}</b>")
MAX_SHOWN = 60  # characters of the target
LOOK_FOR = mark(
    "press play. At first all patterns look alike, nearly uniform. Then some heads sharpen within a few snapshots, "
    "and the loss falls with them. A diamond over the slider marks where a head specialized."
)


def heatmap(data: SnapshotData) -> None:
    """Draw the chosen head at the chosen snapshot, with the data of the others for playback and clicks."""
    grids = {name: TokenGrid(**data.axes_of(name)) for name in data.read.reading.patterns}
    others = preview(data.head, grids, lambda head: say(TITLE, step="{step}", head=head))
    recipes.draw(
        data,
        attention_heatmap,
        (recipes.snapshot(data, data.step, "snapshot"), data.head[1:], data.pattern(data.place)),
        title=say(TITLE, step=localized(data.step), head=head_in_words(*data.head)),
        name=data.file_name(f"step{data.step}"),
        key=run_state.FILM_HEATMAP,
        preview=others | {"step": data.step},
    )


def says(data: SnapshotData) -> None:
    """Show this snapshot's own output for the text."""
    fixed = data.read.reading.fixed
    try:
        own = readings.read(run_readings.source(data.run, data.step), run_state.TEXT.value)
    except HeadlightError as error:
        prose.caption(say("The output at step {step:,} is not available: {error}.", step=data.step, error=error))
        return
    has_said = fixed.architecture != "encoder_only" or own.blanks
    remark = say("mean token probability {p} (geometric)", p=probability(own.mean_probability)) if fixed.target else ""
    text = output_in_a_line(own.output) if has_said else ""
    instead = say("nothing") if has_said else say("Type ____ where the model should guess a word.")
    label = say(WRITES[fixed.architecture if own.has_mask else "encoder_decoder"], step=data.step)
    prose.html(
        "<div class='hl-of-snapshot' data-step='{}'><div class='hl-label'>{}<span>{}</span></div>"
        "<div class='{}' dir='auto'>{}</div></div>",
        *(data.step, label, remark, "hl-answer" if text else "hl-answer hl-none", text or instead),
    )


def teacher_forcing(data: SnapshotData) -> None:
    """Show the tokens shared by all snapshots and their probability at this one; another target can be typed."""
    reading = data.read.reading
    fixed = reading.fixed
    if not fixed.judged:
        return
    last = int(reading.steps[-1])
    whose = say("your target") if run_state.TARGET.value else say("the output of step {step:,}", step=last)
    words = say(
        TEACHER_FORCING[fixed.architecture],
        output=isolate(shorten(output_in_a_line(fixed.output), MAX_SHOWN)),
        whose=whose,
    )
    finds = probability(float(reading.mean_probability[data.place]))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="hl-film-forced"):
        this_one = prose.say_markup(THIS_ONE, p=finds)
        words = prose.markup("{} <span class='hl-of-snapshot' data-step='{}'>{}</span>", words, data.step, this_one)
        prose.small(words, width="content")
        if fixed.architecture == "encoder_decoder":
            with st.popover(f":primary[{say('Change target')}]", type="tertiary", key="film-lead"):
                run_state.TARGET.text_line(
                    say("Target that all snapshots are teacher-forced on"),
                    placeholder=say("Empty: the last snapshot’s output"),
                )


def look_for(data: SnapshotData) -> None:
    """Say what is worth looking for, and this head's strongest link."""
    axes = data.axes
    cell = strongest_cell(data.pattern(data.place), axes["mask"])
    query, key = isolate(axes["query_tokens"][cell.query][:30]), isolate(axes["key_tokens"][cell.key][:30])
    strongest = say("The strongest link of this head after step {step:,}:", step=data.step)
    link = say("“{query}” → “{key}” {weight:.2f}", query=query, key=key, weight=cell.value)
    prose.html(
        "<p class='hl-look'><b>{}</b> {}</p>"
        "<p class='hl-look'><span class='hl-of-snapshot' data-step='{}'><b>{}</b> {}</span></p>",
        *(say("What to look for:"), say(LOOK_FOR), data.step, strongest, link),
    )


def code(data: SnapshotData) -> str:
    """Return the lines that compute the chosen pattern at the chosen snapshot."""
    attention, layer, head = data.head
    pattern = recipes.snapshot(data, data.step, "snapshot").patterns[attention][layer, head]
    return script(Print(named("pattern", pattern), "[query, key]"))
