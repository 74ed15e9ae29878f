"""A mask to be edited: a gallery of presets, the matrix, and the effect on scores, pattern and output."""

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from headlight.analysis.masks.presets import MOST_PADDING, presets_of
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.language import localized, say, say_number
from pages.learn import head_choice
from pages.learn.masks import view_fields
from pages.learn.masks.components import masks as component
from pages.learn.masks.data import MasksData, ends
from pages.shared import code_expander, prose
from pages.shared.answer import NO_HEAD
from pages.shared.glossary.links import definitions
from pages.shared.predictions import box, calibration
from pages.shared.predictions.prediction import PredictedEdit
from pages.shared.recipe import Print, script, value_of
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.masks.run import MaskOutcome

GALLERY, MATRIX = "masks-gallery", "masks-matrix"
LOOK_FOR = mark(
    "mask one key of a row, and its weight moves to the other keys; mask a whole row, and the head outputs 0 there. "
    "Allow a cell above the decoder’s diagonal, and its query sees a token that it has yet to predict."
)
LOOK_FOR_ENCODER = mark(
    "mask one key of a row, and its weight moves to the other keys; mask a whole row, and the head outputs 0 there. "
    "Narrow the window to find the blanks that depend on distant tokens."
)
MOVED = mark("“{preset}” concerns {shown}, so its mask is shown. Another preset returns to {chosen}.")
CUT = mark("The last position has no target token, because the text was truncated there.")
TO_PREDICT = mark("Edit the mask, and predict the effect on the output before you see it.")
GEOMETRIC = mark("The mean is geometric: e to the mean log-probability, which is 1 / perplexity.")


def show(data: MasksData) -> None:
    """Draw the part."""
    _controls(data)
    with st.container(key="hl-masks-edit"):
        left, right = st.columns([1, 6], gap="medium")
    with left:
        _gallery(data)
        if data.card.config.unembed:
            box.switch()
    with right:
        is_seen = box.ask(_edit(data), waiting=say(TO_PREDICT))
        _matrix(data, is_seen=is_seen)
        _about(data, is_seen=is_seen)
        _moved(data)
        if is_seen:
            _padding(data)
    words = say(LOOK_FOR if data.card.config.has_decoder else LOOK_FOR_ENCODER)
    prose.look_for(words, definitions("causal-mask", "padding-mask", "sliding-window"))
    calibration.show()
    code_expander.code(lambda: _code(data))


def _controls(data: MasksData) -> None:
    card, preset = data.card, data.preset
    folded = {"label_visibility": "collapsed"}
    with st.container(horizontal=True, gap="small", key="hl-masks-choices"):
        head_choice.attention(card, take=view_fields.choose_attention)
        head_choice.head(card)
        view_fields.LAYERS.selectbox(
            say("Mask applies to"),
            ["all", "one"],
            name=lambda name: say("mask: all layers") if name == "all" else say("mask: this layer"),
            width=165,
            **folded,
        )
        if preset.size is not None:
            name = say(data.words.size)
            view_fields.SIZE.selectbox(
                name,
                range(1, view_fields.MOST_SIZE + 1),
                name=lambda n: say("{name}: {n}", name=name, n=n),
                shown=data.size,
                width=150,
                **folded,
            )
        if card.config.pad_id is not None and preset.is_shifted:
            view_fields.PADDING.selectbox(
                say("Padding tokens"),
                range(MOST_PADDING + 1),
                name=lambda n: say("padding: {n}", n=n),
                shown=data.n_padding,
                width=125,
                **folded,
            )


def _edit(data: MasksData) -> PredictedEdit | None:
    """Return the effect of the chosen masks on the output; None if they are the model’s, or there is no output."""
    if data.is_own or not data.text.judged or not data.card.config.unembed:
        return None
    view, outcome = data.view, data.outcome
    return PredictedEdit(
        of=repr(("mask", data.source, view.text, view.target, data.choice, data.n_padding)),
        labels=data.text.expected_labels,
        before=outcome.before.probability,
        after=outcome.now.probability,
    )


