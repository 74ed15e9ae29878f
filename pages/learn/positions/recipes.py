"""What the parts of the Positions page compute, as code that is run and shown."""

import numpy as np

from pages.learn.positions import view_fields
from pages.learn.positions.data import USUAL_HEADS, PositionsData, chosen_tokens, is_of_model
from pages.shared import cache, readings
from pages.shared.recipe import Expression, Lines, Print, call, each, named, script, value_of
from transformer_core.errors import mark

WAVES = """
for column in table.columns:
    print(column.function, column.pair, "wavelength", column.wavelength)
"""
PARTS = """
for name, part in found.parts.items():
    print(name, found.shares()[name], part)  # [query, key]
"""


def lines_of(data: PositionsData) -> str:
    """Return the lines that give the numbers of the part that is shown."""
    match data.part:
        case "model":
            return script(*(_shuffled(data) if view_fields.IN_MODEL.value == "shuffle" else _parts(data)))
        case "bias":
            return script(*_bias(data))
        case "dials":
            result = dials(data)
            return script(
                Print(result.speeds, "radians per position [pair]"),
                Print(result.products(call(np.arange, 1 - data.n, data.n)), "[distance]"),
            )
        case "products":
            result = products(data)
            axes = "[query, key]" if data.is_rotary else "[pos, pos]"
            return script(Print(result, axes), Print(by_distance(result).mean, "[distance]"))
        case "shift":
            result = shift(data)
            left = (result.turned.max(), result.unturned.max())
            apart = result.turned, result.unturned
            return script(
                Print(result.matrix, "R, [width, width]"), Print(apart, "[pos]"), Print(left, "with R and without")
            )
    result = data.table_recipe
    denominators = each("column", result.columns, lambda column: column.denominator)
    lines = [Lines(WAVES, (result,))] if data.part == "waves" else [Print(denominators, "[width]")]
    return script(*lines, Print(result.values, "[pos, width]"))


def products(data: PositionsData) -> Expression:
    """Return the dot products of all positions, or of one vector that is rotated to each two of them."""
    from headlight.analysis.positions.tables import rotary_config, table_products, turned_products

    if not data.is_rotary:
        return named("products", call(table_products, data.table_recipe.values))
    result = call(turned_products, call(rotary_config, data.encoding, data.width, *data.like), data.n)
    return named("products", _kept(result))


def by_distance(of: Expression) -> Expression:
    """Return how products fall with the distance."""
    from headlight.analysis.positions import tables

    return named("decay", call(tables.by_distance, of))


def shift(data: PositionsData) -> Expression:
    """Return the matrix that takes every position k places on, and what it leaves."""
    from headlight.analysis.positions import tables

    return named("found", call(tables.shift, data.table_recipe, data.shift))


def dials(data: PositionsData) -> Expression:
    """Return a query and a key of the chosen head, or one vector as both."""
    from headlight.analysis.positions.dials import head_vectors, same_vector

    if not is_of_model(data):
        return named("dials", call(same_vector, data.encoding, data.width, *data.like))
    query, key = chosen_tokens(data)
    model, head = data.source.recipe()[0], data.view
    place = {"attention": head.attention, "layer": head.layer, "head": head.head, "query": query, "key": key}
    return named("dials", call(head_vectors, model, run(data).inputs, **place))


def run(data: PositionsData) -> Expression:
    """Return the model run of the text."""
    return readings.recipe(data.source, data.card.config, data.view.text, data.view.target)


def n_heads(data: PositionsData) -> int:
    """Return of how many heads ALiBi is shown."""
    return view_fields.N_HEADS.value or (data.card.config.n_heads if data.is_own else USUAL_HEADS)


def learned_bias(data: PositionsData) -> Expression:
    """Return the learned biases of the buckets."""
    from headlight.analysis.positions import bias

    return named("found", call(bias.learned_bias, data.source.recipe()[0], data.stack, data.n))


def buckets(data: PositionsData) -> Expression:
    """Return which distance falls in which bucket."""
    from headlight.analysis.positions import bias

    return named("found", call(bias.buckets, data.n, is_causal=view_fields.LOOK_AHEAD.value == "past"))


def parts(data: PositionsData) -> Expression:
    """Return the chosen head's scores as a sum."""
    from headlight.analysis.positions.share import score_parts

    view = data.view
    head = {"attention": view.attention, "layer": view.layer, "head": view.head}
    result = call(score_parts, data.source.recipe()[0], run(data).inputs, **head)
    return named("found", _kept(result))


def shares_of_heads(data: PositionsData) -> Expression:
    """Return the share of positions in the scores of every head."""
    from headlight.analysis.positions import share

    view = data.view
    result = call(share.shares_of_heads, data.source.recipe()[0], run(data).inputs, attention=view.attention)
    return named("shares", _kept(result))


def shuffled(data: PositionsData) -> Expression:
    """Return the model's output for the words in another order."""
    from headlight.analysis.positions.shuffled_words import shuffle_words

    view, seed = data.view, view_fields.SEED.value
    result = call(shuffle_words, *data.source.recipe(), run(data), attention=view.attention, seed=seed)
    return named("found", _kept(result))


def _kept(expression: Expression) -> Expression:
    """Return the same, made once for all sessions."""
    return cache.kept(mark("positions"), expression)


def _parts(data: PositionsData) -> list[Print | Lines]:
    result = parts(data)
    of_heads = shares_of_heads(data)
    heads = [Print(of_heads, "share of positions, [layer, head]")] if value_of(of_heads) is not None else []
    return [Lines(PARTS, (result,)), Print(result.scores, "[query, key]"), Print(result.error), *heads]


def _shuffled(data: PositionsData) -> list[Print | Lines]:
    result = shuffled(data)
    return [
        Print((result.text, result.output)),
        Print(result.order, "[pos]"),
        *(Print(of[data.view.layer, data.view.head], "[query, key]") for of in (result.own, result.shuffled)),
        Print(result.follows, "[layer, head]"),
    ]


def _bias(data: PositionsData) -> list[Print | Lines]:
    from headlight.analysis.positions.bias import alibi_by_distance, alibi_matrix, slopes

    head = view_fields.BIAS_HEAD.value
    if data.encoding == "alibi":
        n = n_heads(data)
        return [
            Print(call(slopes, n), "[head]"),
            Print(call(alibi_by_distance, n, data.n), "[head, distance]"),
            Print(call(alibi_matrix, n, min(head, n - 1), data.n), "[query, key]"),
        ]
    if not data.is_own:
        result = buckets(data)
        return [Print((result.distance, result.bucket), "[distance]"), Print(result.matrix, "[query, key]")]
    result = learned_bias(data)
    return [
        Print((result.distance, result.by_distance), "[head, distance]"),
        Print(result.matrix[min(head, data.card.config.n_heads - 1)], "[query, key]"),
    ]
