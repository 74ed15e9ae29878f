"""A head on many texts: where each is drawn, which are named, and what opens them; on texts measured by hand."""

from html import unescape
from typing import Any

import numpy as np
import pytest

from pages.explore.compare import texts, view_fields
from pages.explore.compare.data import ComparisonData
from pages.explore.compare.sides import Side
from pages.shared import analyses
from pages.shared.recipe import literal, value_of
from tests.pages.conftest import words_of
from tests.pages.explore.compare.compare_parts import comparison, run, shown
from tests.pages.explore.compare.test_sides import side, weights
from tests.pages.explore.parts import Drawing
from transformer_core.analysis import HeadName
from transformer_core.analysis.heads.many_texts import HeadOnText, HeadOverTexts
from transformer_core.analysis.trace.cells import Cell
from transformer_core.errors import CorpusError, TextError

TEXTS = ("one", "two", "three", "four", "five")
ENTROPY = {"A": (0.5, 0.1, 0.9, 0.4, None), "B": (1.5, 1.1, 1.9, 1.0, None)}


def on_text(text: str, entropy: float | None, weight: float = 0.5) -> HeadOnText:
    return HeadOnText(
        text=text,
        entropy=entropy,
        distance=None if entropy is None else 10 * entropy,
        share_on_first=None if entropy is None else entropy / 4,
        strongest=Cell(query=1, key=0, value=weight),
        strongest_labels=(f"q_{text}", f"k_{text}"),
        n_tokens=3,
    )


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[int, str], Any]:
    """What each side's head does on each text, by its layer and the text; an error where it cannot be read."""
    found: dict[tuple[int, str], Any] = {}
    for layer, values in enumerate(ENTROPY.values()):
        found |= {(layer, text): on_text(text, value) for text, value in zip(TEXTS, values, strict=True)}

    def measured(of: Side, text: Any) -> Any:
        one = found[of.head.layer, text]
        if isinstance(one, Exception):
            raise one
        return literal(one)

    monkeypatch.setattr(texts, "_on", measured)
    monkeypatch.setattr(texts, "_over", lambda _, found: literal(HeadOverTexts.of(found)))
    return found


def sides(examples: tuple[str, ...] = TEXTS, layer_b: int = 1, text: str = "three", **of_b: Any) -> ComparisonData:
    of = weights(examples=examples)
    a = side("A", of, head=HeadName("cross", 0, 0), text=text)
    b = side("B", of_b.pop("of", of), head=HeadName("cross", layer_b, 0), text=text, **of_b)
    return comparison(run({}), run({}), a, b)


def measured(data: ComparisonData, measure: str = "entropy") -> Any:
    return shown(lambda: texts.show(data), **{view_fields.MEASURE.key: measure})


@pytest.mark.parametrize(
    ("measure", "factor", "name", "unit"),
    [
        ("entropy", 1, "attention entropy", "nats"),
        ("distance", 10, "attention distance", "tokens"),
        ("share_on_first", 0.25, "first-token attention", ""),
    ],
)
def test_each_side_has_a_figure_of_its_own_values_on_one_axis(
    read: Any, drawings: dict[str, Drawing], measure: str, factor: float, name: str, unit: str
):
    app = measured(sides(), measure)
    assert [*drawings] == ["compare-texts-A", "compare-texts-B"]
    words, means = unescape(words_of(app)), {}
    for letter, layer in (("A", 0), ("B", 1)):
        drawn = drawings[f"compare-texts-{letter}"]
        values = factor * np.array(ENTROPY[letter][:4], dtype=float)
        assert drawn.title == f"{letter}: one, cross-attention L{layer}.H0"
        np.testing.assert_allclose(np.array(drawn.trace("texts").x, dtype=float), values)
        assert drawn.name == f"one-one-texts-{measure}-{letter}"
        np.testing.assert_allclose(drawn.arrays[measure], [*values, np.nan])
        assert drawn.arrays["texts"].tolist() == [*TEXTS]
        assert drawn.csv[0] == ["text", "measure", "value"]
        assert drawn.column(0) == [f"{i} {text}" for i, text in enumerate(TEXTS)]
        np.testing.assert_allclose([float(cell) for cell in drawn.column(2)], [*values, np.nan])
        means[letter] = values.mean()
        of_unit = f" {unit}" if unit else ""
        told = f"{letter}: mean {values.mean():.2f}{of_unit}, standard deviation {values.std():.2f}, over 4 texts."
        assert told in words
        axis = drawn.figure.layout.xaxis
        assert axis.title.text.lower() == (f"{name} ({unit})" if unit else name)
        low, high = axis.range
        last = 1.05 * 1.9 * factor if unit else 1.0
        assert low + 0.02 * last == pytest.approx(0) and high / 1.02 == pytest.approx(last)
        assert drawn.trace("chosen").x[0] == values[2], "the text that the page reads"
        assert f"over_texts_{letter.lower()}" in drawn.code or "values" in drawn.code
    for letter, other in ("AB", "BA"):
        labels = [note.text for note in drawings[f"compare-texts-{letter}"].figure.layout.annotations]
        assert f"mean of {other} {means[other]:.2f}" in labels
        assert not any(label.startswith(f"mean of {letter}") for label in labels)


