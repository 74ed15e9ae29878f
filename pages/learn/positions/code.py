"""The lines of Python that give what the page Positions shows: for a notebook, and for whoever takes a figure away."""

from pages.learn.positions import view_fields
from pages.learn.positions.data import USUAL_HEADS, PositionsData, chosen_tokens, is_of_model
from pages.shared import readings
from pages.shared.models import CPU, PRECISIONS

LOAD = """import transformer_core as tc

model, tokenizer = tc.load({path!r}{device}{precision})
"""
READ = """from transformer_core.analysis import run_text

model_run = run_text(
    model, tokenizer, {text!r}, target={target!r}, max_tokens={max_tokens}, max_new_tokens={max_new_tokens}
)
"""
FIXED = """{load}from transformer_core.analysis.positions.tables import fixed_table

table = fixed_table({encoding!r}, {n}, {width}{like})
"""
LEARNED = """{load}from transformer_core.analysis.positions.tables import PositionTable, learned_table

table = PositionTable(values=learned_table(model, {stack!r}).values[:{n}], columns=())
"""
TABLE = "print(table.values)  # [pos, width]\n"
WAVES = """for column in table.columns:
    print(column.function, column.pair, "wavelength", column.wavelength)
print(table.values)  # [pos, width]
"""
PRODUCTS = """
from transformer_core.analysis.positions.products import by_distance, table_products

products = table_products(table.values)
print(products)  # [pos, pos]
print(by_distance(products).mean)  # [distance]
"""
TURNED = """{load}from transformer_core.analysis.positions.products import by_distance, turned_products
from transformer_core.analysis.positions.tables import rotary_config

products = turned_products(rotary_config({encoding!r}, {width}{like}), {n})
print(products)  # [query, key]
print(by_distance(products).mean)  # [distance]
"""
SHIFT = """
from transformer_core.analysis.positions.shift import shift

found = shift(table, {k})
print(found.matrix)  # R, [width, width]
print(found.turned.max(), found.unturned.max())  # what R leaves, and what there was without it
"""
SAME = """{load}import numpy as np

from transformer_core.analysis.positions.dials import same_vector

dials = same_vector({encoding!r}, {width}{like})
"""
OWN = """import numpy as np

from transformer_core.analysis.positions.dials import head_vectors

dials = head_vectors(
    model,
    model_run.inputs,
    attention={attention!r},
    layer={layer},
    head={head},
    query={query},
    key={key},
)
"""
DIALS = """print(dials.speeds)  # radians a position [pair]
print(dials.products(np.arange(1 - {n}, {n})))  # [distance]
"""
ALIBI = """from transformer_core.analysis.positions.bias import alibi_by_distance, alibi_matrix, slopes

print(slopes({n_heads}))  # [head]
print(alibi_by_distance({n_heads}, {n}))  # [head, distance]
print(alibi_matrix({n_heads}, {head}, {n}))  # [query, key]
"""
BUCKETS = """from transformer_core.analysis.positions.bias import buckets

found = buckets({n}, is_causal={is_causal})
print(found.distance, found.bucket)  # [distance]
print(found.matrix)  # [query, key]
"""
BIAS = """
from transformer_core.analysis.positions.bias import learned_bias

found = learned_bias(model, {stack!r}, {n})
print(found.distance, found.by_distance)  # [head, distance]
print(found.matrix[{head}])  # [query, key]
"""
PARTS = """
from transformer_core.analysis.positions.share import score_parts

found = score_parts(model, model_run.inputs, attention={attention!r}, layer={layer}, head={head})
for name, part in found.parts.items():
    print(name, found.shares()[name], part)  # [query, key]
print(found.error)
"""
SHUFFLED = """
from transformer_core.analysis.positions.shuffled_words import shuffle_words

found = shuffle_words(model, tokenizer, model_run, attention={attention!r}, seed={seed})
print(found.text, "->", found.output)
print(found.shuffled[{layer}, {head}])  # [query, key]
print(found.follows)  # [layer, head]
"""


def lines_of(data: PositionsData) -> str:
    """Return the lines that give the numbers of a part."""
    if data.part == "model":
        return _of_model(data)
    if data.part == "bias":
        return _of_bias(data)
    if data.part == "dials":
        return _of_dials(data)
    if data.part == "products" and data.is_rotary:
        return TURNED.format(**_told(data))
    table = (LEARNED if data.encoding == "learned" else FIXED).format(**_told(data))
    if data.part == "shift":
        return table + SHIFT.format(k=min(view_fields.SHIFT.value, len(data.table.values) - 1))
    return table + {"table": TABLE, "waves": WAVES, "products": PRODUCTS}[data.part]


def _told(data: PositionsData) -> dict[str, object]:
    """Return what the templates of tables ask for."""
    needs_model = data.encoding == "learned" or (data.is_rotary and data.card.config.has_rotary_positions)
    return {
        "load": _load(data) if needs_model else "",
        "encoding": data.encoding,
        "n": data.n,
        "width": data.width,
        "like": ", model.config" if needs_model else "",
        "stack": data.stack,
    }


def _load(data: PositionsData) -> str:
    """Return the lines that load the model."""
    view = data.view
    return LOAD.format(
        path=data.card.path,
        device="" if view.device == CPU else f", device={view.device!r}",
        precision="" if view.precision == PRECISIONS[0] else f", dtype={view.precision!r}",
    )


def _read(data: PositionsData) -> str:
    """Return the lines that load the model and read the text."""
    view = data.view
    return _load(data) + READ.format(
        text=view.text,
        target=view.target,
        max_tokens=readings.max_tokens(data.card.config),
        max_new_tokens=readings.max_new_tokens(data.source),
    )


def _of_dials(data: PositionsData) -> str:
    end = DIALS.format(n=data.n)
    if not is_of_model(data):
        return SAME.format(**_told(data)) + end
    view = data.view
    query, key = chosen_tokens(data)
    own = OWN.format(attention=view.attention, layer=view.layer, head=view.head, query=query, key=key)
    return _read(data) + own + end


def _of_bias(data: PositionsData) -> str:
    config, n, head = data.card.config, data.n, view_fields.BIAS_HEAD.value
    if data.encoding == "alibi":
        n_heads = view_fields.N_HEADS.value or (config.n_heads if data.is_own else USUAL_HEADS)
        return ALIBI.format(n_heads=n_heads, n=n, head=min(head, n_heads - 1))
    if data.is_own:
        return _load(data) + BIAS.format(stack=data.stack, n=n, head=min(head, config.n_heads - 1))
    return BUCKETS.format(n=n, is_causal=view_fields.LOOK_AHEAD.value == "past")


def _of_model(data: PositionsData) -> str:
    view = data.view
    head = {"attention": view.attention, "layer": view.layer, "head": view.head}
    if view_fields.IN_MODEL.value == "shuffle":
        return _read(data) + SHUFFLED.format(**head, seed=view_fields.SEED.value)
    return _read(data) + PARTS.format(**head)
