"""The stage: a text on its way through a model, from tokens to the next token, at one zoom level.

The browser handles steps, sliders and hovering. A person's choices come back as triggers of the component's key: the
zoom level, the step, the settings and the token; `pages.learn.start.view_fields` validates them like any input.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headlight.analysis.stage.panels import Lane, Panel, Zoom
from headlight.figures import DARK, LIGHT, Theme, isolate
from headlight.figures.theme import KEY, NOT_FINITE, QUERY, VALUE, category_hues
from headlight.language import say
from pages.components.mounting import component, packed
from pages.components.sampling import distribution_payload, sampling_payload
from pages.learn.start import view_fields
from pages.learn.start.components.stage.sources_payload import sources_payload
from pages.learn.start.data import StageData
from transformer_core.errors import mark
from transformer_core.text.labels import border_in

N_CANDIDATES = 40  # with their own rows
MOST_COLUMNS = 4096  # of a panel; of more logits only the highest are drawn
STACKS = {"encoder": mark("Encoder"), "decoder": mark("Decoder")}
BLOCKS = {"encoder": mark("Encoder block {layer}"), "decoder": mark("Decoder block {layer}")}
PARTS = {"self_attn": mark("Self-attention"), "cross_attn": mark("Cross-attention")}
PANELS = {
    "token": mark("Embedding"),
    "position": mark("Positions"),
    "segment": mark("Segment"),
    "sum": mark("Sum"),
    "memory": mark("Memory (M)"),
    "output": mark("Output"),
    "final norm": mark("Final norm"),
    "logits": mark("Logits"),
    "mlp": mark("FFN"),
    "cross_attn": mark("Cross-attention"),
    "self_attn": mark("Self-attention"),
    "input": mark("Input"),
    "norm": mark("Norm"),
    "mlp_out": mark("FFN output"),
    "attn_out": mark("Attention output"),
    "add": mark("Add"),
    "q": mark("Queries"),
    "k": mark("Keys"),
    "v": mark("Values"),
    "z": "z",
    "dropout": mark("Dropout"),
}
HUES = {"hook_q": "query", "hook_k": "key", "hook_v": "value", "hook_z": "value"}  # by stem; others are signed


def stage(data: StageData, *, ended: str, reason: str, on_token: Callable[[], None]) -> None:
    """Draw the stage at the zoom level of the data.

    Args:
        data: the text, and the current selection.
        ended: a sentence on why there is no next token or no prediction; "" if there is one.
        reason: a sentence on why the stage opens at the least certain step; "" if there is no prediction.
        on_token: called when a person chooses a token, before the rerun.
    """
    zoom, lanes, text, values = data.zoom, data.lanes, data.text, data.panel_values()
    distributions = data.distributions if zoom.level == "overview" else []
    payloads = [distribution_payload(one, data.label, N_CANDIDATES) for one in distributions]
    of_lanes = [_lane(lane, values) for lane in lanes]
    header = {
        "zoom": view_fields.ZOOMED.payload(str(zoom)),
        "step": view_fields.STEPPED.payload(data.step, echoes=False),
        "sampling": sampling_payload(view_fields.STAGE, data.sampling),
        "decoding": view_fields.DECODED.payload(view_fields.DECODING.value),
        "level": zoom.level,
        "architecture": say(data.card.kind),
        "crumbs": [{"zoom": str(one), "title": title_of(one)} for one in zoom.path],
        "lanes": of_lanes,
        "headHues": category_hues(data.card.config.n_heads),
        "isParallel": data.card.config.parallel_residual,
        "sides": {
            name: {
                "labels": [isolate(one) for one in text.side_labels[name]],
                "border": border_in(text.side_labels[name]),
                "ids": [*ids],
            }
            for name, ids in text.tokens.items()
        },
        "generating": "source" if text.architecture == "encoder_only" else "target",
        "nGiven": text.n_given,
        "lessProbable": data.less_probable if zoom.level == "overview" else [],
        "rows": [*text.rows],
        "nextLabels": [isolate(one) for one in text.next_labels],
        "hasEnded": text.has_ended,
        "isFilling": text.architecture == "encoder_only",
        "nFilled": text.n_filled,
        "ended": ended,
        "opening": {"step": data.least_certain, "reason": reason},
        "distributions": [one for one, _ in payloads],
        "nTokens": len(distributions[0].scores) if distributions else 0,
        "flow": sources_payload(data.attention_shares, text) if zoom.level == "overview" else None,
        "colors": {theme.name: _colors(theme) for theme in (LIGHT, DARK)},
    }
    numbers = b"".join(_numbers(panel, values[panel.key]) for lane in lanes for panel in lane.panels)
    component(__file__, "stage", isolated=True)(
        key=view_fields.STAGE,
        data=packed(header, numbers + b"".join(scores for _, scores in payloads)),
        on_zoom_change=view_fields.on_zoom,
        on_step_change=lambda: view_fields.on_step(is_filling=text.architecture == "encoder_only"),
        on_sampling_change=lambda: view_fields.on_sampling(data.generated_until(view_fields.STEP.value)),
        on_decoding_change=lambda: view_fields.on_decoding(data.generated_until(view_fields.STEP.value)),
        on_token_change=on_token,
    )


def title_of(zoom: Zoom) -> str:
    """Return the name of a zoom level."""
    if zoom.part:
        return say(PARTS[zoom.part])
    return say(BLOCKS[zoom.stack], layer=zoom.layer) if zoom.stack else say("Overview")


def _lane(lane: Lane, values: Mapping[str, np.ndarray]) -> dict[str, Any]:
    groups = dict.fromkeys(panel.group for panel in lane.panels if panel.group)
    return {
        "stack": lane.stack,
        "title": say(STACKS[lane.stack]),
        "groups": {group: _group(Zoom.of(group)) for group in groups},
        "panels": [_panel(panel, values[panel.key]) for panel in lane.panels],
    }


def _group(zoom: Zoom) -> dict[str, str]:
    return {"short": say("Block {layer}", layer=zoom.layer), "title": title_of(zoom), "zoom": str(zoom)}


def _panel(panel: Panel, values: np.ndarray) -> dict[str, Any]:
    is_heads = panel.shape == "heads"
    allowed = values[np.isfinite(values)]
    n_heads = 1 if panel.shape == "vectors" else len(values)  # keys and values may have fewer heads
    columns = _columns(panel, values)
    title = say(PANELS[panel.name])
    if columns is not None:
        title = say("{title} (highest {n:,})", title=title, n=len(columns))
        values = values[:, columns]
    return {
        "name": panel.name,
        "site": panel.key,
        "title": title,
        "ids": None if columns is None else columns.tolist(),
        "shape": panel.shape,
        "size": [values.shape[1], n_heads * values.shape[2]] if panel.shape == "head vectors" else [*values.shape],
        "nHeads": n_heads,
        "rows": panel.rows,
        "columns": panel.columns,
        "group": panel.group,
        "opens": panel.opens,
        "isStream": panel.is_stream,
        "hue": "weight" if is_heads else HUES.get(panel.site.rpartition(".")[2], ""),
        "most": float(np.abs(allowed).max(initial=0)) or 1.0,
    }


def _columns(panel: Panel, values: np.ndarray) -> np.ndarray | None:
    """Return the columns to draw: of too many logits, those with the highest maximum over rows; None: all."""
    if panel.shape != "vectors" or values.shape[1] <= MOST_COLUMNS:
        return None
    return np.sort(np.argsort(-values.max(axis=0), kind="stable")[:MOST_COLUMNS])


def _numbers(panel: Panel, values: np.ndarray) -> bytes:
    """Return the values as float32 bytes for the component; vectors by head are laid out side by side per token."""
    columns = _columns(panel, values)
    if columns is not None:
        values = values[:, columns]
    rows = values.swapaxes(0, 1) if panel.shape == "head vectors" else values
    return np.ascontiguousarray(rows, dtype="<f4").tobytes()


def _colors(theme: Theme) -> dict[str, Any]:
    names = ("background", "text", "muted", "accent", "border", "forbidden", "sequential", "diverging")
    hues = {"notFinite": NOT_FINITE, "query": QUERY, "key": KEY, "value": VALUE}
    return {name: getattr(theme, name) for name in names} | hues
