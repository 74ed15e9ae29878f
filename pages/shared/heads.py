"""Heads on the screen: their names, and the data with which the browser previews another head."""

from collections.abc import Callable, Mapping
from typing import Any

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures import TokenGrid
from headlight.figures.heatmaps.attention import heatmap_frame
from headlight.figures.heatmaps.cells import FORBIDDEN
from headlight.figures.quantities import QUANTITIES
from headlight.figures.theme import NOT_FINITE
from headlight.language import say
from headlight.viewing.media import Medium
from transformer_core.errors import mark

SIDE_NAMES = {  # names of the query and key axes, by architecture and by the side that they come from
    ("encoder_decoder", "source"): mark("source"),
    ("encoder_decoder", "target"): mark("decoder input"),
    ("decoder_only", "target"): mark("text"),
    ("encoder_only", "source"): mark("text"),
}

MEDIA: dict[Medium, str] = {"image": mark("image (row, column of the patch)"), "audio": mark("sound (time)")}


def head_in_words(attention: str, layer: int | str, head: int | str, mean: str = "") -> str:
    """Return the name of a head in titles; with `mean` "layer" or "all", that of the mean over its layer or all heads.

    `attention` is a key of ATTENTIONS.
    """
    name = say(ATTENTIONS[attention].inline)
    if mean == "all":
        return say("{attention}, mean over all heads", attention=name)
    if mean == "layer":
        return say("{attention} L{layer}, mean over heads", attention=name, layer=layer)
    return say("{attention} L{layer}.H{head}", attention=name, layer=layer, head=head)


def axis_names(architecture: str, attention: str, remark: str = "", *, medium: Medium | None = None) -> dict[str, Any]:
    """Return the names of an attention's axes, as `TokenGrid` takes them.

    Args:
        architecture: of the model.
        attention: of its attentions.
        remark: follows both names.
        medium: in place of the text or the source, an image or a sound.
    """
    kind, names = ATTENTIONS[attention], SIDE_NAMES
    names = names | {(architecture, "source"): MEDIA[medium]} if medium else names
    queries, keys = (say(names[architecture, side]) + remark for side in (kind.queries_from, kind.keys_from))
    return {"query_name": say("query: {queries}", queries=queries), "key_name": say("key: {keys}", keys=keys)}


def preview(
    chosen: tuple[str, int, int], grids: Mapping[str, TokenGrid], title: Callable[[str], str]
) -> dict[str, Any]:
    """Return the data with which the browser draws another head as soon as it is clicked, as for `live_figure`.

    Args:
        chosen: the head that is drawn: its attention, layer and number.
        grids: the tokens of each attention.
        title: returns the title of a heatmap from the name of its head.
    """
    attention, layer, head = chosen
    titles = {name: title(head_in_words(name, "{layer}", "{head}")) for name in grids}
    return {
        "attention": attention,
        "layer": layer,
        "head": head,
        "name": say(QUANTITIES["pattern"].trace),
        "forbidden": say(FORBIDDEN),
        "notFinite": [[0, NOT_FINITE], [1, NOT_FINITE]],
        "frames": {name: {"layout": heatmap_frame(grid, title=titles[name])} for name, grid in grids.items()},
    }
