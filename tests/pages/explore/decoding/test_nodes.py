"""The trees of the Decoding page: a number for each place in a tree."""

import subprocess
import sys

from pages.explore.decoding.nodes import numbers
from pages.shared.models import ROOT


def test_a_place_in_a_tree_has_one_number_in_every_run_and_no_other_place_has_it():
    one, other = numbers(0, [5, 6, 7]), numbers(0, [5, 7, 7, 6])
    assert [len(one), len(other)] == [4, 5]
    assert one[0] == other[0] == 0 and one[1] == other[1]
    assert len({*one, *other}) == 4 + 3
    assert numbers(one[2], [7]) == one[2:], "from any node on"
    assert all(0 <= number < 2**53 for number in one + other), "a browser keeps all digits"
    script = "from pages.explore.decoding.nodes import numbers; print(numbers(0, [5, 6, 7]))"
    again = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert again.stdout.strip() == str(one), "links and open pages name nodes"
