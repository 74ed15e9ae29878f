"""The blanks in pictures: what may stand in each, and where its mask looks, against plain forwards."""

import csv
import io
from collections.abc import Callable
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.explore.decoding import blanks_data, blanks_figures
from pages.explore.decoding.blanks_data import BlanksData
from pages.shared import models
from pages.shared.recipe import value_of
from pages.shared.sources import Source
from tests.pages.conftest import GAPS, words_of
from tests.pages.explore.decoding.test_blanks_data import FILLED, PLACE, REQUEST, VIEW
from tests.pages.explore.parts import Drawing, shown

pytestmark = pytest.mark.usefixtures("three_kinds_here")
TEXT = GAPS[1]  # two blanks
BARS, LOOKS = "blanks-bars", "blanks-looks"


class ByHand:
    """The small masked model and the text, and what a plain forward over some tokens gives."""

    def __init__(self, folder: Path) -> None:
        self.model, self.tokenizer = tc.load(folder / "gaps")
        self.ids = self.tokenizer.encode_for(TEXT, "encoder_only")
        self.places = [place for place, token in enumerate(self.ids) if token == self.tokenizer.mask_id]

    @torch.inference_mode()
    def read(self, filled: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities [pos, vocab], those of mask and padding left out, and all weights [layer, head, query, key]."""
        ids = [filled.get(place, token) for place, token in enumerate(self.ids)]
        with tc.capture(self.model, "*.hook_pattern") as acts:
            probabilities = self.model(torch.tensor([ids]))[0].double().softmax(-1)
        probabilities[:, [self.tokenizer.mask_id, self.tokenizer.pad_id]] = 0
        rows = [acts[f"encoder.blocks.{layer}.self_attn.hook_pattern"][0].numpy() for layer in range(3)]
        return probabilities.numpy(), np.stack(rows)

    def label(self, token: int) -> str:
        return str(self.tokenizer.labels([token])[0])


@pytest.fixture(scope="module")
def by_hand(three_kinds: Path) -> ByHand:
    return ByHand(three_kinds)


def drawn(draw: Callable[[BlanksData], object], **session: Any) -> Any:
    def part() -> None:
        card = models.available()["gaps"]
        draw(blanks_data.current(card, Source.of(card), TEXT))

    return shown(part, **VIEW | session)


def bars(drawing: Drawing) -> list[Any]:
    return [trace for trace in drawing.figure.data if trace.type == "bar"]


def check_candidates(drawing: Drawing, by_hand: ByHand, states: list[dict[int, int]]) -> None:
    """Each blank has the six best tokens of what was filled when it was asked."""
    table = []
    for place, state, trace in zip(by_hand.places, states, bars(drawing), strict=True):
        probabilities = by_hand.read(state)[0][place]
        best = np.argsort(-probabilities, kind="stable")[:6]
        np.testing.assert_allclose(np.array(trace.x, dtype=float), probabilities[best], rtol=1e-4)
        table += [[str(place), str(rank), by_hand.label(int(token))] for rank, token in enumerate(best)]
        row = drawing.arrays["log_probs"][by_hand.places.index(place)]
        np.testing.assert_allclose(np.exp(row.astype(np.float64)), probabilities, atol=1e-5)
    assert drawing.csv[0] == ["place", "rank", "token", "probability"]
    assert [line[:3] for line in drawing.csv[1:]] == table
    shown_ones = np.concatenate([np.array(trace.x, dtype=float) for trace in bars(drawing)])
    np.testing.assert_allclose([float(number) for number in drawing.column(3)], shown_ones, rtol=1e-6)
    assert drawing.arrays["places"].tolist() == by_hand.places


def test_of_each_blank_the_best_tokens_are_drawn_and_taken_away(by_hand: ByHand, drawings: dict[str, Drawing]):
    drawn(blanks_figures.candidates)
    drawing = drawings[BARS]
    check_candidates(drawing, by_hand, [{}, {}])
    assert drawing.title == "Predictions for each blank" and drawing.name == "gaps-blanks"
    names = [note.text for note in drawing.figure.layout.annotations]
    for place in by_hand.places:
        probabilities = by_hand.read({})[0][place]
        known = probabilities[probabilities > 0]
        entropy = -(known * np.log(known)).sum()
        (name,) = [name for name in names if f"blank {place}" in name]
        assert f"{entropy:.2f}" in name


def test_of_a_filled_blank_what_was_said_before_it_was_filled_is_drawn(by_hand: ByHand, drawings: dict[str, Drawing]):
    found: list[BlanksData] = []

    def draw(data: BlanksData) -> None:
        found.append(data)
        blanks_figures.candidates(data)

    drawn(draw, **{REQUEST: "next"})
    filled = {place: step.chosen.token for place, step in found[0].steps.items()}
    check_candidates(drawings[BARS], by_hand, [{} if place in filled else filled for place in by_hand.places])


def test_the_lines_print_what_may_stand_in_each_and_the_totals(by_hand: ByHand):
    lines: list[list[Any]] = []
    for request_of in (None, "all"):
        drawn(
            lambda data: lines.append([value_of(line.value) for line in blanks_figures.printed(data)]),
            **{REQUEST: request_of},
        )
    (candidates, nothing), (_, total, alone) = lines
    assert nothing == 0
    best = np.argsort(-by_hand.read({})[0][by_hand.places[0]], kind="stable")[:6]
    assert candidates[0][0] == [by_hand.label(int(token)) for token in best]
    filled: dict[int, int] = {}
    by_order = 0.0
    for _ in by_hand.places:
        probabilities = by_hand.read(filled)[0]
        place = max((p for p in by_hand.places if p not in filled), key=lambda p: probabilities[p].max())
        by_order += float(np.log(probabilities[place].max()))
        filled[place] = int(probabilities[place].argmax())
    assert total == pytest.approx(by_order, abs=1e-4)
    of_first = by_hand.read({})[0]
    filled, at_once = {}, 0.0
    order = sorted(by_hand.places, key=lambda p: -of_first[p].max())
    for place in order:  # the same tokens as alone, each as probable as it is behind those before it
        token = int(of_first[place].argmax())
        at_once += float(np.log(by_hand.read(filled)[0][place][token]))
        filled[place] = token
    assert alone == pytest.approx(at_once, abs=1e-4)


def blanks(masks: int, surest: list[int]) -> Any:
    """A text with so many blanks, of which some are open."""
    state = SimpleNamespace(certain_first=[SimpleNamespace(position=place) for place in surest])
    return SimpleNamespace(tree=SimpleNamespace(masks=tuple(range(masks))), state=state)


@pytest.mark.parametrize(
    ("masks", "surest", "places"),
    [
        (12, [3], [*range(12)]),
        (13, [9, 4, 7], [4, 7, 9]),
        (13, [*range(12, -1, -1)], [*range(1, 13)]),
        (13, [], [*range(12)]),
        (1, [], [0]),
    ],
)
def test_of_many_blanks_the_surest_open_ones_are_drawn(masks: int, surest: list[int], places: list[int]):
    assert blanks_figures._places(blanks(masks, surest)) == places


def test_that_only_some_blanks_are_drawn_is_told(drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blanks_figures, "MOST_DRAWN", 1)
    drawn(blanks_figures.candidates)
    assert drawings[BARS].title == "Predictions for each blank: the 1 most confident of 2"
    assert len(drawings[BARS].arrays["places"]) == 1
    drawn(blanks_figures.candidates, **{REQUEST: "all"})
    assert drawings[BARS].title == "Predictions for each blank"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mean", "whose"), [("", "L1.H1"), ("layer", "L1, mean over heads"), ("all", "mean of all heads")]
)
def test_where_a_mask_looks_is_that_of_the_chosen_heads(
    by_hand: ByHand, drawings: dict[str, Drawing], mean: str, whose: str
):
    place = by_hand.places[1]
    aim = {"layer": 1, "head": 1, "decoding-mean": mean}
    app = drawn(blanks_figures.one_blank, **{PLACE: place, **aim})
    rows = by_hand.read({})[1]
    expected = {"": rows[1, 1], "layer": rows[1].mean(axis=0), "all": rows.mean(axis=(0, 1))}[mean]
    drawing = drawings[LOOKS]
    np.testing.assert_allclose(np.array(bars(drawing)[0].y, dtype=float), expected[place], atol=1e-6)
    np.testing.assert_allclose(drawing.arrays["row"], expected[place], atol=1e-6)
    assert drawing.title == f"Attention from blank {place}: {whose}"
    assert drawing.name == f"gaps-blank{place}-looks"
    labels = by_hand.tokenizer.labels_for(TEXT, "encoder_only")
    assert drawing.arrays["key_tokens"].tolist() == [*labels]
    assert drawing.csv[0] == ["blank", "key", "weight"] and {*drawing.column(0)} == {str(place)}
    assert drawing.column(1) == [f"{key} {label}" for key, label in enumerate(labels)]
    words = unescape(words_of(app))
    assert f"<b>Maximum attention</b> ({whose}): " in words
    told = [
        f"blank {other} → “<bdi>{labels[expected[other].argmax()]}</bdi>” {expected[other].max():.2f}"
        for other in by_hand.places
    ]
    assert ", ".join(told) in words


def test_of_a_filled_blank_the_text_is_as_it_was_before_it(by_hand: ByHand, drawings: dict[str, Drawing]):
    place, other = by_hand.places
    first, second = 10, 11
    app = drawn(blanks_figures.one_blank, **{FILLED: f"{place}:{first}.{other}:{second}", PLACE: other})
    rows = by_hand.read({place: first})[1]
    np.testing.assert_allclose(drawings[LOOKS].arrays["row"], rows[0].mean(axis=0)[other], atol=1e-6)
    labels = drawings[LOOKS].arrays["key_tokens"].tolist()
    assert labels[place] == by_hand.label(first) and labels[other] == by_hand.label(by_hand.ids[other])
    assert "Maximum attention" not in words_of(app), "none is open"


def test_a_blank_and_what_fills_it_are_chosen(by_hand: ByHand, drawings: dict[str, Drawing]):
    place, other = by_hand.places
    probabilities = by_hand.read({})[0][place]
    rare = int(np.where(probabilities > 0, probabilities, 1).argmin())
    app = drawn(blanks_figures.one_blank, **{FILLED: f"{place}:{rare}", PLACE: place})
    box = app.selectbox(key="decoding-blanks-place-box")
    assert box.options == [f"{place}, filled", f"{other}, open"] and box.value == place
    tokens = app.selectbox(key="blanks-token-box")
    assert tokens.value == rare
    best = [int(token) for token in np.argsort(-probabilities, kind="stable")[:24]]
    offered = [*best, *([rare] if rare not in best else [])]
    assert [option.split()[0] for option in tokens.options] == [by_hand.label(token) for token in offered]
    tokens.set_value(best[1]).run()
    assert app.session_state[FILLED] == f"{place}:{best[1]}"
    app = drawn(blanks_figures.one_blank, **{FILLED: f"{place}:{rare}"})
    assert app.selectbox(key="decoding-blanks-place-box").value == other, "the next one"
    assert app.selectbox(key="blanks-token-box").value is None
    app.selectbox(key="decoding-blanks-place-box").set_value(place).run()
    assert app.session_state[PLACE] == place


def test_nothing_is_asked_for_where_no_token_was_chosen(monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []
    monkeypatch.setattr(blanks_data, "ask", asked.append)
    for chosen in (None, 0, "dog"):
        blanks_figures._choose_token(3, chosen)
    assert asked == [(3, 0), (3, "dog")]


def test_a_table_quotes_what_a_table_is_made_of():
    text = blanks_figures._csv([4, 7], [["a,b", 'c"'], ["d", "e"]], [np.array([0.5, 0.25]), np.array([1.0, 0.0])])
    assert [*csv.reader(io.StringIO(text))][1:] == [
        ["4", "0", "a,b", "0.5"],
        ["4", "1", 'c"', "0.25"],
        ["7", "0", "d", "1.0"],
        ["7", "1", "e", "0.0"],
    ]
