"""What the Film page sent, read back."""

import json
import struct
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.pages.conftest import component, figures_of, values_of
from transformer_core.config import Architecture

Models = dict[str, list[tc.Transformer]]
ARCHITECTURES: dict[str, Architecture] = {"pairs": "encoder_decoder", "tales": "decoder_only", "gaps": "encoder_only"}


def pictures_of(app: AppTest) -> tuple[dict[str, Any], np.ndarray, bytes]:
    """What is played: its header, the strongest cells [frame, head, 3], and the levels."""
    data = component(app, "film").bytes
    (length,) = struct.unpack("<I", data[:4])
    header = json.loads(data[4 : 4 + length])
    n_heads = sum(group["layers"] * group["heads"] for group in header["groups"])
    end = 4 + length + 6 * n_heads * header["frames"]
    return header, np.frombuffer(data[4 + length : end], "<u2").reshape(header["frames"], n_heads, 3), data[end:]


def heatmap_of(app: AppTest) -> np.ndarray:
    """The chosen head at the chosen snapshot; 0 where the mask forbids."""
    (figure,) = (f for f in figures_of(app).values() if "Attention pattern after step" in str(f["layout"].get("title")))
    return pattern_in(figure)


def pattern_in(figure: dict[str, Any]) -> np.ndarray:
    return np.nan_to_num(values_of(next(trace for trace in figure["data"] if trace["name"] == "attention")))
