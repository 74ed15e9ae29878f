"""The leak test: change one token and see which outputs change; with a correct mask, no earlier output does."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures import TokenGrid
from headlight.figures.bars.label_bars import label_bars
from headlight.figures.heatmaps.mask_moved import in_words, moved_pair
from headlight.figures.labels import isolate
from headlight.language import say, say_number
from pages.learn.masks import view_fields
from pages.learn.masks.data import MasksData
from pages.shared import code_expander, prose
from pages.shared.drawing import draw
from pages.shared.glossary.links import definitions
from pages.shared.predictions import answers, box, calibration
from pages.shared.predictions.prediction import PredictedEdit
from pages.shared.recipe import Expression, Print, Unwritten, call, script, value_of
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.masks.leak import Change, Leak
    from headlight.analysis.masks.rules import MaskChoice

MOST_TURNED = 6  # outputs listed in a sentence
CLAIM = mark(
    "Each token is replaced in turn, and all outputs are recomputed. A cell shows the maximum change in an output’s "
    "logits (row) when one token (column) is replaced. Outputs that cannot see later tokens cannot depend on them: "
    "everything above the diagonal is exactly 0."
)
CLAIM_ENCODER = mark(
    "Each token is replaced in turn, and all outputs are recomputed. A cell shows the maximum change in an output’s "
    "logits (row) when one token (column) is replaced. This model is bidirectional, so everything changes; the second "
    "map shows it with a causal mask, which it was not trained with."
)
HOVER = mark("change token {column} “{column_label}” → output {row} (after “{row_label}”): logits change by {value}")
UNKNOWN = mark("“{word}” is not in the vocabulary and is replaced by {token}.")
FIRST = mark("One token is replaced by one: “{token}”, the first of the {n} you typed.")
NONE_READ = mark("Your input contains no token; another token of the text is used instead.")
HOVER_ENCODER = mark("change token {column} “{column_label}” → output {row} (“{row_label}”): logits change by {value}")


def show(data: MasksData) -> None:
    """Draw the part."""
    is_encoder = not data.card.config.has_decoder
    claim = say(CLAIM_ENCODER if is_encoder else CLAIM)
    prose.html("<p class='hl-masks-about'>{}{}</p>", claim, prose.linked(definitions("leak-test")))
    place = _controls(data)
    replacements, remarks = _replacements(data)
    for remark in remarks:
        prose.note(remark)
    if answers.is_on() and not _predicted(data, place, replacements[place]):
        return
    other = _other(data)
    recipes = data.leak("own", replacements), data.leak("other", replacements, other)
    own, changed = value_of(recipes)
    _figure(data, recipes, other, place)
    _facts(data, own, changed, other, place, replacements)
    calibration.show()
    code_expander.code(lambda: script(*_printed(*recipes)))


def _predicted(data: MasksData, place: int, token: int) -> bool:
    """Ask for a prediction of the effect of changing a token, and show it; return whether to show all else."""
    if not data.alone.judged:
        return True
    view, recipes = data.view, data.changed(place, token)
    before, after = value_of(recipes)
    edit = PredictedEdit(
        of=repr(("token", data.source, view.text, view.target, data.n_padding, place, token)),
        labels=data.alone.expected_labels,
        before=before.probability,
        after=after.probability,
    )
    prose.html("<p class='hl-masks-fact'>{}</p>", _change_in_words(data, place, token))
    if not box.ask(edit):
        calibration.show()
        return False
    probabilities = {say("before"): recipes[0].probability, say("after"): recipes[1].probability}
    title, numbers = say("Probability of each output token, before and after the change"), [edit.before, edit.after]
    draw(
        call(
            label_bars,
            probabilities,
            edit.labels,
            title=title,
            label_name=say("output token"),
            value_name=say("probability"),
            limits=(0.0, 1.0),
            height=260,
        ),
        *(Print(of, "[token]") for of in probabilities.values()),
        title=title,
        name=data.file_name("change"),
        key="masks-leak-change",
        csv=lambda: matrix_csv(np.stack(numbers).T, "token", edit.labels, "change", [*probabilities], "probability"),
        arrays=lambda: {"before": edit.before, "after": edit.after, "tokens": np.array(edit.labels)},
        model=data.card.path,
    )
    return True


def _change_in_words(data: MasksData, place: int, token: int) -> str:
    old, (new,) = data.output_labels[place], data.output_tokenizer.labels([token])
    return say("Token {place} “{old}” becomes “{new}”.", place=place, old=old, new=new)


def _printed(own: Expression, other: Expression) -> list[Print]:
    return [Print((own.n_leaks, other.n_leaks)), Print((own.moved, other.moved), "logits [output, changed token]")]


def _controls(data: MasksData) -> int:
    labels, chosen = data.output_labels, view_fields.CHANGED.value
    place = min(len(labels) // 2 if chosen is None else chosen, len(labels) - 1)
    with st.container(horizontal=True, vertical_alignment="bottom", key="hl-masks-leak"):
        view_fields.CHANGED.selectbox(
            say("Changed token"),
            range(len(labels)),
            name=lambda index: f"{index}  {labels[index]}",
            width=220,
            shown=place,
        )
        view_fields.TOKEN.text_line(
            say("New token"), placeholder=say("another token from the text"), max_chars=100, width=260
        )
        box.switch()
    return place


def _replacements(data: MasksData) -> tuple[tuple[int, ...], list[str]]:
    """Return the replacement of each token, and a note on the typed replacement."""
    from headlight.analysis.masks.leak import other_tokens

    tokens = data.alone.inputs[data.alone.output_side]
    others, typed = other_tokens(tokens), view_fields.TOKEN.value
    if not typed:
        return others, []
    tokenizer = data.output_tokenizer
    ids = tokenizer.encode(typed)
    if not ids:
        return others, [say(NONE_READ)]
    chosen = ids[0]
    (label,), unknown = tokenizer.labels([chosen]), tokenizer.unknown_words(typed)
    remarks = [say(UNKNOWN, word=isolate(unknown[0][:30]), token=label)] if chosen == tokenizer.unk_id else []
    if len(ids) > 1:
        remarks.append(say(FIRST, token=isolate(label), n=len(ids)))
    return tuple(other if token == chosen else chosen for token, other in zip(tokens, others, strict=True)), remarks


def _other(data: MasksData) -> "MaskChoice":
    """Return the masks to compare with the model's own: the edited ones, or else the most instructive preset."""
    from headlight.analysis.masks.rules import MaskChoice

    if not data.is_own:
        return data.choice
    if data.card.config.has_decoder:
        return MaskChoice(preset="none", attention="decoder")
    return MaskChoice(preset="look_ahead", attention="encoder")


