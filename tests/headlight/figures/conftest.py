"""Each figure that these tests make is checked by plotly, which the core itself does not wait for."""

import json
from typing import Any

import plotly.graph_objects as go
import pytest


@pytest.fixture(autouse=True)
def each_figure_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where plotly is not asked to check a figure, it must find nothing to refuse or to write in another way."""
    make = go.Figure.__init__

    def checked(self: go.Figure, *args: Any, **named: Any) -> None:
        make(self, *args, **named)
        if not named.get("_validate", True):
            assert _written(self) == _written(go.Figure(self.to_dict()))
            for axis in (*self.select_xaxes(), *self.select_yaxes()):
                assert axis.domain is None or axis.domain[0] < axis.domain[1]  # plotly can only read it as a list

    monkeypatch.setattr(go.Figure, "__init__", checked)


def _written(figure: go.Figure) -> dict[str, Any]:
    """A figure as a browser gets it; an empty list is none."""
    written: dict[str, Any] = json.loads(figure.to_json())
    return written | {"layout": {name: value for name, value in written["layout"].items() if value != []}}
