"""The lines of Python that give what the page Masks shows: for a notebook, and for whoever takes a figure away."""

from typing import TYPE_CHECKING, Any

from pages.explore.heads.code import KEEP
from pages.learn.masks import view_fields
from pages.learn.masks.data import MOST_TOKENS, MasksData
from pages.shared.code import on_device
from pages.shared.models import PRECISIONS
from transformer_core.analysis import ATTENTIONS
from transformer_core.analysis.masks.presets import N_PADDING, PRESETS, padded_sides

if TYPE_CHECKING:
    from transformer_core.analysis.masks.rules import MaskChoice

OPENING = """import transformer_core as tc
from transformer_core.analysis.masks.rules import MaskChoice
from transformer_core.analysis.masks.text import mask_text
{imports}
model, tokenizer = tc.load({path!r}{device}{precision})
text = mask_text(model, tokenizer, {text!r}, target={target!r}, max_tokens={max_tokens}{room})
"""
EDITED = """{padded}choice = {choice}
outcome = run_masked(model, tokenizer, text, choice, layer={layer}, head={head})
print(outcome.head.allowed)  # [query, key]: the mask of {attention}, layer {layer}
print(outcome.head.pattern)  # of head {head}
print(outcome.before.labels, outcome.before.mean_probability)
print(outcome.now.labels, outcome.now.mean_probability)
"""
WRITTEN = "print(write_masked(model, tokenizer, text, choice))\n"
MASKS = """text = text.padded(tokenizer, model.config.pad_id, tuple(text.inputs), {n_padding})
choice = {choice}
for attention, mask in masks_of(model, text, choice, layer={layer}).items():
    print(attention, mask.astype(int), sep="\\n")  # [query, key]: 1 where the query may attend
"""
LEAKS = """{targeted}choice = {choice}
inputs = tuple(text{unshifted}.inputs.values())
edits = choice.interventions(model.config, n_source=None, n_target=None)
own = leak(model, tuple(text.inputs.values()), {replacements})
other = leak(model, inputs, {replacements}, edits)
print(own.n_leaks, other.n_leaks)
print(own.moved, other.moved)  # logits [output, changed token]
"""
INFERENCE = """found = steps(model, tuple(text.inputs.values()))
print(found.in_one_pass, found.in_steps)  # probability of what each row says next
print(found.most_apart, found.most_grown, found.most_grown_unmasked)  # logits
"""
DROPPED = """found = run_dropout(
    model,
    tokenizer,
    text,
    attention={attention!r},
    layer={layer},
    head={head},
    probability={probability},
    seed={seed},
)
print(found.keep)  # [query, key]: 0 where a weight is dropped, else 1 / (1 - p)
print(found.dropped_pattern)  # [query, key]
print(found.before.mean_probability, found.now.mean_probability)
"""
DROPPED_DRAWN = """
from transformer_core.figures.heatmaps.number_panels import number_panels

panels = dict(zip({names!r}, (found.pattern, (found.keep > 0) * 1.0, found.dropped_pattern)))
figure = number_panels(
    panels,
    {rows!r},
    {columns!r},
    title={title!r},
    row_name={row_name!r},
    column_name={column_name!r},
    limits={limits!r},
)
{keep}"""
DRAWN = """
from transformer_core.figures.heatmaps.mask_moved import moved_pair

figure = moved_pair(
    {moved},
    titles={titles!r},
    rows={rows!r},
    columns={columns!r},
    row_name={row_name!r},
    column_name={column_name!r},
    hover={hover!r},
    title={title!r},
    subtitle={subtitle!r},
    tolerance={tolerance!r},
)
{keep}"""


def drawn(data: MasksData, moved: str, **told: Any) -> str:
    """Return the lines that draw two matrices of what moves, and keep them as a page.

    Args:
        data: whose text it is about.
        moved: the two matrices, as the lines before have them.
        told: further arguments of `moved_pair`, and `file`, the name of the page.
    """
    keep = KEEP.format(title=told["title"], text=data.view.text, file=f"{told.pop('file')}.html")
    return DRAWN.format(moved=moved, keep=keep, **told)


