"""The variants of an experiment over its steps: what each loses on what it learns from, and what that is worth."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headlight.analysis.training.curves import Curve
from headlight.figures.curves.panels import Panel, panels_over_steps, places
from headlight.figures.hues import layer_hues
from headlight.figures.labels import escape
from transformer_core.language import say

_LOSS_HEIGHT, _SHARE_HEIGHT = 210, 120  # px
_FEW = 24  # points up to which each is marked


def variant_hues(variants: Sequence[str]) -> dict[str, str]:
    """Return the hue of each variant, the same in all figures of an experiment."""
    return dict(zip(variants, layer_hues(len(variants)), strict=True))


def experiment_curves(
    names: Mapping[str, str],
    losses: Mapping[str, Curve],
    *,
    held_out_losses: Mapping[str, Curve] | None = None,
    shares: Mapping[str, Curve],
    n_steps: int,
    width: int = 560,
    height: int | None = None,
) -> go.Figure:
    """Draw a line for each variant of an experiment in each panel.

    Args:
        names: of the variants, as one reads them, in their order.
        losses: on what is learnt from, nats per token.
        held_out_losses: on what was held out, nats per token; None: no panel for them.
        shares: of held-out texts that are written freely and right, in [0, 1].
        n_steps: how long the experiment is to be.
        width: px that the figure is laid out for; it takes the width that it is given, and no less is needed.
        height: px; None: what the panels need.
    """
    hues, nats = variant_hues([*names]), say("nats per token")
    panels = [
        Panel(
            title=f"<b>{say('Training loss')}</b>, {nats}",
            height=_LOSS_HEIGHT,
            axis=_from_zero(losses),
            traces=_lines(names, losses, hues, "%{y:.3f} " + nats, is_named=True),
            note="" if losses else say("No steps have been trained yet."),
        )
    ]
    if held_out_losses is not None:
        panels.append(
            Panel(
                title=f"<b>{say('Held-out loss')}</b>, {nats}",
                height=_SHARE_HEIGHT,
                axis=_from_zero(held_out_losses),
                traces=_lines(names, held_out_losses, hues, "%{y:.3f} " + nats),
            )
        )
    panels.append(
        Panel(
            title=f"<b>{say('Exact match')}</b>, {say('fraction of held-out data, free-running')}",
            height=_SHARE_HEIGHT,
            axis={"range": [-0.04, 1.04], "tickvals": [0, 0.5, 1], "tickformat": ".0%"},
            traces=_lines(names, shares, hues, "%{y:.0%}"),
        )
    )
    return panels_over_steps(
        panels,
        ends=(0, n_steps),
        log=False,
        snapshot=None,
        hovermode="x unified",
        width=width,
        height=height,
    )


def _from_zero(curves: Mapping[str, Curve]) -> dict[str, Any]:
    """Return an axis from 0 to a little above the highest value."""
    highest = max((float(curve.values.max()) for curve in curves.values() if curve.values.size), default=0.0)
    if not highest:
        return {"range": [-0.04, 1.06], "showticklabels": False, "showgrid": False}
    return {"range": [-0.04 * highest, 1.06 * highest]}


def _lines(
    names: Mapping[str, str],
    curves: Mapping[str, Curve],
    hues: Mapping[str, str],
    hover_text: str,
    *,
    is_named: bool = False,
) -> list[go.Scatter]:
    """Return a line for each variant; the first panel names them all, also those that have nothing to draw yet."""
    nothing = Curve(np.zeros(0, dtype=np.int64), np.zeros(0))
    lines = []
    for variant, name in names.items():
        curve = curves.get(variant, nothing)
        lines.append(
            go.Scatter(
                name=escape(name),
                x=places(curve.steps, log=False),
                y=curve.values,
                mode="lines+markers" if len(curve.steps) <= _FEW else "lines",
                line={"color": hues[variant], "width": 2.2},
                marker={"color": hues[variant], "size": 6},
                hovertemplate=f"{escape(name)}: {hover_text}<extra></extra>",
                legendgroup=variant,
                showlegend=is_named,
            )
        )
    return lines
