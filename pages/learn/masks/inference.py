"""Why a decoder is masked at inference too: one pass against incremental steps, with and without a cache."""

from typing import TYPE_CHECKING

import streamlit as st

from headlight.figures import TokenGrid
from headlight.figures.heatmaps.mask_moved import in_words
from headlight.language import say
from pages.learn.masks.data import MasksData
from pages.learn.masks.leak import draw_pair
from pages.shared import code_expander, prose
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
    return [
        Print((result.in_one_pass, result.in_steps), "probability of what each row says next"),
        Print((result.most_apart, result.most_grown, result.most_grown_unmasked), "logits"),
    ]


def _facts(steps: "Steps") -> None:
    facts = [
        (say("one masked pass − cached steps"), steps.most_apart),
        (say("same, steps without a mask"), steps.most_apart_unmasked),
        (say("earlier rows as the text grows, with mask"), steps.most_grown),
        (say("earlier rows as the text grows, without mask"), steps.most_grown_unmasked),
    ]
    reports = [(name, say("logits differ by {value}", value=in_words(value))) for name, value in facts]
    prose.facts(reports, "hl-masks-facts")


def _table(data: MasksData, steps: "Steps") -> None:
    """Draw a table that compares each row of the single pass with the same step of incremental decoding."""
    labels = data.output_labels
    messages = [data.output_tokenizer.labels([token])[0] for token in steps.best.tolist()]
    heads = (
        *(say("row"), say("token"), say("prediction")),
        *(say("one forward pass"), say("incremental"), say("max. logit difference")),
    )
    lines = prose.each(
        "<tr><td>{}</td><td><bdi>{}</bdi></td><td><bdi>{}</bdi></td><td>{:.6f}</td><td>{:.6f}</td><td>{}</td></tr>",
        zip(
            range(len(labels)),
            labels,
            messages,
            steps.in_one_pass.tolist(),
            steps.in_steps.tolist(),
            map(in_words, steps.apart.tolist()),
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
    """Draw how much earlier outputs change as the text grows, with and without the mask."""
    labels, tolerance = data.output_labels, value_of(result).tolerance
    lengths = [say("{n} tokens", n=length + 1) for length in range(len(labels))]
    names = {"query_name": say("tokens in one pass"), "key_name": say("output after")}
    moved = (result.grown, result.grown_unmasked)
    draw_pair(
        data,
        moved,
        call(TokenGrid, lengths, labels, height=Unwritten(470), **names),
        *_printed(result),
        Print(moved, "with the mask and without: [length, output], logits"),
        name="growing",
        table=("tokens read", lengths, "output"),
        arrays={"masked": "masked", "unmasked": "unmasked"},
        titles=(say("With the causal mask"), say("Without")),
        hover_form=HOVER,
        title=say("Maximum logit difference of each output as the text grows"),
        subtitle=say(
            "gray: at most {tolerance} (rounding); dots: token not generated yet", tolerance=in_words(tolerance)
        ),
        tolerance=tolerance,
    )


def _four_ways(data: MasksData) -> None:
    """Draw the output of the model with and without the mask, each with and without a cache."""
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