def test_a_side_that_does_the_same_has_no_figure_of_its_own(read: Any, drawings: dict[str, Drawing]):
    measured(sides(layer_b=0))
    assert [*drawings] == ["compare-texts-A"]
    assert drawings["compare-texts-A"].options["height"] > 240, "it has the place of two"
    assert len(drawings["compare-texts-A"].figure.layout.annotations) == 1, "no other mean"
    for of_b in ({"change": "off:cross.0.0"}, {"of": weights("other")}):
        drawings.clear()
        measured(sides(layer_b=0, **of_b))
        assert [*drawings] == ["compare-texts-A", "compare-texts-B"]


def test_a_text_that_is_none_of_them_is_not_marked(read: Any, drawings: dict[str, Drawing]):
    measured(sides(text="another"))
    assert all({trace.name for trace in drawn.figure.data} == {"texts"} for drawn in drawings.values())


def test_texts_at_both_ends_and_in_the_middle_of_side_a_are_named(read: Any, drawings: dict[str, Drawing]):
    read[0, "one"] = on_text("one", 0.5, weight=0.75)
    app = measured(sides())
    by_group = {
        name: [button.label for button in app.button if str(button.key).startswith(f"compare-text-{name}")]
        for name in ("Highest", "Lowest", "Most typical")
    }
    assert by_group == {  # the mean is 0.475
        "Highest": ["three", "one", "four"],
        "Lowest": ["two", "four", "one"],
        "Most typical": ["one", "four", "two"],
    }
    button = app.button(key="compare-text-Highest-1")
    assert button.help.replace("\\", "") == "Open this text; its maximum weight is “q_one” → “k_one” 0.75"
    _, *numbers = words_of(app).split("hl-compare-number'>")
    assert [line[:4] for line in numbers[:3]] == ["0.90", "0.50", "0.40"]
    for key, value in {
        view_fields.VIEW.key: "texts",
        view_fields.TEXT_B.key: "c",
        view_fields.CELL.key: (1, 1),
    }.items():
        app.session_state[key] = value
    button.click().run()
    assert app.session_state["text"] == "one"
    assert [app.session_state[f"compare-{name}"] for name in ("view", "btext", "cell")] == ["one", None, None]


def test_texts_that_a_side_cannot_read_are_counted_on_that_side(read: Any, drawings: dict[str, Drawing]):
    read[1, "two"] = read[1, "four"] = TextError("too long")
    read[1, "four"] = TextError("too short")
    app = measured(sides())
    words = words_of(app)
    assert "B failed on 2 of 5 texts: too long." in words and "A failed" not in words
    assert drawings["compare-texts-B"].arrays["texts"].tolist() == ["one", "three", "five"]
    assert len(drawings["compare-texts-A"].arrays["texts"]) == 5
    assert drawings["compare-texts-B"].trace("chosen").x[0] == 1.9


