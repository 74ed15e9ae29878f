"""A chapter's beginning: where the page goes back to when another chapter is opened."""

from pages.shared.components.mounting import component


def top_of(name: str) -> None:
    """Bring the page's beginning into sight, when this is another chapter than before.

    Args:
        name: of the chapter that is open.
    """
    component("chapter", isolated=True)(key="tour-chapter", data=name, height=1)
