"""The parameters of this model by part, compared with the two models of the paper."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures.architecture.inventory import parameters_by_part, parameters_of_parts
from headlight.figures.architecture.sizes import in_words, parameter_bars, parameter_shares
from headlight.language import localized, percent, say
from pages.learn.architecture import view_fields
from pages.learn.architecture.data import ArchitectureData
from pages.learn.architecture.labels import table
from pages.shared import prose
from pages.shared.drawing import draw, draw_figure
from pages.shared.recipe import Expression, Print, call, literal, named, script, through, value_of
from transformer_core.config import ModelConfig
from transformer_core.errors import mark
from transformer_core.model.presets import transformer_base, transformer_big

PAPER = {mark("the paper’s base"): transformer_base, mark("the paper’s big"): transformer_big}
NOTE = mark(
    "The paper reports 65 million parameters for base and 213 million for big, with a vocabulary of about 37,000 "
    "tokens; the same configurations with exactly {vocab} tokens have {base} and {big}."
)
LOOK = mark(
    "{part} has the largest share here, {share:.0%}. The token embedding grows with the vocabulary, one vector per "
    "token; everything else grows with the number of layers and with d_model squared. Layer norms are negligible."
)
LOOK_AT_A_LAYER = mark(
    "Per layer, the feed-forward network has {feed_forward} parameters and each attention {attention}. Here d_ff is "
    "{ratio:.2g} · d_model; in the paper it is 4 · d_model, so there the feed-forward network has twice as many as an "
    "attention."
)
ALONE = mark("Embedding and output shared")  # for a model with a single embedding
SHARING = {
    "three_way": mark("All three shared"),
    "target": mark("Target and output shared"),
    "none": mark("None shared"),
}
ABOUT_SHARING = mark(
    "Weight sharing (sec. 3.4): the source embedding, the target embedding and the last linear layer can be one "
    "matrix [vocab, d_model]. {what}: {n} parameters, {change}. Sharing all three requires one vocabulary for both "
    "languages. This suits languages that share many subwords; with two alphabets, as in English and Chinese, few "
    "rows serve both sides, and a separate source embedding may be better."
)
ABOUT_SHARING_ALONE = mark(
    "Weight sharing (sec. 3.4): the embedding and the last linear layer can be one matrix [vocab, d_model]. {what}: "
    "{n} parameters, {change}."
)
_counts = lru_cache(maxsize=32)(parameters_by_part)  # by stack and part; cached, as counting builds the modules
_by_part = lru_cache(maxsize=32)(parameters_of_parts)  # summed over all stacks


def show(data: ArchitectureData) -> None:
    """Draw the bars, the comparison and the table."""
    is_pair = len(data.plan.stacks) > 1
    config = data.shared_config
    _sharing(data, config)
    counts = {(stack if is_pair else "", part): n for (stack, part), n in _counts(config).items()}
    total = sum(counts.values())
    with st.container(key="hl-arch-parameters"):
        left, right = st.columns([6, 5], gap="medium")
    with left:
        _bars(data, counts, total)
    with right:
        _shares(data)
    _table(counts, total)


def _sharing(data: ArchitectureData, config: ModelConfig) -> None:
    """Draw the choice of which embedding matrices are shared, and its effect on the number of parameters."""
    own, is_pair = data.card.config, len(data.plan.stacks) > 1
    if not data.sharings:
        return
    names = SHARING if is_pair else SHARING | {"target": ALONE}
    chosen = config.tie_embeddings
    view_fields.TYING.segmented(
        say("Weight sharing"),
        data.sharings,
        name=lambda name: say(names[name]),
        shown=chosen,
        take=lambda name: view_fields.TYING.set("" if name == own.tie_embeddings else name),
        label_visibility="visible",
    )
    total, of_own = (sum(_counts(one).values()) for one in (config, own))
    words = say(
        ABOUT_SHARING if is_pair else ABOUT_SHARING_ALONE,
        what=say(names[chosen]),
        n=localized(total),
        change=_difference(total, of_own),
    )
    prose.small(words)


def _difference(n: int, of_own: int) -> str:
    if n > of_own:
        return say("{n} more than this model", n=localized(n - of_own))
    return say("{n} fewer than this model", n=localized(of_own - n)) if n < of_own else say("the same as this model")


def look(data: ArchitectureData) -> str:
    """Return the hint on what to look for in this model."""
    config = data.card.config
    by_part = _by_part(config)
    largest = max(by_part, key=lambda part: by_part[part])
    share = by_part[largest] / sum(by_part.values())
    results = [say(LOOK, part=in_words("", largest), share=share)]
    stack = data.plan.stacks[-1]
    layers = data.plan.layers(stack)
    feed_forward, attention = (_counts(config).get((stack, part), 0) for part in ("feed-forward", "self-attention"))
    if layers and feed_forward and attention:
        results.append(
            say(
                LOOK_AT_A_LAYER,
                feed_forward=localized(feed_forward // layers),
                attention=localized(attention // layers),
                ratio=config.d_ff / config.d_model,
            )
        )
    return " ".join(results)


def code(data: ArchitectureData) -> str:
    """Return the code that counts the parameters with the chosen sharing."""
    sharing = data.shared_config.tie_embeddings
    is_own = sharing == data.card.config.tie_embeddings
    config = data.config_recipe if is_own else call(replace, data.config_recipe, tie_embeddings=sharing)
    counts = named("counts", call(parameters_by_part, config))
    return script(Print((counts, call(sum, counts.values()))))


def _bars(data: ArchitectureData, counts: Mapping[tuple[str, str], int], total: int) -> None:
    values = np.array([[*counts.values()]]).T
    parts = [in_words(*key) for key in counts]
    draw_figure(
        parameter_bars(counts, title=say("{n} parameters by part", n=localized(total))),
        name=data.file_name("parameters"),
        key="architecture-parameters",
        csv=lambda: matrix_csv(values, "part", parts, "of", ["model"], "parameters"),
        arrays=lambda: {"counts": values[:, 0], "parts": np.array(parts)},
        code=lambda: code(data),
        model=data.card.path,
    )


def _shares(data: ArchitectureData) -> None:
    configs = {data.card.title: data.config_recipe} | {say(name): call(preset) for name, preset in PAPER.items()}
    counted = {name: _counted(config) for name, config in configs.items()}
    models: dict[str, Mapping[str, int]] = value_of(counted)
    parts = [*dict.fromkeys(part for counts in models.values() for part in counts)]
    rows = [f"{model},{part},{n}" for model, counts in models.items() for part, n in counts.items()]
    counts = named("counts", literal(counted))
    title = say("Shares compared with the paper’s models")
    draw(
        call(parameter_shares, counts, title=title),
        Print(counts),
        title=title,
        name=data.file_name("parameter-shares"),
        key="architecture-shares",
        csv=lambda: "\n".join(["model,part,parameters", *rows]) + "\n",
        arrays=lambda: {
            "counts": np.array([[of.get(part, 0) for part in parts] for of in models.values()]),
            "models": np.array([*models]),
            "parts": np.array(parts),
        },
        model=data.card.path,
    )
    base, big = (sum(_by_part(preset()).values()) for preset in PAPER.values())
    text = say(NOTE, vocab=localized(transformer_base().vocab_size), base=localized(base), big=localized(big))
    prose.small(text)


def _counted(config: Expression) -> Expression:
    return through(call(parameters_of_parts, config), lambda _: _by_part(value_of(config)))


def _table(counts: Mapping[tuple[str, str], int], total: int) -> None:
    rows = [[in_words(*key), localized(n), percent(n / total, 1)] for key, n in counts.items()]
    rows.append([prose.markup("<b>{}</b>", say("total")), prose.markup("<b>{}</b>", localized(total)), ""])
    table([say("part"), say("parameters"), say("share")], rows, kind="hl-arch-counts")