def test_a_side_that_can_read_none_is_not_drawn(read: Any, drawings: dict[str, Drawing]):
    for layer, shown_as in ((1, ["compare-texts-A"]), (0, [])):
        for text in TEXTS:
            read[layer, text] = TextError("too long")
        drawings.clear()
        app = measured(sides())
        assert [*drawings] == shown_as
    assert "No query in these texts has more than one allowed key." in words_of(app) and not app.button


def test_where_no_query_has_a_choice_there_is_no_mean(read: Any, drawings: dict[str, Drawing]):
    for layer in range(2):
        read[layer, "one"] = on_text("one", None)
    app = measured(sides(("one",)))
    assert "No query in these texts has more than one allowed key." in words_of(app)
    assert "standard deviation" not in words_of(app) and not app.button
    assert drawings["compare-texts-A"].figure.layout.xaxis.range[1] == pytest.approx(1.02 * 0.1)
    app = measured(sides(("one",)), "strongest_weight")
    assert "A: mean 0.50, standard deviation 0.00, over 1 text." in words_of(app)


@pytest.mark.parametrize(
    ("values", "measure", "end"),
    [
        ([[0.2, np.nan], [0.4]], "entropy", 0.42),
        ([[0.4], [0.2, np.nan]], "distance", 0.42),
        ([[0.2]], "strongest_weight", 1.0),
        ([[0.01]], "entropy", 0.1),
        ([[np.nan]], "entropy", 0.1),
        ([], "entropy", 0.1),
    ],
)
def test_an_axis_ends_with_the_highest_value_of_all(values: list[list[float]], measure: str, end: float):
    low, high = texts._limits([np.array(of) for of in values], measure)
    assert low == 0
    assert high == pytest.approx(end)


def test_texts_that_there_are_not_are_said_calmly(drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch):
    app = measured(sides(()))
    assert "One has no example texts" in words_of(app) and not drawings and not app.button

    def at_work(*_: Any) -> Any:
        raise analyses.AtWorkError("wait a moment")

    monkeypatch.setattr(texts, "texts_of", at_work)
    app = measured(sides())
    assert [button.key for button in app.button] == ["compare-look-again"]
    monkeypatch.setattr(texts, "texts_of", lambda *_: (_ for _ in ()).throw(CorpusError("there is none")))
    assert not measured(sides()).button


def test_texts_and_measure_are_chosen_above_the_figures(read: Any, drawings: dict[str, Drawing]):
    app = measured(sides())
    kinds, measures = app.segmented_control(key="compare-texts-segments"), app.selectbox(key="compare-measure-box")
    assert kinds.options == ["The model’s examples", "Held-out texts of its corpus", "Your own list"]
    assert kinds.value == "examples"
    assert measures.options == ["Attention entropy", "Attention distance", "First-token attention", "Maximum weight"]
    measures.set_value("strongest_weight").run()
    assert "A: mean 0.50, standard deviation 0.00, over 5 texts." in words_of(app)


def test_a_list_is_pasted_only_where_it_is_chosen():
    for kind, has_box in (("examples", False), ("list", True)):
        app = shown(lambda: texts.show(sides(())), **{view_fields.TEXTS.key: kind})
        assert bool(app.text_area) == has_box


@pytest.mark.parametrize(("n", "is_told"), [(3, False), (4, True)])
def test_that_a_list_is_too_long_is_told(n: int, is_told: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(texts, "MOST_LINES", 3)
    app = shown(texts._paste, **{view_fields.LIST.key: "\n".join(f"text {i}" for i in range(n))})
    assert (f"The list has {n} texts; only the first 3 are used." in words_of(app)) == is_told
    assert "too many for a link" not in words_of(app)


def test_the_lines_print_the_values_and_the_mean_of_each_side(read: Any):
    found: list[Any] = []
    data = sides()
    shown(lambda: found.extend(value_of([line.value for line in texts.code(data)])))
    assert found[:2] == ["u v", "u v"] and len(found) == 6
    np.testing.assert_allclose(found[2], [*ENTROPY["A"][:4], np.nan])
    np.testing.assert_allclose(found[4], [*ENTROPY["B"][:4], np.nan])
    assert found[3].mean == pytest.approx(0.475) and found[5].mean == pytest.approx(1.375)