def _code(data: MasksData) -> str:
    outcome, view = data.outcome_recipe, data.view
    of_head = f"[query, key]: {ATTENTIONS[view.attention].inline} L{view.layer}.H{view.head}"
    writes = data.card.config.has_decoder and data.preset.is_shifted
    return script(
        Print(outcome.head.allowed, of_head),
        Print(outcome.head.pattern),
        Print((outcome.before.labels, outcome.before.mean_probability)),
        Print((outcome.now.labels, outcome.now.mean_probability)),
        *([Print(data.written(data.choice_recipe))] if writes else []),
    )


def _gallery(data: MasksData) -> None:
    masks = {**data.preset_masks(), data.preset.name: data.outcome.head.allowed}
    items = [
        component.Miniature(
            name=name,
            title=say(view_fields.WORDS[name].title),
            cells=masks[name],
            words={
                "group": say("Common mistakes") if preset.is_mistake else say("Masks"),
                "help": say(view_fields.WORDS[name].what),
            },
        )
        for name, preset in presets_of(data.card.config).items()
    ]
    component.mask_gallery(
        items,
        chosen=data.preset.name,
        key=GALLERY,
        on_chosen=lambda: view_fields.choose_preset(component.sent_name(GALLERY), data.card.config),
    )


def _about(data: MasksData, *, is_seen: bool = True) -> None:
    """Describe the purpose of the preset and, only if `is_seen`, what goes wrong if it is a mistake."""
    words = data.words
    says_more = bool(words.sees) and is_seen
    wrong = prose.markup(" <b>{}</b> {}", say("What goes wrong:"), say(words.sees)) if says_more else ""
    prose.html("<p class='hl-masks-about'><b>{}.</b> {}{}</p>", say(words.title), say(words.what), wrong)


def _moved(data: MasksData) -> None:
    """Add a note if the preset is shown at another attention than the chosen one."""
    chosen = view_fields.moved_from()
    if chosen is not None:
        shown, chosen = (say(ATTENTIONS[name].inline) for name in (data.view.attention, chosen))
        prose.note(say(MOVED, preset=say(data.words.title), shown=shown, chosen=chosen))


def _matrix(data: MasksData, *, is_seen: bool = True) -> None:
    """Draw the edited mask and its effect, on the output only if `is_seen`."""
    view, outcome, given, n_padding = data.view, data.outcome, data.given, data.n_padding
    queries, keys = given.sides(view.attention)
    query_side, key_side = ends(view.attention)
    turned = view_fields.EDITS.value
    head = outcome.head

    def on_turned() -> None:
        if (cells := component.sent_turned(MATRIX)) is not None:
            view_fields.turn(cells, len(keys))

    component.mask_matrix(
        component.Arrays(
            scores=head.scores,
            pattern=head.pattern,
            before=outcome.head_before.pattern,
            preset=head.without(turned),
            ran=head.allowed,
        ),
        _outputs(data, outcome, is_seen=is_seen),
        query_tokens=queries,
        key_tokens=keys,
        n_real=(given.n_real[query_side], given.n_real[key_side]),
        turned=turned,
        captions={
            "mask": (
                say("Mask."),
                say(
                    "Rows are queries ({queries}), columns are keys ({keys}). Click or drag over cells, or click a "
                    "label.",
                    queries=data.side(query_side),
                    keys=data.side(key_side),
                ),
            ),
            "scores": (say("Scores."), say("−∞ where masked.")),
            "pattern": (say("Pattern."), say("0 there; each row sums to 1.")),
        },
        hint=_hint(outcome),
        of=f"{data.source} {view.text} {view.target} {view.attention} {data.preset.name} {data.size} {n_padding}",
        key=MATRIX,
        on_turned=on_turned,
    )


def _hint(outcome: "MaskOutcome") -> str:
    """Return the text below the pictures while no cell is pointed at."""
    rows = outcome.head.empty_rows
    if not rows:
        return say("Point at a cell to see it in all three pictures, with its numbers here.")
    return say_number(
        len(rows),
        "Query {rows} may attend to nothing: its row of the pattern is all 0, and the head outputs 0 there.",
        "{n} queries may attend to nothing ({rows}): their rows of the pattern are all 0, and the head outputs 0 "
        "there.",
        rows=", ".join(map(str, rows[:6])) + (" …" if len(rows) > 6 else ""),
    )


