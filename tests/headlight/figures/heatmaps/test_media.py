"""The image or the sound with the weights of a query on it."""

import numpy as np
import plotly.graph_objects as go
import pytest

from headlight.figures.heatmaps.media import image_weights, sound_weights


def test_patches_lie_on_their_part_of_the_image_and_the_query_is_framed() -> None:
    weights = np.array([[0.1, 0.2, 0.0], [0.3, 0.4, 0.0]])
    labels = [f"{row}, {column}" for row in range(2) for column in range(3)]
    figure = go.Figure(image_weights(np.zeros((8, 6, 3), np.uint8), weights, labels, title="t", query=(1, 2)))
    (picture,), (cells,) = figure.layout.images, figure.data
    assert (picture.x, picture.y, picture.sizex, picture.sizey) == (-0.5, -0.5, 3, 2)
    assert picture.source.startswith("data:image/png;base64,")
    assert cells.zmax == pytest.approx(0.4) and cells.customdata[1][1].startswith("1, 1: 0.4")
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].y0) == (1.5, 0.5)
    assert figure.layout.yaxis.scaleratio == pytest.approx(2.0)  # patches of 4 x 2 pixels


def test_a_waveform_spans_the_frames() -> None:
    samples = np.sin(np.arange(4_000) / 5).astype(np.float32)
    figure = go.Figure(sound_weights(samples, np.array([0.5, np.nan, 0.25]), ["0 s", "1 s", "2 s"], title="t", query=0))
    cells, wave = figure.data
    assert np.shape(cells.z) == (1, 3) and cells.zmax == 0.5
    assert (min(wave.x), max(wave.x)) == (-0.5, 2.5) and 0.55 <= min(wave.y) < max(wave.y) <= 1.45
    assert figure.layout.shapes[0].x1 == 0.5