def _title(data: MasksData, other: "MaskChoice") -> str:
    if data.is_own and data.card.config.has_decoder:
        return say("Without a causal mask")
    if data.is_own:
        return say("With a causal mask, for comparison")
    name = say(view_fields.WORDS[other.preset].title)
    if other.turned:
        return say("With the edited mask: {preset}, modified", preset=name)
    return say("With the edited mask: {preset}", preset=name)


def _figure(data: MasksData, recipes: tuple[Expression, Expression], other: "MaskChoice", place: int) -> None:
    """Draw how much outputs change with the model's own masks, and with the other ones."""
    labels, is_encoder = data.output_labels, not data.card.config.has_decoder
    grid = call(
        TokenGrid,
        labels,
        labels,
        query_name=say("output at") if is_encoder else say("output after"),
        key_name=say("changed token"),
        marked=(None, place),
        height=Unwritten(500),
    )
    title, moved = say("Maximum logit difference"), tuple(of.moved for of in recipes)
    titles = say("With the model’s own masks"), _title(data, other)
    hover = HOVER_ENCODER if is_encoder else HOVER
    places = [f"{index} {label}" for index, label in enumerate(labels)]
    columns = [f"{name}, {masks}" for masks in ("own masks", "other masks") for name in places]
    draw(
        call(moved_pair, moved, grid, titles=titles, hover_form=hover, title=title, subtitle=say("gray: exactly 0")),
        *_printed(*recipes),
        title=title,
        name=data.file_name("leak"),
        key="masks-leak-figure",
        csv=lambda: matrix_csv(np.hstack(value_of(moved)), "output", places, "changed", columns, "logits"),
        arrays=lambda: {**dict(zip(("own", "other"), value_of(moved), strict=True)), "tokens": np.array(labels)},
        model=data.card.path,
    )


def _facts(
    data: MasksData, own: "Leak", changed: "Leak", other: "MaskChoice", place: int, replacements: tuple[int, ...]
) -> None:
    lines = [_change_in_words(data, place, replacements[place])]
    for title, of in ((say("With the model’s own masks"), own), (_title(data, other), changed)):
        change = of.change(place)
        says = [
            say("earlier outputs change by {most}", most=in_words(change.most_before)),
            say_number(
                change.n_from_it,
                "the {n} output from this position on changes by up to {most}",
                "the {n} outputs from this position on change by up to {most}",
                most=in_words(change.most_from_it),
            ),
            *_turned(change, data.output_tokenizer.labels),
            _leaks(of),
        ]
        lines.append(prose.markup("<b>{}:</b> {}.", title, "; ".join(says)))
    prose.html("{}", prose.each("<p class='hl-masks-fact'>{}</p>", lines))


def _leaks(of: "Leak") -> str:
    """Say how many cells above the diagonal leak, over all changed tokens."""
    if not of.n_leaks:
        return say(
            "for all tokens together, nothing leaks: all {n} cells above the diagonal are exactly 0",
            n=of.from_later.size,
        )
    return say(
        "for all tokens together, {leaks} of {n} cells above the diagonal leak, by up to {most}",
        leaks=of.n_leaks,
        n=of.from_later.size,
        most=in_words(of.most_leaked),
    )


def _turned(change: "Change", labels: Callable[[list[int]], Sequence[str]]) -> list[str]:
    """Say which outputs now have a different most probable token."""
    if not change.turned:
        return []
    shown = ", ".join(
        say("{place} “{before}” → “{after}”", place=at, before=labels([before])[0], after=labels([after])[0])
        for at, before, after in change.turned[:MOST_TURNED]
    )
    more = " …" if len(change.turned) > MOST_TURNED else ""
    return [say("now predicts another token at {places}", places=shown + more)]
