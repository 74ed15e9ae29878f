"""The fields of the Heads page besides the model, the text and the head: what is drawn, and how."""

import re
from collections.abc import Mapping

from headlight.analysis.heads.picture import HeadPicture, HeadShare, Span
from headlight.analysis.heads.text_measures import MEASURES
from headlight.language import say
from pages.shared import prose
from pages.shared.view import state
from pages.shared.view.fields import Field, number, one_of, sent, window, window_in_words
from pages.shared.view.shared_value import SharedValue

PAGE = "heads"
MOST_MIXED = 8  # heads in one mixture: the number of distinguishable hues

Mix = tuple[HeadShare, ...]
_SHARE = re.compile(r"(\d{1,4})\.(\d{1,4})(?::(\d(?:\.\d{1,3})?))?")
MEANS = ("", "layer", "all")  # the mean over the heads of the layer, or over all heads of the attention


def _mix(text: str) -> Mix:
    """Read heads of one attention with their weights, such as "0.1+1.3:0.5".

    Raises:
        ValueError: the format is invalid.
    """
    results = [_SHARE.fullmatch(part) for part in text.split("+")]
    mix = tuple(HeadShare(layer=int(m[1]), head=int(m[2]), weight=float(m[3] or 1)) for m in results if m)
    heads = {(share.layer, share.head) for share in mix}  # without duplicates
    if not len(results) == len(mix) == len(heads) <= MOST_MIXED or any(share.weight > 1 for share in mix):
        raise ValueError(
            say(
                "the format is layer.head:weight with weights up to 1, up to {n} heads joined by +: 0.1+1.3:0.5",
                n=MOST_MIXED,
            )
        )
    return mix


def mix_in_words(mix: Mix) -> str:
    """Return heads with their weights in the format of links."""
    return "+".join(f"{s.layer}.{s.head}" + ("" if s.weight == 1 else f":{s.weight:g}") for s in mix)


DRAWING = Field(PAGE, "as", "heatmap", one_of("heatmap", "lines"))
QUANTITY = Field(PAGE, "show", "pattern", one_of("pattern", "scores", "log", "values", "written"))
UNIT = Field(PAGE, "unit", "token", one_of("token", "word"))
HIDDEN = Field(PAGE, "hide", "", one_of("", "special", "sinks", "special+sinks"))
REST = Field(PAGE, "rest", "", one_of("", "share"))  # "share": the weight of hidden tokens is shared among the others
WINDOW = Field(PAGE, "window", None, window, window_in_words)
QUERY = Field(PAGE, "query", None, number)  # places of tokens in the text
KEY = Field(PAGE, "key", None, number)
MIX: Field = Field(PAGE, "mix", (), _mix, mix_in_words)
MEAN = Field(PAGE, "mean", "", one_of(*MEANS))
TINT = Field(PAGE, "measure", "", one_of("", *MEASURES))
ORDER = Field(PAGE, "order", "", one_of("", "descending", "ascending"))
ONLY = Field(PAGE, "only", "", one_of("", "one"))  # "one": the overview shows only the chosen attention
ACROSS = Field(PAGE, "across", "", one_of("", "rollout", "flow"))

FIELDS = (DRAWING, QUANTITY, UNIT, HIDDEN, REST, WINDOW, QUERY, KEY, MIX, MEAN, TINT, ORDER, ONLY, ACROSS)


def choose_cell(cell: tuple[int | None, int | None] | None, shown: HeadPicture) -> None:
    """Choose a cell of the picture, or only its query or key, and store it as places in the text; None deselects."""
    query, key = shown.token_of(*cell) if cell else (None, None)
    QUERY.set(query)
    KEY.set(key)


def choose_line(component: str, shown: HeadPicture) -> None:
    """Choose or deselect the token that was clicked among the lines, after checking what the browser sent."""
    cell = SharedValue(component, "cell").heard()
    if isinstance(cell, Mapping):
        query, key = (cell.get(name) if type(cell.get(name)) is int else None for name in ("query", "key"))
        first_query, first_key = shown.queries.first, shown.keys.first
        choose_cell((None if query is None else query + first_query, None if key is None else key + first_key), shown)


def choose_window(window: tuple[range, range] | None, shown: HeadPicture) -> None:
    """Choose a part of the text, at its places in the whole text; None: the whole text."""
    spans: list[Span] = []
    for places, side in zip(window or (), (shown.queries, shown.keys), strict=False):
        units = side.tokens[max(0, places.start - side.first) : max(0, places.stop - side.first)]
        if units:
            spans.append((units[0].start, units[-1].stop - 1))
    WINDOW.set((spans[0], spans[1]) if len(spans) == 2 else None)


def on_pinned() -> None:
    """Add a head to the combined heads or remove it, as sent by the overview."""
    pinned = sent(state.OVERVIEW, "pinned")
    if not isinstance(pinned, Mapping):
        return
    layer, head = pinned.get("layer"), pinned.get("head")
    if type(layer) is int and type(head) is int and layer >= 0 and head >= 0:
        if pinned.get("attention") == state.current().attention:
            toggle(layer, head)
        else:
            prose.toast(say("Only heads of the same attention can be combined. Click the head to see it on its own."))


def toggle(layer: int, head: int) -> None:
    """Add a head to the combined heads, or remove it; an empty mixture starts with the chosen head."""
    current, mix = state.current(), MIX.value
    mix = mix or (HeadShare(layer=current.layer, head=current.head),)
    without = tuple(share for share in mix if (share.layer, share.head) != (layer, head))
    is_new = len(without) == len(mix)
    mix = (*mix, HeadShare(layer=layer, head=head))[:MOST_MIXED] if is_new else without
    MIX.set(mix if len(mix) > 1 else ())
    MEAN.set("")


def fit(n_layers: int, n_heads: int, n_queries: int, n_keys: int) -> None:
    """Remove or reset choices that do not exist in this model or text."""
    MIX.set(tuple(share for share in MIX.value if share.layer < n_layers and share.head < n_heads))
    if len(MIX.value) == 1:
        MIX.set(())
    for field, n in ((QUERY, n_queries), (KEY, n_keys)):
        if field.value is not None and field.value >= n:
            field.set(None)
    if WINDOW.value is not None and (WINDOW.value[0][0] >= n_queries or WINDOW.value[1][0] >= n_keys):
        WINDOW.set(None)
