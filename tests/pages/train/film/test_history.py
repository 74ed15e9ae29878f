"""What the Film page makes of a training's measurements and of its snapshots."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from headlight.analysis.heads.measures import HeadName
from headlight.analysis.training.head_history import Appearance
from pages.shared import runs
from pages.train import heads_over_time
from pages.train.film import film_readings, learning
from tests.pages.train.small_films import STEPS, TEXTS


def appearance(step: int, head: int = 0) -> Appearance:
    name = HeadName("decoder", 1, head)
    return Appearance(name=name, measure="previous", step=step, score=0.7, chance=0.1, is_from_start=False)


def test_marks_lie_at_the_nearest_snapshot_and_those_of_one_place_are_told_together():
    results = [appearance(61, 3), appearance(9, 0), appearance(0, 1), appearance(11, 2), appearance(10, 4)]
    marks = learning.marks((0, 4, 16, 60), results)
    assert [place for place, _ in marks] == [0, 1, 2, 3]
    heads = [re.findall(r"L1\.H(\d)", words) for _, words in marks]
    assert heads == [["1"], ["0", "4"], ["2"], ["3"]], "of two snapshots that are as near, the earlier"
    becomes = heads_over_time.appeared(replace(results[1], measure="aligned", score=0.712))
    assert "L1.H0 becomes an alignment head at step 9: it puts 0.71" in becomes and "tokens: 0.10" in becomes
    already = heads_over_time.appeared(replace(results[2], is_from_start=True))
    assert "is already a previous-token head at step 0" in already


def test_what_was_read_of_a_text_is_not_read_again_where_snapshots_come(place: Path):
    run = runs.available()["pairs"]
    read: list[tuple[int, int, int]] = []

    def tell(n_read: int, n: int, step: int) -> None:
        read.append((n_read, n, step))

    first = film_readings.read(run, STEPS[:3], TEXTS[0], "the dog sees", tell)
    assert read == [(1, 3, 0), (2, 3, 4), (3, 3, 20)]
    again = film_readings.read(run, STEPS[:3], TEXTS[0], "the dog sees", tell)
    assert len(read) == 3 and again.identity == first.identity and again.reading is first.reading
    more = film_readings.read(run, STEPS, TEXTS[0], "the dog sees", tell)
    assert read[3:] == [(1, 1, 60)] and more.identity != first.identity
    np.testing.assert_array_equal(more.reading.patterns["cross"][:3], first.reading.patterns["cross"])
    film_readings.read(run, STEPS[:3], TEXTS[0], "the dog sees the", tell)
    assert len(read) == 7, "another target is another reading"


@pytest.mark.usefixtures("fresh_caches")
@pytest.mark.parametrize("n_tokens", [9, 12])
def test_a_text_is_read_as_far_as_all_its_patterns_have_room(
    place: Path, monkeypatch: pytest.MonkeyPatch, n_tokens: int
):
    """Bytes for this many tokens on each side, in three attentions of two layers and four heads, at four snapshots."""
    monkeypatch.setattr(film_readings, "MOST_PATTERN_BYTES", 4 * (3 * 2 * 4) * 4 * n_tokens**2)
    fixed = film_readings.fixed(runs.available()["pairs"], STEPS, "the cat sees the dog " * 9, "le chat " * 20)
    assert [len(side) for side in fixed.inputs] == [n_tokens, n_tokens]


def test_a_head_has_the_mask_of_its_layer():
    masks = np.stack([np.ones((4, 4)), np.eye(4), np.tri(4)]).astype(bool)
    patterns = np.random.default_rng(0).random((2, 3, 2, 4, 4))
    labels = tuple("abcd"), tuple("abcd")
    fixed = SimpleNamespace(architecture="encoder_only", labels=lambda _: labels)
    reading = SimpleNamespace(masks={"encoder": masks}, patterns={"encoder": patterns}, fixed=fixed)
    read: Any = SimpleNamespace(reading=reading)
    for layer in range(3):
        head = HeadName("encoder", layer, 1)
        data = film_readings.SnapshotData(run=SimpleNamespace(name="run"), read=read, place=1, head=head)
        np.testing.assert_array_equal(data.axes["mask"], masks[layer])
        np.testing.assert_array_equal(data.pattern(1), patterns[1, layer, 1])
