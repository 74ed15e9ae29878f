"""The lines of Python that give what the page Heads shows: for a notebook, and for whoever takes a figure away."""

from typing import TYPE_CHECKING, Any

from pages.explore.heads.data import HeadsData
from pages.shared import code, readings
from pages.shared.models import CPU, PRECISIONS
from pages.shared.view import state
from transformer_core.analysis import ATTENTIONS, ViewSpec
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.analysis.flow.across_layers import Part

PLAIN = """
site = {site!r}
with torch.inference_mode(), tc.capture(model, site) as acts:
    {run}({inputs})
pattern = acts[site][0, {head}]  # [query, key]: head {head} of layer {layer}

{said}print(pattern)
"""
SAID = {
    "encoder_decoder": "print(tokenizer.decode(tokens[0]))\n",
    "decoder_only": "print(tokenizer.decode(tokens[0]))\n",
    "encoder_only": "best = logits[0].argmax(dim=-1)\nprint(tokenizer.labels(best[tokens[0] == tokenizer.mask_id]))\n",
}
KEEP = """from pathlib import Path

from transformer_core.figures.offline import offline_page

page = offline_page(figure, title={title!r}, about={text!r})
Path({file!r}).write_text(page, encoding="utf-8")
"""
READ = """import transformer_core as tc
from transformer_core.analysis import HeadShare, ViewSpec, picture, run_text

model, tokenizer = tc.load({path!r}{device}{precision})
model_run = run_text(
    model, tokenizer, {text!r}, target={target!r}, max_tokens={max_tokens}, max_new_tokens={max_new_tokens}
)
"""
SHOWN = """spec = {spec!r}
shown = picture(model_run.attention_maps[{attention!r}], spec, **model_run.sides({attention!r}))
"""
DRAWN = """
from transformer_core.figures import attention_heatmap

figure = attention_heatmap(
    shown.values,
    shown.queries.labels,
    shown.keys.labels,
    quantity={quantity!r},
    title={title!r},
    mask=shown.mask,
    first_query=shown.queries.first,
    first_key=shown.keys.first,
    blocks=shown.blocks,
    largest=shown.largest,
    marked={marked!r},
    generated_from=shown.keys.place({generated_from!r}),
    query_name={query_name!r},
    key_name={key_name!r},
)
{keep}print(shown.values)  # [query, key]
"""
ROW = """
from transformer_core.figures.bars.row_bars import row_bars

figure = row_bars(
    shown.values[0],
    shown.keys.labels,
    query={query},
    query_token=shown.queries.labels[0],
    allowed=shown.mask[0],
    first_key=shown.keys.first,
    quantity={quantity!r},
    chosen={chosen!r},
    key_name={key_name!r},
)
{keep}print(shown.values[0])  # [key]
"""
CELL = """
from transformer_core.analysis.heads.picture import cell_in_all_heads
from transformer_core.figures.heatmaps.head_grid import head_grid

values = cell_in_all_heads(model_run.attention_maps[{attention!r}], {queries!r}, {keys!r})
figure = head_grid(values, title={title!r}, what="weight", limits=(0.0, 1.0), chosen={chosen!r})
{keep}print(values)  # [layer, head]
"""
ACROSS = """
from transformer_core.analysis.flow.across_layers import follow
from transformer_core.figures import attention_heatmap

part = follow(model_run, {method!r})[{place}]
figure = attention_heatmap(
    part.values,
    model_run.{of},
    model_run.{side},
    title={title!r},
    mask=part.mask,
    query_name={query_name!r},
    key_name={key_name!r},
)
{keep}print(part.values)  # [query, key]
"""


def code_of(data: HeadsData) -> str:
    """Return the lines that compute what is shown: of one head's pattern, the plainest."""
    view, model_run, spec = data.view, data.model_run, data.spec
    is_plain = len(spec.heads) == 1 and not (spec.in_words or spec.hidden or spec.window) and spec.quantity == "pattern"
    if not is_plain:
        return f"{_shown(data, spec)}print(shown.values)  # [query, key]\n"
    has_said = model_run.architecture != "encoder_only" or bool(model_run.blanks)
    return code.opening(data.card, view, model_run) + PLAIN.format(
        site=ATTENTIONS[view.attention].site(view.layer),
        inputs=code.INPUTS[model_run.architecture],
        run="logits = model" if model_run.blanks else code.run(data.card),
        layer=view.layer,
        head=view.head,
        said=SAID[model_run.architecture] if has_said else "",
    )


def redraw(data: HeadsData, marked: tuple[int | None, int | None]) -> str:
    """Return the lines that draw the large figure again, from the model on, with the chosen query and key marked."""
    drawn = DRAWN.format(
        quantity=data.spec.quantity,
        title=data.title,
        marked=marked,
        generated_from=data.generated_from,
        keep=_keep(data, data.title, data.file_name()),
        **data.axis_names,
    )
    return _shown(data, data.spec) + drawn


def redraw_row(data: HeadsData, of_row: ViewSpec, query: int, key: int | None, name: str) -> str:
    """Return the lines that draw one query's bars again."""
    drawn = ROW.format(
        query=query,
        chosen=key,
        key_name=data.axis_names["key_name"],
        quantity=of_row.quantity,
        keep=_keep(data, say("Query {query}: {who}", query=query, who=data.who), name),
    )
    return _shown(data, of_row) + drawn


def redraw_cell(data: HeadsData, queries: range, keys: range, title: str, name: str) -> str:
    """Return the lines that draw a cell in all heads again."""
    view = data.view
    told = {"attention": view.attention, "queries": queries, "keys": keys, "title": title}
    told["chosen"] = view.layer, view.head
    return read_again(data) + CELL.format(**told, keep=_keep(data, title, name))


def redraw_across(data: HeadsData, part: "Part", *, title: str, name: str, **told: Any) -> str:
    """Return the lines that draw a part of a rollout or a flow again."""
    return read_again(data) + ACROSS.format(
        of=part.of, side=part.side, title=title, keep=_keep(data, title, name), **told
    )


def _shown(data: HeadsData, spec: ViewSpec) -> str:
    return read_again(data) + SHOWN.format(spec=spec, attention=data.view.attention)


def _keep(data: HeadsData, title: str, name: str) -> str:
    """Return the lines that write the figure into a page that opens without a network."""
    return KEEP.format(title=title, text=state.about(), file=f"{name}.html")


def read_again(data: HeadsData) -> str:
    """Return the lines that load the model and read the text."""
    view, config = data.view, data.card.config
    return READ.format(
        path=data.card.path,
        device="" if view.device == CPU else f", device={view.device!r}",
        precision="" if view.precision == PRECISIONS[0] else f", dtype={view.precision!r}",
        text=view.text,
        target=view.target,
        max_tokens=readings.max_tokens(config),
        max_new_tokens=readings.max_new_tokens(data.source),
    )
