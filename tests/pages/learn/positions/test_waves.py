"""Waves and wavelengths of an encoding, as they are drawn, called and taken away."""

import math

import numpy as np
import pytest

import transformer_core as tc
from pages.learn.positions import view_fields, waves
from tests.pages.learn.bare import Bare
from tests.pages.learn.positions.conftest import Look

KEY = "positions-figure-{}".format


def test_the_chosen_waves_are_drawn_with_their_names_and_taken_away(bare: Bare, look: Look):
    waves.show(look("en-fr", "sinusoidal_interleaved", "waves", n=5, width=4, dims=(3, 0, 4)))
    drawn = bare.figures[KEY("waves")]
    positions = np.arange(5)
    expected = np.stack([np.cos(positions / 100), np.sin(positions)], axis=1)
    np.testing.assert_allclose(drawn.arrays["values"], expected, atol=1e-6)
    assert drawn.arrays["dimensions"].tolist() == [3, 0], "there is no dimension 4"
    names = ["3: cos, λ 628.3", "0: sin, λ 6.3"]
    assert [trace.name for trace in drawn.figure.data if trace.name] == names
    assert drawn.rows[0] == "position,dimension,value"
    assert [row.split(",")[:2] for row in drawn.rows[1:3]] == [["0", "3"], ["0", "0"]] and len(drawn.rows) == 11
    assert drawn.layout["yaxis"]["range"] == [-1.08, 1.08]
    widget = bare.widgets["positions-dims-box"]
    assert widget.options == [0, 1, 2, 3] and widget.names[2] == "2: sin, λ 628.3"
    assert bare.session["positions-dims-box"] == [3, 0]


def test_choosing_no_dimension_is_choosing_the_usual_ones(bare: Bare, look: Look):
    waves.show(look("en-fr", "sinusoidal_halves", "waves", n=5, width=8, dims=(3,)))
    chosen = bare.widgets["positions-dims-box"]
    for taken, value in (([2, 1], (2, 1)), ([], None)):
        bare.session["positions-dims-box"] = taken
        chosen.how["on_change"]()
        assert view_fields.DIMENSIONS.value == value
    waves.show(look("en-fr", "sinusoidal_halves", "waves", n=5, width=8, dims=(8, 9)))
    assert bare.figures[KEY("waves")].arrays["dimensions"].size > 1, "none of the chosen is there"


def test_wavelengths_rise_in_each_half_or_over_all(bare: Bare, look: Look):
    data = look("en-fr", "sinusoidal_halves", "waves", n=5, width=6)
    waves.show(data)
    drawn = bare.figures[KEY("wavelengths")]
    lengths = 2 * np.pi * 10_000 ** (np.arange(3) / 3)
    np.testing.assert_allclose(drawn.arrays["wavelengths"], [*lengths, *lengths], rtol=1e-5)
    assert drawn.rows[:2] == ["dimension,of,positions", f"0,wavelength,{drawn.arrays['wavelengths'][0]}"]
    curves = {trace.name: np.array(trace.y, dtype=float) for trace in drawn.figure.data if trace.name}
    assert [*curves] == ["sines", "cosines"]
    np.testing.assert_allclose(curves["sines"], [*lengths, *[np.nan] * 3], rtol=1e-5)
    np.testing.assert_allclose(curves["cosines"], [*[np.nan] * 3, *lengths], rtol=1e-5)
    waves.show(look("en-fr", "sinusoidal_interleaved", "waves", n=5, width=6))
    drawn = bare.figures[KEY("wavelengths")]
    np.testing.assert_allclose(drawn.arrays["wavelengths"], lengths.repeat(2), rtol=1e-5)
    assert not [trace.name for trace in drawn.figure.data if trace.name]


def test_the_ends_of_the_wavelengths_are_marked_at_2_pi_and_2_pi_times_the_base(bare: Bare, look: Look):
    waves.show(look("fill-in", "rotary_halves", "waves", n=5))
    layout = bare.figures[KEY("wavelengths")].layout
    levels = [line["y0"] for line in layout["shapes"]]
    assert levels == pytest.approx([math.tau, math.tau * 10_000])
    assert {note["text"] for note in layout["annotations"]} == {"2π", "20,000π"}
    assert layout["yaxis"]["type"] == "log"


def test_learned_waves_have_no_wavelengths_and_no_limits(bare: Bare, look: Look):
    waves.show(look("stories", "learned", "waves", n=6, dims=(7,)))
    assert [*bare.figures] == [KEY("waves")]
    drawn = bare.figures[KEY("waves")]
    model, _ = tc.load("checkpoints/stories")
    rows = next(weights for name, weights in model.named_parameters() if "pos" in name).detach().numpy()
    np.testing.assert_allclose(drawn.arrays["values"][:, 0], rows[:6, 7], atol=1e-7)
    assert [trace.name for trace in drawn.figure.data if trace.name] == ["7"]
    assert drawn.layout["yaxis"].get("range") != [-1.08, 1.08]
    assert "learned freely" in bare.words
