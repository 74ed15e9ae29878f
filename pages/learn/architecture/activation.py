"""The activations at the hook points on this text: those of the chosen block, and the residual stream."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from headlight.analysis.blueprint.activation import most_probable, picture_of
from headlight.analysis.blueprint.shapes import PROBABILITIES, BoxStage, stages, with_dropout
from headlight.analysis.heads.table import matrix_csv
from headlight.analysis.trace.dropout import drop
from headlight.figures.architecture.activation import activation_figure
from headlight.figures.architecture.stream import stream_figure
from headlight.figures.theme import PART_HUES
from headlight.language import localized, percent, say
from pages.learn import dropout_step
from pages.learn.architecture import view_fields
from pages.learn.architecture.data import ArchitectureData
from pages.learn.architecture.labels import STACKS, name_of, place_in_words
from pages.shared import prose
from pages.shared.drawing import draw_figure
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Lines, Print, call, named, script
from pages.shared.view import state
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from headlight.analysis.trace.residual_stream import Stream

SHAPES: Mapping[str, str] = {
    "input": mark("input"),
    "normalized": mark("normalized"),
    "sum": mark("sum"),
    "output": mark("output before normalization"),
    "added": mark("sub-layer output, added to the residual stream"),
    "logits": mark("logits, one per token of the vocabulary"),
    "reshaped": mark("reshape: split into heads"),
    "permuted": mark("permute: heads first"),
    "q, k and v": mark("queries, keys and values, concatenated, as one matrix product"),
    "tokens": mark("tokens"),
    "scaled embedding": mark("the embedding of each token, times √d_model"),
    "embedding": mark("the embedding of each token"),
    "positions": mark("positional encoding"),
    "rotation": mark("cosines and sines of the rotation angles"),
    "bias": mark("bias added to the scores"),
    "segments": mark("segment embedding"),
    "after self_attn": mark("residual stream after self-attention"),
    "after cross_attn": mark("residual stream after cross-attention"),
    "after layer": mark("residual stream after this layer"),
    "before layer": mark("residual stream before this layer"),
    "first residual": mark("initial residual stream"),
    "gate": mark("gate before the activation"),
    "before activation": mark("hidden units before the activation"),
    "up": mark("up-projection before gating"),
    "hidden": mark("hidden units"),
    "probabilities": mark("probabilities, each row sums to 1"),
    "input of q": mark("input of the queries"),
    "memory": mark("input of keys and values: the encoder's output"),
    "q of all heads": mark("queries of all heads, concatenated"),
    "k and v": mark("keys and values, concatenated, as one matrix product"),
    "chunks k, v": mark("chunk: separate keys and values"),
    "chunks q, k, v": mark("chunk: separate queries, keys and values"),
    "split q": mark("split into heads: queries"),
    "split k": mark("split into heads: keys (values likewise)"),
    "normalized q": mark("queries, normalized"),
    "normalized k": mark("keys, normalized"),
    "rotated q": mark("queries, rotated"),
    "q": mark("queries"),
    "rotated k": mark("keys, rotated"),
    "k": mark("keys"),
    "v": mark("values"),
    "mask": mark("mask: True = may attend"),
    "attn_scores": mark("scores, -inf where masked"),
    "pattern": mark("attention pattern: each row sums to 1"),
    "dropout of pattern": mark("attention pattern after dropout"),
    "dropout of added": mark("sub-layer output after dropout"),
    "dropout of sum": mark("sum after dropout"),
    "z": mark("weighted sum of the values, z"),
    "concatenated z": mark("z of all heads, concatenated"),
    "result": mark("output of each head"),
}
N_TOKENS = 32  # most probable tokens whose logits are drawn
HEIGHT = 540  # px
FIRST = ("hook_pattern", "hook_post", "hook_normalized", "hook_resid_post", "hook_embed")  # the defaults, best first
NOTHING = mark("This block has no hook point: choose the attention it belongs to, or another block.")
PAIRS = ("hook_attn_scores", "hook_mask", "hook_pattern")
MOST_LABELS = 48  # maximum number of keys labeled with their tokens
STREAM_HUES = {"self_attn": "self-attention", "cross_attn": "cross-attention", "mlp": "feed-forward"}
LOOK_PRE = mark(
    "with pre-norm, the norm of the residual stream grows from layer to layer, so late sub-layers contribute "
    "relatively less. A single position with a much larger norm is often the first one."
)
LOOK_POST = mark(
    "with post-norm, each sum is normalized, so the residual stream enters each sub-layer with about the same norm. A "
    "high bar means that the sub-layer changed it a lot."
)
STREAM_HEIGHT = 480  # px
NORMS = """
for stack, stream in captured.streams().items():
    print(stack, stream.names)
    print(stream.sums)  # [place, pos]: norm of the residual stream
    print(stream.read)  # [place, pos]: norm of what each sub-layer reads
    print(stream.added)  # [sublayer, pos]: norm of what is added
    print(stream.shares)  # [sublayer, pos]: norm of what is added, as a part of what was there
