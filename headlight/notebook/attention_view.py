"""`AttentionView`: all heads on one text as an interactive view, in a notebook, in a file, or as a widget."""

import html
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from headlight.analysis.heads.text_measures import MEASURES
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures.theme import (
    CELL,
    FONT,
    HUES,
    KEY,
    NOT_FINITE,
    QUERY,
    THEMES,
    Theme,
    sequential_scale,
)
from headlight.language import language, localized, say, say_message
from headlight.notebook.bundle import page_script
from headlight.notebook.measuring import mask_of, measures_of
from headlight.notebook.packing import pack
from headlight.notebook.page import whole_page
from headlight.notebook.static_picture import overview_png
from headlight.viewing.patterns import AttentionPatterns, PatternRecord
from transformer_core.errors import ArgumentError, Message
from transformer_core.reasons import reason
from transformer_core.text.labels import border_in

Figure = Literal["cells", "lines"]

_PICTURE = """\
<img style="width: 520px; max-width: 100%; image-rendering: pixelated" alt="{alt}"
src="data:image/png;base64,{picture}">
<p style="font-size: 12px">{fallback}</p>
"""
_VIEW = """\
<div class="headlight-view" style="max-width: 1180px">
{picture}\
<script type="application/json" data-kind="json">{header}</script>
<script type="text/plain" data-kind="base64">{packed}</script>
</div>
"""


@dataclass(frozen=True, kw_only=True)
class Start:
    """What a view shows first."""

    attention: str = ""  # name; "": the first
    layer: int = 0  # place among the layers that are shown
    heads: Sequence[int] = (0,)  # places among the heads that are shown; several are combined
    figure: Figure = "cells"
    measure: str = ""  # of MEASURES
    order: Literal["", "ascending", "descending"] = ""  # of the heads, by the measure