def _outputs(data: MasksData, outcome: "MaskOutcome", *, is_seen: bool = True) -> component.Outputs:
    """Return the output with the model's masks and, if `is_seen`, with the chosen ones; no rows without a head."""
    text, are_queries = data.text, ends(data.view.attention)[0] == data.text.output_side
    if not data.card.config.unembed:
        counted = say(NO_HEAD)
        if not data.is_own:
            counted += " " + say("Its final states change by at most {moved:.2f}.", moved=float(outcome.moved.max()))
        return component.Outputs(rows=[], words=[], counted=counted, are_queries=are_queries)
    rows = [
        component.OutputRow(place=place, word=word, before=before, now=now, previous=message, says=says)
        for place, word, before, now, message, says in zip(
            text.judged,
            text.expected_labels,
            outcome.before.probability.tolist(),
            outcome.now.probability.tolist(),
            outcome.before.labels,
            outcome.now.labels,
            strict=True,
        )
    ]
    before = _share(outcome.before.mean_probability)
    if not is_seen:
        rows = [replace(row, now=None, says=row.previous) for row in rows]
        counted = say(
            "In one forward pass, the mean token probability with the model’s own masks is {before} (geometric).",
            before=before,
        )
    elif data.is_own:
        counted = say(
            "In one forward pass, the mean token probability is {before} (geometric). Toggle a cell or choose another "
            "mask to change it.",
            before=before,
        )
    else:
        counted = say_number(
            len(rows),
            "In one forward pass: {changed} of {n} prediction changes. Mean token probability (geometric): {before} "
            "with the model’s own masks, {now} with these. Max. logit difference: {moved:.2f}.",
            "In one forward pass: {changed} of {n} predictions change. Mean token probability (geometric): {before} "
            "with the model’s own masks, {now} with these. Max. logit difference: {moved:.2f}.",
            changed=outcome.n_changed,
            before=before,
            now=_share(outcome.now.mean_probability),
            moved=float(outcome.moved.max()),
        )
    counted += f" {say(GEOMETRIC)}"
    if len(text.judged) < text.n_real.get("target", 0):
        counted += f" {say(CUT)}"
    words = _words(data, outcome)[: None if is_seen else 1]
    return component.Outputs(rows=rows, words=words, counted=counted, are_queries=are_queries)


def _words(data: MasksData, outcome: "MaskOutcome") -> list[tuple[str, str, bool]]:
    """Return the model's output as text: free-running, or with blanks filled."""
    with_own, with_these = say("Model’s masks"), say("Edited masks")
    if not data.card.config.has_decoder:
        before, now = (", ".join(message.labels) for message in (outcome.before, outcome.now))
        if len(data.text.judged) == len(data.text.inputs["source"]) - data.n_padding:
            return []  # without blanks, the chips show everything
        return [(with_own, before, False), (with_these, now, now != before)]
    from headlight.analysis.masks.rules import MaskChoice

    before = value_of(data.written(MaskChoice(attention=data.view.attention)))
    if not data.preset.is_shifted:
        return [(with_own, before, False)]
    now = before if data.is_own else value_of(data.written(data.choice))
    return [(with_own, before or "–", False), (with_these, now or "–", now != before)]


def _padding(data: MasksData) -> None:
    if not data.n_padding:
        return
    says = say(
        "Padding rows are computed like all others, because a batch is one tensor. But their outputs are ignored, the "
        "loss leaves them out, and as keys they are masked. So padding changes nothing for real tokens: with the "
        "model’s own masks, their logits differ by at most {moved}, which is rounding error.",
        moved=f"{data.outcome.moved_by_padding:.0e}".replace("e-0", "e−").replace("0e+00", "0"),
    )
    prose.small(prose.markup("<b>{}</b> {}", say("Padding rows:"), says))


def _share(probability: float) -> str:
    return localized(probability, ".2f") if probability >= 0.005 else say("below 0.01")