"""


def show(data: ArchitectureData) -> None:
    """Draw the activation at the chosen hook point."""
    there = stages(data.card.config, data.box)
    if dropout_step.is_shown():
        there = tuple(with_dropout(data.card.config, there))
    results = {stage.key: stage for stage in there if stage.site}
    if not results:
        prose.small(say(NOTHING))
        return
    site = view_fields.SITE.value
    if site not in results:
        site = next((name for stem in FIRST for name in results if name.endswith(stem)), [*results][-1])
    stage = results[site]
    with st.container(horizontal=True, vertical_alignment="bottom", key="hl-arch-site"):
        view_fields.SITE.selectbox(
            say("Activation"),
            [*results],
            name=lambda name: f"{say(SHAPES[results[name].name])} · {results[name].site.rpartition('.')[2]}",
            shown=site,
        )
        if "head" in stage.axes or "kv_head" in stage.axes:
            _choose_head(data, stage)
    try:
        _draw(data, stage)
    except HeadlightError as error:
        prose.warning(say("This cannot be captured: {why}.", why=error))
    dropout_step.controls(data.card.config)


def _choose_head(data: ArchitectureData, stage: BoxStage) -> None:
    n_heads = data.card.config.n_kv_heads if "kv_head" in stage.axes else data.card.config.n_heads
    state.HEAD.selectbox(say("Head"), range(n_heads), shown=min(data.view.head, n_heads - 1), width=90)


def _draw(data: ArchitectureData, stage: BoxStage) -> None:
    values, stem = data.values(stage.site), stage.site.rpartition(".")[2]
    recipe = data.captured.values(stage.site)
    if stage.rate:
        masked = {"site": stage.site, "rate": stage.rate, "seed": dropout_step.SEED.value}
        values, recipe = drop(values, **masked), call(drop, recipe, **masked)
    labels, is_pair = data.labels[data.stack_of(data.box)], stem in PAIRS
    keys = data.labels["encoder"] if data.box.part == "cross_attn" else labels
    tokens = keys if "key" in stage.axes and not is_pair else labels
    allowed = data.values(stage.site.replace(stem, "hook_mask")) if stem == "hook_pattern" else None
    shown = picture_of(values, head=data.view.head, are_vectors=not is_pair, allowed=allowed)
    if values.ndim > 2:
        values = values[min(data.view.head, len(values) - 1)]
    n_columns = values.shape[1]
    columns, column_name, column_tokens = [*range(n_columns)], say("dimension"), None
    if is_pair:
        column_name, column_tokens = say("key"), keys if len(keys) <= MOST_LABELS else None
    has_vocabulary = stem == "hook_logits" or stage.site == PROBABILITIES
    if has_vocabulary:
        whole = picture_of(values, are_vectors=False)  # the statistics cover the whole vocabulary
        values, chosen = most_probable(values, N_TOKENS)
        drawn = picture_of(values, are_vectors=False)
        shown = replace(whole, cells=drawn.cells, rows=drawn.rows, columns=drawn.columns, n_columns=drawn.n_columns)
        columns, column_name = chosen.tolist(), say("token of the vocabulary")
        column_tokens = tuple(data.source.load()[1].target.labels([token])[0] for token in columns)
    figure = activation_figure(
        shown.cells,
        tokens,
        title=name_of(data.card.config, data.box),
        subtitle=say(SHAPES[stage.name]),
        rows=shown.rows,
        columns=shown.columns,
        n_columns=shown.n_columns,
        column_name=column_name,
        column_tokens=column_tokens,
        row_name=say("query") if is_pair else "",
        lengths=shown.lengths,
        counts=shown.counts,
        edges=shown.edges,
        height=HEIGHT,
    )
    recipe = named("values", recipe)
    positions = [f"{place} {label}" for place, label in enumerate(tokens)]
    draw_figure(
        figure,
        name=data.file_name(stage.key.replace(".", "-")),
        key="architecture-activation",
        csv=lambda: matrix_csv(values, "position", positions, "column", [*map(str, columns)], "value"),
        arrays=lambda: {"values": values, "columns": np.array(columns)},
        code=lambda: script(Print(recipe.shape), Print(recipe)),
        model=data.card.path,
    )
    facts = [
        (say("elements"), localized(shown.n_finite)),
        (say("mean"), localized(shown.mean, ".4g")),
        (say("standard deviation"), localized(shown.deviation, ".4g")),
        (say("exactly 0"), percent(shown.share_of_zeros, 1)),
    ]
    prose.facts(facts, "hl-arch-facts")
    remarks = [say("Each cell shows the value with the largest magnitude in its block.")] if shown.is_pooled else []
    if has_vocabulary:
        remarks.append(
            say(
                "The figure shows the {n} of {vocab:,} tokens with the highest values; the statistics include all.",
                n=len(columns),
                vocab=n_columns,
            )
        )
    if remarks:
        prose.small(" ".join(remarks))


def show_stream(data: ArchitectureData) -> None:
    """Draw the residual stream of each stack."""
    try:
        streams = data.streams()
    except HeadlightError as error:
        prose.warning(say("This cannot be captured: {why}.", why=error))
        return
    with st.container(key="hl-arch-stream"):
        columns = st.columns(len(streams), gap="medium")
    for column, (stack, stream) in zip(columns, streams.items(), strict=True):
        with column:
            _stream(data, stack, stream)
    words = LOOK_PRE if data.card.config.norm_position == "pre" else LOOK_POST
    prose.look_for(say(words), definitions("residual-stream", "pre-norm"))


def stream_code(data: ArchitectureData) -> str:
    """Return the code that measures the residual stream."""
    return script(Lines(NORMS, (data.captured,)))


def _stream(data: ArchitectureData, stack: str, stream: "Stream") -> None:
    is_pair = len(data.plan.stacks) > 1
    places = [place_in_words(name) for name in stream.names]
    title = say("Residual stream: {stack}", stack=say(STACKS[stack])) if is_pair else say("Residual stream")
    figure = stream_figure(
        stream.sums,
        stream.added,
        stream.shares,
        places=places,
        hues=[PART_HUES[STREAM_HUES[name.rpartition(".")[2]]] for name in stream.names[1:]],
        tokens=data.labels[stack],
        title=title,
        read=stream.read if data.card.config.norm_position == "post" else None,
        height=STREAM_HEIGHT,
    )
    positions = [f"{place} {label}" for place, label in enumerate(data.labels[stack])]
    arrays = {"sums": stream.sums, "read": stream.read, "added": stream.added, "places": np.array(places)}
    draw_figure(
        figure,
        name=data.file_name("stream", stack),
        key=f"architecture-stream-{stack}",
        csv=lambda: matrix_csv(stream.sums, "place", places, "position", positions, "length"),
        arrays=lambda: arrays,
        code=lambda: stream_code(data),
        model=data.card.path,
    )
