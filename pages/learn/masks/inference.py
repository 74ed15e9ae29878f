"""Why a decoder is masked at inference, too: one pass against steps, with a cache and without."""

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures import TokenGrid
from headlight.figures.heatmaps.mask_moved import in_words, moved_pair
from headlight.language import say
from pages.learn.masks.data import MasksData
from pages.shared import code_expander, prose
from pages.shared.drawing import draw
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Expression, Print, Unwritten, call, script, value_of
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.masks.leak import Steps

CLAIM = mark(
    "During generation, future tokens do not exist yet, so what is left to mask? With a KV cache, nothing: each step "
    "adds one query row, and only past tokens have keys. But whenever several tokens are processed at once (in "
    "training, for a prompt, or without a cache), earlier rows would see later tokens, and their outputs would change "
    "with every new token."
)
ENCODER = mark(
    "This model is an encoder: it processes the whole text at once and does not generate step by step. There is no "
    "future to hide; only padding is masked. Choose a model with a decoder to see what a causal mask does during "
    "generation."
)
HOVER = mark(
    "{row_label}: the output after token {column} “{column_label}” differs by {value} from what it was when this token "
    "was the last one"
)
LOOK_FOR = mark(
    "on the left, a row stays the same once computed, up to rounding; this is what makes a KV cache possible. On the "
    "right, each new token changes all earlier rows."
)


def show(data: MasksData) -> None:
    """Draw the part."""
    if not data.card.config.has_decoder:
        prose.note(say(ENCODER))
        return
    recipe = data.steps()
    steps: Steps = value_of(recipe)
    prose.html("<p class='hl-masks-about'>{}</p>", say(CLAIM))
    _facts(steps)
    with st.container(key="hl-masks-inference"):
        left, right = st.columns([4, 7], gap="medium")
    with left:
        _table(data, steps)
    with right:
        _figure(data, recipe)
    _four_ways(data)
    prose.look_for(say(LOOK_FOR), definitions("causal-mask", "kv-cache"))
    code_expander.code(lambda: script(*_printed(recipe)))


def _printed(result: Expression) -> list[Print]:
    """Return the lines that print how far passes and steps are apart."""
    return [
        Print((result.in_one_pass, result.in_steps), "probability of what each row says next"),
        Print((result.most_apart, result.most_grown, result.most_grown_unmasked), "logits"),
    ]


def _facts(steps: "Steps") -> None:
    """Tell the largest differences."""
    facts = [
        (say("one masked pass − cached steps"), steps.most_apart),
        (say("same, steps without a mask"), steps.most_apart_unmasked),
        (say("earlier rows as the text grows, with mask"), steps.most_grown),
        (say("earlier rows as the text grows, without mask"), steps.most_grown_unmasked),
    ]
    reports = [(name, say("logits differ by {value}", value=in_words(value))) for name, value in facts]
    prose.facts(reports, "hl-masks-facts")


def _table(data: MasksData, steps: "Steps") -> None:
    """Draw what each row of the one pass says beside what its step says."""
    tokenizer = data.loaded[1].target
    labels = data.alone.labels["target"]
    messages = [tokenizer.labels([token])[0] for token in steps.best.tolist()]
    heads = (
        *(say("row"), say("token"), say("prediction")),
        *(say("one forward pass"), say("incremental"), say("max. logit difference")),
    )
    apart = [*map(in_words, steps.apart.tolist())]
    lines = prose.each(
        "<tr><td>{}</td><td><bdi>{}</bdi></td><td><bdi>{}</bdi></td><td>{:.6f}</td><td>{:.6f}</td><td>{}</td></tr>",
        zip(
            range(len(labels)),
            labels,
            messages,
            steps.in_one_pass.tolist(),
            steps.in_steps.tolist(),
            apart,
            strict=True,
        ),
    )
    below = say(
        "Row i of one masked forward pass equals step i of incremental decoding. The table compares the probability "
        "of the prediction and the maximum logit difference."
    )
    prose.html(
        "<div class='hl-masks-table' tabindex='0'>{}</div><p class='hl-small'>{}</p>", prose.table(heads, lines), below
    )


def _figure(data: MasksData, result: Expression) -> None:
    """Draw by how much earlier outputs move as the text grows, with the mask and without."""
    steps: Steps = value_of(result)
    labels = data.alone.labels["target"]
    lengths = [say("{n} tokens", n=length + 1) for length in range(len(labels))]
    payload: dict[str, Any] = {
        "titles": (say("With the causal mask"), say("Without")),
        "hover_form": HOVER,
        "title": say("Maximum logit difference of each output as the text grows"),
        "subtitle": say(
            "gray: at most {tolerance} (rounding); dots: token not generated yet",
            tolerance=in_words(steps.tolerance),
        ),
        "tolerance": steps.tolerance,
    }
    names = {"query_name": say("tokens in one pass"), "key_name": say("output after")}
    grid = call(TokenGrid, lengths, labels, height=Unwritten(470), **names)
    moved = (result.grown, result.grown_unmasked)
    places = [f"{index} {label}" for index, label in enumerate(labels)]
    columns = [f"{place}, {masks}" for masks in ("masked", "unmasked") for place in places]
    both = np.hstack([steps.grown, steps.grown_unmasked])
    draw(
        call(moved_pair, moved, grid, **payload),
        *_printed(result),
        Print(moved, "with the mask and without: [length, output], logits"),
        title=payload["title"],
        name=data.file_name("growing"),
        key="masks-growing-figure",
        csv=lambda: matrix_csv(both, "tokens read", lengths, "output", columns, "logits"),
        arrays=lambda: {"masked": steps.grown, "unmasked": steps.grown_unmasked, "tokens": np.array(labels)},
        model=data.card.path,
    )


def _four_ways(data: MasksData) -> None:
    """Draw what the model writes with the mask and without, with a cache and without."""
    written = data.four_ways()
    names = {
        (True, True): say("Mask, cache"),
        (True, False): say("Mask, no cache"),
        (False, True): say("No mask, cache"),
        (False, False): say("No mask, no cache"),
    }
    own = written[True, True]
    lines = [("" if text == own else "hl-masks-other", names[way], text or "–") for way, text in written.items()]
    prose.html(
        "<p class='hl-subtitle'>{}</p><div class='hl-masks-ways'>{}</div>",
        say("Generated text"),
        prose.each("<div class='{}'><span>{}</span><bdi>{}</bdi></div>", lines),
    )