def code_of(data: MasksData) -> str:
    """Return the lines that run the model with the chosen masks."""
    config, view = data.card.config, data.view
    writes = config.has_decoder and data.preset.is_shifted
    names = "run_masked, write_masked" if writes else "run_masked"
    padded = ""
    if data.n_padding:
        sides = padded_sides(data.preset, view.attention, config)
        padded = f"text = text.padded(tokenizer, model.config.pad_id, {sides!r}, {data.n_padding})\n"
    told = {
        "padded": padded,
        "choice": _written(data.choice),
        "layer": view.layer,
        "head": view.head,
        "attention": ATTENTIONS[view.attention].inline,
    }
    opened = _opening(data, f"from transformer_core.analysis.masks.run import {names}")
    return opened + "\n" + EDITED.format(**told) + (WRITTEN if writes else "")


def which_code(data: MasksData) -> str:
    """Return the lines that give the mask of each attention."""
    n_padding = data.n_padding or N_PADDING
    opened = _opening(data, "from transformer_core.analysis.masks.run import masks_of", n_padding=n_padding)
    return opened + "\n" + MASKS.format(n_padding=n_padding, choice=_written(data.choice), layer=data.view.layer)


def leak_code(data: MasksData, replacements: tuple[int, ...], other: "MaskChoice") -> str:
    """Return the lines that make the leak test."""
    is_shifted = PRESETS[other.preset].is_shifted
    told = {
        "choice": _written(other),
        "replacements": replacements,
        "targeted": "" if is_shifted else "text = text.targeted()\n",
        "unshifted": "" if is_shifted else ".unshifted()",
    }
    return _opening(data, "from transformer_core.analysis.masks.leak import leak") + "\n" + LEAKS.format(**told)


def dropout_code(data: MasksData) -> str:
    """Return the lines that run the model with dropout on its patterns."""
    view = data.view
    opened = _opening(data, "from transformer_core.analysis.masks.dropout import run_dropout", has_choice=False)
    told = {"attention": view.attention, "layer": view.layer, "head": view.head}
    return opened + "\n" + DROPPED.format(**told, probability=view_fields.DROPOUT.value, seed=view_fields.SEED.value)


def dropout_drawn(data: MasksData, names: tuple[str, ...], **told: Any) -> str:
    """Return the lines that draw the pattern before and after, and keep them as a page; as `drawn`."""
    keep = KEEP.format(title=told["title"], text=data.view.text, file=f"{told.pop('file')}.html")
    return DROPPED_DRAWN.format(names=names, keep=keep, **told)


def inference_code(data: MasksData) -> str:
    """Return the lines that read a text at once, and step by step."""
    opened = _opening(data, "from transformer_core.analysis.masks.inference import steps", has_choice=False)
    return opened + "\n" + INFERENCE


def _opening(data: MasksData, imports: str, *, has_choice: bool = True, n_padding: int | None = None) -> str:
    """Return the lines that load the model and read the text, with room for the padding behind it."""
    view = data.view
    opened = OPENING.format(
        imports=imports + "\n",
        path=data.card.path,
        device=on_device(view),
        precision="" if view.precision == PRECISIONS[0] else f", dtype={view.precision!r}",
        text=view.text,
        target=view.target,
        max_tokens=min(MOST_TOKENS, data.card.config.max_seq_len) - (n_padding or data.n_padding),
        room="" if data.source.continues else ", max_new_tokens=0",
    )
    chosen = "from transformer_core.analysis.masks.rules import MaskChoice\n"
    lines = sorted(line for line in opened.split("\n") if line.startswith("from ") and f"{line}\n" != chosen)
    if has_choice:
        lines = sorted([*lines, chosen.strip()])
    rest = [line for line in opened.split("\n") if not line.startswith("from ")]
    return "\n".join([rest[0], *lines, *rest[1:]])


def _written(choice: "MaskChoice") -> str:
    """Return a choice with what is not as usual."""
    parts = [f"preset={choice.preset!r}", f"attention={choice.attention!r}"]
    if choice.size != 1:
        parts.insert(1, f"size={choice.size}")
    if choice.layer is not None:
        parts.append(f"layer={choice.layer}")
    if choice.turned:
        parts.append(f"turned={choice.turned!r}")
    return f"MaskChoice({', '.join(parts)})"
