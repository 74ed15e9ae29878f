"""What passed the hook points of the chosen block on this text: the numbers, how long vectors are, how it is spread."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from headlight.analysis.blueprint.activation import ActivationPicture, most_probable, picture_of
from headlight.analysis.blueprint.shapes import PROBABILITIES, Stage, stages
from headlight.analysis.heads.table import matrix_csv
from headlight.figures.architecture.activation import activation_figure
from headlight.language import localized, percent, say
from pages.learn.architecture import view_fields
from pages.learn.architecture.data import ArchitectureData
from pages.learn.architecture.labels import name_of
from pages.learn.architecture.shape_words import SHAPES
from pages.shared import prose
from pages.shared.drawing import draw_figure
from pages.shared.recipe import Print, named, script
from pages.shared.view import state
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from transformer_core.text.interface import Tokenizer

N_TOKENS = 32  # of the vocabulary, whose logits are drawn
HEIGHT = 540  # px
FIRST = ("hook_pattern", "hook_post", "hook_normalized", "hook_resid_post", "hook_embed")  # to look at first
NOTHING = mark("This block has no hook point: choose the attention it belongs to, or another block.")
PAIRS = ("hook_attn_scores", "hook_mask", "hook_pattern")


def show(data: ArchitectureData) -> None:
    """Draw the hook point that was chosen."""
    results = {stage.site: stage for stage in stages(data.card.config, data.box) if stage.site}
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
            name=lambda name: f"{say(SHAPES[results[name].name])} · {name.rpartition('.')[2]}",
            shown=site,
        )
        if "head" in stage.axes or "kv_head" in stage.axes:
            _choose_head(data, stage)
    try:
        _draw(data, stage)
    except HeadlightError as error:
        prose.warning(say("This cannot be captured: {why}.", why=error))


def _choose_head(data: ArchitectureData, stage: Stage) -> None:
    """Draw the choice of the head, which is the one that all pages look at."""
    config = data.card.config
    n_heads = config.n_kv_heads if "kv_head" in stage.axes else config.n_heads
    state.HEAD.selectbox(say("Head"), range(n_heads), shown=min(data.view.head, n_heads - 1), width=90)


def _draw(data: ArchitectureData, stage: Stage) -> None:
    """Draw the activation, and say what its numbers are like."""
    seen = _seen(data, stage)
    shown: ActivationPicture = seen["picture"]
    figure = activation_figure(
        shown.cells,
        seen["tokens"],
        title=name_of(data.card.config, data.box),
        subtitle=say(SHAPES[stage.name]),
        rows=shown.rows,
        columns=shown.columns,
        n_columns=shown.n_columns,
        column_name=seen["column_name"],
        column_tokens=seen["column_tokens"],
        row_name=seen["row_name"],
        lengths=shown.lengths,
        counts=shown.counts,
        edges=shown.edges,
        height=HEIGHT,
    )
    values, values_recipe = seen["values"], named("values", data.captured.values(stage.site))
    positions = [f"{place} {label}" for place, label in enumerate(seen["tokens"])]
    draw_figure(
        figure,
        name=data.file_name(stage.site.replace(".", "-")),
        key="architecture-activation",
        csv=lambda: matrix_csv(values, "position", positions, "column", [*map(str, seen["columns"])], "value"),
        arrays=lambda: {"values": values, "columns": np.array(seen["columns"])},
        code=lambda: script(Print(values_recipe.shape), Print(values_recipe)),
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
    if seen["n_chosen"]:
        remarks.append(
            say(
                "The figure shows the {n} of {vocab:,} tokens with the highest values; the statistics include all.",
                n=seen["n_chosen"],
                vocab=seen["n_columns"],
            )
        )
    if remarks:
        prose.small(" ".join(remarks))


def _seen(data: ArchitectureData, stage: Stage) -> dict[str, Any]:
    """Return the picture of a hook point, and the meaning of its rows and columns."""
    values = data.values(stage.site)
    stem = stage.site.rpartition(".")[2]
    labels = data.labels[data.stack_of(data.box)]
    keys = data.labels["encoder"] if data.box.part == "cross_attn" else labels
    of_keys = "key" in stage.axes and stem not in PAIRS  # rows are keys then
    allowed = data.values(stage.site.replace(stem, "hook_mask")) if stem == "hook_pattern" else None
    picture = picture_of(values, head=data.view.head, are_vectors=stem not in PAIRS, allowed=allowed)
    whole = values if values.ndim == 2 else values[min(data.view.head, len(values) - 1)]
    results = {
        "picture": picture,
        "values": whole,
        "tokens": keys if of_keys else labels,
        "columns": range(whole.shape[1]),
        "column_name": say("dimension"),
        "column_tokens": None,
        "row_name": "",
        "n_chosen": 0,  # of the columns; 0: all are drawn
        "n_columns": whole.shape[1],
    }
    if stem in PAIRS:
        results |= {
            "column_name": say("key"),
            "column_tokens": keys if len(keys) <= 48 else None,
            "row_name": say("query"),
        }
    elif stem == "hook_logits" or stage.site == PROBABILITIES:
        chosen, tokens = most_probable(whole, N_TOKENS)
        _, tokenizer = data.source.load()
        of_target: Tokenizer = tokenizer.target
        drawn = picture_of(chosen, are_vectors=False)
        everything = picture_of(whole, are_vectors=False)  # texts about the numbers are about all of them
        results |= {
            "picture": replace(
                everything, cells=drawn.cells, rows=drawn.rows, columns=drawn.columns, n_columns=drawn.n_columns
            ),
            "values": chosen,
            "column_name": say("token of the vocabulary"),
            "n_chosen": len(tokens),
            "columns": tokens.tolist(),
            "column_tokens": [of_target.labels([token])[0] for token in tokens.tolist()],
        }
    return results
