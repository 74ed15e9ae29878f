"""A figure as its own page, without a network: large figures get their words from the browser."""

from functools import partial

import numpy as np
import pytest
from playwright.sync_api import Browser

from headlight.figures import TokenGrid, attention_heatmap, difference_heatmap
from headlight.figures.heatmaps.cells import Cells
from headlight.figures.offline import FILL_IN_WORDS, offline_page
from headlight.figures.quantities import QUANTITIES, QuantityName


def asked(figure: str) -> str:
    """JavaScript that returns the words of each trace."""
    return f"return {figure}.data.map((trace) => trace.customdata);"


def made_here(values: np.ndarray, tokens: list[str], quantity: QuantityName, mask: np.ndarray) -> list[list[str]]:
    """What a figure that is small enough would say of each cell."""
    n, what = len(tokens), QUANTITIES[quantity]
    decimals = what.decimals(what.limits(values[mask])[1])
    rows = [
        [what.before + number for number in what.written(row, decimals)]
        for row in np.nan_to_num(values, neginf=0).tolist()
    ]
    reports = []
    for row in range(n):
        grid = TokenGrid(tokens[row : row + 1], tokens, first_query=row)
        numbers = partial(rows.__getitem__, slice(row, row + 1))
        reports += Cells(values[row : row + 1], grid, mask[row : row + 1]).words(numbers).trace["customdata"].tolist()
    assert len(reports) == n
    return reports


@pytest.mark.full
def test_the_browser_says_what_would_be_said_here(browser: Browser) -> None:
    """Of every quantity, without a network, and without an error."""
    n = 65
    tokens = [f"<b>{i}&" for i in range(n)]
    mask = np.tril(np.ones((n, n), dtype=bool))
    scores = np.where(mask, 4 * np.random.default_rng(0).normal(size=(n, n)), -np.inf).astype(np.float32)
    a, b = np.random.default_rng(0).random((2, n, n)).astype(np.float32)
    a, b = a / a.sum(axis=1, keepdims=True), b / b.sum(axis=1, keepdims=True)
    weights = a ** np.float32(3)
    drawn: dict[QuantityName, np.ndarray] = {
        "pattern": weights,
        "scores": scores,
        "log": weights,
        "written": 99 * weights,
    }
    troubles: list[str] = []
    fill = f"(text) => {{ {FILL_IN_WORDS} const figure = JSON.parse(text); fillInWords(figure); {asked('figure')} }}"

    context = browser.new_context(offline=True)
    page = context.new_page()
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text))
    for quantity, values in drawn.items():
        figure = attention_heatmap(values, TokenGrid(tokens, tokens), mask=mask, quantity=quantity)
        forbidden, cells = page.evaluate(fill, figure.to_json())
        expected = made_here(values, tokens, quantity, mask)
        for row, column in np.ndindex(n, n):
            text = (cells if mask[row, column] else forbidden)[row][column]
            assert text == expected[row][column], quantity
            assert not (forbidden if mask[row, column] else cells)[row][column]
    (cells,) = page.evaluate(fill, difference_heatmap(a, b, TokenGrid(tokens, tokens)).to_json())
    by = float(b[3, 4] - a[3, 4])
    assert cells[3][4].endswith(f": B − A = {by:+.2f}".replace("-", "−"))

    page.set_content(offline_page(figure, title="t", about="a"))
    page.wait_for_function("document.querySelector('.js-plotly-plot .heatmaplayer image')")
    drawn_cells = page.evaluate(f"() => {{ {asked('document.querySelector(`.js-plotly-plot`)')} }}")[1]
    assert drawn_cells[2][1] == expected[2][1]
    context.close()
    assert not troubles