class AttentionView:
    """All heads of a model on one text: a notebook shows the view where it is the last value of a cell.

    >>> view = hl.show(model, tokenizer, "The cat sat.")
    >>> view.save("heads.html")  # opens in any browser, without a network

    Attributes:
        record: the patterns.
        error: the largest rounding error of a weight in the view.
    """

    def __init__(
        self, record: PatternRecord, *, start: Start | None = None, exact: bool = False, title: str = ""
    ) -> None:
        """Pack the patterns.

        Args:
            record: of a model on one text.
            start: what is shown first.
            exact: round weights to 1e-5; otherwise as finely as fits into about 1.5 MB.
            title: heading; "": the name of the model.

        Raises:
            ArgumentError: the patterns are too large, or there is no such attention, layer or head.
        """
        self.record = record
        self._start = start or Start()
        self._title = title or record.model
        self._masks = {name: mask_of(attention) for name, attention in record.attentions.items()}
        self._first = self._first_head()
        patterns = [attention.patterns for attention in record.attentions.values()]
        self._packed, self._top = pack(patterns, [*self._masks.values()], exact=exact)
        self.error = 0.5 / self._top

    def __repr__(self) -> str:
        """Return the attentions and their sizes."""
        return f"AttentionView({self._title}: {'; '.join(map(repr, self.record.attentions.values()))})"

    def _repr_html_(self) -> str:
        """Return the view as part of a page, together with the script that shows it."""
        return f"{self._part}<script>\n{page_script(language())}</script>\n"

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the view as a separate page, which needs no network; return its path.

        Args:
            path: of the file, such as "heads.html".

        Raises:
            ArgumentError: the file cannot be written.
        """
        target = Path(path)
        try:
            target.write_text(self.page(), encoding="utf-8")
        except OSError as error:
            raise ArgumentError(
                "{path} cannot be written ({error}); choose another path", path=path, error=reason(error)
            ) from error
        return target

    def page(self) -> str:
        """Return the view as a separate page, as `save` writes it."""
        return whole_page(self._part, title=self._title)

    def widget(self) -> Any:
        """Return the view as a widget of a running notebook: its trait `chosen` is the head that is shown.

        Raises:
            ArgumentError: anywidget is not installed.
        """
        from headlight.notebook.widget import AttentionWidget

        chosen = self.header["start"]["chosen"]
        return AttentionWidget(self._picture, header=self.header, packed=self._packed, chosen=chosen)

    @cached_property
    def header(self) -> dict[str, Any]:
        """Everything but the patterns, as JSON for the browser."""
        attention, layer, heads = self._first
        chosen = [{"attention": attention, "layer": layer, "head": head} for head in heads]
        start = self._start
        attentions = self.record.attentions
        groups = [_group(attention) for attention in attentions.values()]
        measures = measures_of(attentions, self._masks)
        is_measured = any(measure["id"] == start.measure for measure in measures)  # some texts give nothing to measure
        return {
            "language": language(),
            "title": self._title,
            "groups": groups,
            "top": self._top,
            "decimals": 4 if self._top >= 5_000 else 3,
            "start": {
                "chosen": chosen[0],
                "pinned": chosen if len(chosen) > 1 else [],
                "figure": start.figure,
                "measure": start.measure if is_measured else "",
                "order": start.order,
            },
            "measures": measures,
            "scales": {
                name: {
                    "sequential": sequential_scale(theme),
                    "forbidden": theme.forbidden,
                    "notFinite": NOT_FINITE,
                    "text": theme.text,
                    "muted": theme.muted,
                    "ground": theme.background,
                }
                for name, theme in THEMES.items()
            },
            "themes": {name: _variables(theme) for name, theme in THEMES.items()},
            "hues": HUES,
            "colors": {"query": QUERY, "key": KEY},
            "notes": [*self._notes()],
            "steps": self._steps(),
        }

    @property
    def _part(self) -> str:
        """The view as HTML without its script: a static picture until the script runs, and the data."""
        header = json.dumps(self.header, ensure_ascii=False, allow_nan=False)
        packed = b64encode(self._packed).decode()
        return _VIEW.format(picture=self._picture, header=header.replace("<", "\\u003c"), packed=packed)

    @property
    def _picture(self) -> str:
        """A static picture of all heads as HTML, for places where no script runs."""
        n_heads = sum(a.patterns.shape[0] * a.patterns.shape[1] for a in self.record.attentions.values())
        return _PICTURE.format(
            alt=html.escape(say("Attention patterns of all {n} heads of {model}", n=n_heads, model=self._title)),
            picture=b64encode(overview_png([a.patterns for a in self.record.attentions.values()])).decode(),
            fallback=html.escape(
                say(
                    "{model}: all heads. They can be explored where scripts run: trust the notebook, or run it again.",
                    model=self._title,
                )
            ),
        )

    def _notes(self) -> Sequence[str]:
        record = self.record
        error = f"{self.error:.0e}".replace("e-0", "e-") if self.error < 1e-4 else localized(self.error, ".4g")
        rounding = Message("Weights are rounded to within {error}.", error=error)
        return [say_message(note) for note in (rounding, record.computed_by, *record.notes) if note]

    def _steps(self) -> dict[str, Any] | None:
        """Return the steps of the decoding for the stepper; None if there are fewer than two."""
        steps = self.record.steps
        if steps is None or len(steps.tokens) < 2:
            return None
        names = [name for name, attention in self.record.attentions.items() if attention.kind != "encoder"]
        return {
            "attentions": names,
            "first": steps.first_query,
            "tokens": [*steps.tokens],
            "probabilities": [*steps.probabilities],
        }

    def _first_head(self) -> tuple[str, int, list[int]]:
        """Return the attention, the layer and the heads that are shown first."""
        attentions, start = self.record.attentions, self._start
        if start.measure and start.measure not in MEASURES:
            raise ArgumentError(
                "there is no measure {name}; there are: {names}", name=start.measure, names=", ".join(MEASURES)
            )
        if start.figure not in get_args(Figure):
            raise ArgumentError(
                "there is no figure {name}; there are: {names}", name=start.figure, names=", ".join(get_args(Figure))
            )
        if not attentions:
            raise ArgumentError("there are no patterns to show")
        name = start.attention or next(iter(attentions))
        if name not in attentions:
            raise ArgumentError(
                "there is no attention {name}; there are: {names}", name=name, names=", ".join(attentions)
            )
        n_layers, n_heads = attentions[name].patterns.shape[:2]
        if not 0 <= start.layer < n_layers or not all(0 <= head < n_heads for head in start.heads) or not start.heads:
            raise ArgumentError(
                "layer {layer} with heads {heads} is not there; {name} has {n_layers} layers of {n_heads} heads",
                layer=start.layer,
                heads=str([*start.heads]),
                name=name,
                n_layers=n_layers,
                n_heads=n_heads,
            )
        return name, int(start.layer), [int(head) for head in start.heads][: len(HUES)]


def _group(attention: AttentionPatterns) -> dict[str, Any]:
    n_layers, n_heads = attention.patterns.shape[:2]
    is_known = attention.name == attention.kind
    return {
        "attention": attention.name,
        "title": say(ATTENTIONS[attention.kind].title) if is_known else attention.name,
        "layers": n_layers,
        "heads": n_heads,
        "layerNumbers": [int(layer) for layer in attention.layers],
        "headNumbers": [int(head) for head in attention.heads or range(n_heads)],
        "queries": [*attention.queries],
        "keys": [*attention.keys],
        "border": {"query": border_in(attention.queries), "key": border_in(attention.keys)},
    }


def _variables(theme: Theme) -> Mapping[str, str]:
    """Return the variables of the components' style sheets."""
    return {
        "--st-font": FONT,
        "--st-background-color": theme.background,
        "--st-secondary-background-color": theme.surface,
        "--st-text-color": theme.text,
        "--st-gray-text-color": theme.muted,
        "--st-primary-color": theme.accent,
        "--st-border-color": theme.border,
        "--st-cell-color": CELL,
    }
