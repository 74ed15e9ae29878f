"""HTML with formulas: MathML, which browsers draw on their own and which `st.html` removes."""

from pages.components.mounting import component


def draw(content: str, *, key: str) -> None:
    """Draw HTML that may have MathML in it, with the styles of the page.

    Args:
        content: escaped where it is not the page's own.
        key: a different one for each place on the page.
    """
    component(__file__, "markup", isolated=False)(key=key, data=str(content))
