"""A standalone page: nothing comes from outside, and nothing is markup."""

import re

import numpy as np

from headlight.figures import DARK, LIGHT, TokenGrid, attention_heatmap, template
from headlight.figures.offline import offline_page


def test_a_page_asks_nobody_and_its_words_are_text():
    figure = attention_heatmap(np.ones((1, 1)), TokenGrid(["</script><b>"], ["x"])).update_layout(
        template=template(DARK)
    )
    before = figure.to_json()
    page = offline_page(figure, title="<i>t</i>", about="a & b\n<script>alert(1)</script>")
    assert "<title>&lt;i&gt;t&lt;/i&gt;</title>" in page
    assert "<script>alert" not in page and "a &amp; b\n&lt;script&gt;" in page
    assert "</script><b>" not in page
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", page)
    assert LIGHT.background in page and DARK.background in page and '<html lang="en">' in page
    assert page.count("fillInWords(") == 2  # it is defined, and called on the figure
    assert "showSendToCloud: false" in page and "displaylogo: false" in page
    assert len(page) < 2_200_000  # plotly.js is compressed
    assert figure.to_json() == before
