"""What the Compare page sent, read back."""

import json
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import OpenApp, values_of

Figures = dict[str, dict[str, Any]]


def open_compare(open_app: OpenApp, **parameters: str) -> AppTest:
    """Open the page by a link."""
    app = open_app("compare", **parameters)
    assert not app.exception
    return app


def figures_of(app: AppTest) -> Figures:
    """The figures, by their titles."""
    sent = [json.loads(c.proto.json) for c in app.get("bidi_component") if c.proto.component_name == "headlight.figure"]
    figures = [json.loads(data["figure"]) for data in sent]
    return {str(figure["layout"]["title"]["text"]): figure for figure in figures}


def cells_of(figure: dict[str, Any], name: str) -> np.ndarray:
    """The numbers of a heatmap, by the beginning of its name; 0 where there is none."""
    return np.nan_to_num(values_of(next(trace for trace in figure["data"] if trace["name"] == name)))
