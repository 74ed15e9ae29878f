"""Layers of attention and feed-forward steps, as the literature's compilers lay the same programs out."""

import pytest

from headlight.programs import EXAMPLES
from headlight.programs.interpreter import value_sets
from headlight.programs.layout import layout_of


def blocks(name: str) -> str:
    """Such as "A1 M2 A1": heads and feed-forward steps by layer, those that are there."""
    program = EXAMPLES[name]
    layout = layout_of(program, value_sets(program, program.vocab, program.max_len))
    layers = zip(layout.heads, layout.feed_forward, strict=True)
    parts = [(kind, len(steps)) for layer in layers for kind, steps in zip("AM", layer, strict=True)]
    return " ".join(f"{kind}{n}" for kind, n in parts if n)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("reverse", "A1 M1 M1 A1"),  # Tracr: attention, two feed-forward layers, attention
        ("histogram", "A1 M1"),
        ("shift", "A1"),
        ("sort_unique", "A1 M1 A1"),
        ("sort", "M1 A1 M1 A1"),
        ("fraction_previous", "M1 A1"),
        ("induction", "A1 A1"),
    ],
)
def test_layers_are_those_of_tracr(name: str, expected: str):
    assert blocks(name) == expected


def test_shuffle_dyck_2_has_a_layer_of_four_heads():
    assert blocks("shuffle_dyck_2").startswith("A4 ")
