"""A head on many texts: where each is drawn, which are named, and what opens them; on measured texts that are given."""

from html import unescape
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from headlight.analysis.heads.many_texts import HeadOnText, HeadOverTexts
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.trace.cells import Cell
from pages.explore.compare import texts, view_fields
from pages.explore.compare.data import ComparisonData
from pages.explore.compare.sides import Side
from pages.shared.recipe import literal
from tests.pages.conftest import words_of
from tests.pages.explore.compare.compare_parts import comparison, run, shown
from tests.pages.explore.compare.test_sides import side, weights
from tests.pages.explore.parts import Drawing
from transformer_core.errors import CorpusError, TextError

TEXTS = ("one", "two", "three", "four", "five")
ENTROPY = {"A": (0.5, 0.1, 0.9, 0.4, None), "B": (1.5, 1.1, 1.9, 1.0, None)}
NO_CHOICE = "No query in these texts has more than one allowed key."


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
    results: dict[tuple[int, str], Any] = {}
    for layer, values in enumerate(ENTROPY.values()):
        results |= {(layer, text): on_text(text, value) for text, value in zip(TEXTS, values, strict=True)}

    def measured(of: Side, text: Any) -> Any:
        one = results[of.head.layer, text]
        if isinstance(one, Exception):
            raise one
        return literal(one)

    monkeypatch.setattr(texts, "_on", measured)
    monkeypatch.setattr(texts, "_over", lambda _, results: literal(HeadOverTexts.of(results)))
    return results


def sides(examples: tuple[str, ...] = TEXTS, layer_b: int = 1, text: str = "three", **of_b: Any) -> ComparisonData:
    of = weights(examples=examples)
    a = side("A", of, head=HeadName("cross", 0, 0), text=text)
    b = side("B", of_b.pop("of", of), head=HeadName("cross", layer_b, 0), text=text, **of_b)
    return comparison(run({}), run({}), a, b)


def measured(data: ComparisonData, measure: str = "entropy") -> Any:
    return shown(lambda: texts.show(data), **{view_fields.MEASURE.key: measure})


@pytest.mark.parametrize(
    ("measure", "factor", "unit"), [("entropy", 1, " nats"), ("distance", 10, " tokens"), ("share_on_first", 0.25, "")]
)
def test_each_side_has_a_figure_of_its_own_values_on_one_axis(
    read: Any, drawings: dict[str, Drawing], measure: str, factor: float, unit: str
):
    words, means = unescape(words_of(measured(sides(), measure))), {}
    assert [*drawings] == ["compare-texts-A", "compare-texts-B"]
    for letter in "AB":
        drawn = drawings[f"compare-texts-{letter}"]
        values = factor * np.array(ENTROPY[letter][:4], dtype=float)
        np.testing.assert_allclose(np.array(drawn.trace("texts").x, dtype=float), values)
        drawn.check(measure, ["text", "measure", "value"], [*values, np.nan])
        means[letter] = values.mean()
        assert (
            f"{letter}: mean {values.mean():.2f}{unit}, standard deviation {values.std():.2f}, over 4 texts." in words
        )
        assert drawn.trace("chosen").x[0] == values[2], "the text that the page reads"
    for letter, other in ("AB", "BA"):
        labels = [note.text for note in drawings[f"compare-texts-{letter}"].figure.layout.annotations]
        assert f"mean of {other} {means[other]:.2f}" in labels
        assert not any(label.startswith(f"mean of {letter}") for label in labels)


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
    for field, value in {view_fields.VIEW: "texts", view_fields.TEXT_B: "c", view_fields.CELL: (1, 1)}.items():
        app.session_state[field.key] = value
    button.click().run()
    assert [app.session_state[f"compare-{name}"] for name in ("view", "btext", "cell")] == ["one", None, None]
    assert app.session_state["text"] == "one"


def test_texts_that_a_side_cannot_read_are_counted_on_that_side(read: Any, drawings: dict[str, Drawing]):
    read[1, "two"], read[1, "four"] = TextError("too long"), TextError("too short")
    words = words_of(measured(sides()))
    assert "B failed on 2 of 5 texts: too long." in words and "A failed" not in words
    assert drawings["compare-texts-B"].arrays["texts"].tolist() == ["one", "three", "five"]
    assert len(drawings["compare-texts-A"].arrays["texts"]) == 5
    assert drawings["compare-texts-B"].trace("chosen").x[0] == 1.9
    for layer, shown_as in ((1, ["compare-texts-A"]), (0, [])):  # a side that can read none is not drawn
        read |= {(layer, text): TextError("too long") for text in TEXTS}
        drawings.clear()
        app = measured(sides())
        assert [*drawings] == shown_as
    assert NO_CHOICE not in words_of(app) and not app.button  # none of them was read


def test_where_no_query_has_a_choice_there_is_no_mean(read: Any, drawings: dict[str, Drawing]):
    read |= {(layer, "one"): on_text("one", None) for layer in range(2)}
    app = measured(sides(("one",)))
    assert NO_CHOICE in words_of(app) and "standard deviation" not in words_of(app) and not app.button
    assert drawings["compare-texts-A"].figure.layout.xaxis.range[1] == pytest.approx(1.02 * 0.1)
    app = measured(sides(("one",)), "strongest_weight")
    assert "A: mean 0.50, standard deviation 0.00, over 1 text." in words_of(app)


def test_texts_that_there_are_not_are_said_calmly(drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch):
    app = measured(sides(()))
    assert "One has no example texts" in words_of(app) and not drawings and not app.button
    monkeypatch.setattr(texts, "texts_of", Mock(side_effect=CorpusError("there are none")))
    app = measured(sides())
    assert "There are none." in words_of(app) and not app.button


def test_texts_and_measure_are_chosen_above_the_figures(
    read: Any, drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch
):
    app = measured(sides())
    assert app.segmented_control(key="compare-texts-segments").value == "examples" and not app.text_area
    app.selectbox(key="compare-measure-box").set_value("strongest_weight").run()
    assert "A: mean 0.50, standard deviation 0.00, over 5 texts." in words_of(app)
    monkeypatch.setattr(texts, "MOST_LINES", 3)
    for n, is_told in ((3, False), (4, True)):
        listed = {view_fields.TEXTS.key: "list", view_fields.LIST.key: "\n".join(TEXTS[:n])}
        app = shown(lambda: texts.show(sides()), **listed)
        assert app.text_area and (f"The list has {n} texts; only the first 3" in words_of(app)) == is_told
        assert "too many for a link" not in words_of(app)
